package all_test

import (
	"iter"
	"maps"
	"slices"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/envs"
	"xlarun/graph"
	"xlarun/graph/random"
	"xlarun/internal/long"
	"xlarun/rollout/episode"
	"xlarun/rollout/settings"
	"xlarun/xlabridge"
	"xlarun/xlabridge/xlatest"
)

// eventful are parameters with which random play meets everything that other parameters are about, where one episode
// with the defaults is not enough.
var eventful = map[string][]settings.Pairs{
	"Acrobot-v1":  {{"torque": "30"}},
	"CartPole-v1": {nil, {"theta-threshold": "9"}},
	// The poles may turn, so that the cart goes on to the end of its track.
	"DoublePole-v1":           {nil, {"theta-threshold": "900"}},
	"DoublePoleVelocities-v1": {nil, {"theta-threshold": "900"}},
	"Freeway-MinAtar-v1":      {{"max-steps": "300"}},
	"Gather-v1":               {{"hazards": "0.2", "decoys": "0.2", "walls": "0.05"}},
	// An angle ends its episodes: then the height, a positive angle or a speed does.
	"Hopper-v5": {nil, {"healthy-angle-min": "-9", "healthy-angle-max": "9", "healthy-z-max": "1.3"},
		{"healthy-z-max": "1.2"}, {"healthy-angle-max": "-0.1"},
		{"healthy-state-min": "-2"}, {"healthy-state-max": "2"}, {"healthy-state-max": "4"}},
	// Without engines it falls: once too fast, onto a wide pad and beside a narrow one.
	"Lander-v1": {nil, {"thrust": "0", "push": "0", "pad": "2", "safe": "0.03"},
		{"thrust": "0", "push": "0", "pad": "2", "safe": "0.05"},
		{"thrust": "0", "push": "0", "pad": "0.001", "safe": "1"}},
	"MountainCar-v0":           {{"force": "0.02", "gravity": "0.001"}},
	"MountainCarContinuous-v0": {{"power": "0.02", "gravity": "0.001"}},
	"PointRobot-misc-v1":       {nil, {"goal-radius": "1.5"}},
	"Pong-misc-v1":             {nil, {"max-ball-speed": "0"}, {"max-ball-speed": "1"}},
	"TMaze-v1":                 {{"length": "3"}},
	"Walker2d-v5": {nil, {"healthy-angle-min": "-9", "healthy-angle-max": "9", "healthy-z-max": "1.3"},
		{"healthy-z-max": "1.2"}, {"healthy-angle-max": "-0.1"}},
}

// exceptions are parameters, by task, that change nothing in an episode of random play: "engine smaller", as engines
// differ in margins and free joints only; "factors larger", as the factors of a body are 1 unless they are given, where
// sums of a body that has factors are rounded alike; and "terminate-when-unhealthy smaller", as half of it is on, too.
var exceptions = map[string][]string{
	"HalfCheetah-v5":            {"engine smaller"},
	"Hopper-v5":                 {"terminate-when-unhealthy smaller"},
	"InvertedDoublePendulum-v5": {"engine smaller", "factors larger"},
	"InvertedPendulum-v5":       {"engine smaller"},
	"Pusher-v5":                 {"engine smaller"},
	"Reacher-v5":                {"engine smaller"},
	"Swimmer-v5":                {"engine smaller"},
	"Walker2d-v5":               {"engine smaller", "terminate-when-unhealthy smaller"},
}

// Each parameter of each registered environment is read when an episode starts or in a step, and each size changes
// what is traced, whether larger or smaller; other values are refused. A width of 26 was accepted by Gather-v1 and
// meant 16.
func TestEveryParameterIsRead(t *testing.T) {
	for _, id := range interpreted() {
		env, err := envs.Make(id)
		require.NoError(t, err)
		params, err := episode.Params(env)
		require.NoError(t, err)
		text, reads := traced(t, env)
		for _, p := range params {
			// MuJoCo's engines differ in margins and free joints only, omni in what describes an episode, and substeps
			// are a number in a tape, an input: see xlarun/envs/mujoco.
			if p.Name == "engine" || p.Name == "frame-skip" || p.Name == "omni" {
				continue
			}
			for name, pairs := range otherValues(t, env, p, nil) {
				sized, given, err := episode.ReadEnvParams(env, pairs)
				require.NoError(t, err)
				was, _ := envs.SizeOf(env, p.Name)
				if is, _ := envs.SizeOf(sized, p.Name); is != was {
					other, _ := traced(t, sized)
					require.NotEqual(t, text, other, "%s: %s", id, name)
					continue
				}
				changed, _ := (&episode.Rollout{Env: sized, Given: given}).ParamsOf(random.New(0))
				some := false
				leaves := graph.Leaves(env.DefaultParams())
				for i, leaf := range graph.Leaves(changed) {
					some = some || reads[i] && leaf.String() != leaves[i].String()
				}
				require.True(t, some, "%s: %s changes nothing that is read", id, name)
			}
		}
	}
}

