package stablehlo_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/graph"
	"xlarun/graph/stablehlo"
	"xlarun/internal/long"
	"xlarun/third_party/oracles"
	"xlarun/xlabridge"
)

// publicFunction is a public function of JAX's libraries, with the program of its gradient.
type publicFunction struct {
	exported
	Gradient string
	number   int
}

// notTaken are the functions that cannot be read, with the reason.
var notTaken = map[string]string{}

// noGradient are the functions that have values here and no gradients, with the reason.
var noGradient = map[string]string{}

// loose are functions with a larger tolerance, with the reason.
var loose = map[string]float64{}

// The public functions that jax_export_functions.py lists have JAX's values and gradients. So have the programs of
// their gradients. The short form takes one of twenty.
func TestFunctionsOfJAX(t *testing.T) {
	var file struct{ Cases []publicFunction }
	require.NoError(t, oracles.Read("testdata/jax_export_functions.json.gz", &file))
	require.Len(t, file.Cases, 485)
	for i := range file.Cases {
		file.Cases[i].number = i
	}
	for _, c := range long.Sample(file.Cases, func(c publicFunction) string {
		return fmt.Sprint(c.number / 20)
	}) {
		t.Run(c.Name, func(t *testing.T) {
			f, err := stablehlo.Parse("f.mlir", c.Text)
			if why := notTaken[c.Name]; why != "" {
				require.ErrorContains(t, err, why)
				return
			}
			require.NoError(t, err)
			within := max(2e-5, loose[c.Name])
			b := &xlabridge.Reference{}
			values := func(f *stablehlo.Function, in []*graph.Array) []*graph.Array {
				out, err := xlabridge.Jit1(b, func(in []*graph.Array) []*graph.Array { return f.Call(in...) })(in)
				require.NoError(t, err)
				return out
			}
			equal(t, c.Outputs, values(f, arrays(c.Inputs)), within)
			if c.Gradients == nil {
				return
			}
			var free []*graph.Array
			for _, i := range c.floats() {
				free = append(free, array(c.Inputs[i]))
			}
			if c.Gradient != "" {
				g, err := stablehlo.Parse("gradient.mlir", c.Gradient)
				require.NoError(t, err)
				equal(t, c.Gradients, values(g, free), 5*within)
			}
			out, err := xlabridge.Jit1(b, func(in []*graph.Array) []*graph.Array {
				return c.gradients(f, in)
			})(arrays(c.Inputs))
			if why := noGradient[c.Name]; why != "" {
				require.ErrorContains(t, err, why)
				return
			}
			require.NoError(t, err)
			equal(t, c.Gradients, out, 5*within)
		})
	}
}
