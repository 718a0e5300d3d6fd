package signal

import (
	"xlarun/graph"
	"xlarun/graph/linalg"
)

// PolyVal is the polynomial with the coefficients p, of the highest power first, at x.
func PolyVal(p, x *graph.Array) *graph.Array {
	if p.Rank() != 1 {
		graph.Throw("PolyVal", "got the coefficients %s, want a vector", p.Shape())
	}
	d := graph.Promote(p.DType(), x.DType())
	p, x = p.Convert(d), x.Convert(d)
	y := graph.ZerosLike(x)
	for i := range p.Size() {
		y = y.Mul(x).Add(p.Index(i))
	}
	return y
}

// PolyFit is the polynomial of the given degree with the least squared differences to points (x[i], y[i]): its
// coefficients, [degree + 1], of the highest power first.
func PolyFit(x, y *graph.Array, degree int) *graph.Array {
	if degree < 0 || x.Rank() != 1 || x.Size() == 0 || y.Rank() < 1 || y.Rank() > 2 || y.Dim(0) != x.Size() {
		graph.Throw("PolyFit", "got the degree %d, x %s and y %s, want a degree of at least 0, a vector x of at least "+
			"one point and as many y", degree, x.Shape(), y.Shape())
	}
	v := Vander(graph.Arguments.Float(x), degree+1)
	scale := v.Square().Sum(0).Sqrt()
	return linalg.Lstsq(v.Div(scale), y).X.Div(scale)
}

// Vander is the matrix [len(x), n] of the powers of a vector: columns x^(n-1), …, x, 1.
func Vander(x *graph.Array, n int) *graph.Array {
	if x.Rank() != 1 || n < 0 {
		graph.Throw("Vander", "got %s and %d columns, want a vector and at least 0", x.Shape(), n)
	}
	if n == 0 {
		return graph.Zeros(graph.ShapeOf(x.DType(), x.Size(), 0))
	}
	columns := make([]*graph.Array, n)
	for i := range columns {
		columns[n-1-i] = graph.OnesLike(x)
		if i > 0 {
			columns[n-1-i] = columns[n-i].Mul(x)
		}
	}
	return graph.Stack(columns, 1)
}
