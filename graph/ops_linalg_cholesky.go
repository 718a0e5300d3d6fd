package graph

import (
	"fmt"
	"math"
)

// cholesky: [..., n, n] -> [..., n, n], lower. It reads the lower triangle.
// rawCholesky are the attributes of the factorisation as compilers have it: only the lower triangle counts.
type rawCholesky struct{}

var _ = register(&Op{
	Apart:  alwaysApart,
	Name:   "cholesky",
	ByRows: true,
	Shape: func(c *call) []Shape {
		checkMatrices(c, c.in...)
		checkSquare(c, c.in[0])
		return c.in[:1]
	},
	Batch: batchMatrices,
	// Murray, "Differentiation of the Cholesky decomposition" (2016), eq. 8: dL = L phi(L^-1 dA L^-T), where phi takes
	// the lower triangle and half of the diagonal.
	JVP: func(n *Node, in, out, t []*Array) []*Array {
		return eachMatrix(in[0].Rank()-2, []*Array{out[0], t[0]}, func(x []*Array) []*Array {
			l, da := x[0], x[1]
			m := Linalg.TriangularSolve(l, da)
			m = Linalg.TriangularSolve(l, m, Linalg.RightSide(), Linalg.TransposedMatrix())
			phi := Mul(Tril(m, 0), Sub(1, Mul(Eye(l.DType(), l.Dim(0)), .5)))
			return []*Array{MatMul(l, phi)}
		})
	},
	NotLinear: "it is not linear in its input",
	// StableHLO leaves the other triangle open, and what comes out for a matrix that is not positive definite.
	Lower: func(l *Cursor, n *Node, in []*Array) []*Array {
		if n.Attrs == (rawCholesky{}) {
			return nil
		}
		if l.target.HasKernels() {
			return kernelCall(choleskyKernel, nil, []Shape{in[0].shape}, in...)
		}
		return lowerMatrices(l, apply(n.Op, rawCholesky{}, in), func(in []*Array) []*Array {
			ok := All(Gt(Diagonal(in[0], 0, 1), 0))
			return []*Array{Tril(Select(ok, in[0], FullLike(in[0], math.NaN())), 0)}
		})
	},
	WritesParts: alwaysWritesParts,
	Emit:        func(e *emitter, n *Node) { e.generic(n, "stablehlo.cholesky", "lower = true") },
	Eval: func(n *Node, in []*Tensor) []*Tensor {
		return evalMatrices(n, in, func(in []dense) [][]float64 { return [][]float64{choleskyReference(in[0]).v} })
	},
	Cost: costMatrix(1. / 3),
	Cases: func() []Case {
		var cases []Case
		for _, d := range []DType{Float32, Float64} {
			for _, n := range []int{1, 4} {
				cases = append(cases, Case{Name: fmt.Sprint(dtypeName(d), " ", n), Inputs: []Shape{ShapeOf(d, n, n)},
					Lo: -1, Hi: 1, Tol: 1e-5, Fn: func(x []*Array) *Array { return Linalg.Cholesky(positive(x[0])) }})
			}
		}
		return append(cases, Case{Name: "not positive", Inputs: []Shape{ShapeOf(Float32, 3, 3)}, Lo: 1, Hi: 2,
			Rough: true, Fn: func(x []*Array) *Array { return Linalg.Cholesky(Neg(x[0])) }})
	},
})

var choleskyKernel = matrixKernel("xlarun_cholesky", func(_ []int, in []dense) [][]float64 {
	return [][]float64{choleskyReference(in[0]).v}
})

// positive makes a positive definite matrix of any square one, for samples.
func positive(x *Array) *Array { return Add(MatMul(x, MatrixTranspose(x)), Eye(x.DType(), x.Dim(0))) }

// choleskyReference is Golub and Van Loan, "Matrix computations" (4th ed.), algorithm 4.2.2; all NaN where a pivot is
// not positive.
func choleskyReference(a dense) dense {
	n := a.rows
	l := newDense(n, n)
	for j := range n {
		for i := j; i < n; i++ {
			s := a.at(i, j)
			for k := range j {
				s -= l.at(i, k) * l.at(j, k)
			}
			switch {
			case i > j:
				l.set(i, j, s/l.at(j, j))
			case s > 0:
				l.set(j, j, math.Sqrt(s))
			default:
				for k := range l.v {
					l.v[k] = math.NaN()
				}
				return l.lower()
			}
		}
	}
	return l
}

// lower makes the strict upper triangle zero.
func (m dense) lower() dense {
	for i := range m.rows {
		for j := i + 1; j < m.cols; j++ {
			m.set(i, j, 0)
		}
	}
	return m
}

// Cholesky is linalg.Cholesky.
func (linalgOps) Cholesky(x *Array) *Array {
	return applyMatrices(op("cholesky"), nil, symmetric(Linalg.SquareMatrix("Cholesky", x)))[0]
}
