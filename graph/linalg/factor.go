package linalg

import "xlarun/graph"

// Eigen holds eigenvalues [..., n] and eigenvectors [..., n, n] of matrices.
type Eigen = graph.Eigen

// TriangularOption changes what TriangularSolve solves.
type TriangularOption = graph.TriangularOption

// Cholesky is the lower triangular L [n, n] with positive diagonal and L L^T = x, for a symmetric positive definite x
// [n, n]; its symmetric part is taken. Where x is not positive definite the lower triangle is NaN. As
// jax.numpy.linalg.cholesky.
func Cholesky(x *graph.Array) *graph.Array { return graph.Linalg.Cholesky(x) }

// TriangularSolve solves a x = b for a triangular a [n, n] and b [n] or [n, k]; lower unless an option says otherwise.
// The other triangle is not read. On the right side b is [k, n] (or [n]).
func TriangularSolve(a, b *graph.Array, opts ...TriangularOption) *graph.Array {
	return graph.Linalg.TriangularSolve(a, b, opts...)
}

// RightSide solves x a = b.
func RightSide() TriangularOption { return graph.Linalg.RightSide() }

// UpperTriangle reads the upper triangle of the matrix.
func UpperTriangle() TriangularOption { return graph.Linalg.UpperTriangle() }

// TransposedMatrix solves with the transpose of the matrix; UpperTriangle still says which part of it is read.
func TransposedMatrix() TriangularOption { return graph.Linalg.TransposedMatrix() }

// UnitDiagonal takes the diagonal for ones without reading it.
func UnitDiagonal() TriangularOption { return graph.Linalg.UnitDiagonal() }

// LU factors x [n, n] with partial pivoting: the rows of x in the order of permutation (int32 [n]) are l u, where l is
// the strict lower triangle of lu [n, n] with ones on its diagonal and u the upper triangle. pivots (int32 [n]) is the
// same permutation as LAPACK gives it: row i was swapped with row pivots[i], for i = 0, 1, …. As jax.lax.linalg.lu.
func LU(x *graph.Array) (lu, pivots, permutation *graph.Array) { return graph.Linalg.LU(x) }

// QR factors x [m, n] into q [m, k] with orthonormal columns and an upper triangular r [k, n], k the smaller of m and n
// (the reduced form), q r = x. Signs are LAPACK's and so JAX's: the diagonal of r is not made positive. Derivatives
// need the first k columns of x to be independent.
func QR(x *graph.Array) (q, r *graph.Array) { return graph.Linalg.QR(x) }

// Solve is x [n] or [n, k] with a x = b, for a [n, n] and b [n] or [n, k]. A singular a gives infinities or NaN. Under
// VMap over b alone, a is factored once. As jax.numpy.linalg.solve.
func Solve(a, b *graph.Array) *graph.Array { return graph.Linalg.Solve(a, b) }

// Eigh decomposes a symmetric x [n, n] (its symmetric part is taken): eigenvalues w [n] in ascending order and
// orthonormal eigenvectors in the columns of v [n, n], x = v diag(w) v^T. As jax.numpy.linalg.eigh, but with the signs
// of the eigenvectors fixed: the first element that is at least half as large as the largest is positive. Derivatives
// of the eigenvectors need distinct eigenvalues; they are not finite where two are equal.
func Eigh(x *graph.Array) (w, v *graph.Array) { return graph.Linalg.Eigh(x) }

// Eig gives the eigenvalues w and the eigenvectors v of any square x [..., n, n], x v = v diag(w). As numpy.linalg.eig
// and jax.numpy.linalg.eig, but with a fixed order and fixed phases:
//
//   - Eigenvalues are in ascending order of the real part, and where that is equal, of the imaginary part's size. Of a
//     conjugate pair the one with the positive imaginary part comes first. For the order, parts are first rounded to
//     about 1/4096 of the largest, so that rounding errors do not decide it.
//   - Eigenvectors have the 2-norm 1, and the first of their elements that is at least 0.45 times as large as the
//     largest is real and positive. Those of a conjugate pair are conjugate, those of real eigenvalues real.
//
// A matrix without n independent eigenvectors has parallel ones. If an element is NaN or infinite, or if 60 QR steps
// find no eigenvalue, all results are NaN.
// Derivatives need distinct eigenvalues; they are not finite where two are equal. For symmetric matrices see [Eigh].
func Eig(x *graph.Array) Eigen { return graph.Linalg.Eig(x) }

// EigVals gives the real and the imaginary parts [..., n] of the eigenvalues of any square x [..., n, n], in the order
// of [Eig]. As numpy.linalg.eigvals.
func EigVals(x *graph.Array) (re, im *graph.Array) { return graph.Linalg.EigVals(x) }

// SVD factors x [m, n] into u [m, k] and vt [k, n] with orthonormal columns and rows, and singular values s [k] in
// descending order, k the smaller of m and n: x = u diag(s) vt. As jax.numpy.linalg.svd without full_matrices, but with
// signs fixed: the first element of each column of u that is at least half as large as the largest is positive.
// If an element is NaN or infinite, all results are NaN. Derivatives of u and vt need distinct singular values (and,
// where x is not square, none that is zero); those of s do not.
func SVD(x *graph.Array) (u, s, vt *graph.Array) { return graph.Linalg.SVD(x) }
