package graph

import "slices"

// sparse_dot: x [lead..., in], of w's dtype or bool, and w [lead..., in, out] -> x·w [lead..., out]. Leading axes are
// as many in both; one of size 1 is the same for all indices of the other's.
var _ = register(&Op{
	Name:   "sparse_dot",
	ByRows: true,
	Shape: func(c *call) []Shape {
		x, w := c.in[0], c.in[1]
		n := x.Rank() - 1
		if x.DType != w.DType && x.DType != Bool || !isFloat(w.DType) {
			c.fail("got %s and %s, want floats of one dtype, or the first bool", x, w)
		}
		if n < 0 || w.Rank() != n+2 || w.Dims[n] != x.Dims[n] {
			c.fail("got x %s and w %s, want [in] and [in, out]", x, w)
		}
		return []Shape{w.dims(append(sharedLead("sparse_dot", n, c.in), w.Dims[n+1])...)}
	},
	Batch: batchLead,
	// Tangents of x are not sparse.
	JVP: func(n *Node, in, out, t []*Array) []*Array {
		var sum *Array
		if t[0] != nil {
			sum = densely([]*Array{t[0], in[1]})
		}
		if t[1] != nil {
			sum = addTangents(sum, apply1(n.Op, nil, in[0], t[1]))
		}
		return []*Array{sum}
	},
	// It is only met with the tangent of w.
	Transpose: func(n *Node, in []*Array, linear []bool, cts []*Array) []*Array {
		if linear[0] {
			throw(n.Op.Name, "internal: it is not linear in x")
		}
		w := n.Inputs[1].shape
		return []*Array{nil, apply1(op("sparse_outer"), sparseOuterAttrs{w.Dims[:w.Rank()-2]}, in[0], cts[0])}
	},
	// A kernel skips the zeros; compilers multiply them.
	Lower: func(l *Cursor, n *Node, in []*Array) []*Array {
		out := n.Outs[0].shape
		if !l.target.paysKernel(out.Size(), leastSparseDot) || out.DType != Float32 ||
			out.Rank() > mostLowRankAxes || in[0].Size() == 0 || in[1].Size() == 0 {
			return []*Array{densely(in)}
		}
		return kernelCall(sparseDotKernel, nil, []Shape{out}, in...)
	},
	Eval: evalInto(evalSparseDot),
	Cost: costOf(func(n *Node) float64 {
		x := n.Inputs[0].shape
		return 2 * resultElements(n) * float64(x.Dims[x.Rank()-1])
	}),
	Cases: func() []Case {
		f := func(dims ...int) Shape { return ShapeOf(Float32, dims...) }
		// Some of the inputs are zeros.
		run := func(x []*Array) *Array { return SparseDot(Max(x[0], 0), x[1]) }
		return []Case{
			{Name: "vector", Inputs: []Shape{f(5), f(5, 3)}, Lo: -1, Hi: 1, Tol: 1e-5, Rough: true, Fn: run},
			{Name: "rows", Inputs: []Shape{f(2, 3, 70), f(70, 83)}, Lo: -1, Hi: 1, Tol: 1e-4, Rough: true, Fn: run},
			{Name: "dense", Inputs: []Shape{f(4, 6), f(6, 2)}, Lo: -1, Hi: 1, Tol: 1e-5, Fn: func(x []*Array) *Array {
				return SparseDot(x[0], x[1])
			}},
			{Name: "bool", Inputs: []Shape{f(3, 21), f(21, 83)}, Lo: -1, Hi: 1, Tol: 1e-4, Rough: true,
				Fn: func(x []*Array) *Array { return SparseDot(Gt(x[0], 0), x[1]) }},
		}
	},
})

// leastSparseDot is the least number of results for which the kernel is called.
const leastSparseDot = 256

var sparseDotKernel = &Kernel{Target: "xlarun_sparse_dot", Eval: evalSparseDot}

