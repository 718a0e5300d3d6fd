package graph

import (
	"fmt"
	"math"
	"slices"
)

// svd: [..., m, n] -> u [..., m, k], s [..., k] descending, vt [..., k, n], k the smaller of m and n.
var _ = register(&Op{
	Name:   "svd",
	ByRows: true,
	Shape: func(c *call) []Shape {
		checkMatrices(c, c.in...)
		x := c.in[0]
		m, n := x.Dims[x.Rank()-2], x.Dims[x.Rank()-1]
		k := min(m, n)
		return []Shape{matrixDims(x, m, k), matrixDims(x, k), matrixDims(x, k, n)}
	},
	Batch: batchMatrices,
	JVP: func(n *Node, in, out, t []*Array) []*Array {
		return eachMatrix(in[0].Rank()-2, []*Array{out[0], out[1], out[2], t[0]}, func(x []*Array) []*Array {
			return svdTangents(x[0], x[1], x[2], x[3])
		})
	},
	NotLinear: "it is not linear in its input",
	Lower: func(l *Cursor, n *Node, in []*Array) []*Array {
		return lowerMatrices(l, in, func(in []*Array) []*Array {
			u, s, vt := jacobiSVD(in[0])
			return []*Array{u, s, vt}
		})
	},
	Eval: func(n *Node, in []*Tensor) []*Tensor {
		return evalMatrices(n, in, func(in []dense) [][]float64 {
			u, s, vt := svdReference(in[0])
			return [][]float64{u.v, s, vt.v}
		})
	},
	Cost: costMatrix(20),
	Cases: func() []Case {
		var cases []Case
		for i, shapes := range [][][]int{{{3, 3}, {5, 3}, {1, 1}}, {{4, 4}, {2, 4}, {1, 3}}} {
			d := []DType{Float32, Float64}[i]
			for _, s := range shapes {
				cases = append(cases, Case{Name: fmt.Sprint(dtypeName(d), s), Inputs: []Shape{ShapeOf(d, s...)}, Lo: -1,
					Hi: 1, Tol: 3e-5,
					Fn: func(x []*Array) *Array {
						eye := IotaAxis(x[0].shape.with(Int32), 0)
						// singular values well apart
						far := Select(Eq(eye, IotaAxis(eye.shape, 1)), Mul(Add(eye, 1), 3), 0)
						u, s, vt := Linalg.SVD(Add(x[0], far))
						return Concatenate(0, Flatten1D(u), s, Flatten1D(vt))
					}})
			}
		}
		return cases
	},
})

// svdTangents is Giles, "An extended collection of matrix derivative results" (2008), section 3.2, with the part of dA
// outside of the spaces of u and v for matrices that are not square (Seeger et al., 2017, section 4.4): with P = U^T dA
// V and F_ij = 1 / (s_j^2 - s_i^2), ds = diag(P), dU = U (F * (P S + S P^T)) + (I - U U^T) dA V S^-1 and likewise dV.
func svdTangents(u, s, vt, da *Array) []*Array {
	k, d := s.Size(), s.DType()
	v := MatrixTranspose(vt)
	p := MatMul(MatMul(MatrixTranspose(u), da), v)
	eye := Eye(d, k)
	row, col := ExpandDims(s, 0), ExpandDims(s, 1) // s_j along columns, s_i along rows
	f := Sub(Div(1, Add(Mul(Sub(row, col), Add(row, col)), eye)), eye)
	pt := MatrixTranspose(p)
	du := MatMul(u, Mul(f, Add(Mul(p, row), Mul(col, pt))))
	dv := MatMul(v, Mul(f, Add(Mul(col, p), Mul(pt, row))))
	if u.Dim(0) > k {
		y := Div(MatMul(da, v), row)
		du = Add(du, Sub(y, MatMul(u, MatMul(MatrixTranspose(u), y))))
	}
	if v.Dim(0) > k {
		y := Div(MatMul(MatrixTranspose(da), u), row)
		dv = Add(dv, Sub(y, MatMul(v, MatMul(vt, y))))
	}
	return []*Array{du, Diagonal(p, 0, 1), MatrixTranspose(dv)}
}

