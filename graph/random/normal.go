package random

import (
	"math"

	"xlarun/graph"
	"xlarun/graph/special"
)

// Normal draws from the standard normal distribution, of a float shape: sqrt(2) * erf_inv(u), u uniform in (-1, 1). It
// is one elementwise expression over one hash, with nothing to store between; on CPUs one kernel computes large draws
// of float32. float32 draws stay within about 5.4.
func Normal(key Key, shape graph.Shape) *graph.Array {
	shape = floatShape("random.Normal", shape)
	return wordsOf("random.Normal", key).normal(shape)
}

func (w words) normal(s graph.Shape) *graph.Array {
	if s.DType == graph.Float32 {
		return graph.Random.Normal(w.mixed(s.Dims...))
	}
	return graph.Mul(math.Sqrt2, graph.ErfInv(w.uniform("random.Normal", s, formats[s.DType].aboveMinusOne(), 1)))
}

// TruncatedNormal draws from the standard normal distribution under the condition lower < x < upper, of a float shape.
// lower and upper are Go numbers or arrays that broadcast to the shape. Far out, where erf is flat, it inverts the
// logarithm of the tail: between 5 and 6 the draws differ from jax.random's, which take few values and the bound
// itself. If a bound is an array, or a Go number far out, each draw is computed both ways: with three steps of Newton's
// method for LogNdtr on top.
func TruncatedNormal(key Key, shape graph.Shape, lower, upper any) *graph.Array {
	const op = "random.TruncatedNormal"
	shape = floatShape(op, shape)
	lo, hi := parameter(op, "lower", lower, shape.DType, shape.Dims), parameter(op, "upper", upper, shape.DType,
		shape.Dims)
	cdf := func(x *graph.Array) *graph.Array { return graph.Erf(x.Div(math.Sqrt2)) }
	w := wordsOf(op, key)
	inverse := func(lo, hi *graph.Array) *graph.Array {
		return graph.Mul(math.Sqrt2, graph.ErfInv(w.uniform(op, shape, cdf(lo), cdf(hi))))
	}
	flat := math.Sqrt2 * math.Erfinv(1-math.Ldexp(1, -graph.Finfo(shape.DType).NMant/2))
	a, aKnown := goNumber(lower)
	b, bKnown := goNumber(upper)
	var x *graph.Array
	if aKnown && a < flat && bKnown && b > -flat {
		x = inverse(lo, hi)
	} else {
		// The way that is not taken gets bounds at which its derivative is finite.
		far := lo.Ge(flat).Or(hi.Le(-flat))
		x = graph.Select(far, w.normalTail(shape, graph.Select(far, lo, flat), graph.Select(far, hi, flat+1), flat),
			inverse(graph.Select(far, -1, lo), graph.Select(far, 1, hi)))
	}
	// Rounding may carry the draw to the bounds or beyond them.
	below := nextUp(hi.Neg()).Neg()
	return graph.Clamp(nextUp(lo), x, below)
}

// normalTail draws between bounds that are both beyond least, or both below -least. The probability to be beyond x is
// that to be beyond the nearer bound a, times exp(-e): x is nearly the root of a² + 2e, from where Newton's method
// leads to it.
func (w words) normalTail(s graph.Shape, lo, hi *graph.Array, least float64) *graph.Array {
	wide := s
	if graph.ItemSize(s.DType) < 4 {
		wide.DType = graph.Float32
	}
	lo, hi = lo.Convert(wide.DType), hi.Convert(wide.DType)
	left := hi.Lt(0)
	a := graph.Select(left, hi.Neg(), lo).Max(least)
	b := graph.Select(left, lo.Neg(), hi).Min(a.Mul(4)) // beyond that is less than rounding; derivatives stay finite
	log := func(x *graph.Array) *graph.Array { return special.LogNdtr(x.Neg()) }
	exact := 100. // from here on the root is x
	if wide.DType == graph.Float64 {
		exact = 1e4
	}
	near := a.Lt(exact)
	nearA := a.Min(exact)
	between := b.Sub(a).Mul(b.Add(a)).Div(2) // of the logarithms
	between = graph.Select(near, log(nearA).Sub(log(b.Max(nearA))), between)
	e := graph.Log1p(w.unit(s).Convert(wide.DType).Mul(graph.Expm1(between.Neg()))).Neg()
	x := a.Mul(graph.Add(1, e.Mul(2).Div(a).Div(a)).Sqrt())
	y, goal := x.Min(2*exact), log(nearA).Sub(e)
	for range 3 {
		l := log(y)
		hazard := y.Square().Div(-2).Sub(math.Log(2*math.Pi) / 2).Sub(l).Exp()
		y = y.Add(l.Sub(goal).Div(hazard))
	}
	x = graph.Select(near, y, x)
	return graph.Select(left, x.Neg(), x).Convert(s.DType)
}

// nextUp is the smallest number of x's float type that is larger than x; infinity stays. It leaves out subnormal
// numbers, which processors may take for 0.
func nextUp(x *graph.Array) *graph.Array {
	f := formats[x.DType()]
	bits := graph.Bitcast(x, f.uint)
	// The bits of a float, read as a number, grow with its magnitude.
	next := graph.Bitcast(graph.Select(x.Gt(0), bits.Add(1), bits.Sub(1)), x.DType())
	next = graph.Select(x.Ge(-f.Tiny).And(x.Lt(f.Tiny)), graph.Select(x.Lt(0), graph.ZerosLike(x), f.Tiny), next)
	last := x.Eq(math.Inf(1)).Or(x.IsNaN())
	return graph.Select(last, x, next)
}