// densely is the op made of others: axes along which w stays the same are rows of one product.
func densely(in []*Array) *Array {
	x, w := Convert(in[0], in[1].DType()), in[1]
	n := x.Rank() - 1
	var batch, rows, own []int // own: axes of w that are not dropped
	lead := sharedLead("sparse_dot", n, []Shape{x.shape, w.shape})
	for k := range n {
		if w.Dim(k) == 1 {
			rows = append(rows, k)
		} else {
			batch, own = append(batch, k), append(own, w.Dim(k))
		}
	}
	x = BroadcastTo(x, append(slices.Clone(lead), x.Dim(n))...)
	w = Reshape(w, append(own, w.Dim(n), w.Dim(n+1))...)
	y := DotGeneral(x, w, batch, rangeInts(0, len(batch)), []int{n}, []int{len(batch)})
	return unorder(y, append(slices.Concat(batch, rows), n))
}

func evalSparseDot(in, out []*Tensor) {
	lead := out[0].Shape.Rank() - 1
	inputs, outputs := in[1].Shape.Dims[lead], out[0].Shape.Dims[lead]
	forLead(slices.Concat(in, out), []int{1, 2, 1}, func(at []int) {
		for o := range outputs {
			sum := 0.
			for k := range inputs {
				sum += in[0].float(at[0]+k) * in[1].F(at[1]+k*outputs+o)
			}
			out[0].SetF(at[2]+o, sum)
		}
	})
}

// sparseOuterAttrs: the leading axes of the result; those of size 1 are summed over.
type sparseOuterAttrs struct{ lead []int }

// sparse_outer: x [lead..., in] and y [lead..., out] -> the sums of x y^T over the leading axes that the result does
// not have, [lead..., in, out]. It is the transpose of sparse_dot.
var _ = register(&Op{
	Name:   "sparse_outer",
	ByRows: true,
	Shape: func(c *call) []Shape {
		x, y, lead := c.in[0], c.in[1], c.attrs.(sparseOuterAttrs).lead
		n := len(lead)
		if x.DType != y.DType && x.DType != Bool || !isFloat(y.DType) || x.Rank() != n+1 || y.Rank() != n+1 {
			c.fail("got %s and %s, want floats of one dtype, or the first bool, [in] and [out]", x, y)
		}
		for k, all := range sharedLead("sparse_outer", n, c.in) {
			if lead[k] != all && lead[k] != 1 {
				c.fail("got %s and %s for the leading axes %v", x, y, lead)
			}
		}
		return []Shape{y.dims(append(slices.Clone(lead), x.Dims[n], y.Dims[n])...)}
	},
	Batch: func(b *batching, n *Node, in []*Array, dims []int) ([]*Array, []int) {
		own := *n
		own.Attrs = sparseOuterAttrs{append([]int{b.size}, n.Attrs.(sparseOuterAttrs).lead...)}
		return batchLead(b, &own, in, dims)
	},
	JVP: func(n *Node, in, out, t []*Array) []*Array {
		var sum *Array
		if t[0] != nil {
			sum = outerDensely(n.Attrs.(sparseOuterAttrs).lead, t[0], in[1])
		}
		if t[1] != nil {
			sum = addTangents(sum, apply1(n.Op, n.Attrs, in[0], t[1]))
		}
		return []*Array{sum}
	},
	Transpose: func(n *Node, in []*Array, linear []bool, cts []*Array) []*Array {
		if linear[0] {
			throw(n.Op.Name, "internal: it is not linear in x")
		}
		return []*Array{nil, sumTo(apply1(op("sparse_dot"), nil, in[0], cts[0]), n.Inputs[1].shape)}
	},
	Lower: func(l *Cursor, n *Node, in []*Array) []*Array {
		out, lead := n.Outs[0].shape, n.Attrs.(sparseOuterAttrs).lead
		if !l.target.paysKernel(out.Size(), leastSparseDot) || out.DType != Float32 ||
			out.Rank() > mostLowRankAxes || in[0].Size() == 0 || in[1].Size() == 0 {
			return []*Array{outerDensely(lead, in[0], in[1])}
		}
		return kernelCall(sparseOuterKernel, nil, []Shape{out}, in...)
	},
	Eval: evalInto(evalSparseOuter),
	Cost: costOf(func(n *Node) float64 {
		y := n.Inputs[1].shape
		return 2 * float64(product(sharedLead("sparse_outer", y.Rank()-1, ShapesOf(n.Inputs)))*n.Inputs[0].Dim(-1)*
			y.Dims[y.Rank()-1])
	}),
	Cases: func() []Case {
		f := func(dims ...int) Shape { return ShapeOf(Float32, dims...) }
		run := func(lead ...int) func(x []*Array) *Array {
			return func(x []*Array) *Array {
				return apply1(op("sparse_outer"), sparseOuterAttrs{lead}, Max(x[0], 0), x[1])
			}
		}
		return []Case{
			{Name: "vectors", Inputs: []Shape{f(5), f(3)}, Lo: -1, Hi: 1, Tol: 1e-5, Rough: true, Fn: run()},
			{Name: "rows", Inputs: []Shape{f(2, 9, 70), f(2, 9, 83)}, Lo: -1, Hi: 1, Tol: 1e-4, Rough: true,
				Fn: run(1, 1)},
			{Name: "some summed", Inputs: []Shape{f(1, 3, 4, 6), f(5, 3, 1, 19)}, Lo: -1, Hi: 1, Tol: 1e-4, Rough: true,
				Fn: run(1, 3, 1)},
			{Name: "dense", Inputs: []Shape{f(4, 6), f(4, 2)}, Lo: -1, Hi: 1, Tol: 1e-5, Fn: func(x []*Array) *Array {
				return apply1(op("sparse_outer"), sparseOuterAttrs{[]int{1}}, x[0], x[1])
			}},
			{Name: "bool", Inputs: []Shape{f(4, 21), f(4, 83)}, Lo: -1, Hi: 1, Tol: 1e-4, Rough: true,
				Fn: func(x []*Array) *Array {
					return apply1(op("sparse_outer"), sparseOuterAttrs{[]int{1}}, Gt(x[0], 0), x[1])
				}},
		}
	},
})

