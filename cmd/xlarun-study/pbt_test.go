package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/cmd/internal/shelltest"
)

// TestPBTIsNotRepeated (case 27.101): nothing says that a run with the settings of a trial of population-based training
// repeats it. Its trials go on from others.
func TestPBTIsNotRepeated(t *testing.T) {
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
	require.Contains(t, s.Refused(t, "study", "best", "spec.toml", "--trial", "3", "--member", "m.safetensors"),
		"--member: a trial of pbt goes on from others, whose states are not kept")
	require.NoFileExists(t, filepath.Join(s.Dir, "m.safetensors"))
}
