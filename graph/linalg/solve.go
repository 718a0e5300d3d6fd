package linalg

import "xlarun/graph"

// CholeskySolve solves A x = b, b [n] or [n, k], given A's Cholesky factor l [n, n].
func CholeskySolve(l, b *graph.Array) *graph.Array {
	return graph.Linalg.CholeskySolve(l, b)
}

// Inv is the inverse of x [n, n]; use Solve where a product with it is wanted.
func Inv(x *graph.Array) *graph.Array {
	if x = graph.Linalg.SquareMatrix("Inv", x); x.Rank() > 2 {
		return graph.VMap(Inv)(x)
	}
	return Solve(x, graph.Eye(x.DType(), x.Dim(0)))
}
