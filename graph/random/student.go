package random

import "xlarun/graph"

// Chisquare draws from the chi-square distribution with df degrees of freedom, of float32 or float64 shape. df is a
// positive number or an array that broadcasts to the shape.
func Chisquare(key Key, shape graph.Shape, df any) *graph.Array {
	const op = "random.Chisquare"
	half := parameter(op, "df", df, shape.DType, shape.Dims).Div(2)
	return LogGamma(key, shape, half).Exp().Mul(2)
}

// F draws from the F distribution with the degrees of freedom of its numerator and its denominator: the ratio of two
// chi-square variables, each over its degrees of freedom.
func F(key Key, shape graph.Shape, numerator, denominator any) *graph.Array {
	const op = "random.F"
	read := func(name string, v any) *graph.Array { return parameter(op, name, v, shape.DType, shape.Dims) }
	n, d := read("numerator", numerator), read("denominator", denominator)
	forD, forN := Split2(key)
	f := formats[shape.DType]
	logN, logD := LogGamma(forN, shape, n.Div(2)), LogGamma(forD, shape, d.Div(2))
	x, y := logN.Exp().Mul(2).Div(n), logD.Exp().Mul(2).Div(d)
	held := func(x *graph.Array) *graph.Array { return x.Ge(f.Tiny).And(x.Le(f.Max)) }
	both := held(x).And(held(y))
	// Draws of few degrees of freedom are smaller than the type's numbers: their quotient is that of their logarithms.
	far := logN.Max(-f.Max / 2).Sub(logD.Max(-f.Max / 2)).Add(d.Log()).Sub(n.Log()).Exp()
	return graph.Select(both, x.Div(graph.Select(both, y, 1)), far)
}

// T draws from Student's distribution with df degrees of freedom: a normal variable over the root of a gamma
// variable.
func T(key Key, shape graph.Shape, df any) *graph.Array {
	const op = "random.T"
	half := parameter(op, "df", df, shape.DType, shape.Dims).Div(2)
	forZ, forG := Split2(key)
	return Normal(forZ, shape).Mul(half.Div(Gamma(forG, shape, half)).Sqrt())
}

// MultivariateT draws from the multivariate t distribution with df degrees of freedom, mean [n] and the scale matrix
// [n, n], positive definite: the given dims, then n. Its covariance is df/(df-2) times the matrix.
func MultivariateT(key Key, df any, mean, scale *graph.Array, dims ...int) *graph.Array {
	const op = "random.MultivariateT"
	forZ, forG := Split2(key)
	z := MultivariateNormal(forZ, graph.ZerosLike(mean), scale, dims...)
	shape := graph.ShapeOf(mean.DType(), dims...)
	half := parameter(op, "df", df, shape.DType, shape.Dims).Div(2)
	return mean.Add(z.Mul(half.Div(Gamma(forG, shape, half)).Sqrt().ExpandDims(-1)))
}
