package bench

import (
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/rollout/run"
)

// A turn of a short phase took a thousand times as long as it should, because a timed call that ran the
// phase 1,024 times counted as one run. Its CPU time was that of the whole call, too.
func TestShortPhasesFillATurn(t *testing.T) {
	var calls []int
	r := phaseRunner(func(repeats int) ([]run.Phase, error) {
		calls = append(calls, repeats)
		return []run.Phase{{Runs: make([]float64, repeats), Units: 1024}}, nil // each timed call runs it 1,024 times
	}, 1, nil)
	for _, n := range []int{1, 100, 5000} {
		seconds, _, err := r.Run(n)
		require.NoError(t, err)
		require.NotEmpty(t, seconds)
	}
	require.Equal(t, []int{1, 1, 4}, calls)
	require.True(t, r.Part, "CPU time of a part is not known")
}
