package stablehlo_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/graph"
	"xlarun/graph/graphtest"
	"xlarun/graph/linalg"
	"xlarun/graph/lower"
	"xlarun/graph/stablehlo"
	"xlarun/internal/long"
	"xlarun/xlabridge"
)

// again is a function that went out as a text and came back.
func again(t *testing.T, shapes []graph.Shape, f func(in []*graph.Array) []*graph.Array) (*stablehlo.Function, error) {
	t.Helper()
	abstract := make([]*graph.Array, len(shapes))
	for i, s := range shapes {
		abstract[i] = graph.Abstract(s)
	}
	p, err := graph.Trace("f", f, abstract)
	require.NoError(t, err)
	var text strings.Builder
	if err := lower.Export(&text, p); err != nil {
		return nil, err
	}
	g, err := stablehlo.Parse("f.mlir", text.String())
	require.NoError(t, err)
	return g, nil
}

// notExported are ops that no other program has, or that only CPUs' programs have.
var notExported = []string{"custom_call", "debug", "host_call", "function"}

// What lower.Export writes, Parse reads: every sample of every op has the same results then. The
// short form takes the first of each op.
func TestExportsAreRead(t *testing.T) {
	type sample struct {
		op string
		graph.Case
	}
	var samples []sample
	for _, name := range slices.Sorted(maps.Keys(graph.Table)) {
		if !slices.Contains(notExported, name) {
			for _, c := range graph.Table[name].Cases() {
				samples = append(samples, sample{name, c})
			}
		}
	}
	for i, c := range long.Sample(samples, func(s sample) string { return s.op }) {
		t.Run(fmt.Sprintf("%s %d %s", c.op, i, c.Name), func(t *testing.T) {
			f := func(in []*graph.Array) []*graph.Array { return []*graph.Array{c.Fn(in)} }
			g, err := again(t, c.Inputs, f)
			require.NoError(t, err)
			r := rand.New(rand.NewPCG(1, 2))
			var in []*graph.Array
			for _, s := range c.Inputs {
				in = append(in, c.Case.Input(r, s))
			}
			out, err := xlabridge.Jit(&xlabridge.Reference{}, func(in []*graph.Array) [2][]*graph.Array {
				return [2][]*graph.Array{f(in), g.Call(in...)}
			})(in)
			require.NoError(t, err)
			near(t, out[0][0], out[1][0])
		})
	}
}

func near(t *testing.T, want, got *graph.Array) {
	t.Helper()
	if want.DType() == graph.Complex64 {
		near(t, graph.Real(want), graph.Real(got))
		near(t, graph.Imag(want), graph.Imag(got))
		return
	}
	w := graphtest.Floats(t, want)
	g := graphtest.Floats(t, got)
	require.InDeltaSlice(t, w, g, 1e-4)
}

// What JAX wrote and Parse read goes out and comes back with JAX's values and gradients.
func TestJAXGoesOutAgain(t *testing.T) {
	for _, c := range cases(t) {
		t.Run(c.Name, func(t *testing.T) {
			f, err := stablehlo.Parse(c.Name, c.Text)
			require.NoError(t, err)
			g, err := again(t, f.Inputs(), func(in []*graph.Array) []*graph.Array { return f.Call(in...) })
			require.NoError(t, err)
			type results struct{ Values, Gradients []*graph.Array }
			out, err := xlabridge.Jit(&xlabridge.Reference{}, func(in []*graph.Array) results {
				r := results{Values: g.Call(in...)}
				if c.Gradients != nil && c.Name != "linear algebra" { // whose loops have no known length then
					r.Gradients = c.gradients(g, in)
				}
				return r
			})(arrays(c.Inputs))
			require.NoError(t, err)
			equal(t, c.Outputs, out.Values, 2e-6)
			if out.Gradients != nil {
				equal(t, c.Gradients, out.Gradients, 1e-5)
			}
		})
	}
}

// A population goes out and comes back: what was a scan has gradients, and the function maps over one more axis.
func TestPopulationComesBack(t *testing.T) {
	member := func(x *graph.Array) *graph.Array {
		l := linalg.Cholesky(graph.MatMul(x, graph.MatrixTranspose(x)).Add(graph.Eye(graph.Float32, 3)))
		y := linalg.TriangularSolve(l, graph.Sort(x, 1))
		end, _ := graph.Scan(func(c, row *graph.Array) (*graph.Array, graph.None) {
			return c.Mul(.5).Add(row).Tanh(), graph.None{}
		}, graph.Zeros(graph.ShapeOf(graph.Float32, 3)), graph.CumSum(y, 0))
		return end
	}
	shape := graph.ShapeOf(graph.Float32, 2, 3, 3)
	f := func(in []*graph.Array) []*graph.Array { return []*graph.Array{graph.VMap(member)(in[0])} }
	g, err := again(t, []graph.Shape{shape}, f)
	require.NoError(t, err)
	type results struct{ Value, Gradient, Mapped *graph.Array }
	of := func(f func(in []*graph.Array) []*graph.Array, x *graph.Array) results {
		value := func(x *graph.Array) *graph.Array { return f([]*graph.Array{x})[0] }
		return results{value(x), graph.Grad(func(x *graph.Array) *graph.Array { return value(x).Square().Sum() })(x),
			graph.VMap(value)(graph.Stack([]*graph.Array{x, x.Mul(2)}, 0))}
	}
	out, err := xlabridge.Jit(&xlabridge.Reference{}, func(x *graph.Array) [2]results {
		return [2]results{of(f, x), of(func(in []*graph.Array) []*graph.Array { return g.Call(in...) }, x)}
	})(graph.Linspace(-1, 2, 18).Sin().Reshape(2, 3, 3))
	require.NoError(t, err)
	near(t, out[0].Value, out[1].Value)
	near(t, out[0].Gradient, out[1].Gradient)
	near(t, out[0].Mapped, out[1].Mapped)
}

// What is computed once stays so: without its barriers XLA does not come to an end with the loops of random.Gamma.
func TestBarriersComeBack(t *testing.T) {
	f := func(in []*graph.Array) []*graph.Array { return []*graph.Array{graph.Once(in[0].Sin()).Mul(2)} }
	g, err := again(t, []graph.Shape{graph.ShapeOf(graph.Float32, 3)}, f)
	require.NoError(t, err)
	p, err := graph.Trace("g", func(x *graph.Array) []*graph.Array { return g.Call(x) },
		graph.Abstract(graph.ShapeOf(graph.Float32, 3)))
	require.NoError(t, err)
	var text strings.Builder
	require.NoError(t, lower.Export(&text, p))
	require.Equal(t, 1, strings.Count(text.String(), "optimization_barrier"))
}
