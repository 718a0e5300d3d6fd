package bench

import (
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/rollout/run"
)

// fakePhases is a training of which each timed call runs a phase 1,024 times.
type fakePhases struct{ calls []int }

func (f *fakePhases) PhasesOf(repeats int, names ...string) ([]run.Phase, error) {
	f.calls = append(f.calls, repeats)
	return []run.Phase{{Name: names[0], Runs: make([]float64, repeats), Units: 1024}}, nil
}

func (f *fakePhases) Close() error { return nil }

// A turn of a short phase took a thousand times as long as it should, because a timed call that ran the
// phase 1,024 times counted as one run. Its CPU time was that of the whole call, too.
func TestShortPhasesFillATurn(t *testing.T) {
	f := &fakePhases{}
	r := &phaseRunner{training: f, phase: "batch", scale: 1, units: 1}
	for _, n := range []int{1, 100, 5000} {
		seconds, _, err := r.Run(n)
		require.NoError(t, err)
		require.NotEmpty(t, seconds)
	}
	require.Equal(t, []int{1, 1, 4}, f.calls)
	_, part := Runner(r).(partTimer)
	require.True(t, part, "CPU time of a part is not known")
}
