package stablehlo_test

import (
	"fmt"
	"slices"
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

// notTaken are the functions that are refused, with the reason.
var notTaken = map[string]string{
	"jax.lax.approx_max_k":             `calls of "ApproxTopK" are not known here`,
	"jax.numpy.linalg.eigvals":         `calls of "lapack_sgeev_ffi" are not known here`,
	"jax.lax.linalg.tridiagonal_solve": `calls of "lapack_sgtsv_ffi" are not known here`,
}

// loops are functions whose derivative is a rule of JAX that the file does not hold: what it holds is a while loop.
var loops = []string{"jax.lax.igamma", "jax.lax.igammac", "jax.scipy.special.expi", "jax.scipy.special.exp1",
	"jax.scipy.special.expn", "jax.scipy.special.hyp1f1", "jax.scipy.sparse.linalg.cg", "jax.scipy.sparse.linalg.gmres"}

// otherGradients are functions whose gradient is not JAX's: of the first two the file holds the bits that they read, of
// the other one a branch that is not selected and that is not finite.
var otherGradients = []string{"jax.numpy.frexp", "jax.numpy.ldexp", "jax.scipy.special.fresnel"}

// The public functions that jax_export_functions.py lists have JAX's values and gradients. So have the programs of
// their gradients, and what Program.Export writes of them. The short form takes one of twenty.
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
			b := &xlabridge.Reference{}
			values := func(f *stablehlo.Function, in []*graph.Array) []*graph.Array {
				out, err := xlabridge.Jit1(b, func(in []*graph.Array) []*graph.Array { return f.Call(in...) })(in)
				require.NoError(t, err)
				return out
			}
			equal(t, c.Outputs, values(f, arrays(c.Inputs)), 2e-5)
			g, err := again(t, f.Inputs(), func(in []*graph.Array) []*graph.Array { return f.Call(in...) })
			require.NoError(t, err)
			equal(t, c.Outputs, values(g, arrays(c.Inputs)), 2e-5)
			if c.Gradients == nil || slices.Contains(otherGradients, c.Name) {
				return
			}
			var free []*graph.Array
			for _, i := range c.floats() {
				free = append(free, array(c.Inputs[i]))
			}
			if c.Gradient != "" {
				g, err := stablehlo.Parse("gradient.mlir", c.Gradient)
				require.NoError(t, err)
				equal(t, c.Gradients, values(g, free), 1e-4)
			}
			out, err := xlabridge.Jit1(b, func(in []*graph.Array) []*graph.Array {
				return c.gradients(f, in)
			})(arrays(c.Inputs))
			if slices.Contains(loops, c.Name) {
				require.ErrorContains(t, err, "reverse mode does not go through While")
				return
			}
			require.NoError(t, err)
			equal(t, c.Gradients, out, 1e-4)
		})
	}
}
