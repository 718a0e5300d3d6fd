package graph

const countedName = "counted"

// counted passes its first input on. Programs on the CPU count that they pass it (lower/counts.go).
var _ = register(&Op{
	Name: countedName,
	Shape: func(c *call) []Shape {
		if len(c.in) != 2 || c.in[0].DType != Int32 || !c.in[1].Equal(Shape{DType: Int32}) {
			c.fail("got %v, want an i32 array and the number of a counter, i32[]", c.in)
		}
		return c.in[:1]
	},
	// All lanes pass together, and count once, for the first one's counter.
	Batch: func(b *batching, n *Node, in []*Array, dims []int) ([]*Array, []int) {
		counter := in[1]
		if dims[1] >= 0 {
			counter = index(counter, dims[1], 0)
		}
		return apply(n.Op, n.Attrs, []*Array{in[0], counter}), dims[:1]
	},
	JVP:       zeroJVP,
	NotLinear: "its input is discrete",
	Lower: func(l *Cursor, n *Node, in []*Array) []*Array {
		if l.target.HasKernels() {
			return nil
		}
		return in[:1]
	},
	Eval: func(n *Node, in []*Tensor) []*Tensor { return in[:1] },
	Cost: costFree,
	Cases: func() []Case {
		return []Case{{Inputs: []Shape{ShapeOf(Int32, 3), ShapeOf(Int32)}, Rough: true, Fn: func(x []*Array) *Array {
			return Counted(x[1], x[0])
		}}, {Name: "in a loop", Inputs: []Shape{ShapeOf(Float32, 3), ShapeOf(Int32)}, Lo: -1, Hi: 1, Rough: true,
			Fn: func(x []*Array) *Array {
				end, _ := Scan(func(sum, i *Array) (*Array, None) {
					return Add(sum, Mul(x[0], Counted(x[1], i).Convert(Float32))), None{}
				}, ZerosLike(x[0]), Iota(4))
				return end
			}}}
	},
})

// Counted returns x, i32 of any shape, and adds 1 to a counter of the process when a running program computes x. So the
// host can tell how far a long program is, without a result of the program that differs. counter, i32[], is the number
// of an xlabridge.Counter, as an input of the program; nil: nothing is counted. Under VMap, all lanes together count
// once, by the counter of the first lane.
//
// Programs on the CPU count. A loop that is compiled as one function counts its iterations, an unrolled iteration once,
// and nothing in the loops inside of it. Other devices and the interpreter count nothing. x should be what a part of
// the work begins with, such as its number: a part that does not need x is not counted.
func Counted(counter, x *Array) *Array {
	if counter == nil {
		return x
	}
	return apply1(op(countedName), nil, x, counter)
}
