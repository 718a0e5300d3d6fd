package command

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/cmd/internal/shelltest"
	"xlarun/graph/safetensors"
)

// TestPBTIsNotRepeated: nothing says that a run with the settings of a trial of population-based training
// repeats it. Its trials go on from others.
func TestPBTIsNotRepeated(t *testing.T) {
	t.Parallel()
	s := shelltest.New(t)
	require.NoError(t, os.WriteFile(filepath.Join(s.Dir, "spec.toml"), []byte(`name = "rungs"
metric = "best_fitness"
sampler = "pbt"
population = 2
window = 2
trials = 4
report-every = 1
`+smallRun), 0o666))
	s.Do(t, "study", "run", "spec.toml")
	out := s.Do(t, "study", "best", "spec.toml", "--trial", "3", "--config", "best.toml")
	require.NotContains(t, out, "repeats it")
	require.Contains(t, out, "the settings that it ended with are in best.toml: xlarun evolve best.toml starts a run "+
		"with them from the beginning, which does not repeat the trial")
	require.Contains(t, s.Read(t, "best.toml"), "generations = 2")
	// --member was refused for every trial of pbt.
	member := func(args ...string) *safetensors.File {
		args = append([]string{"study", "best", "spec.toml", "--member"}, args...)
		require.Contains(t, s.Do(t, args...), "repeating it, after the trials that it goes on from\nthe best member, ")
		file, err := safetensors.Open(filepath.Join(s.Dir, args[4]))
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, file.Close()) })
		return file
	}
	first, last := member("first.safetensors", "--trial", "0"), member("last.safetensors", "--trial", "2")
	require.Equal(t, "1", first.Metadata()["generation"])
	require.Equal(t, "2", last.Metadata()["generation"], "of two rungs")
	member("best.safetensors")
	require.Contains(t, s.Do(t, "play", "best.safetensors", "--episodes", "2", "--backend", "reference", "--gif",
		"none"), "mean return")
}
