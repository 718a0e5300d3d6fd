package graph

import (
	"fmt"
	"slices"
)

// triangularAttrs: op(a) x = b, or x op(a) = b on the right side; op is the transpose or nothing.
type triangularAttrs struct{ right, upper, transposed, unit bool }

// triangle is the part of a that the op reads.
func (t triangularAttrs) triangle(a *Array) *Array {
	k := 0
	if t.unit {
		k = 1
	}
	if t.upper {
		return Triu(a, k)
	}
	return Tril(a, -k)
}

// triangular_solve: a [..., n, n] and b [..., n, k] (right side: [..., k, n]) -> the solution, like b.
var _ = register(&Op{
	Apart:  alwaysApart,
	Name:   "triangular_solve",
	ByRows: true,
	Shape: func(c *call) []Shape {
		checkMatrices(c, c.in...)
		checkSquare(c, c.in[0])
		a, b := c.in[0], c.in[1]
		side := b.Rank() - 2
		if c.attrs.(triangularAttrs).right {
			side++
		}
		if b.Dims[side] != a.Dims[a.Rank()-1] {
			c.fail("matrix %s and right-hand side %s do not fit: its axis %d must be %d", a, b, side,
				a.Dims[a.Rank()-1])
		}
		return []Shape{b}
	},
	Batch: func(b *batching, n *Node, in []*Array, dims []int) ([]*Array, []int) {
		if dims[0] >= 0 {
			return batchMatrices(b, n, in, dims)
		}
		// One matrix for all lanes: their right-hand sides stand side by side.
		at := n.Inputs[1].Rank() - 1
		if n.Attrs.(triangularAttrs).right {
			at--
		}
		return solveLanes(n, in, b.moveTo(in[1], dims[1], at), at)
	},
	// Giles, "An extended collection of matrix derivative results" (2008), 2.3.1: dX = A^-1 (dB - dA X).
	JVP: func(n *Node, in, out, t []*Array) []*Array {
		a, db := n.Attrs.(triangularAttrs), t[1]
		if t[0] != nil {
			da := a.triangle(t[0])
			if a.transposed {
				da = MatrixTranspose(da)
			}
			if a.right {
				db = addTangents(db, Neg(MatMul(out[0], da)))
			} else {
				db = addTangents(db, Neg(MatMul(da, out[0])))
			}
		}
		return apply(n.Op, a, []*Array{in[0], db})
	},
	Transpose: func(n *Node, in []*Array, linear []bool, cts []*Array) []*Array {
		if linear[0] {
			throw(n.Op.Name, "internal: not linear in the matrix")
		}
		a := n.Attrs.(triangularAttrs)
		a.transposed = !a.transposed
		return []*Array{nil, apply1(n.Op, a, in[0], cts[0])}
	},
	WritesParts: alwaysWritesParts,
	Lower: func(l *Cursor, n *Node, in []*Array) []*Array {
		if !l.target.HasKernels() {
			return nil
		}
		a := n.Attrs.(triangularAttrs)
		return kernelCall(triangularKernel, []int{number(a.right), number(a.upper), number(a.transposed),
			number(a.unit)}, []Shape{in[1].shape}, in...)
	},
	Emit: func(e *emitter, n *Node) {
		a := n.Attrs.(triangularAttrs)
		way := "NO_TRANSPOSE"
		if a.transposed {
			way = "TRANSPOSE"
		}
		e.generic(n, "stablehlo.triangular_solve", fmt.Sprintf("left_side = %t, lower = %t, unit_diagonal = %t, "+
			"transpose_a = #stablehlo<transpose %s>", !a.right, !a.upper, a.unit, way))
	},
	Eval: func(n *Node, in []*Tensor) []*Tensor {
		a := n.Attrs.(triangularAttrs)
		return evalMatrices(n, in, func(in []dense) [][]float64 {
			return [][]float64{triangularReference(a, in[0], in[1]).v}
		})
	},
	Cost: costOf(func(n *Node) float64 {
		a := n.Inputs[0]
		return float64(a.Dim(a.Rank()-1)) * resultElements(n)
	}),
	Cases: func() []Case {
		var cases []Case
		for i := range 16 {
			a := triangularAttrs{i&1 > 0, i&2 > 0, i&4 > 0, i&8 > 0}
			b := ShapeOf(Float32, 3, 2)
			if a.right {
				b = ShapeOf(Float32, 2, 3)
			}
			cases = append(cases, Case{Name: fmt.Sprintf("%+v", a), Inputs: []Shape{ShapeOf(Float32, 3, 3), b}, Lo: -1,
				Hi: 1, Tol: 1e-5,
				Fn: func(x []*Array) *Array {
					m := Add(x[0], Mul(Eye(x[0].DType(), 3), 2))
					return apply1(op("triangular_solve"), a, m, x[1])
				}})
		}
		return append(cases, Case{Name: "f64 vector", Inputs: []Shape{ShapeOf(Float64, 4, 4), ShapeOf(Float64, 4)},
			Lo: .5, Hi: 1, Tol: 1e-12,
			Fn: func(x []*Array) *Array { return Linalg.TriangularSolve(x[0], x[1], Linalg.UpperTriangle()) }})
	},
})

var triangularKernel = matrixKernel("xlarun_triangular_solve", func(config []int, in []dense) [][]float64 {
	a := triangularAttrs{config[0] != 0, config[1] != 0, config[2] != 0, config[3] != 0}
	return [][]float64{triangularReference(a, in[0], in[1]).v}
})

