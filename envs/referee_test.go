package envs_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/envs"
	"xlarun/graph"
)

func TestReferee(t *testing.T) {
	legal := graph.Int32s([]int32{1, 0, 1}).Gt(0)
	for number, c := range []struct {
		over           bool
		action, player int
		given          []float32 // to each, if legal
		ends           bool

		rewards    []float64
		terminated float64
	}{
		{false, 0, 0, []float32{0, 0}, false, []float64{0, 0}, 0},
		{false, 2, 1, []float32{-1, 1}, true, []float64{-1, 1}, 1},
		{false, 1, 1, []float32{-1, 1}, true, []float64{1, -1}, 1},             // illegal, whatever it would have won
		{false, 3, 0, []float32{1, -1}, false, []float64{-1, 1}, 1},            // no action at all
		{false, -1, 2, []float32{0, 0, 0}, false, []float64{.5, .5, -1}, 1},    // the others share
		{true, 0, 0, []float32{1, -1}, true, []float64{0, 0}, 1},               // over stays over
		{true, 1, 0, []float32{1, -1}, false, []float64{0, 0}, 1},              // nobody is to blame any more
		{false, 0, 2, []float32{-.5, -.5, 1}, true, []float64{-.5, -.5, 1}, 1}, // three players
	} {
		rewards, reward, terminated := envs.Referee(envs.Move{Over: graph.Of(c.over), Legal: legal,
			Action: envs.Steps(c.action),
			Player: envs.Steps(c.player), Rewards: graph.Float32s(c.given), Ends: graph.Of(c.ends)})
		require.Equal(t, c.rewards, floats(t, rewards), "case %d", number)
		require.Equal(t, c.rewards[c.player], floats(t, reward)[0], "case %d", number)
		require.Equal(t, c.terminated, floats(t, terminated)[0], "case %d", number)
	}
}
