package journey

import (
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/envs/grid"
	"xlarun/graph"
	"xlarun/graph/random"
	"xlarun/xlabridge"
)

// TestWays compares two updates of each way with those of one program. Episodes end after two steps.
func TestWays(t *testing.T) {
	b := &xlabridge.Reference{}
	a, err := newAgent("2", 4, 2, 4)
	require.NoError(t, err)
	params := grid.Gather{}.DefaultParams()
	params.MaxSteps = graph.Scalar(2, graph.Int32)
	a.params = params
	start, err := graph.Eval(a.start(random.New(3)))
	require.NoError(t, err)

	var want []float64
	program := xlabridge.Jit(b, func(s State) State { s, _ = a.update(s); return s })
	ways := []func(State) (State, error){program}
	for _, how := range []Collect{OneByOne, OnHost, Logged, Batched, Scanned} {
		ways = append(ways, a.driven(b, how, func(float64) {}))
	}
	branched := *a
	branched.branch = true
	ways = append(ways, xlabridge.Jit(b, func(s State) State { s, _ = branched.update(s); return s }))
	for i, update := range ways {
		s := start
		for range 2 {
			s, err = update(s)
			require.NoError(t, err, "way %d", i)
		}
		var got []float64
		for _, x := range append(graph.Leaves(s.Learner.Params), s.Games.Observation) {
			v, err := graph.Floats(x)
			require.NoError(t, err)
			got = append(got, v...)
		}
		if i == 0 {
			want = got
			first, err := graph.Floats(graph.Leaves(start.Learner.Params)[0])
			require.NoError(t, err)
			require.NotEqual(t, first, want[:len(first)])
			continue
		}
		require.InDeltaSlice(t, want, got, 2e-5, "way %d", i)
	}
}
