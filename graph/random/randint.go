package random

import (
	"math/big"

	"xlarun/graph"
)

// Randint draws integers from lo to hi-1, of an integer shape. lo and hi are Go integers or integer arrays that
// broadcast to the shape; bounds beyond the dtype are moved to its limits (hi to one past the largest number, so that
// the whole range of a dtype can be asked for), and where hi <= lo every draw is lo.
//
// Two words are drawn for each element and reduced to the range, so that the bias is below range/2^64 (2^128 for 64-bit
// dtypes).
func Randint(key Key, shape graph.Shape, lo, hi any) *graph.Array {
	const op = "random.Randint"
	checkDims(op, shape.Dims)
	if !shape.DType.IsInt() {
		graph.Throw(op, "got the shape %s, want an integer type: graph.ShapeOf(graph.Int32, …), or random.Uniform "+
			"for floats", shape)
	}
	w := wordsOf(op, key)
	// Narrow types are drawn as int32: all their bounds, one past the largest number too, fit in it.
	limits := rangeOf(shape.DType)
	wide := shape
	if graph.ItemSize(shape.DType) < 4 {
		wide.DType = graph.Int32
	}
	a, b := readBound(op, "lo", lo, wide, limits, limits.hi), readBound(op, "hi", hi, wide, limits, limits.end())
	var r reducer
	if a.known != nil && b.known != nil {
		r = constantReducer(wide.DType, a.known, b.known)
	} else {
		r = arrayReducer(a.array(wide.DType), b.array(wide.DType), b.past())
	}
	offset := r.draw(w, wide)
	sum := graph.Bitcast(offset, wide.DType).Add(a.array(wide.DType))
	return sum.Convert(shape.DType)
}

// interval is the inclusive range of an integer type.
type interval struct{ lo, hi *big.Int }

func rangeOf(d graph.DType) interval {
	bits := uint(8 * graph.ItemSize(d))
	one := big.NewInt(1)
	if d.IsUnsigned() {
		return interval{new(big.Int), new(big.Int).Sub(new(big.Int).Lsh(one, bits), one)}
	}
	half := new(big.Int).Lsh(one, bits-1)
	return interval{new(big.Int).Neg(half), new(big.Int).Sub(half, one)}
}

// end is one past the largest number.
func (r interval) end() *big.Int { return new(big.Int).Add(r.hi, big.NewInt(1)) }

func clip(x, lo, hi *big.Int) *big.Int {
	switch {
	case x.Cmp(lo) < 0:
		return lo
	case x.Cmp(hi) > 0:
		return hi
	}
	return x
}

// bound is one end of the range: known while tracing, or an array of the drawn dtype. over marks where an array was
// beyond the dtype, so that it means one past the largest number.
type bound struct {
	known *big.Int
	value *graph.Array
	over  *graph.Array // bool, nil: nowhere
	limit *big.Int     // the largest number of the drawn dtype
}

// readBound clips a bound to [limits.lo, last] and gives it the drawn shape's dtype.
func readBound(op, name string, x any, s graph.Shape, limits interval, last *big.Int) bound {
	drawn := rangeOf(s.DType)
	a, ok := x.(*graph.Array)
	if !ok || a == nil {
		v, ok := goInteger(x)
		if !ok {
			graph.Throw(op, "%s is a %T, want an integer: random.Uniform draws floats", name, x)
		}
		return bound{known: clip(v, limits.lo, last), limit: drawn.hi}
	}
	if !a.DType().IsInt() {
		graph.Throw(op, "%s is %s, want integers: random.Uniform draws floats", name, a.Shape())
	}
	fitsIn(op, name, a, s.Dims)
	out := bound{limit: drawn.hi}
	own := rangeOf(a.DType())
	if last.Cmp(drawn.hi) > 0 && own.hi.Cmp(drawn.hi) > 0 {
		out.over = a.Gt(constant(a.DType(), drawn.hi))
	}
	// The limits, in the bound's own dtype: what it cannot exceed need not be clipped.
	least, most := clip(limits.lo, own.lo, own.hi), clip(clip(last, drawn.lo, drawn.hi), own.lo, own.hi)
	if least.Cmp(own.lo) > 0 || most.Cmp(own.hi) < 0 {
		a = graph.Clamp(constant(a.DType(), least), a, constant(a.DType(), most))
	}
	out.value = a.Convert(s.DType)
	return out
}

func (b bound) array(d graph.DType) *graph.Array {
	if b.known == nil {
		return b.value
	}
	return constant(d, clip(b.known, b.known, b.limit))
}

// past is the mask of bounds one past the largest number of the drawn dtype; nil: none.
func (b bound) past() *graph.Array {
	if b.known != nil && b.known.Cmp(b.limit) > 0 {
		return graph.Scalar(true)
	}
	return b.over
}

// constant is a scalar of an integer dtype.
func constant(d graph.DType, v *big.Int) *graph.Array {
	if d.IsUnsigned() {
		return graph.Full(graph.ShapeOf(d), v.Uint64())
	}
	return graph.Full(graph.ShapeOf(d), v.Int64())
}

// reducer brings a double-width random number, two words, into a range: it is high*multiplier + low modulo span, with
// multiplier 2^width modulo span. All are of the unsigned type of the drawn dtype's width.
type reducer struct {
	span       *graph.Array // nil: the whole range of the type
	multiplier *graph.Array // nil: 0, the high word has no part in the result
}

func unsignedOf(d graph.DType) graph.DType {
	if graph.ItemSize(d) == 8 {
		return graph.Uint64
	}
	return graph.Uint32
}

func constantReducer(d graph.DType, lo, hi *big.Int) reducer {
	u := unsignedOf(d)
	all := rangeOf(u).end()
	span := new(big.Int).Sub(hi, lo)
	if span.Sign() <= 0 {
		span.SetInt64(1)
	}
	if span.Cmp(all) >= 0 {
		return reducer{}
	}
	half := new(big.Int).Lsh(big.NewInt(1), uint(4*graph.ItemSize(u)))
	m := new(big.Int).Mod(half, span)
	m.Mul(m, m).Mod(m, all).Mod(m, span) // the product wraps, as in jax.random
	r := reducer{span: constant(u, span)}
	if m.Sign() != 0 {
		r.multiplier = constant(u, m)
	}
	return r
}

func arrayReducer(lo, hi, past *graph.Array) reducer {
	u := unsignedOf(lo.DType())
	span := graph.Bitcast(hi.Sub(lo), u)
	if past != nil {
		span = span.Add(past.Convert(u))
	}
	span = graph.Select(hi.Gt(lo), span, 1)
	m := graph.Full(graph.ShapeOf(u), uint64(1)<<(4*graph.ItemSize(u))).Rem(span)
	return reducer{span, m.Mul(m).Rem(span)}
}

// draw gives one number of the range 0 … span-1 for each element of s, of the unsigned type. Division by a span of 0,
// which stands for the whole range of the type, leaves the dividend, in XLA and in the reference.
func (r reducer) draw(w words, s graph.Shape) *graph.Array {
	us := graph.ShapeOf(unsignedOf(s.DType), s.Dims...)
	high, low := w.split2()
	x := low.bits(us)
	if r.span == nil {
		return x
	}
	x = x.Rem(r.span)
	if r.multiplier == nil {
		return x
	}
	return high.bits(us).Rem(r.span).Mul(r.multiplier).Add(x).Rem(r.span)
}
