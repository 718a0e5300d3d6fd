package session

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"xlarun/rollout/run"
)

// Rounds whose metrics are not known count: on the number of a round depends which rows a folder keeps.
func TestSkippedRoundsCount(t *testing.T) {
	s := &session{round: 4090, values: map[string]float64{}, totalWork: 40900}
	s.record(run.Metrics{Step: 4113, Work: 10, Skipped: 8, Earlier: []run.Metrics{
		{Step: 4096, Work: 10, Skipped: 5}, {Step: 4104, Work: 10, Skipped: 7}}}, time.Now(), 1)
	require.EqualValues(t, 4113, s.round)
	require.EqualValues(t, 41130, s.totalWork)
}
