package graph

import "math"

// Reductions that leave NaN out, over the given axes or all. Integers have none: for them they are the plain
// reductions.

// withoutNaN replaces NaN.
func withoutNaN(x *Array, value any) *Array {
	if !isFloat(x.DType()) {
		return x
	}
	return Select(IsNaN(x), value, x)
}

// NanSum is the sum of what is no NaN.
func NanSum(x *Array, axes ...int) *Array { return Sum(withoutNaN(x, 0), axes...) }

// NanProd is the product of what is no NaN.
func NanProd(x *Array, axes ...int) *Array { return Prod(withoutNaN(x, 1), axes...) }

// NanMax is the largest element that is no NaN; NaN where all are.
func NanMax(x *Array, axes ...int) *Array { return nanExtreme(ReduceMax, x, axes, math.Inf(-1)) }

// NanMin is the smallest element that is no NaN; NaN where all are.
func NanMin(x *Array, axes ...int) *Array { return nanExtreme(ReduceMin, x, axes, math.Inf(1)) }

func nanExtreme(reduce func(*Array, ...int) *Array, x *Array, axes []int, start float64) *Array {
	if !isFloat(x.DType()) {
		return reduce(x, axes...)
	}
	return Select(All(IsNaN(x), axes...), math.NaN(), reduce(withoutNaN(x, start), axes...))
}

// nanCount is how many elements of x, a float32 or float64, are no NaN, in its dtype.
func nanCount(x *Array, axes []int) *Array {
	return Convert(Sum(Convert(Not(IsNaN(x)), Int32), axes...), x.DType())
}

// NanMean is the mean of what is no NaN; NaN where all are. Integers are read as float32; narrow floats are summed and
// counted in it.
func NanMean(x *Array, axes ...int) *Array {
	d := x.DType()
	if !isFloat(d) {
		return Mean(x, axes...)
	}
	x = inFloat32(x)
	return Convert(Div(NanSum(x, axes...), nanCount(x, axes)), d)
}

// NanVariance is the mean squared distance from the mean of what is no NaN; NaN where all are.
func NanVariance(x *Array, axes ...int) *Array {
	d := x.DType()
	if !isFloat(d) {
		return Variance(x, axes...)
	}
	axes = normAxes("NanVariance", axes, x.Rank())
	x = inFloat32(x)
	some, count := Not(IsNaN(x)), nanCount(x, axes)
	// Where all are NaN the mean is too: it does not enter, so that derivatives stay zero there.
	m := broadcastReduced(Select(Eq(count, 0), 0, NanMean(x, axes...)), x, axes)
	return Convert(Div(Sum(Square(Sub(Select(some, x, m), m)), axes...), count), d)
}

// NanStd is the square root of NanVariance.
func NanStd(x *Array, axes ...int) *Array { return Sqrt(NanVariance(x, axes...)) }

// NanQuantile is Quantile of what is no NaN; NaN where all are.
func NanQuantile(x *Array, q float64, axis int) *Array {
	axis = checkAxis("NanQuantile", axis, x.Rank())
	n := x.shape.Dims[axis]
	if n == 0 || !(q >= 0 && q <= 1) {
		throw("NanQuantile", "q is %v and axis %d of %s has %d elements; want q from 0 to 1 and at least one element",
			q, axis, x.shape, n)
	}
	if !isFloat(x.DType()) {
		return Quantile(x, q, axis)
	}
	last := Sub(Sum(Convert(Not(IsNaN(x)), Int32), axis), 1) // NaN sorts last
	// Places as in Quantile, in float64: neither a long axis nor a narrow dtype may move them.
	at := ExpandDims(Mul(q, Convert(Max(last, 0), Float64)), axis)
	low := Floor(at)
	s := Sort(x, axis)
	pick := func(i *Array) *Array { return Squeeze(TakeAlongAxis(s, Convert(i, Int32), axis), axis) }
	weight := func(w *Array) *Array { return Convert(Squeeze(w, axis), x.DType()) }
	w := Sub(at, low)
	first := pick(low)
	between := Add(Mul(first, weight(Sub(1, w))), Mul(pick(Min(Add(low, 1), n-1)), weight(w)))
	// Where w is 0 the first alone: 0 times an infinite second is NaN.
	value := Select(Gt(Squeeze(w, axis), 0), between, first)
	return Select(Lt(last, 0), math.NaN(), value)
}

// NanMedian is the middle value along an axis of what is no NaN, the mean of the two middle ones if there are two; NaN
// where all are.
func NanMedian(x *Array, axis int) *Array { return NanQuantile(x, .5, axis) }

// NanArgMax is the int32 index of the first largest element along an axis that is no NaN; 0 where all are.
func NanArgMax(x *Array, axis int) *Array { return ArgMax(withoutNaN(x, math.Inf(-1)), axis) }

// NanArgMin is the int32 index of the first smallest element along an axis that is no NaN; 0 where all are.
func NanArgMin(x *Array, axis int) *Array { return ArgMin(withoutNaN(x, math.Inf(1)), axis) }

// NanToNum replaces NaN by 0, and infinities by the largest and the smallest finite number of the dtype; up to three
// values, for NaN, +Inf and -Inf, say otherwise. What is replaced has derivative zero.
func NanToNum(x *Array, values ...float64) *Array {
	if len(values) > 3 {
		throw("NanToNum", "got %d values, want up to three: for NaN, +Inf and -Inf", len(values))
	}
	if !isFloat(x.DType()) {
		return x
	}
	with := []float64{0, Finfo(x.DType()).Max, -Finfo(x.DType()).Max}
	copy(with, values)
	var by [3]*Array
	for i, v := range with {
		_, s := operand("NanToNum", v)
		by[i] = s.exactly("NanToNum", x.DType())
	}
	x = Select(Eq(x, math.Inf(1)), by[1], Select(Eq(x, math.Inf(-1)), by[2], x))
	return Select(IsNaN(x), by[0], x)
}
