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

	"xlarun/cmd/internal/runtest"
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
	// machine → run → ending → digest of the file that is exported of it
	Exports map[string]map[string]map[string]string `json:"exports"`
}

// Runs come to what they came to when they were recorded, also when they go on from their first checkpoint: to the byte
// on a machine of a kind that is in the file, and on all others the first row within a thousandth. So do the files that
// are exported of them. After a change that is meant to give other numbers, record them again with -update.
func TestGolden(t *testing.T) {
	var want golden
	text, err := os.ReadFile(goldenFile)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, &want))
	file, err := filepath.Abs(goldenFile)
	require.NoError(t, err)

	shelltest.ShareCache(t)
	t.Chdir(t.TempDir())
	runtest.Pictures(t, "pictures")
	digests, exports, kind := map[string]string{}, map[string]map[string]string{}, ""
	for i, r := range runtest.All {
		if r.Long && !long.On() && !*update {
			continue
		}
		folder := fmt.Sprint("run", i)
		inProcess.Do(t, append(r.Args(), "--checkpoint-every", "2", "--keep", "100", "--out", folder)...)
		rows, digest := written(t, folder)
		digests[r.Name], exports[r.Name] = digest, exported(t, r.Args()[0], folder)
		if kind == "" {
			kind = machineOf(t, folder)
		}
		if *update {
			want.Metrics[r.Name] = rows
			continue
		}
		require.NotEmpty(t, want.Metrics[r.Name], "%s is not recorded", r.Name)
		require.Len(t, rows, len(want.Metrics[r.Name]), r.Name)
		alike(t, r.Name, want.Metrics[r.Name][0], rows[0])

		stopped := folder + "-stopped"
		stoppedAtFirst(t, folder, stopped)
		inProcess.Do(t, r.Args()[0], "--resume", stopped)
		sameRun(t, folder, stopped)
	}
	if *update {
		if want.Exports == nil {
			want.Exports = map[string]map[string]map[string]string{}
		}
		want.Digests[kind], want.Exports[kind] = digests, exports
		text, err := json.MarshalIndent(want, "", "  ")
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(file, append(text, '\n'), 0o644))
		return
	}
	recorded, found := want.Digests[kind]
	if !found {
		t.Logf("no digests of %s; there are some of %v", kind, slices.Sorted(maps.Keys(want.Digests)))
		return
	}
	for name, digest := range digests {
		require.Equal(t, recorded[name], digest, name)
		require.Equal(t, want.Exports[kind][name], exports[name], name)
	}
	var names []string
	for _, r := range runtest.All {
		names = append(names, r.Name)
	}
	require.ElementsMatch(t, names, slices.Collect(maps.Keys(recorded)), "digests of runs")
}

// stoppedAtFirst copies a run's folder as a kill after its first checkpoint would have left it.
func stoppedAtFirst(t *testing.T, from, to string) {
	t.Helper()
	require.NoError(t, os.CopyFS(to, os.DirFS(from)))
	checkpoints, err := filepath.Glob(filepath.Join(to, "checkpoints", "*"))
	require.NoError(t, err)
	require.Greater(t, len(checkpoints), 1)
	for _, c := range checkpoints[1:] {
		require.NoError(t, os.Remove(c))
	}
}

// exported is a digest of each file that can be exported of a run of a kind.
func exported(t *testing.T, kind, folder string) map[string]string {
	t.Helper()
	endings := []string{".safetensors", ".onnx"}
	switch {
	case kind == "sparse" || kind == "selfplay":
		endings = endings[:1]
	case strings.Contains(read(t, folder, "config.toml"), "name = 'spiking"):
		endings[1] = ".nir"
	}
	digests := map[string]string{}
	for _, ending := range endings {
		inProcess.Do(t, "export", folder, "--out", folder+ending)
		digests[ending] = fmt.Sprintf("%x", sha256.Sum256([]byte(read(t, folder+ending))))
	}
	return digests
}

// machineOf is what last digits depend on: the kind of processor and the plugin.
func machineOf(t *testing.T, folder string) string {
	t.Helper()
	var profile struct {
		Plugin string `json:"plugin"`
	}
	require.NoError(t, json.Unmarshal([]byte(read(t, folder, "profile.json")), &profile))
	require.NotEmpty(t, profile.Plugin)
	return machine.CPUKind() + "; " + profile.Plugin
}

// written is a run's rows, and a digest of them and of the arrays of its last checkpoint.
func written(t *testing.T, folder string) (rows []string, digest string) {
	t.Helper()
	text := read(t, folder, "metrics.jsonl")
	sum := sha256.New()
	sum.Write([]byte(text))
	checkpoints, err := filepath.Glob(filepath.Join(folder, "checkpoints", "*"))
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
	return strings.Split(strings.TrimSpace(text), "\n"), fmt.Sprintf("%x", sum.Sum(nil))
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
