package xlabridge

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/graph"
	"xlarun/graph/graphtest"
	"xlarun/graph/random"
	"xlarun/internal/long"
)

// Inexact values equal themselves: a compiler that computes a value once for each side of a comparison rounds the
// copies differently. Random arithmetic on the members of a population gives a fitness, which is then compared by
// pairs, with its own maximum, with its own sorted values and, as the best so far, with what an earlier step stored.
func TestCopiesAreEqual(t *testing.T) {
	c := open(t, Options{Devices: 1})
	programs := 2
	if long.On() {
		programs = 200
	}
	for seed := range uint64(programs) {
		r := rand.New(rand.NewPCG(seed, 7))
		members, size, steps := 4+2*r.IntN(20), 2+r.IntN(9), 5
		kinds := make([]int, 2+r.IntN(5))
		for i := range kinds {
			kinds[i] = r.IntN(7)
		}
		fitness := func(x, mean *graph.Array) *graph.Array { // f32[size] → f32[]
			y := x.Sub(mean)
			for _, kind := range kinds {
				switch kind {
				case 0:
					y = y.Mul(graph.Linspace(1, 5, size)).Add(y.Square())
				case 1:
					y = graph.CumSum(y, 0)
				case 2:
					y = y.Exp().Sub(y.Mul(.3))
				case 3:
					y = y.Tanh().Mul(1.7).Add(x)
				case 4:
					y = y.Mul(x).Sub(mean.Mul(y))
				case 5:
					y = y.Sub(y.Mean(0).Mul(.7))
				case 6:
					y = y.Div(y.Abs().Add(1.3)).Add(y.Mul(.1))
				}
			}
			cost := y.Mul(graph.Linspace(-1, 2, size)).Sum()
			return graph.Select(mean.Index(0).Gt(.1), cost.Round(), cost).Neg()
		}
		type carry struct{ Mean, Best *graph.Array }
		_, counts := twoResults(t, c, func(noise *graph.Array) (*graph.Array, *graph.Array) {
			end, counts := graph.Scan(func(s carry, noise *graph.Array) (carry, *graph.Array) {
				member := func(z, side *graph.Array) *graph.Array {
					return s.Mean.Add(graph.Sub(1, side.Convert(graph.Float32).Mul(2)).Mul(.3).Mul(z))
				}
				first := graph.VMap(func(side *graph.Array) *graph.Array {
					return graph.VMap(func(z *graph.Array) *graph.Array {
						return fitness(member(z, side), s.Mean)
					})(noise)
				})(graph.Iota(2))
				decay := graph.VMap(func(z *graph.Array) *graph.Array {
					return graph.VMap(func(side *graph.Array) *graph.Array {
						return member(z, side).Square().Sum()
					})(graph.Iota(2))
				})(noise)
				f := graph.Flatten1D(first).Sub(graph.Flatten1D(decay.Transpose(1, 0)).Mul(.3))
				count := func(a *graph.Array) *graph.Array { return a.Convert(graph.Int32).Sum() }
				row, column := f.ExpandDims(0), f.ExpandDims(1)
				equal := graph.Einsum("ii->i", row.Eq(column).Convert(graph.Int32)).Sum()
				ranks := count(column.Lt(row)).Mul(2).Add(count(column.Eq(row)))
				top := count(f.Eq(f.ReduceMax(0)))
				sorted := graph.Sort(f, 0)
				found := graph.VMap(func(x *graph.Array) *graph.Array { return x.Eq(f).Any() })(sorted)
				best := graph.Select(f.Index(0).Gt(s.Best), f.Index(0), s.Best)
				next := carry{s.Mean.Add(noise.Index(0).Mul(.05)), best}
				return next, graph.Stack([]*graph.Array{equal, ranks, top.Clamp(0, 1), count(found)}, 0)
			}, carry{graph.Zeros(graph.ShapeOf(graph.Float32, size)), graph.Scalar(-1e9)}, noise)
			return end.Best, counts
		}, random.Normal(random.New(int64(seed)), graph.ShapeOf(graph.Float32, steps, members/2, size)))
		for i := range steps {
			require.Equal(t, []float64{float64(members), float64(members * members), 1, float64(members)},
				counts[4*i:4*i+4], fmt.Sprintf("seed %d, step %d, operations %v", seed, i, kinds))
		}
	}
}

// twoResults calls a function of one array with two results.
func twoResults(t *testing.T, b Backend, f func(*graph.Array) (*graph.Array, *graph.Array), x *graph.Array) (_,
	_ []float64) {
	t.Helper()
	type results struct{ A, B *graph.Array }
	out, err := Jit(b, func(x *graph.Array) results {
		a, b := f(x)
		return results{a, b}
	})(x)
	require.NoError(t, err)
	first := graphtest.Floats(t, out.A)
	second := graphtest.Floats(t, out.B)
	return first, second
}
