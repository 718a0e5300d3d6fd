package cli

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/cmd/internal/runtest"
	"xlarun/cmd/internal/shelltest"
	"xlarun/graph/safetensors"
)

// What metrics, play and export say of the spikes of a run whose programs TestGolden compiles.
func TestSpikingRun(t *testing.T) {
	shelltest.ShareCache(t)
	t.Chdir(t.TempDir())
	r := onCPU.Result(t, runtest.Small(t, "spiking", "--out", "run")...)
	for _, name := range []string{"spike_rate_hz", "synaptic_operations", "energy_nj"} {
		require.Positive(t, r[name], name)
	}
	require.InEpsilon(t, r["synaptic_operations"].(float64)*23.6e-3, r["energy_nj"], 1e-4)
	played := onCPU.Result(t, "play", "run", "--episodes", "2", "--steps", "8", "--backend", "reference")
	require.Len(t, played["reports"], 3)
	require.Positive(t, played["reports"].(map[string]any)["spike_rate_hz"])
	require.FileExists(t, filepath.Join("run", "play.gif"))
	onCPU.Do(t, "export", "run", "--out", "member.safetensors")
	file, err := safetensors.Open("member.safetensors")
	require.NoError(t, err)
	defer func() { require.NoError(t, file.Close()) }()
	require.Contains(t, file.Names(), "Layers.0.Threshold")
	require.Equal(t, "fast", file.Metadata()["dynamics"])
}

// What cannot be is said in one sentence before anything is compiled, by the short names of flags too.
func TestSpikingBadInput(t *testing.T) {
	for _, c := range []struct {
		number int
		args   []string
		want   string
	}{
		{1, []string{"--dynamics", "mecanistic"}, `--policy.dynamics got "mecanistic", wants one of fast, `},
		{2, []string{"--dt", "2"},
			`--policy.dt got 2, wants at most policy.synapse-min, 1.25: a substep that is longer than a time ` +
				`constant oversteps it`},
		{3, []string{"--policy.tau-min", "-3"}, `--policy.tau-min got -3, wants a number above 0 that a float32 holds`},
		{4, []string{"--substeps", "0"}, `--policy.substeps got 0, wants a whole number from 1 to 4096`},
		{5, []string{"--encoder", "poisson"},
			`--policy.encoder got "poisson", wants one of current, rate, regular, latency, delta, population`},
		{6, []string{"--surrogate", "sigmoid"},
			`--policy.surrogate got "sigmoid", wants one of fast-sigmoid, arctan, triangular, boxcar, ` +
				`straight-through`},
	} {
		var stdout, stderr bytes.Buffer
		args := append([]string{"evolve", "Forage-L0-v1", "--policy", "spiking:7,5", "--out", "none"}, c.args...)
		require.Equal(t, StatusUsage, Run(context.Background(), args, Streams{Out: &stdout, Err: &stderr,
			Env: os.Getenv}), "case %d", c.number)
		require.Contains(t, stderr.String(), c.want, "case %d", c.number)
		require.Equal(t, 1, strings.Count(stderr.String(), "\n"), "case %d", c.number)
	}
}
