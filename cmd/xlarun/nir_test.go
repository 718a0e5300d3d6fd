package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/cmd/internal/shelltest"
	"xlarun/graph/nn"
	"xlarun/graph/nn/nir"
	"xlarun/graph/random"
)

// A run whose searches start again went on only if the policy's file was there as it had been.
func TestRestartsOfANIRFileGoOnWithoutIt(t *testing.T) {
	s := shelltest.New(t)
	t.Chdir(s.Dir)
	g, err := nir.FromLayers(nir.Scale{DT: 1e-3}, nn.NewDense(random.New(1), 2, 3))
	require.NoError(t, err)
	require.NoError(t, g.WriteFile("network.nir"))
	// Nobody reaches the top in two steps: all returns are equal, and the search has converged after 27 generations.
	run := []string{"evolve", "MountainCar-v0", "--backend", "reference", "--policy", "nir:network.nir",
		"--policy.input", "observation", "--policy.substeps", "1", "--pop", "16", "--steps", "2", "--eval-episodes",
		"1",
		"--target", "0", "--restarts", "ipop"}
	inProcess.Do(t, append(run, "--generations", "30", "--out", "whole")...)
	require.Contains(t, read(t, "whole", "metrics.jsonl"), `"restarts":1`)
	require.Equal(t, read(t, "network.nir"), read(t, "whole", "policy.copy"))
	inProcess.Do(t, append(run, "--generations", "20", "--out", "gone")...)
	for _, name := range []string{"changed", "damaged"} {
		require.NoError(t, os.CopyFS(name, os.DirFS("gone")))
	}
	resume := func(name string) []string { return []string{"evolve", "--resume", name, "--generations", "30"} }
	goesOn := func(name string) {
		inProcess.Do(t, resume(name)...)
		for _, file := range []string{"metrics.jsonl", "best.safetensors", "final.safetensors", "policy.copy"} {
			require.Equal(t, read(t, "whole", file), read(t, name, file), "%s: %s", name, file)
		}
	}
	require.NoError(t, os.WriteFile("network.nir", []byte("another"), 0o600))
	goesOn("changed")
	require.NoError(t, os.Remove("network.nir"))
	goesOn("gone")
	members := []string{"--members", "3", "--backend", "reference", "--out"}
	inProcess.Do(t, append([]string{"sample", "gone"}, append(members, "gone.safetensors")...)...)
	require.NoError(t, g.WriteFile("network.nir"))
	inProcess.Do(t, append([]string{"sample", "whole"}, append(members, "whole.safetensors")...)...)
	require.Equal(t, read(t, "whole.safetensors"), read(t, "gone.safetensors"))
	require.NoError(t, os.Remove("network.nir"))
	// A copy that is damaged is none: the file itself is wanted.
	require.NoError(t, os.WriteFile(filepath.Join("damaged", "policy.copy"), []byte("another"), 0o600))
	require.Contains(t, s.Refused(t, resume("damaged")...), "network.nir", "another process, which has not read it")
}
