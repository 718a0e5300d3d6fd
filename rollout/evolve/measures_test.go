package evolve

import (
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/rollout/run"
)

// What a run says only of a member that failed is no objective: every trial of a study of it failed.
func TestMeasuresAreThereAlways(t *testing.T) {
	t.Parallel()
	islands := smallIslands("openes")
	for _, m := range []run.Measured{&islands.Config, &islands} {
		for _, name := range m.Measures() {
			require.NotContains(t, []string{"failed_generation", "failed_member", "failed_step"}, name)
		}
	}
}
