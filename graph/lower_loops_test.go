package graph

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Which loops XLA may make one function, and which are kept apart from that by a call in their bodies.
func TestWholeLoops(t *testing.T) {
	times := func(f func(x *Array) *Array) func(x *Array) *Array {
		return func(x *Array) *Array {
			y, _ := Scan(func(c *Array, _ None) (*Array, None) { return f(c), None{} }, x, None{}, Length(5))
			return y
		}
	}
	square := func(n int) *Array { return Abstract(ShapeOf(Float32, n, n)) }
	for _, c := range []struct {
		description  string
		f            func(x *Array) *Array
		x            *Array
		whole, apart int // loops; others hold calls of kernels, which keep them apart
	}{
		{"1: arithmetic", times(func(x *Array) *Array { return Sin(x) }), square(100), 1, 0},
		{"2: a product with a vector", times(func(x *Array) *Array {
			return Add(x, Dot(x, Index(x, 0)))
		}), square(100), 1, 0},
		{"3: a product of small matrices", times(func(x *Array) *Array { return Dot(x, x) }), square(8), 1, 0},
		{"4: a product of matrices", times(func(x *Array) *Array { return Dot(x, x) }), square(16), 1, 0},
		{"5: a product of a vector and a matrix for each lane", times(VMap(func(x *Array) *Array {
			return Dot(x, Ones(ShapeOf(Float32, 100, 100)))
		})), square(100), 1, 0},
		{"6: a sort", times(func(x *Array) *Array { return sortByTwo(x, 0) }), square(100), 0, 1},
		{"7: a call of a kernel", times(func(x *Array) *Array { return CumSum(x, 0) }), square(100), 0, 0},
		{"8: a loop in a loop", times(times(func(x *Array) *Array { return Sin(x) })), square(100), 2, 0},
		{"9: a loop that is one function in one that is none", times(func(x *Array) *Array {
			return sortByTwo(times(func(x *Array) *Array { return Sin(x) })(x), 0)
		}), square(100), 1, 1},
		{"10: one that is none in a loop: both are none", times(times(func(x *Array) *Array {
			return sortByTwo(x, 0)
		})), square(100), 0, 2},
		{"11: a convolution", times(func(x *Array) *Array {
			return Reshape(Conv(Reshape(x, 1, 10, 10, 1), Ones(ShapeOf(Float32, 3, 3, 1, 1)), SamePadding()), 10, 10)
		}), square(10), 0, 1},
		{"12: a product that takes longer than calls", times(func(x *Array) *Array {
			return Dot(x, x)
		}), square(102), 0, 1},
		{"13: a product of matrices in a loop in a loop", times(times(func(x *Array) *Array {
			return Dot(x, x)
		})), square(100), 2, 0},
		{"14: a product beside one of matrices that leave the cache", func(x *Array) *Array {
			return Add(times(func(x *Array) *Array {
				return Dot(x, x)
			})(x), Sum(Dot(Ones(ShapeOf(Float32, 4, 300)), Ones(ShapeOf(Float32, 300, 300)))))
		}, square(100), 0, 1},
		{"15: a product of float64", func(x *Array) *Array {
			return Convert(times(func(x *Array) *Array { return Dot(x, x) })(Convert(x, Float64)), Float32)
		}, square(16), 0, 1},
		{"16: a product and a sort", times(func(x *Array) *Array { return Dot(x, sortByTwo(x, 0)) }), square(16), 0, 1},
		{"17: a weight's gradient, whose operand is turned by a kernel elsewhere", times(func(x *Array) *Array {
			return Dot(Transpose(x, 1, 0), x)
		}), square(100), 1, 0},
	} {
		p, err := Trace("loops", c.f, c.x)
		require.NoError(t, err)
		for target, marked := range map[Target]bool{TargetCPUKernels: true, TargetCPU: false, TargetCUDA: false} {
			l, err := Lower(p, target)
			require.NoError(t, err)
			got, apart := 0, 0
			l.Graph.Any(func(n *Node) bool {
				if n.Op.Name == "while" {
					if n.Attrs.(whileAttrs).Apart {
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
func sortByTwo(x *Array, axis int) *Array { return SortKV([]*Array{x, x}, axis, 2)[0] }
