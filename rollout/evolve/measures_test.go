package evolve

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Metrics of failed members are no objectives of a study: not every trial has them.
func TestMeasuresAreThereAlways(t *testing.T) {
	t.Parallel()
	c := DefaultConfig()
	for _, name := range c.Measures() {
		require.NotContains(t, []string{"failed_generation", "failed_members", "failed_member", "failed_step"}, name)
	}
}
