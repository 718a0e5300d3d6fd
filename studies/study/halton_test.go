package study

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// A study of quasi-random trials with conditional or enqueued parameters chose other values after it was
// resumed, because a parameter's base was the order in which this process had first asked for it.
func TestHaltonResumes(t *testing.T) {
	unit := Distribution{Kind: Float, High: 1}
	space := Space{{Name: "kind", Distribution: Distribution{Kind: Categorical, Choices: []any{"a", "b"}}},
		{Name: "constant", Distribution: Distribution{Kind: Float, Low: 1, High: 1}},
		{Name: "of a", Distribution: unit, When: map[string][]any{"kind": {"a"}}},
		{Name: "of b", Distribution: unit, When: map[string][]any{"kind": {"b"}}}, {Name: "both", Distribution: unit}}
	const trials = 12
	ask := func(first int) (params []map[string]any) {
		storage := InMemory()
		for _, n := range []int{first, trials - first} { // two processes
			s, err := New("s", Options{Storage: storage, Sampler: &Halton{Space: space}, Seed: 3})
			require.NoError(t, err)
			if len(params) == 0 {
				require.NoError(t, s.Enqueue(map[string]any{"kind": "b", "of b": .5}))
			}
			for range n {
				trial, err := s.AskSpace(space, 0)
				require.NoError(t, err)
				params = append(params, trial.Params())
			}
		}
		return params
	}
	want := ask(trials)
	for first := 1; first < trials; first++ {
		require.Equal(t, want, ask(first), first)
	}
}
