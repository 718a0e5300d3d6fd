package random

import (
	"math"

	"xlarun/graph"
)

// Draws that are functions of one uniform, normal or exponential draw an element. Parameters are Go numbers or
// arrays that broadcast to the shape, of a float type.

// Cauchy draws from the standard Cauchy distribution: tan(π (u - 1/2)).
func Cauchy(key Key, shape graph.Shape) *graph.Array {
	const op = "random.Cauchy"
	shape = floatShape(op, shape)
	epsilon := graph.Finfo(shape.DType).Eps
	u := wordsOf(op, key).uniform(op, shape, epsilon, 1)
	return graph.Tan(u.Sub(.5).Mul(math.Pi))
}

// Logistic draws from the standard logistic distribution: log(u / (1-u)).
func Logistic(key Key, shape graph.Shape) *graph.Array {
	const op = "random.Logistic"
	shape = floatShape(op, shape)
	u := wordsOf(op, key).uniform(op, shape, graph.Finfo(shape.DType).Tiny, 1)
	return u.Log().Sub(graph.Log1p(u.Neg()))
}

// LogNormal draws the exponential of a normal variable of mean 0 and standard deviation sigma.
func LogNormal(key Key, shape graph.Shape, sigma any) *graph.Array {
	const op = "random.LogNormal"
	z := Normal(key, shape)
	return z.Mul(parameter(op, "sigma", sigma, shape.DType, shape.Dims)).Exp()
}

// Pareto draws from the Pareto distribution with shape b and scale 1: numbers from 1 on.
func Pareto(key Key, shape graph.Shape, b any) *graph.Array {
	const op = "random.Pareto"
	e := Exponential(key, shape)
	return e.Div(parameter(op, "b", b, shape.DType, shape.Dims)).Exp()
}

// Rayleigh draws from the Rayleigh distribution: the length of a vector of two normal variables of standard
// deviation scale. It is infinite where the uniform draw is 0, once in eight million, as in JAX.
func Rayleigh(key Key, shape graph.Shape, scale any) *graph.Array {
	const op = "random.Rayleigh"
	u := wordsOf(op, key).unit(floatShape(op, shape))
	return parameter(op, "scale", scale, shape.DType, shape.Dims).Mul(u.Log().Mul(-2).Sqrt())
}

// WeibullMin draws from the Weibull distribution: scale (-log u)^(1/concentration).
func WeibullMin(key Key, shape graph.Shape, scale, concentration any) *graph.Array {
	const op = "random.WeibullMin"
	u := wordsOf(op, key).unit(floatShape(op, shape))
	power := graph.Div(1, parameter(op, "concentration", concentration, shape.DType, shape.Dims))
	x := graph.Log1p(u.Neg()).Neg().Pow(power)
	return x.Mul(parameter(op, "scale", scale, shape.DType, shape.Dims))
}

// Triangular draws from the triangular distribution between left and right with its peak at mode.
func Triangular(key Key, shape graph.Shape, left, mode, right any) *graph.Array {
	const op = "random.Triangular"
	shape = floatShape(op, shape)
	read := func(name string, x any) *graph.Array { return parameter(op, name, x, shape.DType, shape.Dims) }
	l, m, r := read("left", left), read("mode", mode), read("right", right)
	u := wordsOf(op, key).unit(shape)
	rise := l.Add(u.Mul(r.Sub(l)).Mul(m.Sub(l)).Sqrt())
	fall := r.Sub(graph.Sub(1, u).Mul(r.Sub(l)).Mul(r.Sub(m)).Sqrt())
	x := graph.Select(u.Lt(m.Sub(l).Div(r.Sub(l))), rise, fall)
	return graph.Clamp(l, x, r) // a sum of rounded parts may lie beyond the end
}

// Wald draws from the inverse Gaussian distribution of the given mean and scale 1 (Michael, Schucany and Haas,
// "Generating random variates using transformations with multiple roots", 1976). The smaller root is the mean over the
// larger one, since the difference of the paper is 0 or negative where the mean is large.
func Wald(key Key, shape graph.Shape, mean any) *graph.Array {
	const op = "random.Wald"
	m := parameter(op, "mean", mean, shape.DType, shape.Dims)
	first, second := wordsOf(op, key).split2()
	v, z := first.normal(floatShape(op, shape)), second.unit(shape)
	y := v.Square().Max(graph.Finfo(shape.DType).Tiny)
	w := m.Mul(y)
	larger := graph.Add(1, w.Add(w.Sqrt().Mul(w.Add(4).Sqrt())).Div(2)) // over the mean
	x := graph.Select(graph.IsInf(larger), y.Reciprocal(), m.Div(larger))
	return graph.Select(z.Le(graph.Div(1, larger.Reciprocal().Add(1))), x, m.Mul(larger))
}

// Geometric draws how many trials it takes to the first success of probability p, whole numbers from 1, of a number
// shape. The draws are float32 numbers before they become that type.
func Geometric(key Key, shape graph.Shape, p any) *graph.Array {
	const op = "random.Geometric"
	checkDims(op, shape.Dims)
	u := wordsOf(op, key).unit(graph.ShapeOf(graph.Float32, shape.Dims...))
	u = graph.Select(u.Eq(0), 1, u)
	q := graph.Log1p(parameter(op, "p", p, graph.Float32, shape.Dims).Neg())
	return u.Log().Div(q).Floor().Add(1).Convert(shape.DType)
}

// Rademacher draws -1 and 1 with equal probability, of a number shape. Of float64 shape it compares float64 draws
// with one half, as JAX with 64-bit types does, else float32 draws.
func Rademacher(key Key, shape graph.Shape) *graph.Array {
	checkDims("random.Rademacher", shape.Dims)
	d := graph.Float32
	if shape.DType == graph.Float64 {
		d = graph.Float64
	}
	up := wordsOf("random.Rademacher", key).unit(graph.ShapeOf(d, shape.Dims...)).Lt(.5)
	value := func(v int) *graph.Array { return graph.Full(graph.ShapeOf(shape.DType), v) }
	return graph.Select(up, value(1), value(-1))
}
