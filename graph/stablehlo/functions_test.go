package stablehlo_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/graph"
	"xlarun/graph/stablehlo"
	"xlarun/third_party/oracles"
	"xlarun/xlabridge"
)

// aFunction is a public function of JAX's libraries, with the program of its gradient.
type aFunction struct {
	exported
	Gradient string
}

func functions(t testing.TB) []aFunction {
	t.Helper()
	var file struct{ Cases []aFunction }
	require.NoError(t, oracles.Read("testdata/jax_export_functions.json.gz", &file))
	return file.Cases
}

// The public functions that jax_export_functions.py lists have JAX's values and gradients. So have the programs of
// their gradients.
func TestFunctionsOfJAX(t *testing.T) {
	for _, c := range functions(t) {
		t.Run(c.Name, func(t *testing.T) {
			f, err := stablehlo.Parse("f.mlir", c.Text)
			require.NoError(t, err)
			type results struct{ Values, Gradients []*graph.Array }
			b := &xlabridge.Reference{}
			out, err := xlabridge.Jit1(b, func(in []*graph.Array) results {
				return results{Values: f.Call(in...)}
			})(arrays(c.Inputs))
			require.NoError(t, err)
			equal(t, c.Outputs, out.Values, 2e-5)
			if c.Gradients == nil {
				return
			}
			g, err := stablehlo.Parse("g.mlir", c.Gradient)
			require.NoError(t, err, "gradient")
			var free []*graph.Array
			for _, i := range c.floats() {
				free = append(free, array(c.Inputs[i]))
			}
			values, err := xlabridge.Jit1(b, func(in []*graph.Array) []*graph.Array { return g.Call(in...) })(free)
			require.NoError(t, err)
			equal(t, c.Gradients, values, 1e-4)
			out, err = xlabridge.Jit1(b, func(in []*graph.Array) results {
				return results{Gradients: c.gradients(f, in)}
			})(arrays(c.Inputs))
			require.NoError(t, err)
			equal(t, c.Gradients, out.Gradients, 1e-4)
		})
	}
}

var _ = slices.Sort[[]int]
var _ = errors.New