// jacobiSVD rotates the columns of x until they are orthogonal (the one-sided Jacobi method: Golub and Van Loan,
// 8.6.3). It is the symmetric eigenproblem of x^T x without ever forming that product, which would lose half of the
// digits of the small singular values. A matrix that is not square is reduced to its triangular factor first.
func jacobiSVD(x *Array) (u, s, vt *Array) {
	m, n, d := x.Dim(0), x.Dim(1), x.DType()
	switch {
	case m < n:
		v, s, ut := jacobiSVD(MatrixTranspose(x))
		// Signs are decided by u.
		signs := canonicalSigns(MatrixTranspose(ut))
		return Mul(MatrixTranspose(ut), signs), s, Mul(MatrixTranspose(v), ExpandDims(signs, 1))
	case m > n:
		q, r := householder(x)
		u, s, vt = jacobiSVD(r)
		u = MatMul(q, u)
		signs := canonicalSigns(u)
		return Mul(u, signs), s, Mul(vt, ExpandDims(signs, 1))
	case n == 1:
		signs := Select(Lt(x, 0), FullLike(x, -1), OnesLike(x))
		nan := func(y *Array) *Array { return Select(IsFinite(x), y, FullLike(x, math.NaN())) }
		return nan(signs), Reshape(nan(Abs(x)), 1), nan(OnesLike(x))
	}
	scale := scaleOf(x)
	columns := even(MatrixTranspose(Div(x, scale)), false) // the rows of it
	rows := columns.Dim(0)
	h := rows / 2
	products := func(y *Array) (p, q, r *Array) {
		a, b := SliceAxis(y, 0, 0, h), SliceAxis(y, 0, h, rows)
		return Sum(Square(a), 1), Sum(Square(b), 1), Sum(Mul(a, b), 1)
	}
	// The largest cosine between two columns; what lies below the rounding of the largest column counts as orthogonal.
	rounding := math.Pow(Finfo(d).Eps*float64(n), 2)
	off := func(y *Array) *Array {
		g := MatMul(y, MatrixTranspose(y))
		norm := Diagonal(g, 0, 1)
		norm = Max(norm, Mul(Max(ReduceMax(norm), 1), rounding))
		cosines := Div(Square(g), Mul(ExpandDims(norm, 0), ExpandDims(norm, 1)))
		return Sqrt(ReduceMax(Mul(cosines, Sub(1, Eye(d, rows)))))
	}
	start := jacobi{X: columns, W: Eye(d, rows), Off: off(columns), Before: Full(Shape{DType: d}, math.Inf(1)),
		Sweep: Scalar(0, Int32)}
	end := start.iterate(Finfo(d).Eps*math.Sqrt(float64(n)), 1, func(y, w *Array) (*Array, *Array) {
		c, s := jacobiAngles(products(y))
		return rotatePairs(y, c, s), rotatePairs(w, c, s)
	}, off)
	y, w := SliceAxis(end.X, 0, 0, n), Slice(end.W, []int{0, 0}, []int{n, n})
	norms := Sqrt(Sum(Square(y), 1))
	sorted := SortKV([]*Array{norms, Iota(n)}, 0, 1, Descending())
	y, w = Take(y, sorted[1], 0), Take(w, sorted[1], 0)
	// y = s u^T row by row. QR normalizes the columns and completes them where s is zero.
	q, r := householder(MatrixTranspose(y))
	u = Mul(q, Select(Lt(Diagonal(r, 0, 1), 0), Full(Shape{DType: d}, -1), 1))
	signs := canonicalSigns(u)
	w = Div(w, ExpandDims(Mul(Sqrt(Sum(Square(w), 1)), signs), 1))
	u, s = Mul(u, signs), Mul(sorted[0], scale)
	bad := Not(IsFinite(ReduceMax(norms)))
	nan := func(x *Array) *Array { return Select(bad, FullLike(x, math.NaN()), x) }
	return nan(u), nan(s), nan(w)
}

