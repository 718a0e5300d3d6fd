package bench

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The list of workloads broke within a line, since the help breaks lines at 100 columns.
func TestAgainstHelpIsNarrow(t *testing.T) {
	_, runs, _ := strings.Cut(againstLong(), "Runs:\n\n")
	lines := strings.Split(runs, "\n")
	require.Greater(t, len(lines), 8)
	for _, line := range lines {
		require.LessOrEqual(t, len(line), 100, line)
	}
}
