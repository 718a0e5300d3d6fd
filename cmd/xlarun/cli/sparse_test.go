package cli

import (
	"encoding/json"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/cmd/internal/runtest"
	"xlarun/graph/safetensors"
	"xlarun/rollout/run"
)

// halves writes a data set that is learned in a few steps: two labels, a bright upper or lower half.
func halves(t *testing.T, folder string) {
	t.Helper()
	r := rand.New(rand.NewPCG(1, 2))
	for part, n := range map[string]int{"train": 120, "t10k": 40} {
		var pixels, labels []byte
		for range n {
			y := r.IntN(2)
			labels = append(labels, byte(y))
			for p := range 16 {
				pixels = append(pixels, byte(r.IntN(60)+150*((p/8+y)%2)))
			}
		}
		runtest.WritePart(t, folder, part, 4, pixels, labels)
	}
}

// A small run on the interpreter learns, prints its result, and leaves a folder.
func TestSparse(t *testing.T) {
	b := onInterpreter(t)
	halves(t, filepath.Join(b.dir, "set"))
	status := b.do("sparse", "--data", "set", "--pop", "2", "--hidden", "32,16", "--updates", "8", "--batch", "16",
		"--density", "0.2", "--mutate_every", "3", "--backend", "reference", "--out", "run", "--json")
	require.Equal(t, StatusOK, status, "%s", b.err)
	require.Empty(t, b.err.String())
	lines := strings.Split(strings.TrimSpace(b.out.String()), "\n")
	var got map[string]any
	require.NoError(t, json.Unmarshal([]byte(lines[len(lines)-1]), &got))
	require.EqualValues(t, 2, got["population"])
	require.EqualValues(t, 8, got["updates"])
	require.Equal(t, "sparse", got["kind"])
	require.EqualValues(t, "masked", got["method"])
	require.Greater(t, got["best_test_accuracy"], .8)
	require.LessOrEqual(t, got["mean_test_accuracy"], got["best_test_accuracy"])
	for _, key := range []string{"steps_per_second", "connections", "peak_memory_bytes", "wall_seconds", "devices"} {
		require.Greater(t, got[key], 0., key)
	}
	for _, name := range []string{"config.toml", "metrics.jsonl", "profile.json", "members.json", "best.safetensors"} {
		require.FileExists(t, filepath.Join(b.dir, "run", name))
	}
	text, err := os.ReadFile(filepath.Join(b.dir, "run", "config.toml"))
	require.NoError(t, err)
	require.Contains(t, string(text), "mutate-every = 3")
	require.Contains(t, string(text), "data = 'set'")
	require.Contains(t, string(text), "method = 'masked'", "what ran")
	require.Contains(t, b.out.String(), "%; the saved member, the best in training, 100.00 %")

	best, err := safetensors.Open(filepath.Join(b.dir, "run", "best.safetensors"))
	require.NoError(t, err)
	defer best.Close()
	require.Equal(t, []string{"[16,32,16,2]", "f32", "masked"}, []string{best.Metadata()["layers"],
		best.Metadata()["dtype"], best.Metadata()["method"]}, "what the Python package reads")

	text, err = os.ReadFile(filepath.Join(b.dir, "run", "profile.json"))
	require.NoError(t, err)
	var profile map[string]any
	require.NoError(t, json.Unmarshal(text, &profile))
	require.Equal(t, "masked", profile["method"])
	require.Equal(t, "static", profile["plan_source"])
	require.Greater(t, profile["planned_memory_bytes"], 0.)
	require.Greater(t, profile["process_peak_memory_bytes"], 0.)

	// The state of the last step is on disk, and says what it is.
	state, err := safetensors.Open(filepath.Join(b.dir, "run", "checkpoints", "000008.safetensors"))
	require.NoError(t, err)
	defer state.Close()
	require.Equal(t, "xlarun checkpoint", state.Metadata()["format"])
	require.Equal(t, "sparse", state.Metadata()["kind"])
	config, err := os.ReadFile(filepath.Join(b.dir, "run", "config.toml"))
	require.NoError(t, err)
	require.Equal(t, string(config), state.Metadata()["config"])
	for _, name := range []string{"0.at", "0.w", "1.at", "1.w", "2.at", "2.w"} {
		x, err := state.Array(name)
		require.NoError(t, err)
		require.Equal(t, 2, x.Dim(0), "a row for each member")
	}

	// The resolved config gives the same run.
	b.ok(t, "sparse --config run/config.toml --out again")
	first, err := os.ReadFile(filepath.Join(b.dir, "run", "metrics.jsonl"))
	require.NoError(t, err)
	second, err := os.ReadFile(filepath.Join(b.dir, "again", "metrics.jsonl"))
	require.NoError(t, err)
	require.Equal(t, string(first), string(second))

	// The last row of a run that another limit ends has the test of its end.
	b.ok(t, "sparse --config again/config.toml --test-every 500 --rounds 2 --out rounds")
	require.NotContains(t, b.out.String(), "new episodes")
	rows, err := os.ReadFile(filepath.Join(b.dir, "rounds", "metrics.jsonl"))
	require.NoError(t, err)
	require.Equal(t, 1, strings.Count(string(rows), run.EvalReturn))
	require.Contains(t, strings.Split(string(rows), "\n")[1], run.EvalReturn)

	// A run goes on with more steps, to the bytes of the run that had them from the start.
	require.Contains(t, string(config), "test-every = 2")
	b.ok(t, "sparse --resume run --updates 13")
	b.ok(t, "sparse --config again/config.toml --updates 13 --out long")
	for _, name := range []string{"metrics.jsonl", "members.json", "best.safetensors"} {
		want, err := os.ReadFile(filepath.Join(b.dir, "long", name))
		require.NoError(t, err)
		got, err := os.ReadFile(filepath.Join(b.dir, "run", name))
		require.NoError(t, err)
		require.Equal(t, string(want), string(got), name)
	}
}

