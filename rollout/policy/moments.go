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
	n := graph.Max(count, 1)
	shift := graph.Div(sum, n)
	m := Moments{count, graph.Add(origin, shift), graph.Max(graph.Sub(graph.Div(squares, n), graph.Square(shift)), 0)}
	// A NaN is below nothing.
	near := graph.All(graph.And(graph.Lt(graph.Abs(m.Mean), farthest), graph.Lt(m.Variance, farthest*farthest)))
	return graph.MapTree(func(a *graph.Array) *graph.Array { return graph.Select(near, a, graph.ZerosLike(a)) }, m)
}

// Together are the moments of all that is along axis 0 of m's leaves.
func (m Moments) Together() Moments {
	count := graph.Sum(m.Count, 0)
	share := graph.Div(m.Count, graph.Max(count, 1))
	average := func(x *graph.Array) *graph.Array {
		dims := append([]int{x.Dim(0)}, make([]int, x.Rank()-1)...)
		for i := range dims[1:] {
			dims[1+i] = 1
		}
		return graph.Sum(graph.Mul(graph.Reshape(share, dims...), x), 0)
	}
	mean := average(m.Mean)
	return Moments{count, mean, average(graph.Add(m.Variance, graph.Square(graph.Sub(m.Mean, mean))))}
}

// And are the moments of what m and more are of (Chan, Golub and LeVeque, 1983).
func (m Moments) And(more Moments) Moments {
	count := graph.Add(m.Count, more.Count)
	share := graph.Div(more.Count, graph.Max(count, 1))
	apart := graph.Sub(more.Mean, m.Mean)
	spread := graph.Mul(graph.Mul(share, graph.Sub(1, share)), graph.Square(apart))
	return Moments{
		Count:    count,
		Mean:     graph.Add(m.Mean, graph.Mul(share, apart)),
		Variance: graph.Add(graph.Add(m.Variance, graph.Mul(share, graph.Sub(more.Variance, m.Variance))), spread),
	}
}

// leastVariance is added to a variance before its root is taken: an element that never changes has none.
const leastVariance = 1e-8

// Scale is that by which observations are normalised: of no observations the one that leaves them as they are.
func (m Moments) Scale() Scale {
	none := graph.Eq(m.Count, 0)
	return Scale{m.Mean, graph.Select(none, graph.OnesLike(m.Mean), graph.Sqrt(graph.Add(m.Variance, leastVariance)))}
}
