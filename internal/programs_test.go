package internal_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/internal/programs"
)

// TestObservedProgramsAreCounted: a program is its text and its options, and has a line for each test that uses it.
func TestObservedProgramsAreCounted(t *testing.T) {
	file := filepath.Join(t.TempDir(), "programs")
	t.Setenv(programs.Env, file)
	programs.Observe("a", "text", "1", true)
	programs.Observe("a", "text", "1", true)
	programs.Observe("a", "text", "1", false)
	programs.Observe("a", "text", "2", true)
	t.Run("elsewhere", func(*testing.T) {
		done := make(chan bool)
		go func() { programs.Observe("b", "longer text", "1", true); close(done) }()
		<-done
	})
	want := programs.Total{Programs: 3, Bytes: 19}
	require.Equal(t, want, programs.Seen())
	read, err := programs.Read(file)
	require.NoError(t, err)
	require.Equal(t, map[string]programs.Total{"xlarun/internal": want}, read)
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	require.Len(t, lines, 4)
	for i, fields := range [][]string{{"a", "4", "compiled"}, {"a", "4", "cached"}, {"a", "4", "compiled"},
		{"b", "11", "compiled"}} {
		got := strings.Split(lines[i], "\t")
		require.Equal(t, append([]string{"xlarun/internal", "TestObservedProgramsAreCounted"}, fields...),
			append(got[:4:4], got[5]))
	}
}
