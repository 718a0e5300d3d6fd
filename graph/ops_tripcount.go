package graph

import (
	"fmt"
	"math"
)

// tripCountAttrs has the value of the input.
type tripCountAttrs struct{ n int32 }

func (a tripCountAttrs) String() string { return fmt.Sprintf("{%d}", a.n) }

// trip_count passes on the number of a loop's iterations, of which the value is known. Accelerators get it as a
// constant.
var _ = register(&Op{
	Name: "trip_count",
	Shape: func(c *call) []Shape {
		if len(c.in) != 1 || c.in[0].DType != Int32 {
			c.fail("got %v, want a number of iterations, i32[]", c.in)
		}
		return c.in
	},
	Batch:     batchElementwise, // a number for each lane then, which stays an input
	JVP:       zeroJVP,
	NotLinear: "its input is discrete",
	Lower: func(l *Cursor, n *Node, in []*Array) []*Array {
		if l.target.Accelerator() && n.Outs[0].Rank() == 0 {
			return []*Array{Of(n.Attrs.(tripCountAttrs).n)}
		}
		return in
	},
	Eval: func(n *Node, in []*Tensor) []*Tensor {
		want := int64(n.Attrs.(tripCountAttrs).n)
		for i := range in[0].V {
			if got := in[0].I(i); got != want {
				throw("TripCount", "got %d iterations, want %d", got, want)
			}
		}
		return in
	},
	Cost: costFree,
	Cases: func() []Case {
		return []Case{{Inputs: []Shape{ShapeOf(Float32, 3)}, Lo: -1, Hi: 1, Rough: true, Fn: func(x []*Array) *Array {
			return ForiLoop(0, TripCount(Sum(OnesLike(x[0])).Convert(Int32), 3), func(i, x *Array) *Array {
				return x.Mul(2)
			}, x[0])
		}}}
	},
})

// TripCount returns count, i32[], the number of iterations of a loop, for the condition of a While. Its value must be
// n. On accelerators the loop then counts to a constant, so that the compiler knows its iterations and a GPU does not
// ask the host after each one. Elsewhere it counts to count, which the compiler does not know: it unrolls no iterations
// of the loop.
func TripCount(count *Array, n int) *Array {
	if n < 0 || n > math.MaxInt32 {
		throw("TripCount", "got %d iterations, want from 0 to %d", n, math.MaxInt32)
	}
	return apply1(op("trip_count"), tripCountAttrs{int32(n)}, count)
}
