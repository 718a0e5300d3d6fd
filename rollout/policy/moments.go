package policy

import (
	"slices"

	"xlarun/graph"
)

// Moments are the number of observations, and the mean and variance of each element. They are computed in float32 up to
// mostSingle observations, and beyond that in float64: there a float32 count stands still, and a mean no longer moves.
type Moments struct {
	Count    *graph.Array // f64[]
	Mean     *graph.Array // f64[dims...]
	Variance *graph.Array // f64[dims...], of the observations, not an estimate for more
}

// mostSingle is the number up to which float32 holds all whole numbers.
const mostSingle = 1 << 24

// in returns the moments in another dtype.
func (m Moments) in(d graph.DType) Moments {
	return graph.MapTree(func(a *graph.Array) *graph.Array { return a.Convert(d) }, m)
}

// farthest is the largest mean or deviation, so that their squares and sums of squares are finite.
const farthest = 1e18

// NoMoments returns the moments of no observations of a shape.
func NoMoments(dims ...int) Moments {
	zero := graph.Zeros(graph.ShapeOf(graph.Float64, dims...))
	return Moments{graph.Scalar(0, graph.Float64), zero, zero}
}

// MomentsOf returns the moments of count observations. sum and squares, f32[dims...], are the sums of the differences
// from origin and of their squares. An origin near the observations keeps the digits that a large mean would cost. If
// an element is NaN, infinite or too large to be squared, the result is NoMoments, so that a member that fails does not
// spoil the statistics.
func MomentsOf(count, origin, sum, squares *graph.Array) Moments {
	n := count.Max(1)
	shift := sum.Div(n)
	m := Moments{count, origin.Add(shift), squares.Div(n).Sub(shift.Square()).Max(0)}
	// A comparison with NaN is false.
	near := m.Mean.Abs().Lt(farthest).And(m.Variance.Lt(farthest * farthest)).All()
	return graph.SelectTree(near, m, graph.ZerosLikeTree(m)).in(graph.Float64)
}

// MergeRows joins the moments along axis 0 of m's leaves.
func (m Moments) MergeRows() Moments {
	count := m.Count.Convert(graph.Float64).Sum(0)
	return byCount(count, func(d graph.DType) Moments {
		m := m.in(d)
		share := m.Count.Div(count.Convert(d).Max(1))
		average := func(x *graph.Array) *graph.Array {
			dims := append([]int{x.Dim(0)}, slices.Repeat([]int{1}, x.Rank()-1)...)
			return share.Reshape(dims...).Mul(x).Sum(0)
		}
		// Means of no observations are 0. Rounded shares do not add up to 1: equal means would give another one.
		counts := m.Count.Gt(0)
		for counts.Rank() < m.Mean.Rank() {
			counts = counts.ExpandDims(-1)
		}
		known := graph.Reduction{Axes: []int{0}, Where: counts}
		mean := graph.Select(counts.Any(), graph.Clamp(known.Min(m.Mean), average(m.Mean), known.Max(m.Mean)), 0)
		return Moments{count, mean, average(m.Variance.Add(m.Mean.Sub(mean).Square()))}
	})
}

// Merge joins two sets of moments (Chan, Golub and LeVeque, 1983).
func (m Moments) Merge(other Moments) Moments {
	count := m.Count.Convert(graph.Float64).Add(other.Count.Convert(graph.Float64))
	return byCount(count, func(d graph.DType) Moments {
		m, other := m.in(d), other.in(d)
		share := other.Count.Div(count.Convert(d).Max(1))
		difference := other.Mean.Sub(m.Mean)
		spread := share.Mul(graph.Sub(1, share)).Mul(difference.Square())
		return Moments{
			Count:    count,
			Mean:     m.Mean.Add(share.Mul(difference)),
			Variance: m.Variance.Add(share.Mul(other.Variance.Sub(m.Variance))).Add(spread),
		}
	})
}

// byCount returns moments that are computed in the dtype for a count.
func byCount(count *graph.Array, of func(d graph.DType) Moments) Moments {
	return graph.SelectTree(count.Le(mostSingle), of(graph.Float32).in(graph.Float64), of(graph.Float64))
}

// leastVariance is added to a variance before its root is taken, since constant elements have variance 0.
const leastVariance = 1e-8

// Scale returns how observations are normalized. Without observations it changes nothing.
func (m Moments) Scale() Scale {
	m = m.in(graph.Float32)
	none := m.Count.Eq(0)
	return Scale{m.Mean, graph.Select(none, graph.OnesLike(m.Mean), m.Variance.Add(leastVariance).Sqrt())}
}
