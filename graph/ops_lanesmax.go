package graph

var _ = register(&Op{
	Name: "lanes_max",
	Shape: func(c *call) []Shape {
		if c.in[0].DType != Int32 || c.in[0].Rank() != 0 {
			c.fail("got %s, want i32[]", c.in[0])
		}
		return c.in[:1]
	},
	Batch: func(b *batching, n *Node, in []*Array, dims []int) ([]*Array, []int) {
		return apply(n.Op, nil, []*Array{reduce("max", in[0], []int{dims[0]})}), []int{-1}
	},
	JVP: zeroJVP, NotLinear: "it is for whole numbers",
	Lower: func(_ *lowering, _ *Node, in []*Array) []*Array { return in },
	Eval:  func(_ *Node, in []*Tensor) []*Tensor { return in },
	Cost:  costFree,
	Cases: func() []Case {
		return []Case{{Inputs: []Shape{ShapeOf(Int32), ShapeOf(Float32)}, Lo: -3, Hi: 9, Rough: true,
			Fn: func(x []*Array) *Array {
				return ForiLoop(0, LanesMax(Min(x[0], 9)), func(i *Array, y *Array) *Array {
					return Select(Lt(i, x[0]), Add(y, 1), y)
				}, x[1])
			}}}
	},
})

// LanesMax returns x, i32[]. In VMap it returns the largest x of all lanes, the same in each. It is for the bounds of
// loops in which further turns change nothing: with a bound that differs between lanes, a turn of a loop also has to
// keep the carries of the lanes that are through. A function must not let its result depend on the number that it gets.
func LanesMax(x *Array) *Array { return apply1(op("lanes_max"), nil, x) }
