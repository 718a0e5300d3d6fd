package session

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/graph"
	"xlarun/rollout/episode"
	"xlarun/rollout/population"
	"xlarun/rollout/run"
	"xlarun/xlabridge"
)

// placement has tiles of four lanes.
func placement(lanesLast bool) *run.Placement {
	return &run.Placement{Lanes: 4, BatchLast: lanesLast, Member: func(tile, lane int) int { return 100*tile + lane }}
}

// Three tiles of four lanes each run five steps; lane 2 of tile 1 takes the logarithm of a negative number in step 4.
func TestNaNFinderNamesStepAndMember(t *testing.T) {
	f := NewNaNFinder()
	f.placement = func() *run.Placement { return placement(false) }
	const tiles, steps = 3, 5
	find := xlabridge.Jit(f, func(bad *graph.Array) *graph.Array {
		type state struct{ I, Sum *graph.Array }
		end := graph.NamedWhile(population.TilesLoop, func(s state) *graph.Array {
			return graph.Lt(s.I, tiles)
		}, func(s state) state {
			ends := graph.VMap(func(lane *graph.Array) *graph.Array {
				id := graph.Add(graph.Mul(s.I, 100), lane)
				x, _ := graph.Scan(func(x, step *graph.Array) (*graph.Array, graph.None) {
					here := graph.And(graph.Eq(id, graph.Index(bad, 0)), graph.Eq(step, graph.Index(bad, 1)))
					return graph.Add(x, graph.Log(graph.Select(here, -1., 1.))), graph.None{}
				}, graph.Scalar(0), graph.Add(graph.Iota(steps), 1), graph.LoopName(episode.StepsLoop))
				return x
			})(graph.Iota(4))
			return state{graph.Add(s.I, 1), graph.Add(s.Sum, graph.Sum(ends))}
		}, state{graph.Of(int32(0)), graph.Scalar(0)})
		return end.Sum
	})
	_, err := find(graph.Int32s([]int32{-1, -1}))
	require.NoError(t, err, "no lane is bad")
	_, err = find(graph.Int32s([]int32{102, 4}))
	require.ErrorContains(t, err, "log: the first NaN appeared here, in step 4, in member 102;")
	require.ErrorContains(t, err, "nan_test.go:", "the source line")
}

// NaNFinder finds the axis of the members, also where another axis has the same size. Cases are numbered and stay.
func TestNaNFinderTellsLanesFromOtherAxes(t *testing.T) {
	for _, c := range []struct {
		number       int
		last         bool
		width, spoil int // numbers of a member, and the one that becomes NaN
	}{
		{1, false, 4, 1}, // as wide as a tile: [lanes, 4]
		{2, true, 4, 1},  // and [4, lanes], of which the first axis was taken for the lanes
		{3, true, 3, 0},
		{4, false, 3, 2},
	} {
		f := NewNaNFinder()
		f.placement = func() *run.Placement { return placement(c.last) }
		var options []graph.VMapOption
		if c.last {
			options = append(options, graph.BatchLast())
		}
		find := xlabridge.Jit(f, func(bad *graph.Array) *graph.Array {
			type state struct{ I, Sum *graph.Array }
			end := graph.NamedWhile(population.TilesLoop, func(s state) *graph.Array {
				return graph.Lt(s.I, 3)
			}, func(s state) state {
				ends := graph.VMap(func(lane *graph.Array) *graph.Array {
					id := graph.Add(graph.Mul(s.I, 100), lane)
					here := graph.And(graph.Eq(id, bad), graph.Eq(graph.Iota(c.width), c.spoil))
					x, _ := graph.Scan(func(x, step *graph.Array) (*graph.Array, graph.None) {
						return graph.Add(x, graph.Log(graph.Select(here, -1., 1.))), graph.None{}
					}, graph.Zeros(graph.ShapeOf(graph.Float32, c.width)), graph.Iota(2),
						graph.LoopName(episode.StepsLoop))
					return graph.Sum(x)
				}, options...)(graph.Iota(4))
				return state{graph.Add(s.I, 1), graph.Add(s.Sum, graph.Sum(ends))}
			}, state{graph.Of(int32(0)), graph.Scalar(0)})
			return end.Sum
		})
		_, err := find(graph.Of(int32(203)))
		require.ErrorContains(t, err, ", in member 203;", "case %d", c.number)
	}
}

func TestNaNFinderLetsGivenNaNsPass(t *testing.T) {
	f := NewNaNFinder()
	find := xlabridge.Jit(f, func(x *graph.Array) *graph.Array { return graph.Add(graph.Log(x), 1) })
	_, err := find(graph.Float32s([]float32{float32(math.NaN())}))
	require.NoError(t, err)
}
