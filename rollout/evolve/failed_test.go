package evolve

import (
	"bytes"
	"fmt"
	"maps"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/envs"
	"xlarun/graph"
	"xlarun/graph/random"
	"xlarun/rollout/plan"
	"xlarun/xlabridge"
)

// lottery is an environment of one step. Its reward is drawn at the start: a number, or in two thirds of the episodes
// the field high, low or none.
type lottery struct{ high, low, none float64 }

func (lottery) Spec() envs.Spec {
	return envs.Spec{ID: "Lottery-v0", Observation: envs.Symmetric(1, 1, 1, 1), Action: envs.Discrete{N: 2},
		MaxSteps: 3}
}
func (lottery) DefaultParams() graph.None { return graph.None{} }
func (l lottery) Reset(key random.Key, _ graph.None) (state, obs *graph.Array) {
	return random.Uniform(key, graph.ShapeOf(graph.Float32), 0, 9), l.Observe(nil, graph.None{})
}
func (lottery) Observe(*graph.Array, graph.None) *graph.Array {
	return graph.Zeros(graph.ShapeOf(graph.Float32, 4))
}
func (l lottery) Step(_ random.Key, s, _ *graph.Array,
	p graph.None) (next, obs, reward, terminated, truncated *graph.Array) {
	reward = graph.Select(s.Lt(2), float32(l.high), graph.Select(s.Lt(4), float32(l.low),
		graph.Select(s.Lt(6), float32(l.none), s)))
	return s, l.Observe(s, p), reward, s.Ge(0), envs.False()
}

// A member with an infinite return fails like one with NaN: it is never the best, nor a parent, and changes nothing
// else.
func TestInfiniteReturnsFail(t *testing.T) {
	inf, nan := math.Inf(1), math.NaN()
	for _, name := range []string{"openes", "pgpe", "simplega", "cmaes"} {
		for _, redraw := range []bool{false, true} {
			var states [][]byte
			for i, env := range []lottery{{inf, -inf, nan}, {nan, nan, nan}} {
				c := DefaultConfig()
				c.Policy, c.Strategy, c.Population, c.Steps, c.Tile = "linear", name, 20, 3, 4
				x, err := c.setup(plan.Machine{Devices: 1})
				require.NoError(t, err)
				x.Rollout.Env, x.Regenerate = envs.Erase(env), redraw
				e, err := c.build(&xlabridge.Reference{}, x, plan.Choice{})
				require.NoError(t, err)
				failed := 0.
				for range 3 {
					m, err := e.Step(t.Context())
					require.NoError(t, err)
					for _, v := range m.Values {
						require.False(t, math.IsInf(v.Number, 0) || math.IsNaN(v.Number), "%s: %s", name, v.Name)
					}
					best, _ := m.Get("best_ever")
					require.Greater(t, best, 6.)
					require.Less(t, best, 9.)
					n, _ := m.Get("failed")
					failed += n
				}
				require.Greater(t, failed, 20., "%s: of 60 two thirds, about", name)
				require.Less(t, failed, 56.)
				s, err := e.Snapshot(t.Context())
				require.NoError(t, err)
				var all bytes.Buffer
				for _, leaf := range slices.Sorted(maps.Keys(s.Arrays)) {
					v, err := graph.Floats(s.Arrays[leaf])
					require.NoError(t, err)
					fmt.Fprintln(&all, leaf, v)
				}
				require.NoError(t, e.Close())
				if states = append(states, all.Bytes()); i == 1 {
					require.Equal(t, string(states[0]), string(states[1]), "%s, drawn again: %v", name, redraw)
				}
			}
		}
	}
}

// broken is a lottery with a registered name. Its state has two leaves; what of a step is not finite depends on bad.
type broken struct {
	id  string
	bad string // "reward", "state", "most": the reward of most members
}

type brokenState struct{ Luck, Speed *graph.Array }

func (b broken) Spec() envs.Spec {
	s := lottery{}.Spec()
	s.ID, s.RewardThreshold = b.id, -100
	return s
}
func (broken) DefaultParams() graph.None { return graph.None{} }
func (b broken) Reset(key random.Key, p graph.None) (brokenState, *graph.Array) {
	s := brokenState{random.Uniform(key, graph.ShapeOf(graph.Float32), 0, 9), graph.Scalar(math.Inf(1))}
	return s, b.Observe(s, p)
}
func (broken) Observe(s brokenState, p graph.None) *graph.Array { return lottery{}.Observe(nil, p) }
func (b broken) Step(_ random.Key, s brokenState, _ *graph.Array,
	p graph.None) (next brokenState, obs, reward, terminated, truncated *graph.Array) {
	reward = s.Luck
	switch b.bad {
	case "reward":
		reward = graph.Scalar(math.NaN())
	case "most":
		reward = graph.Select(s.Luck.Lt(6), math.NaN(), s.Luck)
	case "state": // in step 2; the reward follows in step 3
		reward = s.Luck
		s.Luck = graph.Select(s.Speed.IsFinite(), math.NaN(), s.Luck)
		s.Speed = graph.Scalar(1)
	}
	return s, b.Observe(s, p), reward, envs.False(), envs.False()
}

func init() {
	envs.MustRegister(broken{"BrokenReward-v0", "reward"})
	envs.MustRegister(broken{"BrokenState-v0", "state"})
	envs.MustRegister(broken{"BrokenForMost-v0", "most"})
}

