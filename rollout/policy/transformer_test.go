package policy

import (
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/envs"
	"xlarun/graph"
	"xlarun/graph/random"
	"xlarun/rollout/settings"
)

// The transformer step by step is a transformer over all steps at once: blocks of ApplyRotary.
func TestTransformerIsCausal(t *testing.T) {
	p, _, err := Make("transformer:8,2", settings.Values{"heads": "2", "memory": "6"}, observation, envs.Discrete{N: 3})
	require.NoError(t, err)
	params := p.Init(random.New(1)).(Transformer)
	x := random.Normal(random.New(2), graph.ShapeOf(graph.Float32, 6, 3))
	h := params.In.Apply(x)
	for _, b := range params.Blocks {
		h = h.Add(b.Attention.ApplyRotary(b.Seen.Apply(h)))
		h = h.Add(b.Down.Apply(graph.VMap(func(x *graph.Array) *graph.Array {
			y := b.Up.Apply(b.Mixed.Apply(x))
			return y.Mul(.5).Mul(y.Add(y.Mul(y).Mul(y).Mul(.044715)).Mul(.7978845608).Tanh().Add(1))
		})(h)))
	}
	want := params.Out.Apply(params.Norm.Apply(h))
	require.InDeltaSlice(t, floats(t, want), floats(t, outputs(p, params, x)), 1e-4)
}

func TestTransformerRefusals(t *testing.T) {
	for _, c := range []struct {
		description, spec string
		values            settings.Values
		want              string
	}{
		{"one size", "transformer:8", nil, "want the width and the number of blocks"},
		{"heads that do not divide", "transformer:12,1", nil, "want a multiple of 8"},
		{"no memory", "transformer:8,1", settings.Values{"memory": "0"}, "memory"},
	} {
		_, _, err := Make(c.spec, c.values, observation, envs.Discrete{N: 3})
		require.ErrorContains(t, err, c.want, c.description)
	}
}
