package graph

import (
	"fmt"
	"math"
)

// qr: [..., m, n] -> q [..., m, k], r [..., k, n] with k the smaller of m and n.
var _ = register(&Op{
	Name:   "qr",
	ByRows: true,
	Shape: func(c *call) []Shape {
		checkMatrices(c, c.in...)
		s := c.in[0]
		m, n := s.Dims[s.Rank()-2], s.Dims[s.Rank()-1]
		return []Shape{matrixDims(s, m, min(m, n)), matrixDims(s, min(m, n), n)}
	},
	Batch: batchMatrices,
	JVP: func(n *Node, in, out, t []*Array) []*Array {
		return eachMatrix(in[0].Rank()-2, []*Array{out[0], out[1], t[0]}, func(x []*Array) []*Array {
			q, r, dx := x[0], x[1], x[2]
			m, n := q.Dim(0), r.Dim(1)
			if m >= n {
				dq, dr := qrTangents(q, r, dx)
				return []*Array{dq, dr}
			}
			// A wide matrix is [X1 X2] = Q [R1 R2]: X1 decides Q, and dR2 = Q^T (dX2 - dQ R2).
			dq, dr := qrTangents(q, SliceAxis(r, 1, 0, m), SliceAxis(dx, 1, 0, m))
			rest := Sub(SliceAxis(dx, 1, m, n), MatMul(dq, SliceAxis(r, 1, m, n)))
			return []*Array{dq, Concatenate(1, dr, MatMul(MatrixTranspose(q), rest))}
		})
	},
	NotLinear: "it is not linear in its input",
	Lower: func(l *Cursor, n *Node, in []*Array) []*Array {
		if l.target.HasKernels() {
			return kernelCall(qrKernel, nil, ShapesOf(n.Outs), in...)
		}
		return lowerMatrices(l, in, func(in []*Array) []*Array {
			q, r := householder(in[0])
			return []*Array{q, r}
		})
	},
	Eval: func(n *Node, in []*Tensor) []*Tensor {
		return evalMatrices(n, in, func(in []dense) [][]float64 {
			q, r := qrReference(in[0])
			return [][]float64{q.v, r.v}
		})
	},
	Cost: costMatrix(4. / 3),
	Cases: func() []Case {
		var cases []Case
		for _, d := range []DType{Float32, Float64} {
			for _, s := range [][]int{{4, 4}, {5, 3}, {2, 4}, {1, 1}} {
				cases = append(cases, Case{Name: fmt.Sprint(dtypeName(d), s), Inputs: []Shape{ShapeOf(d, s...)}, Lo: -1,
					Hi: 1, Tol: 1e-5,
					Fn: func(x []*Array) *Array {
						q, r := Linalg.QR(x[0])
						return Concatenate(0, Flatten1D(q), Flatten1D(r))
					}})
			}
		}
		return cases
	},
})

// qrTangents is the derivative of X = QR for m >= n: Seeger, Hetzel, Dai and Lawrence, "Auto-differentiating linear
// algebra" (2017), section 4.3. With M = Q^T dX R^-1 and W = tril(M, -1) - tril(M, -1)^T, dR = (M - W) R and
// dQ = dX R^-1 - Q (M - W).
func qrTangents(q, r, dx *Array) (dq, dr *Array) {
	y := Linalg.TriangularSolve(r, dx, Linalg.RightSide(), Linalg.UpperTriangle())
	m := MatMul(MatrixTranspose(q), y)
	low := Tril(m, -1)
	up := Sub(m, Sub(low, MatrixTranspose(low)))
	return Sub(y, MatMul(q, up)), MatMul(up, r)
}

// householder is QR by Householder reflections, a loop over columns (Golub and Van Loan, algorithms 5.1.1 and 5.2.1),
// with LAPACK's signs (geqrf, larfg): a diagonal element of r has the sign opposite to that of the element it comes
// from, and a column that is zero below the diagonal is left alone.
func householder(x *Array) (q, r *Array) {
	m, n := x.Dim(0), x.Dim(1)
	k := min(m, n)
	scale := scaleOf(x)
	type reflection struct{ V, Tau *Array } // v [m], tau []
	rows := Iota(m)
	apply := func(h reflection, a *Array) *Array {
		return Sub(a, Mul(ExpandDims(Mul(h.V, h.Tau), 1), ExpandDims(Dot(h.V, a), 0)))
	}
	r, hs := Scan(func(a, j *Array) (*Array, reflection) {
		column := DynamicIndex(a, j, 1)
		alpha := DynamicIndex(column, j, 0)
		tail := Select(Gt(rows, j), column, ZerosLike(column))
		below := Sum(Square(tail))
		norm := Sqrt(Add(Square(alpha), below))
		beta := Select(Ge(alpha, 0), Neg(norm), norm)
		zero := Eq(below, 0)
		safe := func(x *Array) *Array { return Select(zero, OnesLike(x), x) }
		h := reflection{
			V:   Select(Eq(rows, j), OnesLike(tail), Div(tail, safe(Sub(alpha, beta)))),
			Tau: Select(zero, ZerosLike(beta), Div(Sub(beta, alpha), safe(beta))),
		}
		return apply(h, a), h
	}, Div(x, scale), Iota(k))
	q, _ = Scan(func(a *Array, h reflection) (*Array, None) { return apply(h, a), None{} },
		SliceAxis(Eye(x.DType(), m), 1, 0, k), hs, ReverseScan())
	return q, Mul(Triu(SliceAxis(r, 0, 0, k), 0), scale)
}

var qrKernel = matrixKernel("xlarun_qr", func(_ []int, in []dense) [][]float64 {
	q, r := qrReference(in[0])
	return [][]float64{q.v, r.v}
})

// qrReference is the same by plain loops.
func qrReference(a dense) (q, r dense) {
	m, k := a.rows, min(a.rows, a.cols)
	work := a.clone()
	full := identity(m)
	for j := range k {
		below := 0.0
		for i := j + 1; i < m; i++ {
			below = math.Hypot(below, work.at(i, j))
		}
		if below == 0 {
			continue
		}
		alpha := work.at(j, j)
		beta := -math.Copysign(math.Hypot(alpha, below), alpha)
		v := make([]float64, m)
		v[j] = 1
		for i := j + 1; i < m; i++ {
			v[i] = work.at(i, j) / (alpha - beta)
		}
		tau := (beta - alpha) / beta
		for c := range work.cols { // work = H work
			s := 0.0
			for i := j; i < m; i++ {
				s += v[i] * work.at(i, c)
			}
			for i := j; i < m; i++ {
				work.set(i, c, work.at(i, c)-tau*v[i]*s)
			}
		}
		for row := range m { // full = full H
			s := 0.0
			for i := j; i < m; i++ {
				s += full.at(row, i) * v[i]
			}
			for i := j; i < m; i++ {
				full.set(row, i, full.at(row, i)-tau*v[i]*s)
			}
		}
	}
	q, r = newDense(m, k), newDense(k, a.cols)
	for i := range m {
		for j := range k {
			q.set(i, j, full.at(i, j))
		}
	}
	for i := range k {
		for j := i; j < a.cols; j++ {
			r.set(i, j, work.at(i, j))
		}
	}
	return q, r
}

// QR is linalg.QR.
func (linalgOps) QR(x *Array) (q, r *Array) {
	outs := applyMatrices(op("qr"), nil, Linalg.Matrix("QR", x))
	return outs[0], outs[1]
}
