package random

import (
	"math"

	"xlarun/graph"
)

// Normal draws from the standard normal distribution, of a float shape: sqrt(2) * erf_inv(u), u uniform in (-1, 1). It
// is one elementwise expression over one hash, with nothing to store between. float32 draws stay within about 5.4.
func Normal(key Key, shape graph.Shape) *graph.Array {
	shape = floatShape("random.Normal", shape)
	return wordsOf("random.Normal", key).normal(shape)
}

func (w words) normal(s graph.Shape) *graph.Array {
	return graph.Mul(math.Sqrt2, graph.ErfInv(w.uniform("random.Normal", s, formats[s.DType].aboveMinusOne(), 1)))
}

// TruncatedNormal draws from the standard normal distribution under the condition lower < x < upper, of a float shape.
// lower and upper are Go numbers or arrays that broadcast to the shape.
func TruncatedNormal(key Key, shape graph.Shape, lower, upper any) *graph.Array {
	const op = "random.TruncatedNormal"
	shape = floatShape(op, shape)
	lo, hi := parameter(op, "lower", lower, shape.DType, shape.Dims), parameter(op, "upper", upper, shape.DType,
		shape.Dims)
	cdf := func(x *graph.Array) *graph.Array { return graph.Erf(x.Div(math.Sqrt2)) }
	u := wordsOf(op, key).uniform(op, shape, cdf(lo), cdf(hi))
	x := graph.Mul(math.Sqrt2, graph.ErfInv(u))
	// Rounding may carry the draw to the bounds or, far out where erf is flat, beyond them.
	below := nextUp(hi.Neg()).Neg()
	return graph.Clamp(nextUp(lo), x, below)
}

// nextUp is the smallest number of x's float type that is larger than x; infinity stays. It leaves out subnormal
// numbers, which processors may take for 0.
func nextUp(x *graph.Array) *graph.Array {
	f := formats[x.DType()]
	bits := graph.Bitcast(x, f.uint)
	// The bits of a float, read as a number, grow with its magnitude.
	next := graph.Bitcast(graph.Select(x.Gt(0), bits.Add(1), bits.Sub(1)), x.DType())
	next = graph.Select(x.Ge(-f.tiny).And(x.Lt(f.tiny)), graph.Select(x.Lt(0), graph.ZerosLike(x), f.tiny), next)
	last := x.Eq(math.Inf(1)).Or(x.IsNaN())
	return graph.Select(last, x, next)
}
