package random

import (
	"math"
	"math/big"

	"xlarun/graph"
)

// Uniform draws from the interval [lo, hi), of a float shape. lo and hi are Go numbers or arrays that broadcast to the
// shape; where hi <= lo every draw is lo. hi-lo has to be finite in the shape's type.
//
// A draw is u*(hi-lo) + lo with u a multiple of 2^-23 (float32; 2^-52, 2^-10, 2^-7 for float64, float16, bfloat16). XLA
// rounds this once (a fused multiply-add), so the bits equal JAX's, but for draws that rounding makes hi: they are the
// number below it. The reference interpreter rounds product and sum separately. It can differ by a unit in the last
// place, unless hi-lo is a power of two and the sum is exact, as for [0, 1) and [-1, 1).
func Uniform(key Key, shape graph.Shape, lo, hi any) *graph.Array {
	const op = "random.Uniform"
	shape = floatShape(op, shape)
	return wordsOf(op, key).uniform(op, shape, lo, hi)
}

// uniform keeps both bounds whatever the compiler makes of the sum: of the constants in (u - 1) + lo, where u has
// random bits behind 1, XLA makes one, u + (lo - 1), which is 0 for the smallest u and lo = 1e-10.
func (w words) uniform(op string, s graph.Shape, lo, hi any) *graph.Array {
	a, aKnown := goNumber(lo)
	b, bKnown := goNumber(hi)
	u := w.unit(s)
	known := aKnown && bKnown
	if known && a == 0 && b == 1 {
		return u
	}
	l, h := parameter(op, "lo", lo, s.DType, s.Dims), parameter(op, "hi", hi, s.DType, s.Dims)
	f := formats[s.DType]
	if known && !(math.Abs(b-a) <= f.Max) {
		graph.Throw(op, "got the bounds %v and %v, whose difference %s cannot hold: draw a wider type", lo, hi, s.DType)
	}
	x := u.Mul(h.Sub(l)).Add(l)
	if !known || f.reaches(a, b) {
		x = graph.Select(x.Lt(h), x, nextUp(h.Neg()).Neg())
	}
	return l.Max(x)
}

// reaches reports whether rounding makes the largest draw of [a, b) b, in any order of the operations.
func (f format) reaches(a, b float64) bool {
	of := func(x float64) *big.Float { return new(big.Float).SetPrec(uint(f.NMant + 1)).SetFloat64(x) }
	rounded := func() *big.Float { return of(0) }
	exact := func() *big.Float { return new(big.Float).SetPrec(5000) }
	lo, hi := of(a), of(b)
	width := rounded().Sub(hi, lo)
	epsilon := f.Eps
	last, behind := of(1-epsilon), of(2-epsilon) // the largest u, and that behind 1
	for _, x := range []*big.Float{
		rounded().Add(exact().Mul(last, width), lo),
		rounded().Add(rounded().Mul(last, width), lo),
		rounded().Add(exact().Mul(behind, width), rounded().Sub(lo, width)),
	} {
		if x.Cmp(hi) >= 0 {
			return true
		}
	}
	return false
}

// unit draws from [0, 1): random bits in the significand of a number in [1, 2), less 1.
func (w words) unit(s graph.Shape) *graph.Array {
	f := formats[s.DType]
	b := w.bits(graph.ShapeOf(f.drawn, s.Dims...))
	b = graph.ShiftRightLogical(b.Convert(f.uint), 8*graph.ItemSize(f.drawn)-f.NMant)
	return graph.Bitcast(b.Or(f.one), s.DType).Sub(1)
}
