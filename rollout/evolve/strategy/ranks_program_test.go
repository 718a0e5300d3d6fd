package strategy

import (
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/graph"
	"xlarun/graph/random"
	"xlarun/xlabridge"
	"xlarun/xlabridge/xlatest"
)

// 1: the ranks of a fitness that is computed in the same program were wrong on XLA, which computed the fitness once for
// each side of the pairwise comparison and rounded the copies differently. A search of 16 antithetic members with
// weight decay, as a user writes it: the ranks from 0 to 15 of each generation add up to 120, as in the interpreter.
func TestRanksInAProgram(t *testing.T) {
	const members, generations, size = 16, 40, 7
	type generation struct{ Noise, Number *graph.Array }
	search := func(mean *graph.Array, noise *graph.Array) *graph.Array {
		_, sums := graph.Scan(func(mean *graph.Array, g generation) (*graph.Array, *graph.Array) {
			member := func(z, side *graph.Array) *graph.Array {
				return mean.Add(graph.Sub(1, side.Convert(graph.Float32).Mul(2)).Mul(.3).Mul(z))
			}
			both := func(f func(z, side *graph.Array) *graph.Array) *graph.Array {
				return graph.VMap(func(side *graph.Array) *graph.Array {
					return graph.VMap(func(z *graph.Array) *graph.Array { return f(z, side) })(g.Noise)
				})(graph.Iota(2))
			}
			// A bowl, in every third generation in whole numbers.
			fitness := graph.VMap(func(m *graph.Array) *graph.Array {
				y := m.Sub(graph.Linspace(-1, 1, size))
				cost := graph.Linspace(1, 5, size).Mul(graph.CumSum(y, 0).Square()).Sum()
				return graph.Where(g.Number.Mod(3).Eq(1), cost.Round(), cost).Neg()
			})(both(member).Reshape(members, size))
			decay := both(func(z, side *graph.Array) *graph.Array { return member(z, side).Square().Sum() })
			ranks := CenteredRanks(fitness.Sub(graph.Flatten1D(decay).Mul(.3)))
			plus, minus := graph.SliceAxis(ranks, 0, 0, members/2), graph.SliceAxis(ranks, 0, members/2, members)
			gradient := graph.Tensordot(plus.Sub(minus), g.Noise, 1).Div(.3 * members)
			return mean.Add(gradient.Sign().Mul(.05)), ranks.Add(.5).Mul(members - 1).Sum()
		}, mean, generation{noise, graph.Iota(generations)})
		return sums
	}
	mean := random.Normal(random.New(1), graph.ShapeOf(graph.Float32, size))
	noise := random.Normal(random.New(2), graph.ShapeOf(graph.Float32, generations, members/2, size))
	sums, err := xlabridge.Jit2(xlabridge.Backend(xlatest.Open(t, 1)), search)(mean, noise)
	require.NoError(t, err)
	got, err := graph.Floats(sums)
	require.NoError(t, err)
	for i, x := range got {
		require.EqualValues(t, 120, x, "generation %d", i)
	}
}
