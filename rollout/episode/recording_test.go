package episode

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/envs/classic"
	"xlarun/graph"
	"xlarun/graph/random"
	"xlarun/internal/long"
	"xlarun/rollout/policy"
	"xlarun/xlabridge"
	"xlarun/xlabridge/xlatest"
)

// requireRecords compares a recording with an episode of the same key in a Go loop.
func requireRecords(t *testing.T, r *Rollout, params any, key random.Key, rec *Recording) {
	t.Helper()
	near := func(want, got any, what string, step int) {
		t.Helper()
		want, err := graph.Eval(want)
		require.NoError(t, err)
		leaves := graph.Leaves(got)
		for i, leaf := range graph.Leaves(want) {
			require.True(t, leaf.Shape().Equal(leaves[i].Shape()), "%s of step %d", what, step)
			require.InDeltaSlice(t, floats(t, leaf), floats(t, leaves[i]), 2e-3, "%s of step %d", what, step)
		}
	}
	p := r.envParams(key)
	state, observation := r.Env.Reset(random.FoldIn(key, 0), p)
	near(state, rec.State(0), "state", 0)
	carry := r.Policy.Start(params)
	sum := 0.
	for i := 1; ; i++ {
		next, out := r.Policy.Act(params, carry, observation, random.FoldIn(random.FoldIn(key, policyKey), i))
		action := r.Head.Action(out.Action)
		near(action, rec.Action(i), "action", i)
		after, obs, reward, terminated, truncated := r.Env.Step(random.FoldIn(key, i), state, action, p)
		near(after, rec.State(i), "state", i)
		near(reward, graph.Scalar(rec.Rewards[i-1]), "reward", i)
		sum += floats(t, reward)[0]
		require.InDelta(t, sum, rec.Return(i), 1e-2)
		ended := []bool{floats(t, terminated)[0] == 1, floats(t, truncated)[0] == 1}
		if ended[0] || ended[1] || i == r.Steps {
			require.Equal(t, i, rec.Length)
			require.Equal(t, ended, []bool{rec.Terminated, rec.Truncated})
			break
		}
		var err error
		carry, observation = next, obs
		state, err = graph.Eval(after)
		require.NoError(t, err)
		carry, err = graph.Eval(carry)
		require.NoError(t, err)
	}
	require.Zero(t, rec.Return(0))
	require.Len(t, rec.Rewards, rec.Length)
	require.Len(t, rec.Returns, rec.Length)
}

// A recording equals the episode of its key in a Go loop, state by state, and its return equals the episode's, compiled
// and interpreted. The short form compiles one of the environments.
func TestRecordIsALoop(t *testing.T) {
	cpu := xlatest.OpenCPU(t, 1)
	for _, c := range []struct {
		env, policy string
		steps       int
	}{{"CartPole-v1", "mlp:3", 60}, {"Pendulum-v1", "mlp:4", 12}, {"MountainCarContinuous-v0", "linear", 12},
		{"Acrobot-v1", "mlp:3", 1}} {
		t.Run(c.env, func(t *testing.T) {
			r := newRollout(t, c.env, c.policy, c.steps, 1)
			params, key := r.Policy.Init(random.New(1)), random.New(2)
			for _, b := range []xlabridge.Backend{cpu, &xlabridge.Reference{}} {
				if b == cpu && c.env != "CartPole-v1" && !long.On() {
					continue
				}
				rec, err := Record(b, r, params, key)
				require.NoError(t, err)
				requireRecords(t, r, params, key, rec)
				summary, err := graph.Eval(r.Episode(params, key))
				require.NoError(t, err)
				require.InDelta(t, floats(t, summary.Return)[0], rec.Return(rec.Length), 1e-3)
				require.Equal(t, floats(t, summary.Length)[0], float64(rec.Length))
			}
		})
	}
}

