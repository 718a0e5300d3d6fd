package stats

import (
	"math"

	"xlarun/graph"
)

// Bincount counts how often each of 0, …, length-1 is among the integers x (any shape), int32; with weights of x's
// shape it adds these up instead. What is out of range is dropped.
func Bincount(x *graph.Array, length int, weights ...*graph.Array) *graph.Array {
	if len(weights) > 1 {
		graph.Throw("Bincount", "got %d arrays of weights, want one or none", len(weights))
	}
	if length < 0 || !x.DType().IsInt() {
		graph.Throw("Bincount", "got a length of %d and values %s; want a length of at least 0 and integers", length,
			x.Shape())
	}
	w := graph.Ones(graph.ShapeOf(graph.Int32, x.Size()))
	if len(weights) == 1 {
		w = graph.Flatten1D(weights[0].BroadcastTo(x.Dims()...))
	}
	return graph.SegmentSum(w, graph.Flatten1D(x), length)
}

// Digitize gives for each element of x the number of the interval that it lies in, int32: i where edges[i-1] <= x <
// edges[i] (right: edges[i-1] < x <= edges[i]), 0 below the first of the ascending edges, their number above the last.
func Digitize(x, edges *graph.Array, right bool) *graph.Array {
	wantOrder("Digitize", x)
	wantOrder("Digitize", edges)
	if edges.Rank() != 1 {
		graph.Throw("Digitize", "got the edges %s, want an ascending vector", edges.Shape())
	}
	return graph.SearchSorted(edges, x, !right)
}

// Histogram counts how many elements of x (any shape) lie in each of so many equal intervals from lo to hi, numbers or
// scalar arrays (ReduceMin(x), ReduceMax(x)), the lower one first, int32, and gives the bins+1 edges.
// Intervals are closed below and open above, except the last, which is closed. What lies outside, and NaN, is dropped.
func Histogram(x *graph.Array, bins int, lo, hi any) (counts, edges *graph.Array) {
	if bins < 1 || bins >= math.MaxInt32 {
		graph.Throw("Histogram", "got %d intervals, want from 1 to %d", bins, math.MaxInt32-1)
	}
	x = graph.Arguments.Float(x)
	ends := graph.Arguments.Operands("Histogram", lo, hi, graph.Full(graph.Shape{DType: x.DType()}, 0))
	if ends[0].Rank() != 0 {
		graph.Throw("Histogram", "got limits %s, want scalars", ends[0].Shape())
	}
	if !ends[0].IsTraced() && !ends[1].IsTraced() {
		low, _ := graph.Floats(ends[0])
		high, err := graph.Floats(ends[1])
		if err == nil && low[0] > high[0] {
			graph.Throw("Histogram", "got the limits %v and %v, want the lower one first", low[0], high[0])
		}
	}
	same := ends[0].Eq(ends[1]) // one value: an interval around it
	low, high := graph.Select(same, ends[0].Sub(.5), ends[0]), graph.Select(same, ends[1].Add(.5), ends[1])
	edges = graph.Concatenate(0, histogramEdges(low, high, bins), high.ExpandDims(0))
	return HistogramOf(x, edges), edges
}

// histogramEdges are the edges of equal intervals from low to high, scalars of one dtype, except the last. They are
// low·(1-s) + high·s for steps s, as in jax.numpy.histogram. They are rounded alike everywhere (Barrier), so that
// the same interval counts an element that lies on an edge. In float32 the edges equal JAX's on a CPU: there XLA
// adds high·s without rounding it first.
func histogramEdges(low, high *graph.Array, bins int) *graph.Array {
	d := low.DType()
	width := graph.Div(1, graph.Full(graph.Shape{DType: d}, bins)).Convert(d)
	perBin := high.Mul(width)
	if d == graph.Float64 {
		place := graph.Iota(bins).Convert(d)
		below := low.Mul(graph.Sub(1, graph.Barrier(place.Mul(width))[0]))
		both := graph.Barrier(below, perBin.Mul(place))
		return both[0].Add(both[1])
	}
	// A float64 holds the product of two float32, so that only conversions round.
	wide := func(x *graph.Array) *graph.Array { return x.Convert(graph.Float64) }
	place := wide(graph.Iota(bins))
	below := low.Mul(graph.Sub(1, place.Mul(wide(width)).Convert(d)))
	both := graph.Barrier(below, perBin)
	return wide(both[0]).Add(wide(both[1]).Mul(place)).Convert(d)
}

// HistogramOf counts how many elements of x lie between neighbors of the ascending edges, as Histogram does; with
// weights of x's shape it adds these up instead.
func HistogramOf(x, edges *graph.Array, weights ...*graph.Array) *graph.Array {
	if edges.Rank() != 1 || edges.Size() < 2 {
		graph.Throw("Histogram", "got edges %s, want an ascending vector of at least two", edges.Shape())
	}
	n := edges.Size() - 1
	d := graph.Promote(x.DType(), edges.DType())
	x, edges = x.Convert(d), edges.Convert(d)
	at := graph.SearchSorted(edges, x, true).Sub(1)
	at = graph.Select(x.Eq(graph.IndexAxis(edges, 0, n)), n-1, at)
	if d.IsFloat() {
		at = graph.Select(x.IsNaN(), n, at)
	}
	return Bincount(at, n, weights...)
}