// A population that does not fit is refused with the largest that does, and leaves nothing.
func TestSparseTooLarge(t *testing.T) {
	b := onInterpreter(t)
	halves(t, filepath.Join(b.dir, "set"))
	before := b.files(t)
	status := b.do("sparse", "--data", "set", "--pop", "100000", "--density", "0.2", "--backend", "reference",
		"--memory", "20M")
	require.Equal(t, StatusUsage, status, "%s", b.err)
	require.Regexp(
		t,
		`--pop got 100000, wants a run that fits in memory: 100000 members of 2074 connections take about `+
			`.* GiB, which is more than the 19.1 MiB `+
			`that --memory allows; the largest population that fits is \d+\n`, b.err.String())
	require.Equal(t, before, b.files(t))
}

func TestSparseBadInput(t *testing.T) {
	for _, c := range []struct {
		args string
		toml string
		want []string
	}{
		{"sparse x", "", []string{`got the argument "x", wants none`}},
		{"sparse file.toml", "kind = 'evolve'", []string{"file.toml is a config of evolve: run xlarun evolve " +
			"--config file.toml"}},
		{"sparse --density 2", "", []string{`--density got 2, wants numbers between commas above 0, at most 1`}},
		{"sparse --density 0.1,0.2,0.3,0.4", "",
			[]string{
				`--density got 0.1,0.2,0.3,0.4, wants 1 to 3 numbers, as there are 3 layers: 2 hidden and the last`}},
		{"sparse --hidden 9 --density 0.1,0.2,0.3", "",
			[]string{`--density got 0.1,0.2,0.3, wants 1 to 2 numbers, as there are 2 layers: 1 hidden and the last`}},
		{"sparse --method kernel --backend cuda", "",
			[]string{`--method got "kernel", wants masked, blocks or auto: kernels in C run on the cpu backend only`}},
		{"sparse --data nowhere", "", []string{`--data got "nowhere"`, "cannot be read", "four IDX files"}},
	} {
		t.Run(c.args+c.toml, func(t *testing.T) {
			requireBadInput(t, c.args, c.toml, c.want)
		})
	}
}
