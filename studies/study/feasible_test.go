package study

import (
	"encoding/json"
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

// Trials that break constraints which Optuna keeps with them were called the best.
func TestBestIsFeasible(t *testing.T) {
	t.Parallel()
	trial := func(number int64, value float64, attrs ...string) *FrozenTrial {
		x := &FrozenTrial{Number: number, State: Complete, Values: []float64{value},
			SystemAttrs: map[string]json.RawMessage{}}
		for i := 0; i < len(attrs); i += 2 {
			x.SystemAttrs[attrs[i]] = json.RawMessage(attrs[i+1])
		}
		return x
	}
	broken := []*FrozenTrial{trial(0, 1, "constraints", "[-1.0, 0.5]"), trial(1, 2, "constraints:memory", "3.0"),
		trial(2, 3, "constraints", "[NaN]"), trial(3, 4, "constraints:memory", "null")}
	for _, x := range broken {
		require.False(t, x.Feasible(), x.Number)
	}
	kept := []*FrozenTrial{trial(4, 9, "constraints", "[0.0, -2]"), trial(5, 8, "constraints:memory", "-1",
		"constraints:time", "0"), trial(6, 7, "constraints", "null"), trial(7, 6)}
	for i, x := range kept {
		require.True(t, x.Feasible(), x.Number)
		best := Best(append(append([]*FrozenTrial{}, broken...), kept[:i+1]...), []Direction{Minimize})
		require.Equal(t, []*FrozenTrial{x}, best)
	}
	require.Empty(t, Best(broken, []Direction{Minimize}))
	infinite := &FrozenTrial{State: Complete, Values: []float64{math.Inf(1)}}
	require.Equal(t, kept[:1], Best([]*FrozenTrial{infinite, kept[0]}, []Direction{Minimize}))

	pair := func(number int64, a, b float64, constraint string) *FrozenTrial {
		x := trial(number, a, "constraints", constraint)
		x.Values = append(x.Values, b)
		return x
	}
	good, bad := pair(0, 2, 2, "[0]"), pair(1, 1, 1, "[1]")
	require.Equal(t, []*FrozenTrial{good}, Best([]*FrozenTrial{good, bad}, []Direction{Minimize, Minimize}),
		"what is not feasible dominates nobody")
}
