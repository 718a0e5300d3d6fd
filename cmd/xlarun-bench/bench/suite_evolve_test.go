package bench

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"xlarun/rollout/run"
)

// fixedSteps is a run whose steps take a millisecond and play 500 steps of an environment.
type fixedSteps struct{}

func (fixedSteps) Step(context.Context) (run.Metrics, error) {
	time.Sleep(time.Millisecond)
	return run.Metrics{Step: 1, Work: 500}, nil
}
func (fixedSteps) Profile() run.Profile { return run.Profile{} }
func (fixedSteps) Close() error         { return nil }

// Times for a million steps say how many times those of a run they are, so that CPU times can follow.
func TestStepsAreScaled(t *testing.T) {
	for per, want := range map[float64]float64{0: 1, million: 2000} {
		r := steps(t.Context(), fixedSteps{}, per)
		seconds, _, err := r.Run(1)
		require.NoError(t, err)
		require.Equal(t, want, *r.Scale)
		require.GreaterOrEqual(t, seconds[0], want*time.Millisecond.Seconds())
	}
}