// A mean over a few members is no success: a reward that was NaN for most members once ended runs as solved in
// generation 1. If all members fail, the run fails, with the member, the step and the leaf.
func TestFailedMembersSolveNothing(t *testing.T) {
	for _, c := range []struct {
		number    int
		env, want string // of the error; "": some members have results
		restarts  string
	}{
		{1, "BrokenForMost-v0", "", RestartsNone},
		{2, "BrokenReward-v0", "all 8 members failed, since none has a finite return; member 0: in step 1 the reward " +
			"is NaN. Mend the environment", RestartsNone},
		{3, "BrokenState-v0", "member 0: in step 2 Luck of the state is NaN", RestartsNone},
		{4, "BrokenReward-v0", "in step 1 the reward is NaN", RestartsIPOP},
	} {
		config := DefaultConfig()
		config.Env, config.Policy, config.Population, config.Steps, config.Restarts = c.env, "linear", 8, 5, c.restarts
		r, err := config.Start(t.Context(), &xlabridge.Reference{})
		require.NoError(t, err)
		m, err := r.Step(t.Context())
		require.NoError(t, err)
		require.False(t, m.Done, "case %d", c.number)
		require.Positive(t, of(t, m, "failed_members"), "case %d", c.number)
		if c.want == "" {
			require.Greater(t, of(t, m, "mean_fitness"), -100.)
			require.Nil(t, m.Failed)
			require.Contains(t, r.Describe().Ending(m), "of the 8 members of the last generation failed")
		} else {
			require.ErrorContains(t, m.Failed(t.Context()), c.want, "case %d", c.number)
		}
		require.NoError(t, r.Close())
	}
}

// fuse is an environment whose reward is NaN or infinite in one step, which the episode draws. In half of the episodes
// it is always finite.
type fuse struct{ lottery }

func (fuse) Step(_ random.Key, s, _ *graph.Array,
	p graph.None) (next, obs, reward, terminated, truncated *graph.Array) {
	at, time := s.Floor(), s.Sub(s.Floor())
	time = time.Add(1. / 16)
	blown := time.Mul(16).Eq(at)
	reward = graph.Select(blown, graph.Select(at.Eq(2), math.NaN(), math.Inf(-1)), 1.)
	return at.Add(time), lottery{}.Observe(s, p), reward, envs.False(), envs.False()
}
func (f fuse) Reset(key random.Key, p graph.None) (state, obs *graph.Array) {
	return random.Uniform(key, graph.ShapeOf(graph.Float32), 1, 11).Floor(), lottery{}.Observe(nil, p)
}

// The row of a generation names the first member that failed, and its step; other rows have neither. 1: one episode a
// member; 2: the first of three episodes that failed; 3: regenerated draws; 4: padded tiles.
func TestWhichMemberFailed(t *testing.T) {
	for number, c := range []struct {
		episodes int
		redraw   bool
		tile     int
	}{1: {1, false, 4}, 2: {3, false, 4}, 3: {1, true, 4}, 4: {1, false, 6}} {
		if number == 0 {
			continue
		}
		config := DefaultConfig()
		config.Policy, config.Population, config.Steps, config.Tile, config.Episodes = "linear", 8, 5, c.tile,
			c.episodes
		x, err := config.setup(plan.Machine{Devices: 1})
		require.NoError(t, err)
		x.Rollout.Env, x.Regenerate = envs.Erase(fuse{}), c.redraw
		e, err := config.build(&xlabridge.Reference{}, x, plan.Choice{})
		require.NoError(t, err)
		with := 0
		for g := range 12 {
			before, err := e.Snapshot(t.Context())
			require.NoError(t, err)
			m, err := e.Step(t.Context())
			require.NoError(t, err)
			play := random.FoldIn(random.Key{Data: before.Arrays["key.data"]}, 2*g+1)
			member, step := -1, 0.
			for i := 7; i >= 0; i-- {
				for episode := c.episodes - 1; episode >= 0; episode-- {
					key := random.FoldIn(play, i)
					if c.episodes > 1 {
						key = random.FoldIn(key, episode)
					}
					drawn, _ := fuse{}.Reset(random.FoldIn(key, 0), graph.None{})
					if at, err := graph.Float(drawn); err == nil && at <= 5 {
						member, step = i, at
					}
				}
			}
			failed, _ := m.Get("failed")
			require.Equal(t, failed > 0, member >= 0, "case %d", number)
			if member < 0 {
				_, ok := m.Get("failed_member")
				require.False(t, ok)
				continue
			}
			with++
			for name, want := range map[string]float64{"failed_generation": float64(g + 1),
				"failed_member": float64(member), "failed_step": step} {
				got, ok := m.Get(name)
				require.True(t, ok)
				require.Equal(t, want, got, "case %d, generation %d: %s", number, g+1, name)
			}
		}
		require.Positive(t, with)
		require.NoError(t, e.Close())
	}
}

// Members with infinite potentials fail like others, and the row says which and when. Their reports are left out of the
// means.
func TestMembersWhosePotentialsDivergeFail(t *testing.T) {
	for _, x := range []struct {
		number int
		sigma  float64 // of the genes
		fail   bool
	}{{1, .1, false}, {2, 1e38, true}} {
		c := DefaultConfig().With("strategy.sigma", x.sigma).With("policy.gain", 4).With("policy.rate", 1000)
		c.Env, c.Policy, c.Population, c.Steps = "Pendulum-v1", "spiking:7,5", 8, 8
		m := steps(t, start(t, &xlabridge.Reference{}, c), 1)[0]
		require.Equal(t, x.fail, of(t, m, "failed") > 0, "case %d", x.number)
		if step, ok := m.Get("failed_step"); x.fail {
			require.True(t, ok && step >= 1 && step <= 8, "case %d: step %g", x.number, step)
		}
	}
}
