package mujoco

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/graph"
	"xlarun/graph/graphtest"
	"xlarun/graph/random"
)

// drawn is how Gymnasium draws an element of a first state (reset_model of its classes): from low to high with a mean
// and a standard deviation.
type drawn struct{ mean, deviation, low, high float64 }

func uniform(s float64) drawn { return drawn{0, s / math.Sqrt(3), -s, s} }
func normal(s float64) drawn  { return drawn{0, s, math.Inf(-1), math.Inf(1)} }

// First states have the bounds, means and standard deviations of Gymnasium's, in 10,000 resets.
func TestResetsAreGymnasiums(t *testing.T) {
	disc := drawn{0, .1, -.2, .2} // a coordinate in a disc of radius 0.2
	still := drawn{}
	arm := slices.Concat(slices.Repeat([]drawn{uniform(.005)}, 7), slices.Repeat([]drawn{still}, 4))
	for _, c := range []struct {
		Task
		q, v []drawn // of each element, or one for all; of q, less the model's first configuration
	}{
		{HalfCheetah, []drawn{uniform(.1)}, []drawn{normal(.1)}},
		{Ant, []drawn{uniform(.1)}, []drawn{normal(.1)}},
		{Hopper, []drawn{uniform(.005)}, []drawn{uniform(.005)}},
		{Walker2d, []drawn{uniform(.005)}, []drawn{uniform(.005)}},
		{Humanoid, []drawn{uniform(.01)}, []drawn{uniform(.01)}},
		{HumanoidStandup, []drawn{uniform(.01)}, []drawn{uniform(.01)}},
		{Swimmer, []drawn{uniform(.1)}, []drawn{uniform(.1)}},
		{InvertedPendulum, []drawn{uniform(.01)}, []drawn{uniform(.01)}},
		{InvertedDoublePendulum, []drawn{uniform(.1)}, []drawn{normal(.1)}},
		{Reacher, []drawn{uniform(.1), uniform(.1), disc, disc}, []drawn{uniform(.005), uniform(.005), still, still}},
		// The object's place is uniform in a rectangle without a disc of radius 0.17.
		{Pusher, slices.Concat(slices.Repeat([]drawn{still}, 7), []drawn{{-.19737, .07006, -.3, 0},
			{0, .13061, -.2, .2}, still, still}), arm},
	} {
		const resets = 10000
		starts := graph.VMap(func(key random.Key) [2]*graph.Array {
			q, v := c.Start(c.Task, key, c.DefaultParams())
			return [2]*graph.Array{q, v}
		})(random.Split(random.New(5), resets))
		rest := c.Model().Rest()
		if c.ID == Reacher.ID { // the goal is drawn as it is
			clear(rest)
		}
		for i, want := range [][]drawn{c.q, c.v} {
			all := graphtest.Floats(t, starts[i])
			n := len(all) / resets
			if len(want) == 1 {
				want = slices.Repeat(want, n)
			}
			require.Len(t, want, n, c.ID)
			for k, w := range want {
				var sum, squares float64
				low, high := math.Inf(1), math.Inf(-1)
				for r := range resets {
					x := all[r*n+k]
					if i == 0 {
						x -= rest[k]
					}
					sum, squares, low, high = sum+x, squares+x*x, min(low, x), max(high, x)
				}
				mean := sum / resets
				require.InDelta(t, w.mean, mean, 5*w.deviation/math.Sqrt(resets)+1e-6, "%s %d %d", c.ID, i, k)
				require.InDelta(t, w.deviation, math.Sqrt(squares/resets-mean*mean), .03*w.deviation+1e-6,
					"%s %d %d", c.ID, i, k)
				require.GreaterOrEqual(t, low, w.low-1e-6, "%s %d %d", c.ID, i, k)
				require.LessOrEqual(t, high, w.high+1e-6, "%s %d %d", c.ID, i, k)
				if !math.IsInf(w.low, 0) { // both ends are reached
					require.InDelta(t, w.high-w.low, high-low, .03*(w.high-w.low), "%s %d %d", c.ID, i, k)
				}
			}
		}
	}
}
