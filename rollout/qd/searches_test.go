package qd

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/graph"
	"xlarun/rollout/settings"
)

// Rankings of a search: stages first, then values; members that are not valid are the worst.
func TestRanks(t *testing.T) {
	mask := func(v ...bool) *graph.Array { return graph.Of(v) }
	s := oneSearch{Direction: graph.Float32s([]float32{-1, 0}), Batch: Batch{
		Fitness: graph.Float32s([]float32{5, 1, 9, 4, 7}), Valid: mask(true, true, true, true, false),
		Unit: graph.Float32s([]float32{0, 0, .2, 0, .4, 0, .6, 0, 0, 0}, 5, 2)}, Change: Change{
		Accepted: mask(true, true, false, true, false), Empty: mask(false, true, true, false, true),
		Improvement: graph.Float32s([]float32{3, 1, -1, 2, float32(math.Inf(-1))})}}
	for kind, want := range map[int][]float64{
		kindImprovement: {3, 4, 1, 2, 0}, kindOptimisation: {3, 1, 4, 2, 0}, kindDirection: {4, 3, 1, 2, 0},
	} {
		s.Kind = graph.Of(int32(kind))
		require.Equal(t, want, floats(t, s.ranks()), "kind %d", kind)
	}
}

// The bandit tries each kind once, then takes what was accepted most. Searches that go on keep their kind.
func TestBandit(t *testing.T) {
	e := &Searches{Number: 3, Explore: settings.Num(.1)}
	s := SearchesState{Kind: graph.Of([]int32{0, 1, 2}), Evaluated: graph.Float32s([]float32{10, 10, 0, 10}),
		Accepted: graph.Float32s([]float32{1, 9, 0, 3})}
	restart := graph.Of([]bool{true, false, true})
	require.Equal(t, []float64{kindDirection, 1, kindOptimisation}, floats(t, e.choose(s, restart, 10)))
}
