package graph

var _ = register(&Op{
	Name: "batch_max",
	Shape: func(c *call) []Shape {
		if c.in[0].DType != Int32 {
			c.fail("got %s, want i32", c.in[0])
		}
		return c.in[:1]
	},
	Batch: func(b *batching, n *Node, in []*Array, dims []int) ([]*Array, []int) {
		return apply(n.Op, nil, []*Array{reduce("max", in[0], []int{dims[0]})}), []int{-1}
	},
	JVP: zeroJVP, NotLinear: "it is for whole numbers",
	Lower: func(_ *Cursor, _ *Node, in []*Array) []*Array { return in },
	Eval:  func(_ *Node, in []*Tensor) []*Tensor { return in },
	Cost:  costFree,
	Cases: func() []Case {
		return []Case{
			{Inputs: []Shape{ShapeOf(Int32), ShapeOf(Float32)}, Lo: -3, Hi: 9, Rough: true,
				Fn: func(x []*Array) *Array {
					return ForiLoop(0, BatchMax(Min(x[0], 9)), func(i *Array, y *Array) *Array {
						return Select(Lt(i, x[0]), Add(y, 1), y)
					}, x[1])
				}},
			{Name: "sparsity", Inputs: []Shape{ShapeOf(Int32, 4, 3), ShapeOf(Float32, 3)}, Lo: -1, Hi: 2, Tol: 1e-6,
				Rough: true, Fn: func(x []*Array) *Array {
					m := Convert(x[0], Float32)
					s := SparsityOf(Ne(x[0], 0), Of(int32(4)))
					return ForiLoop(0, s.Rows, func(i, y *Array) *Array {
						sum := FoldRow(s, i, Scalar(0), func(sum, at, j *Array) *Array {
							w := DynamicIndex(Flatten1D(m), at, 0)
							return Select(Ne(w, 0), Add(sum, Mul(w, DynamicIndex(x[1], j, 0))), sum)
						})
						return DynamicUpdateIndex(y, sum, i, 0)
					}, Zeros(ShapeOf(Float32, 4)))
				}},
		}
	},
})

// BatchMax returns x, an i32 array. In VMap each element is the largest one of all lanes, the same in each. It is for
// the bounds of loops in which further iterations change nothing: with a bound that differs between lanes, an iteration
// of a loop also has to keep the carries of the lanes that are through. A function must not let its result depend on
// the numbers that it gets. FixedPoint and Sparsity are made of it.
func BatchMax(x *Array) *Array { return apply1(op("batch_max"), nil, x) }
