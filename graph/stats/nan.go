package stats

import (
	"math"

	"xlarun/graph"
)

// Reductions that leave NaN out, over the given axes or all. Integers have none: for them they are the plain
// reductions.

// withoutNaN replaces NaN.
func withoutNaN(x *graph.Array, value any) *graph.Array {
	if !x.DType().IsFloat() {
		return x
	}
	return graph.Select(x.IsNaN(), value, x)
}

// NanSum is the sum of what is no NaN.
func NanSum(x *graph.Array, axes ...int) *graph.Array { return withoutNaN(x, 0).Sum(axes...) }

// NanProd is the product of what is no NaN.
func NanProd(x *graph.Array, axes ...int) *graph.Array { return withoutNaN(x, 1).Prod(axes...) }

// NanMax is the largest element that is no NaN; NaN where all are.
func NanMax(x *graph.Array, axes ...int) *graph.Array {
	return nanExtreme("NanMax", graph.ReduceMax, x, axes, math.Inf(-1))
}

// NanMin is the smallest element that is no NaN; NaN where all are.
func NanMin(x *graph.Array, axes ...int) *graph.Array {
	return nanExtreme("NanMin", graph.ReduceMin, x, axes, math.Inf(1))
}

func nanExtreme(name string, reduce func(*graph.Array, ...int) *graph.Array, x *graph.Array, axes []int,
	start float64) *graph.Array {
	wantOrder(name, x)
	if !x.DType().IsFloat() {
		return reduce(x, axes...)
	}
	return graph.Select(x.IsNaN().All(axes...), math.NaN(), reduce(withoutNaN(x, start), axes...))
}

// nanCount is how many elements of x, a float32 or float64, are no NaN, in its dtype.
func nanCount(x *graph.Array, axes []int) *graph.Array {
	return x.IsNaN().Not().Convert(graph.Int32).Sum(axes...).Convert(x.DType())
}

// NanMean is the mean of what is no NaN; NaN where all are. Integers are read as float32; narrow floats are summed and
// counted in it.
func NanMean(x *graph.Array, axes ...int) *graph.Array {
	d := x.DType()
	if !d.IsFloat() {
		return x.Mean(axes...)
	}
	x = graph.Arguments.Float32(x)
	return NanSum(x, axes...).Div(nanCount(x, axes)).Convert(d)
}

// NanVariance is the mean squared distance from the mean of what is no NaN; NaN where all are.
func NanVariance(x *graph.Array, axes ...int) *graph.Array {
	d := x.DType()
	if !d.IsFloat() {
		return x.Variance(axes...)
	}
	axes = graph.Arguments.Axes("NanVariance", axes, x.Rank())
	x = graph.Arguments.Float32(x)
	some, count := x.IsNaN().Not(), nanCount(x, axes)
	// Where all are NaN the mean is too: it does not enter, so that derivatives stay zero there.
	m := graph.Select(count.Eq(0), 0, NanMean(x, axes...))
	for _, axis := range axes {
		m = m.ExpandDims(axis)
	}
	return graph.Select(some, x, m).Sub(m).Square().Sum(axes...).Div(count).Convert(d)
}

// NanStd is the square root of NanVariance.
func NanStd(x *graph.Array, axes ...int) *graph.Array { return NanVariance(x, axes...).Sqrt() }

// NanQuantile is Quantile of what is no NaN; NaN where all are.
func NanQuantile(x *graph.Array, q float64, axis int) *graph.Array {
	axis = graph.Arguments.Axis("NanQuantile", axis, x.Rank())
	n := x.Shape().Dims[axis]
	if n == 0 || !(q >= 0 && q <= 1) {
		graph.Throw("NanQuantile",
			"q is %v and axis %d of %s has %d elements; want q from 0 to 1 and at least one element",
			q, axis, x.Shape(), n)
	}
	if !x.DType().IsFloat() {
		return Quantile(x, q, axis)
	}
	last := x.IsNaN().Not().Convert(graph.Int32).Sum(axis).Sub(1) // NaN sorts last
	// Places as in Quantile, in float64: neither a long axis nor a narrow dtype may move them.
	at := graph.Mul(q, last.Max(0).Convert(graph.Float64)).ExpandDims(axis)
	low := at.Floor()
	s := graph.Sort(x, axis)
	pick := func(i *graph.Array) *graph.Array {
		return graph.TakeAlongAxis(s, i.Convert(graph.Int32), axis).Squeeze(axis)
	}
	weight := func(w *graph.Array) *graph.Array { return w.Squeeze(axis).Convert(x.DType()) }
	w := at.Sub(low)
	first := pick(low)
	between := first.Mul(weight(graph.Sub(1, w))).Add(pick(low.Add(1).Min(n - 1)).Mul(weight(w)))
	// Where w is 0 the first alone: 0 times an infinite second is NaN.
	value := graph.Select(w.Squeeze(axis).Gt(0), between, first)
	return graph.Select(last.Lt(0), math.NaN(), value)
}

// NanMedian is the middle value along an axis of what is no NaN, the mean of the two middle ones if there are two; NaN
// where all are.
func NanMedian(x *graph.Array, axis int) *graph.Array { return NanQuantile(x, .5, axis) }

// NanArgMax is the int32 index of the first largest element along an axis that is no NaN; 0 where all are.
func NanArgMax(x *graph.Array, axis int) *graph.Array {
	return withoutNaN(x, math.Inf(-1)).ArgMax(axis)
}

// NanArgMin is the int32 index of the first smallest element along an axis that is no NaN; 0 where all are.
func NanArgMin(x *graph.Array, axis int) *graph.Array { return withoutNaN(x, math.Inf(1)).ArgMin(axis) }
