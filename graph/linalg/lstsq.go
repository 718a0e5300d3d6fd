package linalg

import "xlarun/graph"

// LeastSquares is what Lstsq finds.
type LeastSquares struct {
	X         *graph.Array // [n], or [n, k]: the solution, of several the shortest
	Residuals *graph.Array // sum of the squared differences for each column of b: a scalar, or [k]
	Rank      *graph.Array // int32 scalar: singular values of a that count
	Singular  *graph.Array // [min(m, n)]: singular values of a
}

// Lstsq solves a x = b for the x with the least squared difference: a [m, n], b [m] or [m, k], float32 or float64.
// Singular values below rcond (default: the dtype's epsilon times the larger side) times the largest one count as
// zero. Derivatives of X hold while the rank stays the same, and do not need distinct singular values as JAX's do.
func Lstsq(a, b *graph.Array, rcond ...float64) LeastSquares {
	const name = "Lstsq"
	a = graph.Linalg.Matrix(name, a)
	if a.Rank() > 2 {
		graph.Throw(name, "got %s, want one matrix: use VMap for a batch of them", a.Shape())
	}
	if len(rcond) > 1 || b.Rank() < 1 || b.Rank() > 2 || b.Dim(0) != a.Dim(0) {
		graph.Throw(name, "got a %s, b %s and %d values of rcond; want [m, n], [m] or [m, k], and one value or none",
			a.Shape(),
			b.Shape(), len(rcond))
	}
	b = b.Convert(a.DType())
	least := float64(max(a.Dim(0), a.Dim(1))) * 0x1p-23
	if a.DType() == graph.Float64 {
		least *= 0x1p-29
	}
	if len(rcond) == 1 {
		least = rcond[0]
	}
	type problem struct{ A, B, U, S, VT *graph.Array }
	u, s, vt := SVD(a)
	x := graph.CustomJvp(func(in problem) *graph.Array {
		return shortest(in.U, in.S, in.VT, in.B, least)
	}, func(in, t problem) (*graph.Array, *graph.Array) { // of x = a⁺ b; see Pinv
		p, x := Pinv(in.A, least), shortest(in.U, in.S, in.VT, in.B, least)
		pt, tt := graph.MatrixTranspose(p), graph.MatrixTranspose(t.A)
		change := p.Dot(t.B.Sub(t.A.Dot(x)))
		change = change.Add(p.Dot(pt.Dot(tt.Dot(in.B.Sub(in.A.Dot(x))))))
		far := tt.Dot(pt.Dot(x))
		return x, change.Add(far.Sub(p.Dot(in.A.Dot(far))))
	})(problem{a, b, u, s, vt})
	return LeastSquares{x, b.Sub(a.Dot(x)).Square().Sum(0), countsOf(s, least).Convert(graph.Int32).Sum(), s}
}

// countsOf reports which of the singular values s [k] count: those of least times the largest and more.
func countsOf(s *graph.Array, least float64) *graph.Array {
	return s.Gt(0).And(s.Ge(graph.Mul(least, graph.IndexAxis(s, 0, 0))))
}

// shortest is the shortest x for which a x is nearest to b, where a is u s vt.
func shortest(u, s, vt, b *graph.Array, least float64) *graph.Array {
	counts := countsOf(s, least)
	inverse := graph.Select(counts, graph.Select(counts, s, 1).Reciprocal(), 0)
	y := graph.MatrixTranspose(u).Dot(b)
	if y.Rank() == 2 {
		inverse = inverse.ExpandDims(1)
	}
	return graph.MatrixTranspose(vt).Dot(inverse.Mul(y))
}
