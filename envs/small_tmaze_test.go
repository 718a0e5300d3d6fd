package envs_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/envs"
	"xlarun/envs/small"
	"xlarun/graph"
	"xlarun/graph/random"
)

const (
	north = iota
	east
	south
	west
)

func number64(t *testing.T, a *graph.Array) float64 {
	t.Helper()
	v, err := graph.Float(a.Convert(graph.Float32))
	require.NoError(t, err)
	return v
}

// Walks through a corridor of two steps, by hand.
func TestTMazeRules(t *testing.T) {
	e := small.TMaze{}
	p := small.TMazeParams{Length: envs.Steps(2), MaxSteps: envs.Steps(6)}
	start, corridor, junction := []float64{0, 1, 1}, []float64{1, 0, 1}, []float64{0, 1, 0}
	for _, c := range []struct {
		number  int
		what    string
		south   bool // where the goal is
		actions []int
		rewards []float64
		obs     [][]float64
		ends    bool // terminated at the last action
		limit   bool // truncated at the last action
	}{
		{1, "the goal in the north", false, []int{east, east, north}, []float64{0, 0, 4}, [][]float64{
			corridor, junction, junction}, true, false},
		{2, "the wrong turn", false, []int{east, east, south}, []float64{0, 0, -.1}, [][]float64{
			corridor, junction, junction}, true, false},
		{3, "the goal in the south", true, []int{east, east, south}, []float64{0, 0, 4}, nil, true, false},
		{4, "walls of the corridor", false, []int{north, south, west, east, north}, []float64{-.1, -.1, -.1, 0, -.1},
			[][]float64{start, start, start, corridor, corridor}, false, false},
		{5, "back to the sign", true, []int{east, west}, []float64{0, 0}, [][]float64{corridor, {1, 1, 0}}, false,
			false},
		{6, "the end of the junction", false, []int{east, east, east, west}, []float64{0, 0, -.1, 0}, [][]float64{
			corridor, junction, junction, corridor}, false, false},
		{7, "the limit", false, []int{east, west, east, west, east, east}, []float64{0, 0, 0, 0, 0, 0}, nil, false,
			true},
	} {
		s := small.TMazeState{North: envs.Steps(map[bool]int{true: 0, false: 1}[c.south]).Eq(1), Place: envs.Steps(0),
			Turn: envs.Steps(0), Time: envs.Steps(0)}
		for i, a := range c.actions {
			next, obs, reward, terminated, truncated := e.Step(random.New(0), s, envs.Steps(a), p)
			last := i == len(c.actions)-1
			require.InDelta(t, c.rewards[i], number64(t, reward), 1e-6, "case %d, %s: reward of step %d", c.number,
				c.what, i)
			require.Equal(t, last && c.ends, number64(t, terminated) != 0, "case %d, %s: step %d", c.number, c.what, i)
			require.Equal(t, last && c.limit, number64(t, truncated) != 0, "case %d, %s: step %d", c.number, c.what, i)
			if c.obs != nil {
				got, err := graph.Floats(obs)
				require.NoError(t, err)
				require.Equal(t, c.obs[i], got, "case %d, %s: step %d", c.number, c.what, i)
			}
			s = next
		}
	}
}
