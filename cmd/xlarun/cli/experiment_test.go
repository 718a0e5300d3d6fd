package cli

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"

	"xlarun/cmd/xlarun/bench"
	"xlarun/cmd/xlarun/console"
	"xlarun/xlabridge"
	"xlarun/xlabridge/cache"
)

func TestIsSparse(t *testing.T) {
	b := newBed(t)
	var text string
	for _, c := range []struct {
		toml string
		want bool
	}{
		{"pop = 64\nsteps = 100\n", false}, // keys of both
		{"batch = 64\n", true},
		{"mutate_every = 0\npop = 3\n", true},
		{"env = 'CartPole-v1'\n", false},
		{"learning-rate = 0.1\n", false},
		{"lr = 0.1\n", true},
		{"no such key = 3", false}, // what resolves the file says what is wrong
		{"", false},
	} {
		b.write(t, "e.toml", c.toml)
		flags := evolveSet(new(evolveFlags))
		got, err := isSparse(flags, "e.toml")
		require.NoError(t, err, c.toml)
		require.Equal(t, c.want, got, c.toml)
		require.NoError(t, flags.Set("config", "e.toml"))
		got, err = isSparse(flags, "")
		require.NoError(t, err, c.toml)
		require.Equal(t, c.want, got, c.toml)
	}
	for _, set := range []*pflag.FlagSet{evolveSet(new(evolveFlags)), sparseSet(new(sparseFlags))} {
		var err error
		text, err = resolvedConfig(set)
		require.NoError(t, err)
		b.write(t, "resolved.toml", text)
		got, err := isSparse(set, "resolved.toml")
		require.NoError(t, err)
		require.Equal(t, set.Name() == "sparse", got)
	}
	flags := evolveSet(new(evolveFlags))
	for _, c := range []struct {
		arg  string
		want bool
	}{{"sparse", true}, {"CartPole-v1", false}, {"", false}, {"nowhere.toml", false}} {
		got, err := isSparse(flags, c.arg)
		require.NoError(t, err)
		require.Equal(t, c.want, got, c.arg)
	}
}

func TestSparseExperimentsAreRefused(t *testing.T) {
	b := newBed(t)
	b.write(t, "both.toml", "batch = 3\nsigma = 0.1\n")
	b.write(t, "s.toml", "batch = 32\ndata = 'nowhere'\n")
	b.write(t, "bad.toml", "batch = -1\n")
	b.write(t, "slow.toml", "batch = 3\nbackend = 'reference'\n")
	before := b.files(t)
	for args, want := range map[string]string{
		"warmup both.toml":                 `both.toml has the key "sigma" of evolve and the key "batch" of sparse: keep those of one command`,
		"warmup s.toml --policy mlp:8":     "s.toml is an experiment of sparse, which has no --policy: leave it out, or give the experiments one by one",
		"warmup s.toml CartPole-v9":        "CartPole-v9",
		"warmup s.toml":                    "--data nowhere",
		"warmup bad.toml":                  "--batch got -1, wants a whole number from 1",
		"warmup slow.toml":                 "slow.toml got the backend reference, which compiles nothing",
		"warmup s.toml --config both.toml": "got the config file s.toml and --config both.toml: give one of them",
		"warmup sparse --out x":            `--out got "x", but nothing is written to a folder here`,
		"profile s.toml --sigma 1":         "has no --sigma",
		"profile bad.toml":                 "--batch got -1",
		"profile --config both.toml":       "keep those of one command",
	} {
		b.err.b.Reset()
		require.Equal(t, StatusUsage, b.do(strings.Fields(args)...), args)
		require.Contains(t, b.err.String(), want, args)
		require.Equal(t, 1, strings.Count(b.err.String(), "\n"))
	}
	require.Zero(t, b.opened)
	require.Equal(t, before, b.files(t))
}

