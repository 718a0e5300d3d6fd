package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/cmd/internal/shelltest"
)

// Where programs are not kept, or what was kept is damaged, a run goes on and says so once; to warm up is to keep them,
// so that warmup fails.
func TestLossOfTheCacheIsSaid(t *testing.T) {
	s := shelltest.NewCold(t)
	settings := []string{"CartPole-v1", "--pop", "8", "--policy", "mlp:3", "--steps", "9", "--judge", "2", "--tune",
		"off"}
	run := func(t *testing.T, status int, args ...string) (stdout, stderr string) {
		t.Helper()
		p := s.Command(append(args, settings...)...)
		require.NoError(t, p.Start())
		require.Equal(t, status, p.Ended(), "%s%s", &p.Err, &p.Out)
		return p.Out.String(), p.Err.String()
	}
	evolve := []string{"evolve", "--generations", "2", "--target", "0", "--out", "none"}

	// 1: the cache cannot be written.
	programs := filepath.Join(s.Cache, "programs")
	require.NoError(t, os.WriteFile(programs, nil, 0o644))
	sentence := "compiled programs are not kept, since " + programs + " cannot be written (not a directory): "
	stdout, stderr := run(t, 0, evolve...)
	require.Equal(t, 1, strings.Count(stdout, sentence), stdout)
	require.Empty(t, stderr)
	stdout, stderr = run(t, 1, "warmup")
	require.Equal(t, 1, strings.Count(stdout, sentence), stdout)
	require.Contains(t, stderr, "xlarun warmup: 1 program failed: CartPole-v1: program generation is not kept (")
	require.NoError(t, os.Remove(programs))

	// 2: it can.
	run(t, 0, "warmup")
	stdout, _ = run(t, 0, "warmup")
	require.Contains(t, stdout, "1 experiment ready (1 from the cache), with 3 programs")

	// 3: all that it holds is damaged: said once for each program, and repaired.
	entries := 0
	require.NoError(t, filepath.WalkDir(programs, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			entries++
			text, _ := os.ReadFile(path)
			text[len(text)/2] ^= 1
			err = os.WriteFile(path, text, 0o644)
		}
		return err
	}))
	require.Equal(t, 3, entries, "the generation, what judges the members, and what records the best")
	stdout, stderr = run(t, 0, evolve...)
	require.Equal(t, 2, strings.Count(stdout, " was compiled anew: its entry "), stdout)
	require.Empty(t, stderr)
	stdout, _ = run(t, 0, evolve...)
	require.NotContains(t, stdout, "anew")
}
