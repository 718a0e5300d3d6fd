package main

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/cmd/internal/shelltest"
	"xlarun/graph/nn"
	"xlarun/graph/nn/nir"
	"xlarun/graph/random"
)

// Case 27.152: a run whose searches start again went on only if the policy's file was there as it had been.
func TestRestartsOfANIRFileGoOnWithoutIt(t *testing.T) {
	s := shelltest.New(t)
	g, err := nir.FromLayers(nir.Scale{DT: 1e-3}, nn.NewDense(random.New(1), 2, 3))
	require.NoError(t, err)
	require.NoError(t, g.WriteFile(s.Path("network.nir")))
	// Nobody reaches the top in two steps: all returns are equal, and the search has converged after 27 generations.
	run := []string{"evolve", "MountainCar-v0", "--backend", "reference", "--policy", "nir:network.nir",
		"--policy.input", "observation", "--policy.substeps", "1", "--pop", "16", "--steps", "2", "--judge", "1",
		"--target", "0", "--restarts", "ipop"}
	s.Do(t, append(run, "--generations", "30", "--out", "whole")...)
	require.Contains(t, s.Read(t, "whole", "metrics.jsonl"), `"restarts":1`)
	require.Equal(t, s.Read(t, "network.nir"), s.Read(t, "whole", "policy.copy"))
	for _, name := range []string{"changed", "gone", "damaged"} {
		s.Do(t, append(run, "--generations", "20", "--out", name)...)
	}
	resume := func(name string) []string { return []string{"evolve", "--resume", name, "--generations", "30"} }
	goesOn := func(name string) {
		s.Do(t, resume(name)...)
		for _, file := range []string{"metrics.jsonl", "best.safetensors", "centre.safetensors", "policy.copy"} {
			require.Equal(t, s.Read(t, "whole", file), s.Read(t, name, file), "%s: %s", name, file)
		}
	}
	require.NoError(t, os.WriteFile(s.Path("network.nir"), []byte("another"), 0o600))
	goesOn("changed")
	require.NoError(t, os.Remove(s.Path("network.nir")))
	goesOn("gone")
	members := []string{"--members", "3", "--backend", "reference", "--out"}
	s.Do(t, append([]string{"sample", "gone"}, append(members, "gone.safetensors")...)...)
	require.NoError(t, g.WriteFile(s.Path("network.nir")))
	s.Do(t, append([]string{"sample", "whole"}, append(members, "whole.safetensors")...)...)
	require.Equal(t, s.Read(t, "whole.safetensors"), s.Read(t, "gone.safetensors"))
	require.NoError(t, os.Remove(s.Path("network.nir")))
	// A copy that is damaged is none: the file itself is wanted.
	require.NoError(t, os.WriteFile(s.Path("damaged", "policy.copy"), []byte("another"), 0o600))
	require.Contains(t, s.Refused(t, resume("damaged")...), "network.nir")
}
