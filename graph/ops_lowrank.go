package graph

import "slices"

// low_rank: y [lead..., out], x [lead..., in], a [lead..., rank, in], b [lead..., rank, out] and scale [lead...] -> y +
// scale (x aᵀ) b. Leading axes are as many in all; one of size 1 is the same for all indices of the others'.
var _ = register(&Op{
	Name:   "low_rank",
	ByRows: true,
	Shape: func(c *call) []Shape {
		y, x, a, b := c.in[0], c.in[1], c.in[2], c.in[3]
		n := y.Rank() - 1
		for i, s := range c.in {
			if s.DType != y.DType || !isFloat(s.DType) {
				c.fail("input %d is %s, want floats of one dtype", i, s)
			}
			if want := n + []int{1, 1, 2, 2, 0}[i]; n < 0 || s.Rank() != want {
				c.fail("input %d is %s, want %d axes", i, s, max(1, want))
			}
		}
		if a.Dims[n] != b.Dims[n] || x.Dims[n] != a.Dims[n+1] || y.Dims[n] != b.Dims[n+1] {
			c.fail("got y %s, x %s, a %s and b %s, want [out], [in], [rank, in] and [rank, out]", y, x, a, b)
		}
		return []Shape{y.dims(append(sharedLead("low_rank", n, c.in), y.Dims[n])...)}
	},
	Batch: batchLead,
	// It is linear in each of its inputs.
	JVP: func(n *Node, in, out, t []*Array) []*Array {
		var sum *Array
		for i := range in {
			if t[i] == nil {
				continue
			}
			if i == 0 {
				sum = addTangents(sum, BroadcastTo(t[0], out[0].Dims()...))
				continue
			}
			with := slices.Clone(in)
			with[0], with[i] = ZerosLike(out[0]), t[i]
			sum = addTangents(sum, addLowRank(with))
		}
		return []*Array{sum}
	},
	NotLinear: "it is linear in each of its inputs alone, and its derivative is made of other ops",
	// Compilers make loops over single numbers of the products of vectors with vectors that this is made of; a kernel
	// walks through both while they are in the nearest cache.
	Lower: func(l *Cursor, n *Node, in []*Array) []*Array {
		y, out := in[0], n.Outs[0].shape
		if !l.target.paysKernel(out.Size(), leastLowRank) || out.DType != Float32 ||
			out.Rank() > mostLowRankAxes || in[1].Size() == 0 || in[2].Size() == 0 {
			return []*Array{addLowRank(in)}
		}
		return kernelCall(lowRankKernel, nil, []Shape{out}, append([]*Array{BroadcastTo(y, out.Dims...)}, in[1:]...)...)
	},
	Eval: evalInto(evalLowRank),
	Cost: costOf(func(n *Node) float64 {
		a := n.Inputs[2].shape
		rank, in, out := a.Dims[a.Rank()-2], a.Dims[a.Rank()-1], n.Outs[0].shape
		return 2 * resultElements(n) * float64(rank) * (1 + float64(in)/float64(max(1, out.Dims[out.Rank()-1])))
	}),
	Cases: func() []Case {
		f := func(dims ...int) Shape { return ShapeOf(Float32, dims...) }
		run := func(x []*Array) *Array { return AddLowRank(x[0], x[1], x[2], x[3], x[4]) }
		return []Case{
			{Name: "rank 1", Inputs: []Shape{f(3), f(5), f(1, 5), f(1, 3), f()}, Lo: -1, Hi: 1, Tol: 1e-5, Fn: run},
			{Name: "rank 2", Inputs: []Shape{f(19), f(70), f(2, 70), f(2, 19), f()}, Lo: -1, Hi: 1, Tol: 1e-4, Fn: run},
		}
	},
})

// leastLowRank is the least number of results for which the kernel is called.
const leastLowRank = 256

// mostLowRankAxes is how many axes the kernel takes: AXES of lowrank.c and the outputs'.
const mostLowRankAxes = 9

var lowRankKernel = &Kernel{Target: "xlarun_low_rank", InPlace: true, Eval: evalLowRank}

// addLowRank is the op made of others.
func addLowRank(in []*Array) *Array {
	y, x, a, b, scale := in[0], in[1], in[2], in[3], in[4]
	n := y.Rank() - 1
	t := Mul(ExpandDims(scale, n), Sum(Mul(ExpandDims(x, n), a), n+1))
	return Add(y, Sum(Mul(ExpandDims(t, n+1), b), n))
}

func evalLowRank(in, out []*Tensor) {
	lead := out[0].Shape.Rank() - 1
	rank, inputs, outputs := in[2].Shape.Dims[lead], in[1].Shape.Dims[lead], out[0].Shape.Dims[lead]
	forLead(slices.Concat(in, out), []int{1, 1, 2, 2, 0, 1}, func(at []int) {
		y, x, a, b, scale := at[0], at[1], at[2], at[3], in[4].F(at[4])
		for o := range outputs {
			sum := in[0].F(y + o)
			for r := range rank {
				t := 0.
				for k := range inputs {
					t += in[1].F(x+k) * in[2].F(a+r*inputs+k)
				}
				sum += scale * t * in[3].F(b+r*outputs+o)
			}
			out[0].SetF(at[5]+o, sum)
		}
	})
}

// AddLowRank is y + scale·(x·aᵀ)·b: what a vector x, [in], gives after a matrix whose product with x is y, [out], once
// the matrix has changed by scale·aᵀ·b of low rank; a is [rank, in], b [rank, out], scale a scalar. Under VMap the
// matrix itself may be the same for all lanes, so that one product serves them all.
func AddLowRank(y, x, a, b, scale *Array) *Array {
	return apply1(op("low_rank"), nil, y, x, a, b, scale)
}
