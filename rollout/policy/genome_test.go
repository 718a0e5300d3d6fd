package policy

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/envs"
	"xlarun/graph"
	"xlarun/graph/random"
	"xlarun/rollout/settings"
)

// A policy has genomes exactly if its settings say so.
func TestGenomePolicies(t *testing.T) {
	require.Subset(t, GenomePolicies(), []string{"genome", "hyperneat", "multispatial"})
	for _, name := range Names() {
		p, _, err := Make(name, nil, twoSheets(), envs.Discrete{N: 2})
		if err != nil {
			require.NotContains(t, GenomePolicies(), name)
			continue // those that need a file or an image
		}
		require.Equal(t, slices.Contains(GenomePolicies(), name), p.Traits().Genotype != nil, name)
	}
}

// Genomes are drawn and have sizes, also those of hyperneat and with normalized observations; other members
// have neither.
func TestDrawingAndSizes(t *testing.T) {
	box, action := envs.Box{Dims: []int{3}, Low: []float64{-1}, High: []float64{1}, DType: graph.Float32},
		envs.Discrete{N: 2}
	for _, spec := range []string{"genome", "hyperneat:4", "mlp:4"} {
		values := settings.Values{}
		if spec != "mlp:4" {
			values = settings.Values{"nodes": 11, "connections": 12}
		}
		for _, normalized := range []bool{false, true} {
			var p Policy
			var err error
			if normalized {
				p, _, err = MakeNormalizing(spec, values, box, action)
			} else {
				p, _, err = Make(spec, values, box, action)
			}
			require.NoError(t, err)
			params, err := graph.Eval(p.Init(random.New(0)))
			require.NoError(t, err)
			traits := p.Traits()
			if spec == "mlp:4" {
				require.Nil(t, traits.Drawing)
				require.Nil(t, traits.Sizes)
				continue
			}
			svg, err := traits.Drawing(params)
			require.NoError(t, err)
			require.Contains(t, string(svg), "<svg")
			require.Equal(t, values, traits.Sizes(params))
		}
	}
}
