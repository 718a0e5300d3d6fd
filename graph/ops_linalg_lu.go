package graph

import (
	"fmt"
	"math"
)

// lu: [..., n, n] -> both factors in one matrix [..., n, n], pivots int32 [..., n], permutation int32 [..., n].
var _ = register(&Op{
	Name:   "lu",
	ByRows: true,
	Shape: func(c *call) []Shape {
		checkMatrices(c, c.in...)
		checkSquare(c, c.in[0])
		rows := c.in[0].remove(c.in[0].Rank() - 1).with(Int32)
		return []Shape{c.in[0], rows, rows}
	},
	Batch: batchMatrices,
	// P A = L U with P constant: with M = L^-1 P dA U^-1, dL = L tril(M, -1) and dU = triu(M) U.
	JVP: func(n *Node, in, out, t []*Array) []*Array {
		return append(eachMatrix(in[0].Rank()-2, []*Array{out[0], out[2], t[0]}, func(x []*Array) []*Array {
			lu, permutation, da := x[0], x[1], x[2]
			m := Linalg.TriangularSolve(lu, Take(da, permutation, 0), Linalg.UnitDiagonal())
			m = Linalg.TriangularSolve(lu, m, Linalg.RightSide(), Linalg.UpperTriangle())
			l := Add(Tril(lu, -1), Eye(lu.DType(), lu.Dim(0)))
			return []*Array{Add(MatMul(l, Tril(m, -1)), MatMul(Triu(m, 0), Triu(lu, 0)))}
		}), nil, nil)
	},
	NotLinear: "it is not linear in its input",
	Lower: func(l *Cursor, n *Node, in []*Array) []*Array {
		panel := luPanel
		if l.target.HasKernels() {
			panel = luKernelPanel
		}
		return lowerMatrices(l, in, func(in []*Array) []*Array {
			lu, pivots, permutation := luBlocks(in[0], luBlock, panel)
			return []*Array{lu, pivots, permutation}
		})
	},
	Eval: func(n *Node, in []*Tensor) []*Tensor {
		return evalMatrices(n, in, func(in []dense) [][]float64 {
			lu, pivots, permutation := luReference(in[0])
			return [][]float64{lu.v, pivots, permutation}
		})
	},
	Cost: costMatrix(2. / 3),
	Cases: func() []Case {
		var cases []Case
		for _, d := range []DType{Float32, Float64} {
			for _, n := range []int{1, 2, 5} {
				cases = append(cases, Case{Name: fmt.Sprint(dtypeName(d), " ", n), Inputs: []Shape{ShapeOf(d, n, n)},
					Lo: -1, Hi: 1, Tol: 2e-5, Fn: func(x []*Array) *Array { lu, _, _ := Linalg.LU(x[0]); return lu }})
			}
		}
		return append(cases, Case{Name: "permutation", Inputs: []Shape{ShapeOf(Float32, 5, 5)}, Lo: -1, Hi: 1,
			Rough: true, Fn: func(x []*Array) *Array { _, p, q := Linalg.LU(x[0]); return Stack([]*Array{p, q}, 0) }})
	},
})

// luBlock is the number of columns that luBlocks eliminates one by one; the rest of the matrix then takes them all in
// one multiplication.
const luBlock = 128

// luBlocks is Gaussian elimination with partial pivoting, block by block (Golub and Van Loan, 3.4.7 and 3.2.11).
func luBlocks(a *Array, block int, factor func(panel *Array) (lu, pivots, order *Array)) (lu, pivots,
	permutation *Array) {
	n := a.Dim(0)
	if n <= block {
		return factor(a)
	}
	permutation = Iota(n)
	var all []*Array
	for at := 0; at < n; at += block {
		end := min(at+block, n)
		panel, pivot, order := factor(Slice(a, []int{at, at}, []int{n, end}))
		all = append(all, Add(pivot, int32(at)))
		reorder := func(x *Array) *Array {
			return Concatenate(0, SliceAxis(x, 0, 0, at), Take(SliceAxis(x, 0, at, n), order, 0))
		}
		permutation = reorder(permutation)
		a = reorder(a)
		left := SliceAxis(a, 1, 0, at)
		right := SliceAxis(a, 1, end, n)
		done := Concatenate(0, Slice(a, []int{0, at}, []int{at, end}), panel)
		if end < n {
			top := Linalg.TriangularSolve(SliceAxis(panel, 0, 0, end-at), SliceAxis(right, 0, at, end),
				Linalg.UnitDiagonal())
			rest := Sub(SliceAxis(right, 0, end, n), MatMul(SliceAxis(panel, 0, end-at, n-at), top))
			right = Concatenate(0, SliceAxis(right, 0, 0, at), top, rest)
		}
		a = Concatenate(1, left, done, right)
	}
	return a, Concatenate(0, all...), permutation
}

