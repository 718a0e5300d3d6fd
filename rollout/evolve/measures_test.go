package evolve

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// What a run says only of a member that failed is no objective: every trial of a study of it failed.
func TestMeasuresAreThereAlways(t *testing.T) {
	t.Parallel()
	c := DefaultConfig()
	for _, name := range c.Measures() {
		require.NotContains(t, []string{"failed_generation", "failed_member", "failed_step"}, name)
	}
}
