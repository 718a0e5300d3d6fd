package cli

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/rollout/run"
)

// 1: what is resumed after its end has all metrics on the line of --json, as the run itself had.
func TestJSONOfARunThatHadEnded(t *testing.T) {
	b := newBed(t)
	require.Equal(t, StatusOK, b.drift("--target", "0", "--generations", "3", "--json", "--out", "run"), "%s", b.err)
	first := result(t, b)
	b.out.b.Reset()
	b.ok(t, "drift --resume run --json")
	again := result(t, b)
	for name, want := range first {
		require.Contains(t, again, name)
		switch name { // what the second command cost
		case "trace_seconds", "compile_seconds", "wall_seconds", "training_share", "time_to_first_gust_seconds",
			"gust_seconds_p50", "gust_seconds_p99", "idle_share", "steps_per_second", "peak_memory_bytes":
		default:
			require.Equal(t, want, again[name], name)
		}
	}
}

// 2: the settings of parts are on the line, and a setting leaves its name to a metric of that name.
func TestJSONHasAllSettings(t *testing.T) {
	b := newBed(t)
	fakes.shape.metric = "eval_episodes"
	require.Equal(t, StatusOK, b.drift("--sigma", "0.25", "--json", "--out", "none"), "%s", b.err)
	r := result(t, b)
	require.EqualValues(t, .25, r["strategy.sigma"])
	require.EqualValues(t, 77, r["eval_episodes"], "the metric")
	require.EqualValues(t, 2, r["settings.eval_episodes"])
}

// 3: what stands after a colon may be given by its name, instead of what the default or the file has there.
func TestArgumentOfAPartByItsName(t *testing.T) {
	b := newBed(t)
	kind, _ := run.Lookup("drift")
	b.write(t, "e.toml", "kind = 'drift'\n[policy]\nname = 'mlp:5,3'\n")
	for _, c := range []struct{ args, policy, hidden string }{
		{"--policy.hidden 8", "mlp", "8"},
		{"--hidden 8,2", "mlp", "8,2"},
		{"--policy mlp --policy.hidden 4", "mlp", "4"},
		{"--config e.toml --hidden 7", "mlp", "7"},
	} {
		g := &flagValues{values: map[string]string{}}
		var file *configFile
		words := strings.Fields(c.args)
		for i := 0; i < len(words); i += 2 {
			if words[i] == "--config" {
				var err error
				file, err = readConfig(words[i+1])
				require.NoError(t, err)
				continue
			}
			g.values[strings.TrimPrefix(words[i], "--")] = words[i+1]
		}
		x, err := g.resolve(kind, "", file)
		require.NoError(t, err, c.args)
		all := x.all()
		require.Equal(t, c.policy, all["policy"].Text(), c.args)
		require.Equal(t, c.hidden, all["policy.hidden"].Text(), c.args)
	}
	_, err := (&flagValues{values: map[string]string{"policy": "mlp:3", "hidden": "4"}}).resolve(kind, "", nil)
	require.ErrorContains(t, err, `it either here or after the colon of "mlp:3", not both`)
}

// 4: arguments and names of files that are given as nothing.
func TestNothingGiven(t *testing.T) {
	b := newBed(t)
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"drift", "--resume", ""}, "xlarun drift: --resume is empty: leave it out, or give it a value\n"},
		{[]string{"drift", "--config", ""}, "--config is empty"},
		{[]string{"drift", "--out="}, "--out is empty"},
		{[]string{"evolve", ""}, "xlarun evolve: argument 1 is empty"},
		{[]string{"warmup", "a.toml", ""}, "argument 2 is empty"},
	} {
		b.refused(t, c.want, c.args...)
	}
	require.Empty(t, b.files(t))
}

// 5: a pipe where the checkpoints should be does not hold --resume up; 6: timings that are gone begin again.
func TestResumeOfAnOddFolder(t *testing.T) {
	b := newBed(t)
	require.Equal(t, StatusOK, b.drift("--target", "0", "--generations", "3", "--out", "run"), "%s", b.err)
	require.NoError(t, os.CopyFS("pipe", os.DirFS("run")))
	require.NoError(t, os.RemoveAll(filepath.Join("pipe", "checkpoints")))
	require.NoError(t, syscall.Mkfifo(filepath.Join("pipe", "checkpoints"), 0o600))
	require.NotEqual(t, StatusOK, b.do("drift", "--resume", "pipe"))
	require.Contains(t, b.err.String(), "--resume pipe cannot go on: its checkpoints is no folder")

	require.NoError(t, os.Remove(filepath.Join("run", "timings.jsonl")))
	b.err.b.Reset()
	b.ok(t, "drift --resume run --generations 5")
	require.Contains(t, b.out.String(), "run/timings.jsonl is gone: it begins again")
	require.Equal(t, 2, strings.Count(read(t, "run", "timings.jsonl"), "\n"))
	require.Equal(t, 5, strings.Count(read(t, "run", "metrics.jsonl"), "\n"))
}