// luPanel eliminates the columns of a [m, n], m >= n, one by one: pivots [n] are the rows swapped with rows 0 … n-1, in
// that order, order [m] is what becomes of the rows.
func luPanel(a *Array) (lu, pivots, order *Array) {
	type state struct{ A, Order *Array }
	m, n := a.Dim(0), a.Dim(1)
	rows, columns := Iota(m), Iota(n)
	end, pivots := Scan(func(s state, k *Array) (state, *Array) {
		column := DynamicIndex(s.A, k, 1)
		pivot := ArgMax(Select(Ge(rows, k), Abs(column), FullLike(column, -1)), 0)
		swap := func(x *Array) *Array {
			x1, x2 := DynamicIndex(x, k, 0), DynamicIndex(x, pivot, 0)
			return DynamicUpdateIndex(DynamicUpdateIndex(x, x2, k, 0), x1, pivot, 0)
		}
		s = state{swap(s.A), swap(s.Order)}
		column, row := DynamicIndex(s.A, k, 1), DynamicIndex(s.A, k, 0)
		top := DynamicIndex(row, k, 0)
		below := And(Gt(rows, k), Ne(top, 0)) // a column of zeros is left alone
		factor := Select(below, Div(column, Select(Eq(top, 0), OnesLike(top), top)), ZerosLike(column))
		s.A = Sub(s.A, Outer(factor, Select(Gt(columns, k), row, ZerosLike(row))))
		s.A = DynamicUpdateIndex(s.A, Select(below, factor, column), k, 1)
		return s, pivot
	}, state{a, rows}, columns)
	return end.A, pivots, end.Order
}

var luKernel = matrixKernel("xlarun_lu", func(_ []int, in []dense) [][]float64 {
	lu, pivots, order := luReference(in[0])
	return [][]float64{lu.v, pivots, order}
})

// luKernelPanel is luPanel by a kernel.
func luKernelPanel(a *Array) (lu, pivots, order *Array) {
	rows := Shape{DType: Int32, Dims: a.Dims()[:1]}
	outs := kernelCall(luKernel, nil, []Shape{a.shape, rows.dims(a.Dim(1)), rows}, a)
	return outs[0], outs[1], outs[2]
}

// luReference is the same by plain loops, without blocks, for as many rows as columns or more.
func luReference(a dense) (lu dense, pivots, permutation []float64) {
	n := a.cols
	lu = a.clone()
	for i := range a.rows {
		permutation = append(permutation, float64(i))
	}
	for k := range n {
		p := k
		for i := k; i < a.rows; i++ {
			if math.Abs(lu.at(i, k)) > math.Abs(lu.at(p, k)) {
				p = i
			}
		}
		pivots = append(pivots, float64(p))
		permutation[k], permutation[p] = permutation[p], permutation[k]
		for j := range n {
			x, y := lu.at(k, j), lu.at(p, j)
			lu.set(k, j, y)
			lu.set(p, j, x)
		}
		if lu.at(k, k) == 0 {
			continue
		}
		for i := k + 1; i < a.rows; i++ {
			f := lu.at(i, k) / lu.at(k, k)
			lu.set(i, k, f)
			for j := k + 1; j < n; j++ {
				lu.set(i, j, lu.at(i, j)-f*lu.at(k, j))
			}
		}
	}
	return lu, pivots, permutation
}

// LU is linalg.LU.
func (linalgOps) LU(x *Array) (lu, pivots, permutation *Array) {
	outs := applyMatrices(op("lu"), nil, Linalg.SquareMatrix("LU", x))
	return outs[0], outs[1], outs[2]
}
