// Package ctest compiles plugins in C for tests.
package ctest

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/third_party/pjrt"
)

// Compile compiles a C text, which may include the headers of third_party/pjrt, and returns the result's path. The
// compiler gets further arguments.
func Compile(t testing.TB, text string, args ...string) string {
	t.Helper()
	compiler := os.Getenv("CC")
	if compiler == "" {
		compiler = "cc"
	}
	dir := t.TempDir()
	require.NoError(t, os.CopyFS(dir, pjrt.Headers))
	source, out := filepath.Join(dir, "source.c"), filepath.Join(dir, "out.so")
	require.NoError(t, os.WriteFile(source, []byte(text), 0o644))
	output, err := exec.Command(compiler, append([]string{"-o", out, source}, args...)...).CombinedOutput()
	require.NoError(t, err, string(output))
	return out
}
