package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/cmd/xlarun/cli"
)

// run calls the command line and returns the last line of --json.
func run(t *testing.T, args ...string) (last map[string]any) {
	t.Helper()
	var out, text bytes.Buffer
	status := cli.Run(context.Background(), args, cli.Streams{Out: &out, Err: &text, Env: os.Getenv})
	require.Zero(t, status, "%s", &text)
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	require.NoError(t, json.Unmarshal([]byte(lines[len(lines)-1]), &last))
	return last
}

// docs/how-to/gomlx.md quotes this program.
func TestDocument(t *testing.T) {
	page, err := os.ReadFile("../../docs/how-to/gomlx.md")
	require.NoError(t, err)
	program, err := os.ReadFile("main.go")
	require.NoError(t, err)
	_, quote, ok := strings.Cut(string(page), "```go\n")
	require.True(t, ok)
	quote, _, _ = strings.Cut(quote, "```\n")
	require.Contains(t, quote, "func init() {")
	require.Contains(t, string(program), quote)
}

// A GoMLX network learns by evolution and by gradients, and its members have GoMLX's names.
func TestNetworksLearn(t *testing.T) {
	t.Run("evolve and ppo", func(t *testing.T) {
		folder := filepath.Join(t.TempDir(), "run")
		r := run(t, "evolve", "CartPole-v1", "--policy", "gomlx-mlp", "--pop", "64", "--generations", "30", "--seed",
			"1", "--tune", "off", "--out", folder, "--json")
		require.Greater(t, r["best_member_mean_return"], 150.)
		file, err := os.ReadFile(filepath.Join(folder, "best.safetensors"))
		require.NoError(t, err)
		require.Contains(t, string(file), `"hidden/dense/weights"`)
		played := run(t, "play", filepath.Join(folder, "best.safetensors"), "--json")
		require.InDelta(t, r["best_member_mean_return"], played["mean_return"], 60)
		r = run(t, "ppo", "CartPole-v1", "--policy", "gomlx-mlp", "--steps", "40000", "--seed", "1", "--out",
			"none", "--json")
		require.Greater(t, r["best_member_mean_return"], 40.)
	})
}
