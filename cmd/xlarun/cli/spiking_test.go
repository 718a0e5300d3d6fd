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
	"xlarun/graph"
	"xlarun/graph/safetensors"
	"xlarun/internal/long"
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

// A spiking population through the commands: the same bytes on one device and on two, and where it was resumed; what is
// played, drawn and exported of it, and what metrics say of its spikes.
func TestSpikingThroughTheCommands(t *testing.T) {
	long.Only(t)
	dir := t.TempDir()
	shelltest.ShareCache(t)
	in := func(name string) string { return filepath.Join(dir, name) }
	run := func(out string, args ...string) map[string]any {
		t.Helper()
		return onCPU.Result(t, append([]string{"evolve", "Forage-L0-v1", "--policy", "spiking:7,5", "--dynamics",
			"fast:alif", "--substeps", "3", "--encoder", "rate", "--pop", "8", "--steps", "12", "--target", "0",
			"--eval-episodes", "2", "--tile", "4", "--hall-of-fame", "0", "--out", in(out)}, args...)...)
	}
	two := run("two", "--devices", "2", "--generations", "4")
	for _, name := range []string{"spike_rate_hz", "synaptic_operations", "energy_nj"} {
		require.Positive(t, two[name], name)
	}
	require.InEpsilon(t, two["synaptic_operations"].(float64)*23.6e-3, two["energy_nj"], 1e-4)
	run("cut", "--devices", "1", "--generations", "2")
	onCPU.Do(t, "evolve", "--resume", in("cut"), "--generations", "4")
	require.True(t, read(t, in("two"), "metrics.jsonl") == read(t, in("cut"), "metrics.jsonl"),
		"metrics on two devices, and on one in two parts")
	require.Equal(t, arraysOf(t, in("two"), "checkpoints/000004.safetensors"),
		arraysOf(t, in("cut"), "checkpoints/000004.safetensors"))
	require.Contains(t, read(t, in("two"), "config.toml"), `dynamics = 'fast:alif'`)

	played := onCPU.Result(t, "play", in("two"), "--episodes", "3")
	require.Len(t, played["reports"], 3)
	require.Positive(t, played["reports"].(map[string]any)["spike_rate_hz"])
	require.FileExists(t, filepath.Join(in("two"), "play.gif"))
	onCPU.Do(t, "render", in("two"), "--out", in("drawn.gif"))
	require.FileExists(t, in("drawn.gif"))
	onCPU.Do(t, "export", in("two"), "--out", in("member.safetensors"))
	require.Contains(t, arraysOf(t, dir, "member.safetensors"), "Layers.1.Threshold")
	file, err := safetensors.Open(in("member.safetensors"))
	require.NoError(t, err)
	defer func() { require.NoError(t, file.Close()) }()
	require.Equal(t, "fast:alif", file.Metadata()["dynamics"])
	require.Equal(t, "[5,45]", file.Metadata()["threshold"])
}

// arraysOf are the bytes of the arrays of a file.
func arraysOf(t *testing.T, dir, name string) map[string][]byte {
	t.Helper()
	file, err := safetensors.Open(filepath.Join(dir, name))
	require.NoError(t, err)
	defer func() { require.NoError(t, file.Close()) }()
	all := map[string][]byte{}
	for _, name := range file.Names() {
		a, err := file.Array(name)
		require.NoError(t, err)
		b, err := graph.HostBytes(a)
		require.NoError(t, err)
		all[name] = bytes.Clone(b)
	}
	return all
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
