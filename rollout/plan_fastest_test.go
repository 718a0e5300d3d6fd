package rollout_test

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"xlarun/rollout/plan"
)

func TestPlanFastest(t *testing.T) {
	later := time.Now().Add(time.Hour)
	broken := errors.New("broken")
	for _, c := range []struct {
		name     string
		deadline time.Time
		seconds  []float64 // of each run; after them it breaks
		want     float64
		err      error
	}{
		{"the first one warms up", later, []float64{1, 5, 4, 6}, 4, nil},
		{"broken", later, []float64{1, 5}, 0, broken},
		{"too late", time.Now().Add(-1), []float64{1, 5, 4, 6}, 0, plan.ErrTime},
	} {
		n := 0
		got, err := plan.Fastest(0, func() bool { return time.Now().After(c.deadline) }, func() (float64, error) {
			if n == len(c.seconds) {
				return 0, broken
			}
			n++
			return c.seconds[n-1], nil
		})
		require.Equal(t, c.err, err, c.name)
		require.Equal(t, c.want, got, c.name)
	}
}
