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
// so that warmup fails. The kind of run has two programs, which are the smallest.
func TestLossOfTheCacheIsSaid(t *testing.T) {
	s := shelltest.NewCold(t)
	run := func(t *testing.T, status int, args ...string) (stdout, stderr string) {
		t.Helper()
		p := s.Command(args...)
		require.NoError(t, p.Start())
		require.Equal(t, status, p.Ended(), "%s%s", &p.Err, &p.Out)
		return p.Out.String(), p.Err.String()
	}

	// 1: the cache cannot be written.
	programs := filepath.Join(s.Cache, "programs")
	require.NoError(t, os.WriteFile(programs, nil, 0o644))
	sentence := "compiled programs are not kept, since " + programs + " cannot be written (not a directory): "
	stdout, stderr := run(t, 0, "faulty", "--out", "none")
	require.Equal(t, 1, strings.Count(stdout, sentence), stdout)
	require.Empty(t, stderr)
	stdout, stderr = run(t, 1, "warmup", "faulty")
	require.Equal(t, 1, strings.Count(stdout, sentence), stdout)
	require.Contains(t, stderr, "xlarun warmup: 1 program failed: : program round is not kept (")
	require.NoError(t, os.Remove(programs))

	// 2: it can.
	run(t, 0, "warmup", "faulty")
	stdout, _ = run(t, 0, "warmup", "faulty")
	require.Contains(t, stdout, "1 experiment ready (1 from the cache), with 2 programs")

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
	require.Equal(t, 2, entries)
	stdout, stderr = run(t, 0, "faulty", "--out", "none")
	require.Equal(t, 2, strings.Count(stdout, " was compiled anew: its entry "), stdout)
	require.Empty(t, stderr)
	stdout, _ = run(t, 0, "faulty", "--out", "none")
	require.NotContains(t, stdout, "anew")
}
