package graph

import (
	"fmt"
	"slices"
)

// eigAttrs say whether the eigenvectors are wanted.
type eigAttrs struct{ vectors bool }

func (a eigAttrs) String() string { return fmt.Sprintf("{vectors %v}", a.vectors) }

// eig: [..., n, n] -> eigenvalues' real and imaginary parts [..., n] and, where they are wanted, eigenvectors' real and
// imaginary parts [..., n, n] in columns.
var _ = register(&Op{
	Name:   "eig",
	ByRows: true,
	Shape: func(c *call) []Shape {
		checkMatrices(c, c.in...)
		checkSquare(c, c.in[0])
		w := c.in[0].remove(c.in[0].Rank() - 1)
		if !c.attrs.(eigAttrs).vectors {
			return []Shape{w, w}
		}
		return []Shape{w, w, c.in[0], c.in[0]}
	},
	Batch: batchMatrices,
	// The derivatives need the vectors, whoever wants them.
	Derivative: func(n *Node, in, t []*Array) (outs, tangents []*Array) {
		outs = apply(n.Op, eigAttrs{vectors: true}, in)
		tangents = eachMatrix(in[0].Rank()-2, append(slices.Clone(outs), t[0]), func(x []*Array) []*Array {
			return eigTangents(complexArray{x[0], x[1]}, complexArray{x[2], x[3]}, x[4])
		})
		results := len(n.Outs)
		return outs[:results], tangents[:results]
	},
	NotLinear: "it is not linear in its input",
	Lower: func(l *Cursor, n *Node, in []*Array) []*Array {
		vectors := n.Attrs.(eigAttrs).vectors
		if l.target.HasKernels() {
			return kernelCall(eigKernel, []int{int(boolBit(vectors))}, ShapesOf(n.Outs), in...)
		}
		return lowerMatrices(l, in, func(in []*Array) []*Array { return francisEig(in[0], vectors) })
	},
	Eval: func(n *Node, in []*Tensor) []*Tensor {
		return evalMatrices(n, in, func(in []dense) [][]float64 { return evalEig(n.Attrs.(eigAttrs).vectors, in[0]) })
	},
	Cost: costMatrix(25),
	Cases: func() []Case {
		var cases []Case
		for _, d := range []DType{Float32, Float64} {
			for _, n := range []int{1, 2, 5} {
				c := Case{Inputs: []Shape{ShapeOf(d, n, n)}, Lo: -1, Hi: 1, Tol: 3e-5}
				// Real eigenvalues and a pair, all well apart.
				matrix := func(x *Array) *Array {
					row, col := matrixIndices("eig", x)
					turn := And(Lt(Add(row, col), 2), Ne(row, col))
					return Add(apart(Mul(x, .3)), Select(turn, Mul(Convert(Sub(row, col), d), 4), 0))
				}
				c.Name, c.Fn = fmt.Sprint("values ", dtypeName(d), " ", n), func(x []*Array) *Array {
					re, im := Linalg.EigVals(matrix(x[0]))
					return Concatenate(0, re, im)
				}
				cases = append(cases, c)
				c.Name, c.Fn = fmt.Sprint("vectors ", dtypeName(d), " ", n), func(x []*Array) *Array {
					e := Linalg.Eig(matrix(x[0]))
					return Concatenate(0, ExpandDims(e.Re, 0), ExpandDims(e.Im, 0), e.VectorsRe, e.VectorsIm)
				}
				cases = append(cases, c)
			}
		}
		return cases
	},
})

// eigTangents is Giles, "An extended collection of matrix derivative results" (2008), section 3.1: with P = V^-1 dA V,
// dw = diag(P) and dV = V (F * P), F_ij = 1 / (w_j - w_i), 0 on the diagonal. Each vector gets the multiple of itself
// that keeps its norm 1 and its leading element real.
func eigTangents(w, v complexArray, da *Array) []*Array {
	n, d := da.Dim(0), da.DType()
	// The complex system V P = B is the real one [re V, -im V; im V, re V] [re P; im P] = [re B; im B].
	real := Concatenate(0, Concatenate(1, v.Re, Neg(v.Im)), Concatenate(1, v.Im, v.Re))
	m := Linalg.Solve(real, Concatenate(0, MatMul(da, v.Re), MatMul(da, v.Im)))
	p := complexArray{SliceAxis(m, 0, 0, n), SliceAxis(m, 0, n, 2*n)}
	gap := w.each(func(x *Array) *Array { return Sub(ExpandDims(x, 0), ExpandDims(x, 1)) })
	square := Add(Add(Square(gap.Re), Square(gap.Im)), Eye(d, n))
	dv := v.dot(p.times(gap.conjugate().over(square)))
	first := leadingElements(v)
	lead := func(x *Array) *Array { return TakeAlongAxis(x, first, 0) }
	along := complexArray{Sum(Add(Mul(v.Re, dv.Re), Mul(v.Im, dv.Im)), 0), Squeeze(Div(lead(dv.Im), lead(v.Re)), 0)}
	dv = dv.plus(v.times(along.scaled(Full(Shape{DType: d}, -1))))
	return []*Array{Diagonal(p.Re, 0, 1), Diagonal(p.Im, 0, 1), dv.Re, dv.Im}
}

var eigKernel = matrixKernel("xlarun_eig", func(config []int, in []dense) [][]float64 {
	return evalEig(config[0] != 0, in[0])
})

func evalEig(vectors bool, a dense) [][]float64 {
	wr, wi, vr, vi := eigReference(a)
	if !vectors {
		return [][]float64{wr, wi}
	}
	return [][]float64{wr, wi, vr.v, vi.v}
}

// Eigen holds eigenvalues [..., n] and eigenvectors [..., n, n] of matrices: column k of the vectors belongs to value
// k. Both are complex numbers, given as real and imaginary parts.
type Eigen struct{ Re, Im, VectorsRe, VectorsIm *Array }

// Eig is linalg.Eig.
func (linalgOps) Eig(x *Array) Eigen {
	outs := applyMatrices(op("eig"), eigAttrs{vectors: true}, Linalg.SquareMatrix("Eig", x))
	return Eigen{outs[0], outs[1], outs[2], outs[3]}
}

// EigVals is linalg.EigVals.
func (linalgOps) EigVals(x *Array) (re, im *Array) {
	outs := applyMatrices(op("eig"), eigAttrs{}, Linalg.SquareMatrix("EigVals", x))
	return outs[0], outs[1]
}
