package random

import (
	"slices"

	"xlarun/graph"
	"xlarun/graph/linalg"
)

// Laplace draws from the Laplace distribution of mean 0 and scale 1, of a float shape: sign(u) log(1-|u|), u uniform in
// (-1, 1).
func Laplace(key Key, shape graph.Shape) *graph.Array {
	const op = "random.Laplace"
	shape = floatShape(op, shape)
	u := wordsOf(op, key).uniform(op, shape, formats[shape.DType].aboveMinusOne(), 1)
	return u.Sign().Mul(graph.Log1p(u.Abs().Neg()))
}

// MultivariateNormal draws from the normal distribution with mean [n] and covariance [n, n], positive definite, float32
// or float64: the given dims, then n.
func MultivariateNormal(key Key, mean, covariance *graph.Array, dims ...int) *graph.Array {
	const op = "random.MultivariateNormal"
	checkDims(op, dims)
	if mean == nil || covariance == nil || mean.Rank() != 1 || covariance.Rank() != 2 || covariance.Dim(0) !=
		mean.Dim(0) || covariance.Dim(1) != mean.Dim(0) {
		graph.Throw(op, "got mean %v and covariance %v, want [n] and [n, n]: use graph.VMap for many", shapeOf(mean),
			shapeOf(covariance))
	}
	z := wordsOf(op, key).normal(floatShape(op, graph.ShapeOf(mean.DType(), slices.Concat(dims, mean.Dims())...)))
	return mean.Add(z.Dot(graph.MatrixTranspose(linalg.Cholesky(covariance))))
}

func shapeOf(a *graph.Array) string {
	if a == nil {
		return "nil"
	}
	return a.Shape().String()
}