func number(b bool) int {
	if b {
		return 1
	}
	return 0
}

// solveLanes folds the lane axis, at place at of the last input, into its neighbor behind, applies n, and unfolds.
func solveLanes(n *Node, in []*Array, rhs *Array, at int) ([]*Array, []int) {
	dims := rhs.Dims()
	folded := slices.Concat(dims[:at], []int{dims[at] * dims[at+1]}, dims[at+2:])
	out := applyMatrices(n.Op, n.Attrs, append(slices.Clone(in[:len(in)-1]), Reshape(rhs, folded...))...)
	return []*Array{Reshape(out[0], dims...)}, []int{at}
}

// triangularReference is substitution, forward or backward.
func triangularReference(t triangularAttrs, a, b dense) dense {
	if t.right { // x op(a) = b is op(a)^T x^T = b^T
		t.right, t.transposed = false, !t.transposed
		return triangularReference(t, a, b.transposed()).transposed()
	}
	upper := t.upper
	if t.transposed {
		a, upper = a.transposed(), !upper
	}
	x := b.clone()
	for k := range a.rows {
		i := k
		if upper {
			i = a.rows - 1 - k
		}
		for j := range x.cols {
			s := x.at(i, j)
			for l := range a.rows {
				if l < i && !upper || l > i && upper {
					s -= a.at(i, l) * x.at(l, j)
				}
			}
			if !t.unit {
				s /= a.at(i, i)
			}
			x.set(i, j, s)
		}
	}
	return x
}

// TriangularOption changes what TriangularSolve solves.
type TriangularOption func(*triangularAttrs)

// RightSide is linalg.RightSide.
func (linalgOps) RightSide() TriangularOption { return func(t *triangularAttrs) { t.right = true } }

// UpperTriangle is linalg.UpperTriangle.
func (linalgOps) UpperTriangle() TriangularOption { return func(t *triangularAttrs) { t.upper = true } }

// TransposedMatrix is linalg.TransposedMatrix.
func (linalgOps) TransposedMatrix() TriangularOption {
	return func(t *triangularAttrs) { t.transposed = true }
}

// UnitDiagonal is linalg.UnitDiagonal.
func (linalgOps) UnitDiagonal() TriangularOption { return func(t *triangularAttrs) { t.unit = true } }

// TriangularSolve is linalg.TriangularSolve.
func (linalgOps) TriangularSolve(a, b *Array, opts ...TriangularOption) *Array {
	return triangularSolve("TriangularSolve", a, b, opts...)
}

// CholeskySolve is linalg.CholeskySolve.
func (linalgOps) CholeskySolve(l, b *Array) *Array {
	const name = "CholeskySolve"
	return triangularSolve(name, l, triangularSolve(name, l, b), Linalg.TransposedMatrix())
}

func triangularSolve(name string, a, b *Array, opts ...TriangularOption) *Array {
	var t triangularAttrs
	for _, o := range opts {
		o(&t)
	}
	if a, b, leading := stackedSystems(name, a, b); leading > 0 {
		return eachMatrix(leading, []*Array{a, b}, func(in []*Array) []*Array {
			return []*Array{triangularSolve(name, in[0], in[1], opts...)}
		})[0]
	}
	a, b, vector := system(name, a, b, t.right)
	x := applyMatrices(op("triangular_solve"), t, a, b)[0]
	if vector {
		return Reshape(x, x.Size())
	}
	return x
}

// stackedSystems broadcasts the leading axes of two sides of linear systems, and returns their number; 0: there is one
// system. b is a vector only if it has one axis, as in numpy 2. Errors name the op.
func stackedSystems(name string, a, b *Array) (*Array, *Array, int) {
	if a == nil || b == nil || a.Rank() < 2 || a.Rank() == 2 && b.Rank() <= 2 {
		return a, b, 0
	}
	own := min(2, b.Rank())
	lead := BroadcastDims(name, a.Dims()[:a.Rank()-2], b.Dims()[:b.Rank()-own])
	a = a.BroadcastTo(append(slices.Clone(lead), a.Dims()[a.Rank()-2:]...)...)
	b = b.BroadcastTo(append(slices.Clone(lead), b.Dims()[b.Rank()-own:]...)...)
	return a, b, len(lead)
}

// system checks and promotes the two sides of a linear system; a vector becomes a matrix of one column (or row).
func system(name string, a, b *Array, right bool) (*Array, *Array, bool) {
	a = Linalg.SquareMatrix(name, a)
	if b == nil {
		throw(name, "got a nil *Array")
	}
	b = linalgFloat(name, b)
	d := Promote(a.DType(), b.DType())
	a, b = Convert(a, d), Convert(b, d)
	n := a.Dim(0)
	switch {
	case b.Rank() == 1 && b.Dim(0) == n && right:
		return a, Reshape(b, 1, n), true
	case b.Rank() == 1 && b.Dim(0) == n:
		return a, Reshape(b, n, 1), true
	case b.Rank() == 2 && right && b.Dim(1) == n || b.Rank() == 2 && !right && b.Dim(0) == n:
		return a, b, false
	case right:
		throw(name, "got a matrix %s and a right-hand side %s, want one of dims [%d] or [k, %d]", a.shape, b.shape, n,
			n)
	}
	throw(name, "got a matrix %s and a right-hand side %s, want one of dims [%d] or [%d, k]", a.shape, b.shape, n, n)
	return nil, nil, false
}