// traced returns the trace of a start and a step of an environment, and which leaves of its parameters they read.
func traced(t *testing.T, env envs.Environment) (text string, reads []bool) {
	t.Helper()
	p, err := graph.Trace("step", func(params any) []any {
		key := random.New(1)
		state, first := env.Reset(key, params)
		next, obs, reward, terminated, truncated := env.Step(key, state, env.Spec().Action.Sample(key), params)
		return []any{first, next, obs, reward, terminated, truncated}
	}, env.DefaultParams())
	require.NoError(t, err)
	for _, param := range p.Graph.Params {
		reads = append(reads, slices.ContainsFunc(p.Graph.Nodes, func(n *graph.Node) bool {
			return slices.Contains(n.Inputs, param)
		}))
	}
	return p.Graph.String(), reads
}

// sampled are the environments whose episodes the short form of TestEveryParameterMatters plays.
var sampled = []string{"CartPole-v1", "Freeway-MinAtar-v1", "UmbrellaChain-bsuite-v1"}

// Each parameter of each registered environment but those of tens of thousands of ops, made larger and made smaller,
// changes an episode of random play, or is refused: in the short form of a few environments.
func TestEveryParameterMatters(t *testing.T) {
	require.Subset(t, mechanical, slices.Collect(maps.Keys(exceptions)), "tasks that the long form plays")
	b := xlatest.OpenCPU(t, 0)
	for _, id := range envs.IDs() {
		if !long.On() && !slices.Contains(sampled, id) {
			continue
		}
		if slices.Contains(crawling, id) { // TestEveryParameterIsRead has them
			continue
		}
		env, err := envs.Make(id)
		require.NoError(t, err)
		params, err := episode.Params(env)
		require.NoError(t, err)
		bases := eventful[id]
		if bases == nil {
			bases = []settings.Pairs{nil}
		}
		changed := map[string]bool{} // "width larger": whether an episode changed
		for _, base := range bases {
			together := []settings.Pairs{base} // played by one program, the unchanged episode first
			names := []string{""}
			for _, p := range params {
				for name, pairs := range otherValues(t, env, p, base) {
					changed[name] = changed[name] || false
					sized, _, err := episode.ReadEnvParams(env, pairs)
					require.NoError(t, err)
					was, _ := envs.SizeOf(env, p.Name)
					if is, _ := envs.SizeOf(sized, p.Name); is != was {
						if !changed[name] { // a program of its own
							got, want := played(t, b, sized, pairs), played(t, b, env, base)
							changed[name] = !slices.Equal(got[0], want[0])
						}
						continue
					}
					together, names = append(together, pairs), append(names, name)
				}
			}
			if len(params) == 0 {
				continue
			}
			episodes := played(t, b, env, together...)
			for i, name := range names[1:] {
				changed[name] = changed[name] || !slices.Equal(episodes[i+1], episodes[0])
			}
		}
		for name, ok := range changed {
			if !ok && !slices.Contains(exceptions[id], name) {
				t.Errorf("%s: %s changes nothing", id, name)
			}
		}
		for _, name := range exceptions[id] {
			if ok, has := changed[name]; ok || !has {
				t.Errorf("%s: %s is no exception: it changes an episode, or there is no such parameter", id, name)
			}
		}
	}
}

