package lower

import (
	"math/rand/v2"
	"testing"

	"xlarun/graph"

	"github.com/stretchr/testify/require"
)

// learning is a program like a learner's: a loop of products, and between two sorts for which there is no kernel some
// operations that need neither, one or both.
func learning(x *graph.Array) []*graph.Array {
	several := func(x *graph.Array) *graph.Array { // operations that a function is worth
		for range 4 {
			x = graph.Add(graph.Mul(graph.Sin(x), .5), graph.Mul(x, .25))
		}
		return x
	}
	loop := func(x *graph.Array) *graph.Array {
		y, _ := graph.Scan(func(c *graph.Array, _ graph.None) (*graph.Array, graph.None) {
			return graph.Sin(graph.Mul(graph.Dot(c, x), .1)), graph.None{}
		}, x, graph.None{}, graph.Length(3))
		return y
	}
	zero := graph.Zeros(x.Shape()) // cheap: every function makes it for itself
	before := several(graph.Add(x, zero))
	sorted := sortByTwo(before, 0)
	between := loop(several(graph.Add(sorted, zero)))
	again := sortByTwo(between, 1)
	after := several(graph.Add(again, graph.Mul(before, sorted)))
	return []*graph.Array{after, before, zero, graph.Sum(again)}
}

// What lies between calls of the runtime's is functions: of a program, and of a loop with such calls; what is too
// little stays as it is.
func TestFunctions(t *testing.T) {
	const n = 20
	shape := graph.ShapeOf(graph.Float32, n, n)
	for _, c := range []struct {
		description string
		f           func(x *graph.Array) []*graph.Array
		functions   int
	}{
		{"1: three stages", learning, 3},
		{"2: three stages in a loop that no function can be, which begins with little",
			func(x *graph.Array) []*graph.Array {
				y, _ := graph.Scan(func(c *graph.Array, _ graph.None) (*graph.Array, graph.None) {
					return learning(c)[0],
						graph.None{}
				}, x, graph.None{}, graph.Length(2))
				return []*graph.Array{y}
			}, 3},
		{"3: no loop of products", func(x *graph.Array) []*graph.Array {
			for range 4 {
				x = graph.Sin(graph.Cos(x))
			}
			return []*graph.Array{sortByTwo(graph.Sin(x), 0)}
		}, 0},
		{"4: a loop of products and little else", func(x *graph.Array) []*graph.Array {
			y, _ := graph.Scan(func(c *graph.Array, _ graph.None) (*graph.Array, graph.None) {
				return graph.Sin(graph.Dot(c, x)), graph.None{}
			}, x, graph.None{}, graph.Length(3))
			return []*graph.Array{y}
		}, 0},
	} {
		p, err := graph.Trace("learning", c.f, graph.Abstract(shape))
		require.NoError(t, err)
		l, err := Lower(p, graph.TargetCPUKernels)
		require.NoError(t, err)
		require.NoError(t, l.Graph.Verify())
		functions := 0
		l.Graph.Any(func(n *graph.Node) bool {
			if n.Op.Name == "function" {
				functions++
				require.False(t, n.Bodies[0].Any((&functionsPass{}).outside), "case %s", c.description)
			}
			return false
		})
		require.Equal(t, c.functions, functions, "case %s: %s", c.description, l.Graph)
		r := rand.New(rand.NewPCG(1, 2))
		checkPasses(t, p, []*graph.Tensor{randomInput(t, r, shape, graph.Case{Lo: -1, Hi: 1})}, 1e-4,
			true)
		for _, target := range []graph.Target{graph.TargetCPU, graph.TargetCUDA} {
			l, err := Lower(p, target)
			require.NoError(t, err)
			require.False(t, l.Graph.Uses("function"), "case %s, for %s", c.description, target)
		}
	}
}
