package main

import (
	"crypto/sha256"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/cmd/internal/shelltest"
	"xlarun/cmd/xlarun/machine"
	"xlarun/graph/safetensors"
	"xlarun/internal/long"
)

var update = flag.Bool("update", false, "record what runs leave behind instead of comparing it")

const goldenFile = "testdata/golden.json"

// golden is what runs have left behind. Each machine, with a plugin, has last digits of its own.
type golden struct {
	Metrics map[string][]string `json:"metrics"` // of a run: its rows, where they were recorded last
	// machine → run → digest of its rows and of the arrays of its last checkpoint
	Digests map[string]map[string]string `json:"digests"`
}

// Runs come to what they came to when they were recorded: to the byte on a machine of a kind that is in the file, and
// on all others the first row within a thousandth. After a change that is meant to give other numbers, record them anew
// with -update.
func TestGolden(t *testing.T) {
	evolve := []string{"evolve", "--target", "0", "--tune", "off", "--judge", "2", "--devices", "2", "--hall-of-fame",
		"0"}
	with := func(words string) []string { return append(slices.Clip(evolve), strings.Fields(words)...) }
	sparse := []string{"sparse", "--data", "pictures", "--pop", "5", "--batch", "7", "--hidden", "9,5", "--steps", "43",
		"--mutate-every", "15", "--seed", "4", "--devices", "2"}
	// Tests of their packages compare these with oracles, too.
	onlyLong := []string{"simplega", "pqn", "sparse, masked", "sparse, blocks"}
	runs := []struct {
		name string
		args []string
	}{
		{"openes", with("Pendulum-v1 --pop 66 --policy mlp:9,5 --steps 60 --generations 5 --episodes 3 --seed 11")},
		{"openes, tiles, lanes last", with("Acrobot-v1 --pop 64 --policy linear --steps 100 --generations 5 " +
			"--lanes-last --unroll 2 --tile 16")},
		{"pgpe", with("Pendulum-v1 --strategy pgpe --pop 38 --policy mlp:12 --steps 60 --generations 5 " +
			"--strategy.sigma 0.2 --seed 5")},
		{"simplega",
			with("Pendulum-v1 --strategy simplega --pop 51 --policy mlp:12 --steps 60 --generations 5 --seed 5")},
		{"reference", with("Pendulum-v1 --jit=false --devices 1 --pop 6 --steps 20 --policy mlp:3 --generations 3")},
		{"spiking", with("Forage-L0-v1 --pop 32 --policy spiking:8 --steps 30 --generations 3 --seed 5")},
		{"islands", strings.Fields("islands Pendulum-v1 --target 0 --tune off --judge 2 --devices 2 --islands 4 " +
			"--migrants 2 --pop 16 --policy mlp:8 --steps 40 --generations 12 --strategy.sigma 0.05..0.3 --seed 3")},
		{"ppo", strings.Fields("ppo CartPole-v1 --target 0 --devices 2 --envs 16 --horizon 16 --steps 2048 --seed 3")},
		{"ppo, memory, half precision", strings.Fields("ppo CartPole-v1 --target 0 --devices 1 --envs 8 --horizon 16 " +
			"--policy gru:8 --shared --precision f16 --accumulate 2 --steps 1024 --seed 3")},
		{"pqn", strings.Fields("pqn CartPole-v1 --target 0 --devices 1 --envs 8 --horizon 16 --steps 1024 --seed 3")},
		{"selfplay", strings.Fields("selfplay --vertices 5 --k 3 --devices 2 --num-iterations 3 --num-episodes 8 " +
			"--game-batch-size 4 --training-batch-size 32 --arena-games 4 --num-simulations 8 --seed 3")},
		{"sparse, kernel", append(slices.Clip(sparse), "--method", "kernel")},
		{"sparse, kernel in bf16", append(slices.Clip(sparse), "--method", "kernel", "--dtype", "bf16")},
		{"sparse, masked", append(slices.Clip(sparse), "--method", "masked")},
		{"sparse, blocks", append(slices.Clip(sparse), "--method", "blocks")},
	}
	var want golden
	text, err := os.ReadFile(goldenFile)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, &want))

	s := shelltest.New(t)
	pictures(t, s, "pictures")
	got := map[string]string{}
	var names []string
	for _, r := range runs {
		names = append(names, r.name)
	}
	require.Subset(t, names, onlyLong)
	var kind string
	for i, r := range runs {
		if slices.Contains(onlyLong, r.name) && !long.On() && !*update {
			continue
		}
		folder := fmt.Sprint("run", i)
		s.Do(t, append(r.args, "--out", folder)...)
		rows, digest := written(t, s, folder)
		got[r.name] = digest
		if *update {
			want.Metrics[r.name] = rows
			continue
		}
		require.NotEmpty(t, want.Metrics[r.name], "%s is not recorded", r.name)
		require.Len(t, rows, len(want.Metrics[r.name]), r.name)
		alike(t, r.name, want.Metrics[r.name][0], rows[0])
		if kind == "" {
			kind = machineOf(t, s, folder)
		}
	}
	if kind == "" {
		kind = machineOf(t, s, "run0")
	}
	if *update {
		want.Digests[kind] = got
		text, err := json.MarshalIndent(want, "", "  ")
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(goldenFile, append(text, '\n'), 0o644))
		return
	}
	digests, found := want.Digests[kind]
	if !found {
		t.Logf("no digests of %s; there are some of %v", kind, slices.Sorted(maps.Keys(want.Digests)))
		return
	}
	for name, digest := range got {
		require.Equal(t, digests[name], digest, name)
	}
	require.ElementsMatch(t, names, slices.Collect(maps.Keys(digests)), "digests of runs")
}

