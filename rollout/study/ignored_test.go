package study

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Case 1: values that were enqueued and that a parameter does not take were replaced without a word.
func TestEnqueuedValuesThatCannotBe(t *testing.T) {
	t.Parallel()
	s, err := New("s", Options{Sampler: Random{}})
	require.NoError(t, err)
	space := Space{
		{Name: "x", Distribution: Distribution{Kind: Float, Low: 0.5, High: 2}},
		{Name: "n", Distribution: Distribution{Kind: Int, Low: 1, High: 9, Step: 1}},
		{Name: "kind", Distribution: Distribution{Kind: Categorical, Choices: []any{"a", "b"}}},
		{Name: "only a", Distribution: Distribution{Kind: Float, Low: 0, High: 1}, When: map[string][]any{"kind": {"a"}}},
	}
	require.NoError(t, s.Enqueue(map[string]any{"x": 7, "n": "three", "kind": "c", "y": 1}))
	require.NoError(t, s.Enqueue(map[string]any{"x": 1.5, "n": 3, "kind": "b", "only a": 0.5}))
	bad, err := s.AskSpace(space, All)
	require.NoError(t, err)
	want := []string{
		"parameter x was enqueued as 7, want a number from 0.5 to 2: it is sampled instead",
		"parameter n was enqueued as \"three\", want a whole number from 1 to 9: it is sampled instead",
		"parameter kind was enqueued as \"c\", want one of \"a\", \"b\": it is sampled instead",
		"parameter y was enqueued as 1, but there is none of that name: it is left out",
	}
	require.Equal(t, want, bad.Ignored())
	good, err := s.AskSpace(space, All)
	require.NoError(t, err)
	require.Empty(t, good.Ignored())
	require.Equal(t, map[string]any{"x": 1.5, "n": int64(3), "kind": "b"}, good.Params())
	all, err := s.Trials()
	require.NoError(t, err)
	kept, ok := System[[]string](all[0], IgnoredAttr)
	require.True(t, ok)
	require.Equal(t, want, kept, "it stays with the trial")
	require.Nil(t, all[1].SystemAttrs[IgnoredAttr])

	require.NoError(t, s.Enqueue(map[string]any{"x": 7}))
	asked, err := s.Ask()
	require.NoError(t, err)
	x, err := asked.SuggestFloat("x", 0, 1)
	require.NoError(t, err)
	require.LessOrEqual(t, x, 1.)
	require.Equal(t, []string{"parameter x was enqueued as 7, want a number from 0 to 1: it is sampled instead"}, asked.Ignored())
	require.NoError(t, s.Tell(asked, 1))
	all, err = s.Trials()
	require.NoError(t, err)
	kept, _ = System[[]string](all[2], IgnoredAttr)
	require.Len(t, kept, 1)
}
