package study

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

// questions are what some trials are asked, up to `size` of them at a time, by one call or by one each.
func questions(t *testing.T, sampler Sampler, size int, together bool) string {
	const window, trials = 6, 40
	sees := func(number int64) int64 { return max(number-window+1, 0) }
	s, err := New("s", Options{Sampler: sampler, Seed: 5})
	require.NoError(t, err)
	text := ""
	for n := 0; n < trials; {
		var all []*Trial
		for want := min(size, trials-n); len(all) < want; {
			several := 1
			if together {
				several = want
			}
			some, err := s.AskSpaces(several, everything[:4], sees)
			require.NoError(t, err)
			require.Len(t, some, several)
			all = append(all, some...)
		}
		for _, x := range all {
			require.EqualValues(t, n, x.Number())
			n++
			params, err := json.Marshal(x.Params())
			require.NoError(t, err)
			text += fmt.Sprintln(x.Number(), string(params), fmt.Sprintf("%s", x.frozen.SystemAttrs))
		}
		for _, x := range all {
			require.NoError(t, s.Tell(x, x.frozen.Params["x"]*x.frozen.Params["x"]+x.frozen.Params["n"]))
		}
	}
	stored, err := s.Trials()
	require.NoError(t, err)
	require.Len(t, stored, trials)
	return text
}

// Trials that are asked together get what they get one after the other.
func TestAskedTogether(t *testing.T) {
	for name, sampler := range samplers(t, everything[:4]) {
		require.Equal(t, questions(t, sampler(), 6, false), questions(t, sampler(), 6, true), name)
		if !SeesResults(sampler()) {
			require.Equal(t, questions(t, sampler(), 1, false), questions(t, sampler(), 40, true), name)
		}
	}
	require.False(t, SeesResults(Random{}))
	require.True(t, SeesResults(&TPE{}))
}

// A grid that is asked for more than it has gives what is left, and then nothing; an enqueued trial comes alone, and no
// point is lost where others add trials meanwhile.
func TestAskedTogetherOfAGrid(t *testing.T) {
	space := Space{{Name: "n", Distribution: Distribution{Kind: Int, Low: 1, High: 9, Step: 1}}}
	g, err := NewGrid(space, 9)
	require.NoError(t, err)
	storage := &interrupted{Storage: InMemory()}
	s, err := New("s", Options{Storage: storage, Sampler: g})
	require.NoError(t, err)
	require.NoError(t, s.Enqueue(map[string]any{"n": 4}))
	sees := func(number int64) int64 { return number }
	some, err := s.AskSpaces(5, space, sees)
	require.NoError(t, err)
	require.Len(t, some, 1)
	require.Equal(t, map[string]any{"n": int64(4)}, some[0].Params())
	storage.moves = 2
	points := map[any]int{int64(4): 1}
	for _, want := range []int{5, 1} { // two are others'
		some, err := s.AskSpaces(5, space, sees)
		require.NoError(t, err)
		require.Len(t, some, want)
		for _, x := range some {
			points[x.Params()["n"]]++
		}
	}
	for _, n := range storage.others {
		points[n]++
	}
	require.Len(t, points, 9)
	for n, times := range points {
		require.Equal(t, 1, times, "%v", n)
	}
	_, err = s.AskSpaces(5, space, sees)
	require.ErrorIs(t, err, ErrExhausted)
}

// interrupted is a storage into which somebody else puts the first of some trials before they are added.
type interrupted struct {
	Storage
	moves  int
	others []any
}

func (m *interrupted) Add(s StudyID, want int64, trials ...*FrozenTrial) error {
	if m.moves > 0 && want >= 0 {
		m.moves--
		other := trials[0].clone()
		m.others = append(m.others, other.External()["n"])
		if err := m.Storage.Add(s, -1, other); err != nil {
			return err
		}
	}
	return m.Storage.Add(s, want, trials...)
}

// TestFollowed: trials that a study has asked with a space are not read again while they run, those of others are, and
// all are as they ended.
func TestFollowed(t *testing.T) {
	storage := InMemory()
	s, err := New("s", Options{Storage: storage, Sampler: Random{}})
	require.NoError(t, err)
	other, err := New("s", Options{Storage: storage, Sampler: Random{}})
	require.NoError(t, err)
	space := Space{{Name: "x", Distribution: Distribution{Kind: Float, High: 1}}}
	own, err := s.AskSpace(space, All)
	require.NoError(t, err)
	foreign, err := other.Ask()
	require.NoError(t, err)
	require.NoError(t, own.Report(1, .5))
	_, err = foreign.SuggestFloat("x", 0, 1)
	require.NoError(t, err)
	require.NoError(t, foreign.Report(1, .25))
	all, err := s.TrialsFrom(0)
	require.NoError(t, err)
	require.Len(t, all, 2)
	require.Equal(t, own.Params(), all[0].External())
	require.Empty(t, all[0].Intermediate)
	require.Len(t, all[1].Intermediate, 1)
	all, err = s.Trials()
	require.NoError(t, err)
	require.Len(t, all[0].Intermediate, 1)
	require.NoError(t, other.Tell(foreign, 2))
	require.NoError(t, s.Tell(own, 1))
	all, err = s.TrialsFrom(1)
	require.NoError(t, err)
	require.Len(t, all, 1)
	require.Equal(t, []float64{2}, all[0].Values)
	all, err = s.TrialsFrom(0)
	require.NoError(t, err)
	require.Equal(t, Complete, all[0].State)
	require.Len(t, all[0].Intermediate, 1)
	all, err = s.TrialsFrom(5)
	require.NoError(t, err)
	require.Empty(t, all)
}
