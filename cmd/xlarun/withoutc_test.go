package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/internal/long"
)

// A program that is built without C runs on the interpreter, and says so of other backends. It is also built
// for macOS. Building all of it takes a minute, so the short form leaves it out.
func TestBuiltWithoutC(t *testing.T) {
	long.Only(t)
	program := filepath.Join(t.TempDir(), "xlarun")
	for _, system := range []string{"darwin", "linux"} {
		build := exec.Command("go", "build", "-o", program, ".")
		build.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+system)
		out, err := build.CombinedOutput()
		require.NoError(t, err, "%s: %s", system, out)
	}
	evolve := func(backend string) (string, error) {
		out, err := exec.Command(program, "evolve", "CartPole-v1", "--pop", "8", "--steps", "20", "--generations", "2",
			"--out", "none", "--backend", backend).CombinedOutput()
		return string(out), err
	}
	out, err := evolve("reference")
	require.NoError(t, err, out)
	require.Contains(t, out, "stopped at the last of 2 generations")
	out, err = evolve("cpu")
	require.Error(t, err)
	require.Contains(t, out, "built without C")
	require.Contains(t, out, "--backend reference")
}
