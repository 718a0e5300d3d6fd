package graph

import (
	"fmt"
	"math"
	"slices"
)

// eigh: [..., n, n] symmetric -> eigenvalues [..., n] ascending, eigenvectors [..., n, n] in columns.
var _ = register(&Op{
	Name:   "eigh",
	ByRows: true,
	Shape: func(c *call) []Shape {
		checkMatrices(c, c.in...)
		checkSquare(c, c.in[0])
		return []Shape{c.in[0].remove(c.in[0].Rank() - 1), c.in[0]}
	},
	Batch: batchMatrices,
	// Giles, "An extended collection of matrix derivative results" (2008), section 3.1, for a symmetric A with distinct
	// eigenvalues: with M = V^T dA V, dw = diag(M) and dV = V (F * M), F_ij = 1 / (w_j - w_i), 0 on the diagonal.
	JVP: func(n *Node, in, out, t []*Array) []*Array {
		return eachMatrix(in[0].Rank()-2, []*Array{out[0], out[1], t[0]}, func(x []*Array) []*Array {
			w, v, da := x[0], x[1], x[2]
			m := MatMul(MatMul(MatrixTranspose(v), da), v)
			eye := Eye(w.DType(), w.Size())
			gap := Sub(ExpandDims(w, 0), ExpandDims(w, 1))
			f := Sub(Div(1, Add(gap, eye)), eye)
			return []*Array{Diagonal(m, 0, 1), MatMul(v, Mul(f, m))}
		})
	},
	NotLinear: "it is not linear in its input",
	// Reflections and QL steps one by one, which the kernel takes, are a tenth of the work of rotating pairs until all
	// are diagonal, which vectors can do.
	Lower: func(l *Cursor, n *Node, in []*Array) []*Array {
		if l.target.HasKernels() && slices.Contains([]DType{Float32, Float64}, in[0].DType()) {
			return kernelCall(eighKernel, nil, ShapesOf(n.Outs), in...)
		}
		decompose := jacobiEigh
		if l.target == TargetCUDA {
			decompose = func(a *Array) (w, v *Array) { return jacobiEighBy(takenPairs, a) }
		}
		if n := in[0].Dim(-1); l.target == TargetTPU && in[0].DType() == Float32 && n > 1 && n <= mostEighTPU {
			decompose = eighTPU
		}
		return lowerMatrices(l, in, func(in []*Array) []*Array {
			w, v := decompose(in[0])
			return []*Array{w, v}
		})
	},
	Eval: func(n *Node, in []*Tensor) []*Tensor { return evalMatrices(n, in, evalEigh) },
	Cost: costMatrix(9),
	Cases: func() []Case {
		var cases []Case
		for _, d := range []DType{Float32, Float64} {
			for _, n := range []int{1, 2, 5} {
				cases = append(cases, Case{Name: fmt.Sprint(dtypeName(d), " ", n), Inputs: []Shape{ShapeOf(d, n, n)},
					Lo: -1, Hi: 1, Tol: 3e-5,
					Fn: func(x []*Array) *Array {
						w, v := Linalg.Eigh(apart(x[0]))
						return Concatenate(0, ExpandDims(w, 0), v)
					}})
			}
		}
		return cases
	},
})

var eighKernel = &Kernel{Target: "xlarun_eigh", Eval: func(in, out []*Tensor) { fillMatrices(in, out, evalEigh) }}

func evalEigh(in []dense) [][]float64 {
	w, v := eighReference(in[0])
	return [][]float64{w, v.v}
}

// The compiler for TPUs has Jacobi's method as one kernel for matrices up to this size. It makes loops of larger ones.
const mostEighTPU = 1024

// eighOfTPU is that kernel. Its text is what JAX gives it: the lower triangle, eigenvalues in ascending order, at most
// 100 sweeps, until the rest is 1e-6 of the norm.
var eighOfTPU = &Kernel{Target: "Eigh", Leading: true, expansion: "1,1,100,1e-6", Eval: func(in, out []*Tensor) {
	fillMatrices(in, []*Tensor{out[1], out[0]}, evalEigh)
}}

// eighTPU is Eigh by the compiler's kernel.
func eighTPU(a *Array) (w, v *Array) {
	n, d := a.Dim(0), a.DType()
	out := kernelCall(eighOfTPU, nil, []Shape{a.shape, {DType: d, Dims: []int{n}}}, a)
	v = Mul(out[0], canonicalSigns(out[0]))
	bad := Not(All(IsFinite(a)))
	nan := func(x *Array) *Array { return Select(bad, FullLike(x, math.NaN()), x) }
	return nan(out[1]), nan(v)
}

// apart adds 0, 3, 6 … to the diagonal of a square matrix: samples whose eigenvalues lie well apart.
func apart(x *Array) *Array { return Add(x, Diag(Mul(Convert(Iota(x.Dim(0)), x.DType()), 3))) }

