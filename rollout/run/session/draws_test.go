package session

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"xlarun/rollout/episode"
)

// TestDrawings: a run that goes on draws its best member for at most a 500th of its time; its first
// evaluation and its end draw anyway.
func TestDrawings(t *testing.T) {
	start := time.Unix(1000, 0)
	for _, c := range []struct {
		drawnAt time.Time // zero: never
		drawing time.Duration
		passed  time.Duration
		ended   bool
		want    bool
	}{
		{time.Time{}, 0, 0, false, true},
		{time.Time{}, 0, 0, true, true},
		{start, 0, 0, false, true},
		{start, 100 * time.Millisecond, 10 * time.Second, false, false},
		{start, 100 * time.Millisecond, 50*time.Second - 1, false, false},
		{start, 100 * time.Millisecond, 50 * time.Second, false, true},
		{start, 100 * time.Millisecond, 0, true, true},
		{start, time.Hour, 499 * time.Hour, false, false},
	} {
		j := &Evaluator{drawnAt: c.drawnAt, drawing: c.drawing, recorder: &episode.Recorder{}}
		require.Equal(t, c.want, j.draws(start.Add(c.passed), c.ended), "%+v", c)
		j.recorder = nil
		require.False(t, j.draws(start.Add(c.passed), c.ended), "nothing can be drawn: %+v", c)
	}
}
