package session

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"xlarun/rollout/run"
)

// TestPhasesAreTimedLate: the programs of the phases may take as long to compile as those of the run, and
// the run stops meanwhile. So that is a 50th of the time at most.
func TestPhasesAreTimedLate(t *testing.T) {
	for _, c := range []struct {
		trace, compile float64
		want           time.Duration
	}{{0, 0, 5 * time.Second}, {.02, .05, 5 * time.Second}, {.1, 1.4, 75 * time.Second}, {0, 60, 50 * time.Minute},
		{1e300, 1e300, 1e9 * time.Second}} {
		s := &session{profile: run.Profile{TraceSeconds: c.trace, CompileSeconds: c.compile}}
		require.InDelta(t, c.want.Seconds(), s.phasesDue().Seconds(), 1e-6, "%+v", c)
	}
}
