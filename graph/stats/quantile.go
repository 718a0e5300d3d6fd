package stats

import "xlarun/graph"

// Percentile is Quantile with the fraction in percent.
func Percentile(x *graph.Array, percent float64, axis int) *graph.Array {
	return quantile("Percentile", x, percent, 100, axis)
}

// Quantile is the value below which the fraction q (0 to 1) of the elements along an axis lie, between elements by
// linear interpolation; the axis goes away. NaN if one of them is.
func Quantile(x *graph.Array, q float64, axis int) *graph.Array {
	return quantile("Quantile", x, q, 1, axis)
}

// quantile is Quantile of the fraction q over whole.
func quantile(name string, x *graph.Array, q, whole float64, axis int) *graph.Array {
	wantOrder(name, x)
	axis = graph.Arguments.Axis(name, axis, x.Rank())
	n := x.Shape().Dims[axis]
	if n == 0 || !(q >= 0 && q <= whole) {
		graph.Throw(name, "q is %v and axis %d of %s has %d elements; want q from 0 to %v and at least one element", q,
			axis, x.Shape(), n, whole)
	}
	q /= whole
	x = graph.Arguments.Float(x)
	s := graph.Sort(x, axis)
	at := q * float64(n-1)
	low := int(at)
	value := graph.IndexAxis(s, axis, low)
	if w := at - float64(low); w > 0 {
		first, second := value.Mul(1-w), graph.IndexAxis(s, axis, low+1).Mul(w)
		if w == 1-w {
			first = graph.Barrier(first)[0] // (a + b)·w may overflow
		}
		value = first.Add(second)
	}
	last := graph.IndexAxis(s, axis, n-1) // NaN sorts last
	return graph.Select(last.IsNaN(), last, value)
}

// Median is the middle value along an axis, the mean of the two middle ones if there are two; the axis goes away.
func Median(x *graph.Array, axis int) *graph.Array { return Quantile(x, .5, axis) }
