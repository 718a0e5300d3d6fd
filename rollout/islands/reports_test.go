package islands

import (
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/envs"
	"xlarun/graph"
	"xlarun/graph/random"
	"xlarun/xlabridge"
)

// sums pays a random reward a step, and reports the sum of these and its half.
type sums struct{}

func init() { envs.MustRegister(sums{}) }

type sumsState struct{ Sum, Time *graph.Array }

func (sums) Spec() envs.Spec {
	return envs.Spec{ID: "Sums-v0", Observation: envs.Symmetric(9), Action: envs.Discrete{N: 2}, MaxSteps: 3,
		Reports: []string{"sum", "half"}}
}
func (sums) DefaultParams() graph.None { return graph.None{} }
func (e sums) Reset(_ random.Key, p graph.None) (sumsState, *graph.Array) {
	s := sumsState{graph.Scalar(0), envs.Steps(0)}
	return s, e.Observe(s, p)
}
func (sums) Observe(s sumsState, _ graph.None) *graph.Array { return s.Sum.Reshape(1) }
func (e sums) Step(key random.Key, s sumsState, _ *graph.Array,
	p graph.None) (next sumsState, obs, reward, terminated, truncated *graph.Array) {
	reward = random.Uniform(key, graph.ShapeOf(graph.Float32), 0, 1)
	next.Sum = s.Sum.Add(reward)
	next.Time, truncated = envs.Tick(s.Time, envs.Steps(3))
	return next, e.Observe(next, p), reward, envs.False(), truncated
}
func (sums) Report(s sumsState, _ graph.None) *graph.Array {
	return graph.Stack([]*graph.Array{s.Sum, s.Sum.Div(2)}, 0)
}

// What an environment reports is a metric of islands, too: the mean over the members of all islands.
func TestReportsOfAnEnvironment(t *testing.T) {
	c := smallIslands("openes")
	c.Env, c.Steps, c.Population, c.Tile, c.Islands = "Sums-v0", 3, 4, 0, 3
	c.Migrants = 1
	require.Subset(t, c.Measures(), []string{"sum", "half"})
	all, _ := advance(t, archipelago(t, &xlabridge.Reference{}, c), 1)
	require.InDelta(t, all[0].Number("mean_fitness"), all[0].Number("sum"), 1e-5)
	require.InDelta(t, all[0].Number("mean_fitness")/2, all[0].Number("half"), 1e-5)
}