// jacobiEigh diagonalises a symmetric matrix by two-sided rotations. The expansion that XLA has itself ("Eigh") stops
// at 1e-8 in float64 and takes longer to compile.
func jacobiEigh(a *Array) (w, v *Array) { return jacobiEighBy(slicedPairs, a) }

// jacobiEighBy is jacobiEigh by one of the pairings, which have the same results.
func jacobiEighBy(pairs pairing, a *Array) (w, v *Array) {
	n, d := a.Dim(0), a.DType()
	if n == 1 {
		return Reshape(a, 1), OnesLike(a)
	}
	scale := scaleOf(a)
	x := even(Div(a, scale), true)
	m := x.Dim(0)
	norm := Sqrt(Sum(Square(x)))
	safe := Select(Gt(norm, 0), norm, OnesLike(norm))
	others := Sub(1, Eye(d, m))
	off := func(x *Array) *Array { return Div(Sqrt(Sum(Square(Mul(x, others)))), safe) }
	start := jacobi{X: x, W: Eye(d, m), Off: off(x), Before: FullLike(norm, math.Inf(1)),
		Sweep: Scalar(0, Int32)}
	end := start.iterate(Finfo(d).Eps, pairs.mostSteps, func(x, w *Array) (*Array, *Array) {
		c, s := jacobiAngles(pairs.elements(x))
		x = pairs.rotate(x, c, s)
		x = pairs.rotate(MatrixTranspose(x), c, s) // symmetric again
		return x, pairs.rotate(w, c, s)
	}, off)
	values := Mul(SliceAxis(Diagonal(end.X, 0, 1), 0, 0, n), scale)
	sorted := SortKV([]*Array{values, Iota(n)}, 0, 1)
	rows := Take(Slice(end.W, []int{0, 0}, []int{n, n}), sorted[1], 0)
	rows = Div(rows, ExpandDims(Sqrt(Sum(Square(rows), 1)), 1))
	v = MatrixTranspose(rows)
	v = Mul(v, canonicalSigns(v))
	bad := Not(IsFinite(norm))
	nan := func(x *Array) *Array { return Select(bad, FullLike(x, math.NaN()), x) }
	return nan(sorted[0]), nan(v)
}

// eighReference is the cyclic Jacobi method (Golub and Van Loan, algorithm 8.5.3).
func eighReference(a dense) (w []float64, v dense) {
	n := a.rows
	a = a.clone()
	v = identity(n)
	if slices.ContainsFunc(a.v, func(x float64) bool { return math.IsNaN(x) || math.IsInf(x, 0) }) {
		for i := range v.v {
			v.v[i] = math.NaN()
		}
		return slices.Repeat([]float64{math.NaN()}, n), v
	}
	for range maxSweeps {
		turned := false
		for p := range n {
			for q := p + 1; q < n; q++ {
				r := a.at(p, q)
				if math.Abs(r) <= 1e-300 || math.Abs(r) < 1e-20*(math.Abs(a.at(p, p))+math.Abs(a.at(q, q))) {
					continue
				}
				turned = true
				tau := (a.at(q, q) - a.at(p, p)) / (2 * r)
				t := math.Copysign(1, tau) / (math.Abs(tau) + math.Hypot(1, tau))
				c := 1 / math.Hypot(1, t)
				a.rotateColumns(p, q, c, t*c)
				a.rotateRows(p, q, c, t*c)
				v.rotateColumns(p, q, c, t*c)
			}
		}
		if !turned {
			break
		}
	}
	order := rangeInts(0, n)
	slices.SortStableFunc(order, func(i, j int) int {
		switch {
		case a.at(i, i) < a.at(j, j):
			return -1
		case a.at(i, i) > a.at(j, j):
			return 1
		}
		return 0
	})
	w = make([]float64, n)
	sorted := newDense(n, n)
	for k, from := range order {
		w[k] = a.at(from, from)
		for i := range n {
			sorted.set(i, k, v.at(i, from))
		}
	}
	for j, s := range sorted.canonicalColumns() {
		sorted.scaleColumn(j, s)
	}
	return w, sorted
}

func (m dense) rotateColumns(p, q int, c, s float64) {
	for i := range m.rows {
		x, y := m.at(i, p), m.at(i, q)
		m.set(i, p, c*x-s*y)
		m.set(i, q, s*x+c*y)
	}
}

func (m dense) rotateRows(p, q int, c, s float64) {
	for i := range m.cols {
		x, y := m.at(p, i), m.at(q, i)
		m.set(p, i, c*x-s*y)
		m.set(q, i, s*x+c*y)
	}
}

// Eigh is linalg.Eigh.
func (linalgOps) Eigh(x *Array) (w, v *Array) {
	outs := applyMatrices(op("eigh"), nil, symmetric(Linalg.SquareMatrix("Eigh", x)))
	return outs[0], outs[1]
}
