package lower

import (
	"testing"

	"xlarun/graph"
	"xlarun/graph/internal/attr"

	"github.com/stretchr/testify/require"
)

// Which loops XLA may make one function, and which are kept apart from that by a call in their bodies.
func TestWholeLoops(t *testing.T) {
	times := func(f func(x *graph.Array) *graph.Array) func(x *graph.Array) *graph.Array {
		return func(x *graph.Array) *graph.Array {
			y, _ := graph.Scan(func(c *graph.Array, _ graph.None) (*graph.Array, graph.None) {
				return f(c),
					graph.None{}
			}, x, graph.None{}, graph.Length(5))
			return y
		}
	}
	square := func(n int) *graph.Array { return graph.Abstract(graph.ShapeOf(graph.Float32, n, n)) }
	for _, c := range []struct {
		description  string
		f            func(x *graph.Array) *graph.Array
		x            *graph.Array
		whole, apart int // loops; others hold calls of kernels, which keep them apart
	}{
		{"1: arithmetic", times(func(x *graph.Array) *graph.Array { return graph.Sin(x) }), square(100), 1, 0},
		{"2: a product with a vector", times(func(x *graph.Array) *graph.Array {
			return graph.Add(x, graph.Dot(x, graph.Index(x, 0)))
		}), square(100), 1, 0},
		{"3: a product of small matrices", times(func(x *graph.Array) *graph.Array { return graph.Dot(x, x) }),
			square(8), 1, 0},
		{"4: a product of matrices", times(func(x *graph.Array) *graph.Array { return graph.Dot(x, x) }), square(16),
			1, 0},
		{"5: a product of a vector and a matrix for each lane", times(graph.VMap(func(x *graph.Array) *graph.Array {
			return graph.Dot(x, graph.Ones(graph.ShapeOf(graph.Float32, 100, 100)))
		})), square(100), 1, 0},
		{"6: a sort", times(func(x *graph.Array) *graph.Array { return sortByTwo(x, 0) }), square(100), 0, 1},
		{"7: a call of a kernel", times(func(x *graph.Array) *graph.Array { return graph.CumSum(x, 0) }), square(100),
			0, 0},
		{"8: a loop in a loop", times(times(func(x *graph.Array) *graph.Array { return graph.Sin(x) })), square(100),
			2, 0},
		{"9: a loop that is one function in one that is none", times(func(x *graph.Array) *graph.Array {
			return sortByTwo(times(func(x *graph.Array) *graph.Array { return graph.Sin(x) })(x), 0)
		}), square(100), 1, 1},
		{"10: one that is none in a loop: both are none", times(times(func(x *graph.Array) *graph.Array {
			return sortByTwo(x, 0)
		})), square(100), 0, 2},
		{"11: a convolution", times(func(x *graph.Array) *graph.Array {
			return graph.Reshape(graph.Conv(graph.Reshape(x, 1, 10, 10, 1),
				graph.Ones(graph.ShapeOf(graph.Float32, 3, 3, 1, 1)), graph.SamePadding()), 10, 10)
		}), square(10), 0, 1},
		{"12: a product that takes longer than calls", times(func(x *graph.Array) *graph.Array {
			return graph.Dot(x, x)
		}), square(102), 0, 1},
		{"13: a product of matrices in a loop in a loop", times(times(func(x *graph.Array) *graph.Array {
			return graph.Dot(x, x)
		})), square(100), 2, 0},
		{"14: a product beside one of matrices that leave the cache", func(x *graph.Array) *graph.Array {
			return graph.Add(times(func(x *graph.Array) *graph.Array {
				return graph.Dot(x, x)
			})(x), graph.Sum(graph.Dot(graph.Ones(graph.ShapeOf(graph.Float32, 4, 300)),
				graph.Ones(graph.ShapeOf(graph.Float32, 300, 300)))))
		}, square(100), 0, 1},
		{"15: a product of float64", func(x *graph.Array) *graph.Array {
			return graph.Convert(times(func(x *graph.Array) *graph.Array { return graph.Dot(x, x) })(graph.Convert(x,
				graph.Float64)), graph.Float32)
		}, square(16), 0, 1},
		{"16: a product and a sort", times(func(x *graph.Array) *graph.Array { return graph.Dot(x, sortByTwo(x, 0)) }),
			square(16), 0, 1},
		{"17: a weight's gradient, whose operand is turned by a kernel elsewhere",
			times(func(x *graph.Array) *graph.Array {
				return graph.Dot(graph.Transpose(x, 1, 0), x)
			}), square(100), 1, 0},
	} {
		p, err := graph.Trace("loops", c.f, c.x)
		require.NoError(t, err)
		for target, marked := range map[graph.Target]bool{graph.TargetCPUKernels: true, graph.TargetCPU: false,
			graph.TargetCUDA: false} {
			l, err := Lower(p, target)
			require.NoError(t, err)
			got, apart := 0, 0
			l.Graph.Any(func(n *graph.Node) bool {
				if n.Op.Name == "while" {
					if n.Attrs.(attr.While).Apart {
						apart++
					} else if whole(n) {
						got++
					}
				}
				return false
			})
			if !marked {
				require.Zero(t, apart, "case %s, for %s", c.description, target)
				continue
			}
			require.Equal(t, []int{c.whole, c.apart}, []int{got, apart}, "case %s: %s", c.description, l.Graph)
		}
	}
}

// sortByTwo is a sort for which there is no kernel.
func sortByTwo(x *graph.Array, axis int) *graph.Array {
	return graph.SortKV([]*graph.Array{x, x}, axis, 2)[0]
}
