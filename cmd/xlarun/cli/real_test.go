package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/cmd/internal/shelltest"
)

// evolved is what these tests read of evolve's line of JSON.
type evolved struct {
	Cache                string
	Devices, Generations int
	Mean                 float64 `json:"mean_fitness"`
	Best                 float64 `json:"best_fitness"`
}

// TestEvolveOnTheRealThing runs the whole command on the CPU plugin, which it gets the way a user does, with an empty
// cache of programs.
func TestEvolveOnTheRealThing(t *testing.T) {
	dir, cache := t.TempDir(), t.TempDir()
	shelltest.EmptyCache(t, cache)
	t.Setenv("XLARUN_CACHE", cache)
	run := func(out string, args ...string) evolved {
		t.Helper()
		var stdout, stderr bytes.Buffer
		args = append([]string{"evolve", "CartPole-v1", "--pop", "8", "--steps", "50", "--policy", "mlp:4",
			"--generations", "3", "--target", "0",
			"--judge", "3", "--json", "--out", filepath.Join(dir, out)}, args...)
		require.Equal(t, StatusOK, Run(context.Background(), args, Streams{Out: &stdout, Err: &stderr, Env: os.Getenv}),
			"%s", &stderr)
		require.Empty(t, stderr.String())
		lines := strings.Split(strings.TrimSpace(stdout.String()), "\n")
		var r evolved
		require.NoError(t, json.Unmarshal([]byte(lines[len(lines)-1]), &r))
		return r
	}
	first := run("two", "--devices", "2")
	require.Equal(t, "miss", first.Cache)
	require.Equal(t, 2, first.Devices)
	require.Equal(t, 3, first.Generations)
	again := run("again", "--devices", "2")
	require.Equal(t, "hit", again.Cache)
	one := run("one", "--devices", "1")
	require.Equal(t, 1, one.Devices)
	metrics := read(t, dir, "two", "metrics.jsonl")
	require.Equal(t, metrics, read(t, dir, "again", "metrics.jsonl"))
	require.Equal(t, metrics, read(t, dir, "one", "metrics.jsonl"), "results do not depend on the number of devices")

	plain := run("plain", "--jit=false")
	require.Equal(t, "off", plain.Cache)
	require.InDelta(t, first.Mean, plain.Mean, 1e-4)
	require.InDelta(t, first.Best, plain.Best, 1e-4)

	for _, file := range []string{"config.toml", "profile.json", "best.safetensors", "centre.safetensors", "best.gif",
		"checkpoints/000003.safetensors"} {
		info, err := os.Stat(filepath.Join(dir, "two", file))
		require.NoError(t, err)
		require.Positive(t, info.Size(), file)
	}
}

func TestDoctorOnTheRealThing(t *testing.T) {
	var stdout, stderr bytes.Buffer
	s := Streams{Out: &stdout, Err: &stderr, Env: os.Getenv}
	require.Equal(t, StatusOK, Run(context.Background(), []string{"plugin", "install"}, s), "%s", &stderr)
	require.Equal(t, StatusOK, Run(context.Background(), []string{"doctor"}, s), "%s%s", &stdout, &stderr)
	require.Contains(t, stdout.String(), "a small program gave the right result on cpu")
	require.Regexp(t, `int8     products of int8 (by a kernel for (amx|avx512_vnni)|have no kernel)`,
		stdout.String())
	require.Regexp(t, `bf16     products of bfloat16 (by a kernel for (amx|avx512_bf16)|have no kernel)`,
		stdout.String())
	require.Empty(t, stderr.String())
}
