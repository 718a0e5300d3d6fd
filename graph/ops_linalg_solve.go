package graph

import "slices"

// solveAttrs: a x = b, or a^T x = b.
type solveAttrs struct{ transposed bool }

// solve: a [..., n, n], its factors lu [..., n, n] and permutation [..., n], b [..., n, k] -> x [..., n, k]. The
// factors only help to compute: for derivatives x is a function of a and b, which then do not go through the
// factorisation.
var _ = register(&Op{
	Name: "solve",
	Shape: func(c *call) []Shape {
		a, lu, permutation, b := c.in[0], c.in[1], c.in[2], c.in[3]
		checkMatrices(c, a, b)
		checkSquare(c, a)
		if !lu.Equal(a) || !permutation.Equal(a.remove(a.Rank()-1).with(Int32)) {
			c.fail("factors %s and %s do not fit to %s", lu, permutation, a)
		}
		if n := b.Rank() - 2; b.Dims[n] != a.Dims[n] {
			c.fail("matrix %s and right-hand side %s do not fit", a, b)
		}
		return []Shape{b}
	},
	Batch: func(b *batching, n *Node, in []*Array, dims []int) ([]*Array, []int) {
		if slices.ContainsFunc(dims[:3], func(d int) bool { return d >= 0 }) {
			return batchMatrices(b, n, in, dims)
		}
		at := n.Inputs[3].Rank() - 1
		return solveLanes(n, in, b.moveTo(in[3], dims[3], at), at)
	},
	// Giles (2008), 2.2.4: dX = A^-1 (dB - dA X).
	JVP: func(n *Node, in, out, t []*Array) []*Array {
		db := t[3]
		if da := t[0]; da != nil {
			if n.Attrs.(solveAttrs).transposed {
				da = MatrixTranspose(da)
			}
			db = addTangents(db, Neg(MatMul(da, out[0])))
		}
		if db == nil {
			return []*Array{nil}
		}
		return apply(n.Op, n.Attrs, []*Array{in[0], in[1], in[2], db})
	},
	Transpose: func(n *Node, in []*Array, linear []bool, cts []*Array) []*Array {
		if linear[0] || linear[1] || linear[2] {
			throw(n.Op.Name, "internal: not linear in the matrix")
		}
		a := solveAttrs{!n.Attrs.(solveAttrs).transposed}
		return []*Array{nil, nil, nil, apply1(n.Op, a, in[0], in[1], in[2], cts[0])}
	},
	Lower: func(l *Cursor, n *Node, in []*Array) []*Array {
		return lowerMatrices(l, in[1:], func(in []*Array) []*Array {
			lu, permutation, b := in[0], in[1], in[2]
			if n.Attrs.(solveAttrs).transposed { // (P^T L U)^T x = U^T L^T P x = b
				x := Linalg.TriangularSolve(lu, b, Linalg.UpperTriangle(), Linalg.TransposedMatrix())
				x = Linalg.TriangularSolve(lu, x, Linalg.UnitDiagonal(), Linalg.TransposedMatrix())
				return []*Array{Take(x, ArgSort(permutation, 0), 0)}
			}
			x := Linalg.TriangularSolve(lu, Take(b, permutation, 0), Linalg.UnitDiagonal())
			return []*Array{Linalg.TriangularSolve(lu, x, Linalg.UpperTriangle())}
		})
	},
	// The reference eliminates anew, and so checks the factors too.
	Eval: func(n *Node, in []*Tensor) []*Tensor {
		return evalMatrices(n, in, func(in []dense) [][]float64 {
			a, b := in[0], in[3]
			if n.Attrs.(solveAttrs).transposed {
				a = a.transposed()
			}
			lu, _, permutation := luReference(a)
			y := newDense(b.rows, b.cols)
			for i, from := range permutation {
				copy(y.v[i*b.cols:(i+1)*b.cols], b.v[int(from)*b.cols:])
			}
			y = triangularReference(triangularAttrs{unit: true}, lu, y)
			return [][]float64{triangularReference(triangularAttrs{upper: true}, lu, y).v}
		})
	},
	Cost: costElements,
	Cases: func() []Case {
		return []Case{
			{Name: "vector", Inputs: []Shape{ShapeOf(Float32, 4, 4), ShapeOf(Float32, 4)}, Lo: -1, Hi: 1, Tol: 2e-5,
				Fn: func(x []*Array) *Array { return Linalg.Solve(apart(x[0]), x[1]) }},
			{Name: "columns", Inputs: []Shape{ShapeOf(Float64, 4, 4), ShapeOf(Float64, 4, 2)}, Lo: -1, Hi: 1,
				Tol: 1e-11, Fn: func(x []*Array) *Array { return Linalg.Solve(Reverse(apart(x[0]), 0), x[1]) }},
			{Name: "transposed", Inputs: []Shape{ShapeOf(Float32, 3, 3), ShapeOf(Float32, 3, 2)}, Lo: -1, Hi: 1,
				Tol: 2e-5,
				Fn: func(x []*Array) *Array {
					a := Reverse(Add(x[0], Mul(Eye(x[0].DType(), 3), 3)), 0)
					lu, _, permutation := Linalg.LU(StopGradient(a))
					return apply1(op("solve"), solveAttrs{true}, a, lu, permutation, x[1])
				}},
			{Name: "inverse", Inputs: []Shape{ShapeOf(Float32, 3, 3)}, Lo: -1, Hi: 1, Tol: 2e-5,
				Fn: func(x []*Array) *Array {
					eye := Eye(x[0].DType(), 3)
					return Linalg.Solve(Add(x[0], Mul(eye, 3)), eye)
				}},
		}
	},
})

// Solve is linalg.Solve.
func (linalgOps) Solve(a, b *Array) *Array {
	if a, b, leading := stackedSystems("Solve", a, b); leading > 0 {
		return eachMatrix(leading, []*Array{a, b}, func(in []*Array) []*Array {
			return []*Array{Linalg.Solve(in[0], in[1])}
		})[0]
	}
	a, b, vector := system("Solve", a, b, false)
	lu, _, permutation := Linalg.LU(StopGradient(a))
	x := applyMatrices(op("solve"), solveAttrs{}, a, lu, permutation, b)[0]
	if vector {
		return Reshape(x, x.Size())
	}
	return x
}
