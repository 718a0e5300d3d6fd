package stablehlo_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
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

// notSupported are the functions that are refused, with the reason.
var notSupported = map[string]string{
	"jax.lax.approx_max_k":             `calls of "ApproxTopK" are not known here`,
	"jax.numpy.linalg.eigvals":         `calls of "lapack_sgeev_ffi" are not known here`,
	"jax.lax.linalg.tridiagonal_solve": `calls of "lapack_sgtsv_ffi" are not known here`,
}

// loops are functions whose derivative is a rule of JAX that the file does not hold: what it holds is a while loop.
var loops = []string{"jax.lax.igamma", "jax.lax.igammac", "jax.scipy.special.expi", "jax.scipy.special.exp1",
	"jax.scipy.special.expn", "jax.scipy.special.hyp1f1", "jax.scipy.sparse.linalg.cg", "jax.scipy.sparse.linalg.gmres"}

// otherGradients are functions whose gradient is not JAX's: it is 0, because the file holds the bits that they read.
var otherGradients = map[string]float64{"jax.numpy.frexp": 0, "jax.numpy.ldexp": 0}

// named is the name of a function that is an exception.
func (f publicFunction) named() string {
	if _, other := otherGradients[f.Name]; other || notSupported[f.Name] != "" || slices.Contains(loops, f.Name) {
		return f.Name
	}
	return ""
}

// The public functions that jax_export_functions.py lists have JAX's values and gradients. So have the programs of
// their gradients, and what lower.Export writes of them. The short form takes one of twenty, and the exceptions. The
// long form counts what docs/how-to/jax.md says.
func TestFunctionsOfJAX(t *testing.T) {
	var file struct{ Cases []publicFunction }
	require.NoError(t, oracles.Read("testdata/jax_export_functions.json.gz", &file))
	for i := range file.Cases {
		file.Cases[i].number = i
	}
	var supported, programs, gradients, same int
	for _, c := range long.Sample(file.Cases, func(c publicFunction) string {
		return fmt.Sprint(c.number/20, c.named())
	}) {
		t.Run(c.Name, func(t *testing.T) {
			f, err := stablehlo.Parse("f.mlir", c.Text)
			if why := notSupported[c.Name]; why != "" {
				require.ErrorContains(t, err, why)
				return
			}
			require.NoError(t, err)
			b := &xlabridge.Reference{}
			values := func(f *stablehlo.Function, in []*graph.Array) []*graph.Array {
				out, err := xlabridge.Jit(b, func(in []*graph.Array) []*graph.Array { return f.Call(in...) })(in)
				require.NoError(t, err)
				return out
			}
			equal(t, c.Outputs, values(f, arrays(c.Inputs)), 2e-5)
			g, err := again(t, f.Inputs(), func(in []*graph.Array) []*graph.Array { return f.Call(in...) })
			require.NoError(t, err)
			equal(t, c.Outputs, values(g, arrays(c.Inputs)), 2e-5)
			supported++
			if c.Gradient != "" {
				g, err := stablehlo.Parse("gradient.mlir", c.Gradient)
				require.NoError(t, err)
				var free []*graph.Array
				for _, i := range c.floats() {
					free = append(free, array(c.Inputs[i]))
				}
				equal(t, c.Gradients, values(g, free), 1e-4)
				programs++
			}
			if c.Gradients == nil {
				return
			}
			gradients++
			out, err := xlabridge.Jit(b, func(in []*graph.Array) []*graph.Array {
				return c.gradients(f, in)
			})(arrays(c.Inputs))
			if slices.Contains(loops, c.Name) {
				require.ErrorContains(t, err, "reverse mode does not go through While")
				return
			}
			require.NoError(t, err)
			if want, other := otherGradients[c.Name]; other {
				x, err := graph.ToTensor(out[0])
				require.NoError(t, err)
				jax, err := graph.ToTensor(array(c.Gradients[0]))
				require.NoError(t, err)
				differs := false
				for i, y := range x.Floats() {
					if want == y || want != want && y != y {
						differs = differs || y != jax.Floats()[i]
					} else {
						require.InDelta(t, jax.Floats()[i], y, 1e-4, "element %d", i)
					}
				}
				require.True(t, differs, "the gradient is JAX's: it is no exception any more")
				return
			}
			equal(t, c.Gradients, out, 1e-4)
			same++
		})
	}
	if long.On() {
		page, err := os.ReadFile("../../docs/how-to/jax.md")
		require.NoError(t, err)
		require.Contains(t, strings.Join(strings.Fields(string(page)), " "), fmt.Sprintf("%d of %d are supported, "+
			"with JAX's values, and so are the %d programs of their gradients that the file holds. Of %d of the %d, "+
			"JAX has gradients; here %d have the same. All %d survive export and re-import.", supported,
			len(file.Cases), programs, gradients, supported, same, supported))
	}
}