// otherValues returns values of a parameter that the environment accepts, beside the parameters of base. A name is
// "width larger" or "width smaller".
func otherValues(t *testing.T, env envs.Environment, p episode.Param, base settings.Pairs) iter.Seq2[string,
	settings.Pairs] {
	t.Helper()
	text, ok := base[p.Name]
	if !ok {
		text = p.Default
	}
	x, err := strconv.ParseFloat(text, 64)
	require.NoError(t, err)
	return func(yield func(string, settings.Pairs) bool) {
		accepted := false
		for _, other := range []float64{x * 2, x / 2, x + 2, x - 2, x + .5, x - .5, x - 1, x + 1} {
			if other == x-1 && accepted { // engines, and parts of observations
				break
			}
			pairs := base.With(p.Name, strconv.FormatFloat(other, 'g', -1, 64))
			if _, _, err := episode.ReadEnvParams(env, pairs); err != nil || other == x {
				continue
			}
			accepted = true
			name := p.Name + " smaller"
			if other > x {
				name = p.Name + " larger"
			}
			if !yield(name, pairs) {
				return
			}
		}
		require.True(t, accepted, "%s accepts no other value of %s", env.Spec().ID, p.Name)
	}
}

// played returns weighted sums of observations, rewards and ends of an episode for each of several parameters.
func played(t *testing.T, b xlabridge.Backend, env envs.Environment, given ...settings.Pairs) (episodes [][]float64) {
	t.Helper()
	var each []any
	for _, pairs := range given {
		sized, params, err := episode.ReadEnvParams(env, pairs)
		require.NoError(t, err)
		p, _ := (&episode.Rollout{Env: sized, Given: params}).ParamsOf(random.New(0))
		each = append(each, p)
	}
	leaves, tree := graph.Flatten(each[0])
	for i := range leaves {
		var column []*graph.Array
		for _, p := range each {
			column = append(column, graph.Leaves(p)[i])
		}
		leaves[i] = graph.Stack(column, 0)
	}
	spec := env.Spec()
	sum := func(a *graph.Array) *graph.Array { // weighted, so that elements that change places are noticed
		weights := graph.Iota(a.Size()).Add(1).Convert(graph.Float32).Sin()
		return graph.Flatten1D(a).Convert(graph.Float32).Mul(weights).Sum()
	}
	out, err := xlabridge.Jit(b, graph.VMap(func(params any) *graph.Array {
		state, obs := env.Reset(random.New(1), params)
		_, steps := graph.Scan(func(state any, i *graph.Array) (any, *graph.Array) {
			act, step := random.Split2(random.FoldIn(random.New(2), i))
			next, obs, reward, terminated, truncated := env.Step(step, state, spec.Action.Sample(act), params)
			return next, graph.Stack([]*graph.Array{sum(obs), reward, sum(terminated), sum(truncated)}, 0)
		}, state, graph.Iota(min(spec.MaxSteps+3, 1200)))
		return graph.Concatenate(0, sum(obs).Reshape(1), graph.Flatten1D(steps))
	}))(tree.Unflatten(leaves))
	require.NoError(t, err, spec.ID)
	for i := range given {
		v, err := graph.Floats(out.Index(i))
		require.NoError(t, err)
		episodes = append(episodes, v)
	}
	return episodes
}

// A parameter that a size of 1 adds is listed with it, and asked for without it is refused by that size.
func TestAddedParams(t *testing.T) {
	env, err := envs.Make("Hopper-v5")
	require.NoError(t, err)
	added, err := episode.Added(env)
	require.NoError(t, err)
	names := ""
	for _, p := range added {
		names += p.Name + " with " + p.With + ", "
	}
	require.Equal(t, "friction-factor with factors=1, mass-factor with factors=1, gear-factor with factors=1, "+
		"gravity-factor with factors=1, ", names)
	_, _, err = episode.ReadEnvParams(env, settings.Pairs{"friction-factor": "0.5"})
	require.EqualError(t, err, "env-param: got \"friction-factor=0.5\", want factors=1 beside it: Hopper-v5 has "+
		"friction-factor only with that")
	_, _, err = episode.ReadEnvParams(env, settings.Pairs{"frame-skip": "2.5"})
	require.ErrorContains(t, err, "got \"frame-skip=2.5\", want a whole number from 1 to 1000 for frame-skip of")
	_, _, err = episode.ReadEnvParams(env, settings.Pairs{"friction-factor": "0.001", "factors": "1"})
	require.ErrorContains(t, err, "want a number from 0.01 on")
}