var sparseOuterKernel = &Kernel{Target: "xlarun_sparse_outer", Eval: evalSparseOuter}

// outerDensely is sparse_outer made of other ops.
func outerDensely(lead []int, x, y *Array) *Array {
	n := len(lead)
	all := sharedLead("sparse_outer", n, []Shape{x.shape, y.shape})
	x, y = BroadcastTo(Convert(x, y.DType()), append(slices.Clone(all), x.Dim(n))...),
		BroadcastTo(y, append(slices.Clone(all), y.Dim(n))...)
	var own, summed []int
	for k, size := range lead {
		if size == 1 {
			summed = append(summed, k)
		} else {
			own = append(own, k)
		}
	}
	return Reshape(DotGeneral(x, y, own, own, summed, summed), append(slices.Clone(lead), x.Dim(n), y.Dim(n))...)
}

func evalSparseOuter(in, out []*Tensor) {
	lead := out[0].Shape.Rank() - 2
	inputs, outputs := out[0].Shape.Dims[lead], out[0].Shape.Dims[lead+1]
	sums := make([]float64, len(out[0].V))
	forLead(slices.Concat(in, out), []int{1, 1, 2}, func(at []int) {
		for i := range inputs {
			for o := range outputs {
				sums[at[2]+i*outputs+o] += in[0].float(at[0]+i) * in[1].F(at[1]+o)
			}
		}
	})
	for i, s := range sums {
		out[0].SetF(i, s)
	}
}

// SparseDot is x·w for vectors x [..., in] that are mostly zeros, such as spikes, or bool and mostly false, and a
// matrix w [in, out]: Dot's numbers. On CPU the zeros are skipped, so that it takes time by how many others there are;
// a number of w that is not finite may be multiplied with a zero or not. The derivative by w skips them too, that by x
// multiplies all.
func SparseDot(x, w *Array) *Array {
	if x.Rank() == 0 || w.Rank() != 2 {
		throw("SparseDot", "got %s and %s, want [..., in] and [in, out]", x.shape, w.shape)
	}
	d := Promote(x.DType(), w.DType())
	if x.DType() != Bool || !isFloat(d) {
		x = Convert(x, d)
	}
	dims := slices.Concat(slices.Repeat([]int{1}, x.Rank()-1), w.Dims())
	return apply1(op("sparse_dot"), nil, x, Reshape(Convert(w, d), dims...))
}
