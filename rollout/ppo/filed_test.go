package ppo

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/graph"
	"xlarun/graph/graphtest"
	"xlarun/graph/nn"
	"xlarun/graph/nn/nir"
	"xlarun/graph/random"
	"xlarun/rollout/policy"
	"xlarun/rollout/settings"
)

// The actor of a policy of a file has the file's numbers, its critic all except those of the values. The first weights
// are not drawn again, and a file whose outputs are not the actions is refused.
func TestPolicyOfAFile(t *testing.T) {
	write := func(outputs int) string {
		g, err := nir.FromLayers(nir.Scale{DT: 1e-3}, nn.NewDense(random.New(1), 8, 5), nn.NewLIF(random.New(2), 5,
			nn.Decay(.9)), nn.NewDense(random.New(3), 5, outputs), nn.NewLI(outputs))
		require.NoError(t, err)
		file := filepath.Join(t.TempDir(), "network.nir")
		require.NoError(t, g.WriteFile(file))
		return file
	}
	c := DefaultConfig()
	c.EvalEnvs = 0
	c.Env, c.Policy, c.Init = "CartPole-v1", "nir:"+write(2), "policy"
	_, want, _, err := policy.ReadNIR(c.Policy[len("nir:"):])
	require.NoError(t, err)
	floats := func(a *graph.Array) []float64 { return graphtest.Floats(t, a) }
	for _, shared := range []bool{false, true} {
		c.Shared = shared
		g, err := c.program()
		require.NoError(t, err)
		p := g.network.init(random.New(1))
		networks := []any{p.Actor, p.Critic}
		if shared {
			networks = networks[:1]
		}
		for i, of := range networks {
			layers := of.(policy.NIRParams).Layers
			require.Equal(t, floats(want.Layers[0].W), floats(layers[0].W))
			require.Equal(t, floats(want.Layers[1].Membrane), floats(layers[1].Membrane))
			require.Equal(t, []int{5, 2 - i + map[bool]int{true: 1}[shared]}, layers[2].W.Dims())
			if i == 0 {
				require.Equal(t, floats(want.Layers[2].W), floats(graph.SliceAxis(layers[2].W, 1, 0, 2)))
			}
		}
	}
	c.Init = "orthogonal"
	_, err = c.program()
	require.ErrorContains(t, err, `init: got "orthogonal", want policy: the first weights of nir:`)
	require.IsType(t, &settings.Error{}, err)
	c.Init, c.Policy = "policy", "nir:"+write(3)
	_, err = c.program()
	require.ErrorContains(t, err, "want a network of 2 outputs, which the actions take; this one has 3")
}