func TestProfileSparse(t *testing.T) {
	b := newBed(t)
	b.openBackend = func(context.Context, console.BackendFlags, console.Listener) (xlabridge.Backend, error) {
		return &xlabridge.Reference{}, nil
	}
	pictures(t, filepath.Join(b.dir, "set"))
	b.write(t, "e.toml", "data = 'set'\npop = 2\nsteps = 6\nbatch = 8\ndensity = '0.05'\nmutate-every = 2\nbackend = 'reference'\n")
	before := b.files(t)
	require.Equal(t, StatusOK, b.do("profile", "e.toml", "--repeats", "3", "--json"), "%s", b.err)
	require.Empty(t, b.err.String())
	for _, want := range []string{"sparse 2 x 16-128-64-2, connections 102 410 6, batch 8, f32, on 1 reference device", "method (static): masked",
		"  sparse_train ", "first round ", "median of 3 rounds", "  step ", "  evaluation ", "  mutation ", "memory: ", "roofline: "} {
		require.Contains(t, b.out.String(), want)
	}
	r := result(t, b)
	for _, key := range []string{"steady_steps_per_second", "step_seconds", "first_round_seconds", "peak_memory_bytes"} {
		require.Positive(t, r[key], key)
	}
	require.Positive(t, r["roofline"].(map[string]any)["flops"])
	require.Equal(t, "masked", r["program"].(map[string]any)["method"])
	require.Len(t, r["programs"], 5)
	require.Equal(t, before, b.files(t), "nothing is written")
}

// TestWarmupSparseOnTheRealThing: what warmup compiled, a sparse run with mutations, tests and checkpoints finds in the
// cache, and compiles nothing else.
func TestWarmupSparseOnTheRealThing(t *testing.T) {
	dir, work := t.TempDir(), t.TempDir()
	require.NoError(t, bench.EmptyCache(dir))
	t.Setenv("XLARUN_CACHE", dir)
	pictures(t, filepath.Join(work, "set"))
	file := func(name, text string) string {
		path := filepath.Join(work, name)
		require.NoError(t, os.WriteFile(path, []byte("data = '"+filepath.Join(work, "set")+"'\ndevices = 2\npop = 3\nsteps = 70\nbatch = 8\nmutate-every = 4\ntune = 'full'\n"+text), 0o600))
		return path
	}
	first, same, other := file("a.toml", ""), file("b.toml", "seed = 7\nlr = 0.1\n"), file("c.toml", "dtype = 'bf16'\nmethod = 'masked'\n")
	warm := realRun(t, "warmup", first, same, other)
	require.EqualValues(t, 0, warm["hits"])
	programs := warm["programs"].([]any)
	require.Len(t, programs, 2)
	a, c := programs[0].(map[string]any), programs[1].(map[string]any)
	require.Equal(t, []any{first, same}, a["experiments"])
	require.Equal(t, "sparse 3 x 16-128-64-2, connections 205 4096 64, batch 8, f32", a["program"])
	require.Equal(t, "tuned", a["plan_source"])
	require.Len(t, a["plans_tried"], 3)
	require.Equal(t, "masked", c["plan"])
	require.Equal(t, "given", c["plan_source"])
	for _, key := range []string{"bytes", "warm_up_seconds", "predicted_memory_bytes_per_device"} {
		require.Positive(t, a[key], key)
	}

	entries := func() int { return len(must(cache.New(must(xlabridge.DefaultCacheDir())).List())) }
	stored := entries()
	require.GreaterOrEqual(t, stored, 10)
	var resolved string
	for _, config := range []string{first, same, other} {
		resolved = filepath.Join(work, filepath.Base(config)+".run")
		r := realRun(t, "sparse", "--config", config, "--out", resolved)
		require.Equal(t, "hit", r["cache"], config)
		require.FileExists(t, filepath.Join(resolved, "checkpoints", "000070.safetensors"))
		require.FileExists(t, filepath.Join(resolved, "best.safetensors"))
	}
	require.Equal(t, stored, entries(), "no program was compiled that warmup did not")
	again := realRun(t, "warmup", filepath.Join(resolved, "config.toml"))
	require.EqualValues(t, 1, again["hits"], "the config of a run's folder")
	require.Equal(t, "hit", realRun(t, "profile", other, "--repeats", "1")["program"].(map[string]any)["cache"])
}
