package study

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

// Values that were enqueued and that a parameter does not take were replaced without a word.
func TestEnqueuedValuesThatCannotBe(t *testing.T) {
	t.Parallel()
	s, err := New("s", Options{Sampler: Random{}})
	require.NoError(t, err)
	space := Space{
		{Name: "x", Distribution: Distribution{Kind: Float, Low: 0.5, High: 2}},
		{Name: "n", Distribution: Distribution{Kind: Int, Low: 1, High: 9, Step: 1}},
		{Name: "kind", Distribution: Distribution{Kind: Categorical, Choices: []any{"a", "b"}}},
		{Name: "only a", Distribution: Distribution{Kind: Float, Low: 0, High: 1}, When: map[string][]any{
			"kind": {"a"}}},
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
	require.Equal(t, []string{"parameter x was enqueued as 7, want a number from 0 to 1: it is sampled instead"},
		asked.Ignored())
	require.NoError(t, s.Tell(asked, 1))
	all, err = s.Trials()
	require.NoError(t, err)
	kept, _ = System[[]string](all[2], IgnoredAttr)
	require.Len(t, kept, 1)
}

// A number that JSON has not took all that was enqueued with it along, without a word. Numbers between
// two steps were run.
func TestEnqueuedByPython(t *testing.T) {
	t.Parallel()
	space := Space{
		{Name: "x", Distribution: Distribution{Kind: Float, Low: 0.5, High: 2}},
		{Name: "n", Distribution: Distribution{Kind: Int, Low: 4, High: 16, Step: 4}},
		{Name: "h", Distribution: Distribution{Kind: Float, Low: 0, High: 1, Step: .1}},
		{Name: "kind", Distribution: Distribution{Kind: Categorical, Choices: []any{"NaN", "\"Infinity"}}},
	}
	for _, c := range []struct {
		text    string
		has     map[string]any
		ignored []string
	}{
		{`{"x": NaN, "n": 8, "h": 0.3, "kind": "NaN"}`, map[string]any{"n": int64(8), "h": .3, "kind": "NaN"},
			[]string{"parameter x was enqueued as NaN, want a number from 0.5 to 2: it is sampled instead"}},
		{`{"x": -Infinity, "kind": "\"Infinity"}`, map[string]any{"kind": "\"Infinity"},
			[]string{"parameter x was enqueued as -Inf, want a number from 0.5 to 2: it is sampled instead"}},
		{`{"kind": Infinity, "x": 1}`, map[string]any{"x": 1.},
			[]string{`parameter kind was enqueued as +Inf, want one of "NaN", "\"Infinity": it is sampled instead`}},
		{`{"n": 6, "h": 0.25}`, nil, []string{"parameter n was enqueued as 6, want a whole number from 4 to 16 in " +
			"steps of 4: it is sampled instead", "parameter h was enqueued as 0.25, want a number from 0 to 1 in " +
			"steps of 0.1: it is sampled instead"}},
		{`[1, NaN]`, nil, []string{`what was enqueued, "[1, NaN]", cannot be read as parameters: all are sampled`}},
		{`{}`, nil, nil},
		{`null`, nil, nil},
	} {
		s, err := New("s", Options{Sampler: Random{}})
		require.NoError(t, err)
		f := &FrozenTrial{State: Waiting, SystemAttrs: map[string]json.RawMessage{fixedAttr: json.RawMessage(c.text)}}
		require.NoError(t, s.options.Storage.Add(s.id, -1, f))
		asked, err := s.AskSpace(space, All)
		require.NoError(t, err, c.text)
		require.Equal(t, c.ignored, asked.Ignored(), c.text)
		for name, want := range c.has {
			require.Equal(t, want, asked.Params()[name], c.text)
		}
		require.Len(t, asked.Params(), len(space))
		require.NoError(t, s.Tell(asked, 1))
	}
}