// machineOf is what last digits depend on: the kind of processor and the plugin.
func machineOf(t *testing.T, s *shelltest.Shell, folder string) string {
	t.Helper()
	var profile struct {
		Plugin string `json:"plugin"`
	}
	text, err := os.ReadFile(s.Path(folder, "profile.json"))
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, &profile))
	require.NotEmpty(t, profile.Plugin)
	return machine.CPUKind() + "; " + profile.Plugin
}

// written is a run's rows, and a digest of them and of the arrays of its last checkpoint.
func written(t *testing.T, s *shelltest.Shell, folder string) (rows []string, digest string) {
	t.Helper()
	text, err := os.ReadFile(s.Path(folder, "metrics.jsonl"))
	require.NoError(t, err)
	sum := sha256.New()
	sum.Write(text)
	checkpoints, err := filepath.Glob(s.Path(folder, "checkpoints", "*"))
	require.NoError(t, err)
	require.NotEmpty(t, checkpoints)
	file, err := safetensors.Open(checkpoints[len(checkpoints)-1])
	require.NoError(t, err)
	defer file.Close()
	for _, name := range file.Names() {
		a, err := file.Array(name)
		require.NoError(t, err)
		data, err := a.Data()
		require.NoError(t, err)
		fmt.Fprintln(sum, name, a.Shape(), data)
	}
	return strings.Split(strings.TrimSpace(string(text)), "\n"), fmt.Sprintf("%x", sum.Sum(nil))
}

// alike holds that two rows have the same names, and numbers that differ by a thousandth at most.
func alike(t *testing.T, run, want, got string) {
	t.Helper()
	parse := func(row string) (out map[string]float64) {
		require.NoError(t, json.Unmarshal([]byte(row), &out), row)
		return out
	}
	wanted, found := parse(want), parse(got)
	require.Equal(t, slices.Sorted(maps.Keys(wanted)), slices.Sorted(maps.Keys(found)), run)
	for name, number := range wanted {
		require.InDelta(t, number, found[name], 1e-3*math.Abs(number), "%s: %s", run, name)
	}
}
