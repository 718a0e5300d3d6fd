package all

import (
	"slices"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/envs"
	"xlarun/graph"
	"xlarun/graph/random"
	"xlarun/rollout/episode"
	"xlarun/rollout/settings"
	"xlarun/xlabridge"
	"xlarun/xlabridge/xlatest"
)

// eventful are parameters with which random play meets everything that other parameters are about.
var eventful = map[string]settings.Pairs{
	"Gather-v1":                {"hazards": "0.2", "decoys": "0.2", "walls": "0.05"},
	"MountainCar-v0":           {"force": "0.02", "gravity": "0.001"},
	"MountainCarContinuous-v0": {"power": "0.02", "gravity": "0.001"},
	"TMaze-v1":                 {"length": "3"},
}

// Each parameter of each registered environment, made larger and made smaller, changes an episode of random play, or is
// refused. A width of 26 was accepted by Gather-v1 and meant 16.
func TestEveryParameterMatters(t *testing.T) {
	b, err := xlabridge.Open(t.Context(), xlabridge.Options{CacheDir: xlatest.CacheDir(t), Backend: "cpu"})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, b.Close()) })
	for _, id := range envs.IDs() {
		env, err := envs.Make(id)
		require.NoError(t, err)
		params, err := episode.Params(env)
		require.NoError(t, err)
		if len(params) == 0 {
			continue
		}
		base := eventful[id]
		together := []settings.Pairs{base} // played by one program, the unchanged episode first
		changed := map[string]bool{}       // "width larger": whether an episode changed
		names := map[int]string{}          // of the elements of together
		for _, p := range params {
			text, ok := base[p.Name]
			if !ok {
				text = p.Default
			}
			x, err := strconv.ParseFloat(text, 64)
			require.NoError(t, err)
			for _, other := range []float64{x * 2, x / 2, x + 2, x - 2, x + .5, x - .5} {
				pairs := base.With(p.Name, strconv.FormatFloat(other, 'g', -1, 64))
				sized, _, err := episode.ReadEnvParams(env, pairs)
				if err != nil || other == x {
					continue
				}
				name := p.Name + " smaller"
				if other > x {
					name = p.Name + " larger"
				}
				changed[name] = changed[name] || false
				if size, ok := envs.SizeOf(sized, p.Name); ok && size.Value != must(envs.SizeOf(env, p.Name)).Value {
					got, want := played(t, b, sized, pairs), played(t, b, env, base)
					changed[name] = changed[name] || !slices.Equal(got[0], want[0])
					continue
				}
				names[len(together)] = name
				together = append(together, pairs)
			}
			require.True(t, len(changed) > 0, "%s accepts no other value of %s", id, p.Name)
		}
		episodes := played(t, b, env, together...)
		for i, name := range names {
			changed[name] = changed[name] || !slices.Equal(episodes[i], episodes[0])
		}
		for name, ok := range changed {
			if !ok {
				t.Errorf("%s: %s changes nothing", id, name)
			}
		}
	}
}

func must[T any](x T, _ bool) T { return x }

// played returns sums of observations, rewards and ends of an episode for each of several parameters.
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
	sum := func(a *graph.Array) *graph.Array { return a.Convert(graph.Float32).Sum() }
	out, err := xlabridge.Jit1(b, graph.VMap(func(params any) *graph.Array {
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
