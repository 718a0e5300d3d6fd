package session

import (
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/rollout/run"
)

// The best member is named as its file is: of the hall of fame, that is the first.
func TestMemberName(t *testing.T) {
	require.Equal(t, "hall-of-fame-1", memberName(run.HallOfFame))
	require.Equal(t, "best ever", memberName("best_ever"))
	require.Equal(t, "mean", memberName("mean"))
}

// A run that stopped after later generations, with evaluations of its own, says that the best member is of an earlier
// one: "no later one was judged" contradicted those.
func TestTheBestMemberIsOfAnEarlierStep(t *testing.T) {
	s := &session{Options: Options{Kind: run.Kind{Unit: "generation"}}, rounds: 1, last: run.Metrics{Step: 48},
		ending: "eval return 500 ± 0 in generation 40", best: &Member{HallEntry: run.HallEntry{Candidate: run.Candidate{
			Name: "mean"}}}, meanAt: 25}
	lines := s.summary(true)
	require.Equal(t, "stopped after generation 48: eval return 500 ± 0 in generation 40", lines[0])
	require.Contains(t, lines[1], "the best member (mean of generation 25, the last one whose candidates were "+
		"evaluated again) has a mean return of ")
}