// An episode ends by the environment's limit, which may be the last step, or not at all.
func TestRecordingsEnd(t *testing.T) {
	for _, c := range []struct {
		steps, limit, length int
		truncated            bool
	}{{10, 4, 4, true}, {4, 4, 4, true}, {3, 4, 3, false}, {1, 1, 1, true}} {
		r := newRollout(t, "Pendulum-v1", "linear", c.steps, 1)
		p := classic.Pendulum{}.DefaultParams()
		p.MaxSteps = graph.Of(int32(c.limit))
		r.EnvParams = p
		rec, err := Record(&xlabridge.Reference{}, r, r.Policy.Init(random.New(1)), random.New(2))
		require.NoError(t, err)
		require.Equal(t, c.length, rec.Length)
		require.Equal(t, []bool{false, c.truncated}, []bool{rec.Terminated, rec.Truncated})
	}
	r := newRollout(t, "Pendulum-v1", "linear", 0, 1)
	_, err := Record(&xlabridge.Reference{}, r, r.Policy.Init(random.New(1)), random.New(2))
	require.ErrorContains(t, err, "a recording of 0 steps, want 1 or more")
}

// Policies with memory and draws are recorded, too. A plan for populations changes nothing.
func TestRecordCarriesAndDraws(t *testing.T) {
	r := newRollout(t, "Pendulum-v1", "linear", 9, 1)
	r.Policy = policy.Erase(drifter{})
	r.Plan.BatchLast, r.Plan.Unroll = true, 4
	params, err := graph.Eval(r.Policy.Init(random.New(0)))
	require.NoError(t, err)
	rec, err := Record(interpretedInShort(t), r, params, random.New(3))
	require.NoError(t, err)
	requireRecords(t, r, params, random.New(3), rec)
}

// interpretedInShort returns the interpreter, and XLA in the long form.
func interpretedInShort(t *testing.T) xlabridge.Backend {
	if long.On() {
		return xlatest.OpenCPU(t, 1)
	}
	return &xlabridge.Reference{}
}

// NaN is recorded: here the states after the first, and their rewards.
func TestRecordNaN(t *testing.T) {
	r := newRollout(t, "Pendulum-v1", "linear", 5, 1)
	p := classic.Pendulum{}.DefaultParams()
	p.Dt = graph.Scalar(math.NaN())
	r.EnvParams = p
	rec, err := Record(interpretedInShort(t), r, r.Policy.Init(random.New(1)), random.New(2))
	require.NoError(t, err)
	require.Equal(t, 5, rec.Length)
	require.False(t, math.IsNaN(rec.Return(1)))
	require.True(t, math.IsNaN(rec.Return(2)) && math.IsNaN(rec.Return(5)))
	require.False(t, math.IsNaN(floats(t, rec.State(0).(classic.PendulumState).Theta)[0]))
	require.True(t, math.IsNaN(floats(t, rec.State(1).(classic.PendulumState).Theta)[0]))
}

// In a long episode, each state leads to the next one.
func TestRecordLong(t *testing.T) {
	const steps = 5000
	r := newRollout(t, "Pendulum-v1", "mlp:4", steps, 1)
	p := classic.Pendulum{}.DefaultParams()
	p.MaxSteps = graph.Of(int32(steps))
	r.EnvParams = p
	rec, err := Record(xlatest.OpenCPU(t, 1), r, r.Policy.Init(random.New(1)), random.New(2))
	require.NoError(t, err)
	require.Equal(t, steps, rec.Length)
	for i := range steps + 1 {
		require.Equal(t, []float64{float64(i)}, floats(t, rec.State(i).(classic.PendulumState).Time))
	}
	for _, i := range []int{1, 2500, steps} {
		next, _, reward, _, _ := r.Env.Step(random.New(0), rec.State(i-1), rec.Action(i), p)
		require.InDelta(t, floats(t, next.(classic.PendulumState).Theta)[0],
			floats(t, rec.State(i).(classic.PendulumState).Theta)[0], 1e-4)
		require.InDelta(t, floats(t, reward)[0], rec.Rewards[i-1], 1e-4)
	}
}
