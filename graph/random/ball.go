package random

import (
	"slices"

	"xlarun/graph"
	"xlarun/graph/linalg"
)

// GeneralizedNormal draws from the distribution whose density is proportional to exp(-|x|^p), of float32 or float64
// shape: a gamma draw with a random sign. p is a positive Go number.
func GeneralizedNormal(key Key, shape graph.Shape, p float64) *graph.Array {
	first, second := Split2(key)
	size := Gamma(first, shape, 1/p)
	return Rademacher(second, shape).Mul(size.Pow(graph.FullLike(size, 1/p)))
}

// Ball draws points that are uniform in the unit ball of the p-norm: of shape […, n], n the ball's dimension (Barthe
// et al., "A probabilistic approach to the geometry of the l_p^n-ball", 2005).
func Ball(key Key, shape graph.Shape, p float64) *graph.Array {
	const op = "random.Ball"
	if shape.Rank() == 0 {
		graph.Throw(op, "got the shape %s, want […, n] for points of n coordinates", shape)
	}
	first, second := Split2(key)
	g := GeneralizedNormal(first, shape, p)
	e := Exponential(second, graph.ShapeOf(shape.DType, shape.Dims[:shape.Rank()-1]...))
	power := func(x *graph.Array, p float64) *graph.Array { return x.Pow(graph.FullLike(x, p)) }
	return g.Div(power(power(g.Abs(), p).Sum(-1).Add(e), 1/p).ExpandDims(-1))
}

// Maxwell draws the length of a vector of three standard normal variables, of a float shape.
func Maxwell(key Key, shape graph.Shape) *graph.Array {
	z := Normal(key, graph.ShapeOf(shape.DType, append(slices.Clone(shape.Dims), 3)...))
	return linalg.VectorNorm(z, -1, 2)
}

// DoubleSidedMaxwell draws from Maxwell's distribution with a random sign, times scale, plus loc: numbers or arrays
// that broadcast to the shape.
func DoubleSidedMaxwell(key Key, shape graph.Shape, loc, scale any) *graph.Array {
	const op = "random.DoubleSidedMaxwell"
	first, second := Split2(key)
	x := Rademacher(second, shape).Mul(Maxwell(first, shape))
	read := func(name string, v any) *graph.Array { return parameter(op, name, v, shape.DType, shape.Dims) }
	return x.Mul(read("scale", scale)).Add(read("loc", loc))
}

// Orthogonal draws matrices with orthonormal columns (or rows, if they are fewer), uniformly over all of them: of
// shape […, m, n], float32 or float64 (Mezzadri, "How to generate random matrices from the classical compact
// groups", 2007).
func Orthogonal(key Key, shape graph.Shape) *graph.Array {
	const op = "random.Orthogonal"
	if shape.Rank() < 2 {
		graph.Throw(op, "got the shape %s, want […, m, n]", shape)
	}
	dims := slices.Clone(shape.Dims)
	last := len(dims) - 1
	wide := dims[last-1] < dims[last]
	if wide {
		dims[last-1], dims[last] = dims[last], dims[last-1]
	}
	q, r := linalg.QR(Normal(key, graph.ShapeOf(shape.DType, dims...)))
	q = q.Mul(graph.Diagonal(r, -2, -1).Sign().ExpandDims(-2))
	if wide {
		return graph.MatrixTranspose(q)
	}
	return q
}
