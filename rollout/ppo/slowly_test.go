package ppo

import (
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/graph"
	"xlarun/xlabridge"
)

// What is slow on purpose learns what New does: the head by branches and the optimiser leaf by leaf up to rounding; step by step with other random numbers, of as many steps.
func TestSlowly(t *testing.T) {
	b := open(t)
	c := small(nil)
	of := func(slow Slowly) ([]float64, *Training) {
		r, err := NewSlowly(b, c, slow)
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, r.Close()) })
		steps(t, r, 2)
		s, err := r.State()
		require.NoError(t, err)
		a, err := xlabridge.ToHost(graph.Leaves(s.(State).Params.Actor)[0])
		require.NoError(t, err)
		v, err := graph.Floats(a)
		require.NoError(t, err)
		return v, r
	}
	want, plain := of(Slowly{})
	got, slow := of(Slowly{Branching: true, Unfused: true})
	require.InDeltaSlice(t, want, got, 1e-5)
	require.Greater(t, countOps(slow.Compiled().Program.Graph, "switch"), countOps(plain.Compiled().Program.Graph, "switch"))

	s, err := NewStepwise(b, c, Slowly{})
	require.NoError(t, err)
	names := plain.program.metricNames()
	for range 3 {
		v, err := s.Update()
		require.NoError(t, err)
		require.Len(t, v, len(names)+1)
	}
	update, err := graph.Float(s.state.Update)
	require.NoError(t, err)
	require.EqualValues(t, 3, update)
	length, err := graph.Floats(s.state.Worlds.Length)
	require.NoError(t, err)
	for _, x := range length {
		require.Less(t, x, 3*16+1.)
	}
}
