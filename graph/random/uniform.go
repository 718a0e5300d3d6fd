package random

import "xlarun/graph"

// Uniform draws from the interval [lo, hi), of a float shape. lo and hi are Go numbers or arrays that broadcast to the
// shape; where hi <= lo every draw is lo. Rounding may give hi unless the interval is [0, 1).
//
// A draw is u*(hi-lo) + lo with u a multiple of 2^-23 (float32; 2^-52, 2^-10, 2^-7 for float64, float16, bfloat16). XLA
// rounds this once (a fused multiply-add), so the bits equal JAX's. The reference interpreter rounds product and sum
// separately. It can differ by a unit in the last place, unless hi-lo is a power of two and the sum is exact, as for
// [0, 1) and [-1, 1).
func Uniform(key Key, shape graph.Shape, lo, hi any) *graph.Array {
	shape = floatShape("random.Uniform", shape)
	return wordsOf("random.Uniform", key).uniform("random.Uniform", shape, lo, hi)
}

func (w words) uniform(op string, s graph.Shape, lo, hi any) *graph.Array {
	a, aKnown := goNumber(lo)
	b, bKnown := goNumber(hi)
	u := w.unit(s)
	if aKnown && bKnown && a == 0 && b == 1 {
		return u
	}
	l, h := parameter(op, "lo", lo, s.DType, s.Dims), parameter(op, "hi", hi, s.DType, s.Dims)
	x := u.Mul(h.Sub(l)).Add(l)
	if aKnown && bKnown && a <= b {
		return x // u*(hi-lo) >= 0, and rounding keeps the order: never below lo
	}
	return l.Max(x)
}

// unit draws from [0, 1): random bits in the significand of a number in [1, 2), less 1.
func (w words) unit(s graph.Shape) *graph.Array {
	f := formats[s.DType]
	b := w.bits(graph.ShapeOf(f.drawn, s.Dims...))
	b = graph.ShiftRightLogical(b.Convert(f.uint), 8*graph.ItemSize(f.drawn)-f.mantissa)
	return graph.Bitcast(b.Or(f.one), s.DType).Sub(1)
}