// svdReference is the cyclic one-sided Jacobi method; left vectors of zero singular values come from Gram-Schmidt.
func svdReference(a dense) (u dense, s []float64, vt dense) {
	if a.rows < a.cols {
		v, s, ut := svdReference(a.transposed())
		u, vt := ut.transposed(), v.transposed()
		for j, sign := range u.canonicalColumns() {
			u.scaleColumn(j, sign)
			for c := range vt.cols {
				vt.set(j, c, sign*vt.at(j, c))
			}
		}
		return u, s, vt
	}
	n := a.cols
	if slices.ContainsFunc(a.v, func(x float64) bool { return math.IsNaN(x) || math.IsInf(x, 0) }) {
		nan := func(rows, cols int) dense {
			return dense{rows, cols, slices.Repeat([]float64{math.NaN()}, rows*cols)}
		}
		return nan(a.rows, n), nan(1, n).v, nan(n, n)
	}
	y, v := a.clone(), identity(n)
	for range maxSweeps {
		turned := false
		for p := range n {
			for q := p + 1; q < n; q++ {
				x, z := y.column(p), y.column(q)
				al, be, ga := inner(x, x), inner(z, z), inner(x, z)
				if math.Abs(ga) <= 1e-16*math.Sqrt(al*be) {
					continue
				}
				turned = true
				tau := (be - al) / (2 * ga)
				t := math.Copysign(1, tau) / (math.Abs(tau) + math.Hypot(1, tau))
				c := 1 / math.Hypot(1, t)
				y.rotateColumns(p, q, c, t*c)
				v.rotateColumns(p, q, c, t*c)
			}
		}
		if !turned {
			break
		}
	}
	norms := make([]float64, n)
	for j := range n {
		norms[j] = math.Sqrt(inner(y.column(j), y.column(j)))
	}
	order := rangeInts(0, n)
	slices.SortStableFunc(order, func(i, j int) int {
		if norms[i] > norms[j] {
			return -1
		}
		return int(boolBit(norms[i] < norms[j]))
	})
	u, vt = newDense(a.rows, n), newDense(n, n)
	for k, from := range order {
		s = append(s, norms[from])
		for i := range n {
			vt.set(k, i, v.at(i, from))
		}
		left := y.column(from)
		if s[k] <= 1e-15*s[0] {
			left = u.orthogonal(k)
		}
		size := math.Sqrt(inner(left, left))
		for i := range left {
			u.set(i, k, left[i]/size)
		}
	}
	for j, sign := range u.canonicalColumns() {
		u.scaleColumn(j, sign)
		for c := range vt.cols {
			vt.set(j, c, sign*vt.at(j, c))
		}
	}
	return u, s, vt
}

// orthogonal is a vector at a right angle to the first k columns: the unit vector that they reach least, made so.
func (m dense) orthogonal(k int) []float64 {
	best, size := []float64(nil), 0.0
	for e := range m.rows {
		x := make([]float64, m.rows)
		x[e] = 1
		for range 2 {
			for j := range k {
				c := m.column(j)
				d := inner(c, x)
				for i := range x {
					x[i] -= d * c[i]
				}
			}
		}
		if l := inner(x, x); l > size {
			best, size = x, l
		}
	}
	return best
}

func inner(x, y []float64) float64 {
	s := 0.0
	for i := range x {
		s += x[i] * y[i]
	}
	return s
}

// SVD is linalg.SVD.
func (linalgOps) SVD(x *Array) (u, s, vt *Array) {
	outs := applyMatrices(op("svd"), nil, Linalg.Matrix("SVD", x))
	return outs[0], outs[1], outs[2]
}
