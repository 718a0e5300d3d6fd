package policy

import (
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/envs"
	"xlarun/graph"
	"xlarun/graph/random"
)

// The action of a Sampling is a draw of the distribution with the second of two keys, or the most probable action, as
// the parameters say and else the policy.
func TestSampling(t *testing.T) {
	box := envs.Box{Low: []float64{-2, -3}, High: []float64{2, 1}, Dims: []int{2}, DType: graph.Float32}
	for name, space := range map[string]envs.Space{"discrete": envs.Discrete{N: 5},
		"multi-discrete": envs.MultiDiscrete{N: []int{3, 4}}, "box": box} {
		inner, head, err := Make("mlp:4", nil, box, space)
		require.NoError(t, err)
		d, err := StochasticOf(space)
		require.NoError(t, err)
		params := Distributed{Own: inner.Init(random.New(1)), Distribution: d.Start()}
		if name == "box" {
			params.Distribution = Deviations{graph.Float32s([]float32{.5, -1})}
		}
		x := graph.Float32s([]float32{.3, -.2})
		differ := 0
		for seed := range int64(20) {
			key := random.New(seed)
			keys := random.SplitN(key, 2)
			_, out := inner.Act(params.Own, graph.None{}, x, keys[0])
			want := map[string][]float64{Greedy: floats(t, head.Action(out.Action)), Sampled: floats(t, d.Action(
				d.Draw(params.Distribution, out.Action, d.Noise(keys[1]))))}
			for _, own := range []string{Greedy, Sampled} {
				s, err := NewSampling(inner, own, space)
				require.NoError(t, err)
				act := func(params any) []float64 {
					_, out := s.Act(params, s.Start(params), x, key)
					return floats(t, head.Action(out.Action))
				}
				require.Equal(t, want[own], act(params), name)
				require.Equal(t, want[Greedy], act(Acting(params, Greedy)), name)
				require.Equal(t, want[Sampled], act(Acting(params, Sampled)), name)
				require.Equal(t, want[own], act(s.Traits().Prepared.Prepare(params)), name)
			}
			if want[Greedy][0] != want[Sampled][0] {
				differ++
			}
		}
		require.Positive(t, differ, name)
	}
	_, err := NewSampling(nil, "soft", envs.Discrete{N: 2})
	require.ErrorContains(t, err, `actions: got "soft", want sampled or greedy`)
}
