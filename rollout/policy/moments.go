package policy

import "xlarun/graph"

// Moments are the number, means and variances of observations, element by element. The zero ones are of no
// observations.
type Moments struct {
	Count    *graph.Array // f32[]
	Mean     *graph.Array // f32[dims...]
	Variance *graph.Array // f32[dims...], of what was observed, not an estimate for more
}

// farthest is how far from 0 a mean or deviation may be: their squares and sums of these are numbers then.
const farthest = 1e18

// NoMoments are those of no observations of a shape.
func NoMoments(dims ...int) Moments {
	zero := graph.Zeros(graph.ShapeOf(graph.Float32, dims...))
	return Moments{graph.Scalar(0), zero, zero}
}

// MomentsOf are those of count numbers, of which sum and squares, f32[dims...], are the sums of their differences from
// origin and of these differences' squares. An origin among the numbers keeps the digits that a large mean would cost.
// Where one is NaN, infinite or too far from 0 to be squared, they are those of no observations: a member that fails
// spoils nobody's statistics.
func MomentsOf(count, origin, sum, squares *graph.Array) Moments {
	n := count.Max(1)
	shift := sum.Div(n)
	m := Moments{count, origin.Add(shift), squares.Div(n).Sub(shift.Square()).Max(0)}
	// A NaN is below nothing.
	near := m.Mean.Abs().Lt(farthest).And(m.Variance.Lt(farthest * farthest)).All()
	return graph.MapTree(func(a *graph.Array) *graph.Array { return graph.Select(near, a, graph.ZerosLike(a)) }, m)
}

// Together are the moments of all that is along axis 0 of m's leaves.
func (m Moments) Together() Moments {
	count := m.Count.Sum(0)
	share := m.Count.Div(count.Max(1))
	average := func(x *graph.Array) *graph.Array {
		dims := append([]int{x.Dim(0)}, make([]int, x.Rank()-1)...)
		for i := range dims[1:] {
			dims[1+i] = 1
		}
		return share.Reshape(dims...).Mul(x).Sum(0)
	}
	mean := average(m.Mean)
	return Moments{count, mean, average(m.Variance.Add(m.Mean.Sub(mean).Square()))}
}

// And are the moments of what m and more are of (Chan, Golub and LeVeque, 1983).
func (m Moments) And(more Moments) Moments {
	count := m.Count.Add(more.Count)
	share := more.Count.Div(count.Max(1))
	apart := more.Mean.Sub(m.Mean)
	spread := share.Mul(graph.Sub(1, share)).Mul(apart.Square())
	return Moments{
		Count:    count,
		Mean:     m.Mean.Add(share.Mul(apart)),
		Variance: m.Variance.Add(share.Mul(more.Variance.Sub(m.Variance))).Add(spread),
	}
}

// leastVariance is added to a variance before its root is taken: an element that never changes has none.
const leastVariance = 1e-8

// Scale is that by which observations are normalised: of no observations the one that leaves them as they are.
func (m Moments) Scale() Scale {
	none := m.Count.Eq(0)
	return Scale{m.Mean, graph.Select(none, graph.OnesLike(m.Mean), m.Variance.Add(leastVariance).Sqrt())}
}
