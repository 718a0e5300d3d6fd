package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/internal/long"
	"xlarun/xlabridge/cache"
)

// What an argument of a command on experiments means: a config file of any kind, a run's folder, a kind, or an
// environment.
func TestReadTask(t *testing.T) {
	b := newBed(t)
	for _, dir := range []string{"sparse", "folder", "empty"} {
		require.NoError(t, os.Mkdir(dir, 0o755))
	}
	b.write(t, "s.toml", "kind = 'sparse'\nbatch = 3\n")
	b.write(t, "plain.toml", "pop = 64\n")
	b.write(t, "nameless", "kind = 'drift'\n")
	b.write(t, "folder/config.toml", "kind = 'sparse'\npop = 3\n")
	for i, c := range []struct{ arg, config, kind string }{
		{"", "", "evolve"}, {"CartPole-v1", "", "evolve"}, {"s.toml", "", "sparse"}, {"plain.toml", "", "evolve"},
		{"nameless", "", "drift"},
		{"folder", "", "sparse"}, {"sparse", "", "sparse"}, {"drift", "", "drift"}, {"", "s.toml", "sparse"},
		{"drift", "plain.toml", "drift"},
	} {
		x, err := (&flagValues{own: ownFlags{file: c.config}}).readTask(c.arg)
		require.NoError(t, err, "%d", i)
		require.Equal(t, c.kind, x.Name, "%d", i)
		b.write(t, "resolved.toml", x.text)
		again, err := new(flagValues).readTask("resolved.toml")
		require.NoError(t, err, "%d", i)
		require.Equal(t, x.text, again.text, "%d", i)
	}
	for i, c := range []struct{ arg, config, want string }{
		{"drift", "s.toml", "s.toml is a config of sparse, not of drift"},
		{"empty", "", `"empty" is a folder without a config.toml, so no folder of a run, and no environment; `},
		// It was once refused as a wrong --env, with the names of all environments.
		{"island-01", "", `"island-01" is no environment, no config file and no folder of a run; a run is one of ` +
			`several islands by --island NAME with --migration-dir or --join; xlarun help environments lists`},
		{"CartPole", "", `no folder of a run, did you mean CartPole-v1?; xlarun help environments`},
		{"nowhere.toml", "", "the config nowhere.toml cannot be read"},
	} {
		_, err := (&flagValues{own: ownFlags{file: c.config}}).readTask(c.arg)
		require.ErrorContains(t, err, c.want, "%d", i)
	}
}

// TestExperimentsOfArguments: "warmup ppo Acrobot-v1" compiled ppo on CartPole-v1 and evolve on
// Acrobot-v1, and "inspect evolve CartPole-v1" was refused.
func TestExperimentsOfArguments(t *testing.T) {
	b := newBed(t)
	require.NoError(t, os.Mkdir("drift", 0o755)) // a folder without a config is none of a run
	b.write(t, "s.toml", "kind = 'sparse'\n")
	b.write(t, "e.toml", "kind = 'evolve'\n")
	b.write(t, "plain.toml", "pop = 64\n")
	for args, want := range map[string]string{
		"":                                  "",
		"CartPole-v1":                       "CartPole-v1",
		"evolve CartPole-v1":                "evolve CartPole-v1",
		"ppo CartPole-v1 Acrobot-v1":        "ppo CartPole-v1|ppo Acrobot-v1",
		"Acrobot-v1 ppo CartPole-v1 evolve": "Acrobot-v1|ppo CartPole-v1|evolve",
		"sparse CartPole-v1":                "sparse|CartPole-v1",
		"sparse s.toml e.toml plain.toml":   "sparse s.toml|e.toml|plain.toml",
		"evolve plain.toml e.toml s.toml":   "evolve plain.toml|evolve e.toml|s.toml",
		"drift ppo":                         "drift|ppo",
		"ppo nowhere.toml":                  "ppo nowhere.toml",
	} {
		var got []string
		for _, group := range experiments(strings.Fields(args)) {
			got = append(got, strings.Join(group, " "))
		}
		require.Equal(t, want, strings.Join(got, "|"), args)
	}
	x, err := new(flagValues).readTask("ppo", "Acrobot-v1")
	require.NoError(t, err)
	require.Equal(t, "ppo", x.Name)
	require.Contains(t, x.text, "env = 'Acrobot-v1'\n")
}

func TestExperimentsAreRefused(t *testing.T) {
	b := newBed(t)
	b.write(t, "both.toml", "kind = 'sparse'\nbatch = 3\nsigma = 0.1\n")
	b.write(t, "s.toml", "kind = 'sparse'\nbatch = 32\ndata = 'nowhere'\n")
	b.write(t, "bad.toml", "kind = 'sparse'\nbatch = -1\n")
	b.write(t, "slow.toml", "kind = 'sparse'\nbatch = 3\nbackend = 'reference'\n")
	before := b.files(t)
	for args, want := range map[string]string{
		"warmup both.toml":                 `both.toml: there is no key "sigma"; see xlarun sparse --help --all`,
		"warmup s.toml --policy mlp:8":     "an experiment of sparse has no --policy: leave it out",
		"warmup s.toml CartPole-v9":        "CartPole-v9",
		"warmup s.toml":                    `--data got "nowhere", wants a folder with MNIST's four IDX files`,
		"warmup bad.toml":                  `bad.toml: key "batch" got -1, wants a whole number from 1`,
		"warmup slow.toml":                 "slow.toml got the backend reference, which compiles nothing",
		"warmup s.toml --config both.toml": "got the config file s.toml and --config both.toml: give one of them",
		"profile s.toml --sigma 1":         "an experiment of sparse has no --sigma: leave it out",
		"profile bad.toml":                 `bad.toml: key "batch" got -1`,
		"profile --config both.toml":       `there is no key "sigma"`,
		"inspect s.toml s.toml": "got 2 experiments (s.toml, s.toml), wants one config file, environment or " +
			"kind of run",
		"evolve s.toml": "s.toml is a config of sparse: run xlarun sparse --config s.toml",
	} {
		b.refused(t, want, args)
		require.Equal(t, 1, strings.Count(b.err.String(), "\n"))
	}
	require.Zero(t, b.opened)
	require.Equal(t, before, b.files(t))
}

func TestProfileSparse(t *testing.T) {
	b := onInterpreter(t)
	halves(t, filepath.Join(b.dir, "set"))
	b.write(t, "e.toml", "kind = 'sparse'\ndata = 'set'\npop = 2\nupdates = 6\nbatch = 8\nhidden = '8,6'\ndensity = "+
		"0.5\nmutate-every = 2\nbackend = 'reference'\n")
	before := b.files(t)
	b.ok(t, "profile e.toml --repeats 3 --json")
	require.Empty(t, b.err.String())
	for _, want := range []string{"sparse 2 x 16-8-6-2, connections 64 24 6, batch 8, f32, on 1 reference device",
		"plan (static): masked",
		"  sparse_train ", "first round ", "median of 3", "  update ", "  evaluation ", "  mutation ", "memory: ",
		"roofline: "} {
		require.Contains(t, b.out.String(), want)
	}
	r := result(t, b)
	for _, key := range []string{"steady_steps_per_second", "unit_seconds", "round_seconds", "first_round_seconds",
		"peak_memory_bytes"} {
		require.Positive(t, r[key], key)
	}
	require.Positive(t, r["roofline"].(map[string]any)["flops"])
	require.Equal(t, "masked", r["program"].(map[string]any)["method"])
	require.Len(t, r["program"].(map[string]any)["programs"], 5)
	require.Equal(t, before, b.files(t), "nothing is written")
}

// TestWarmupSparseOnTheRealThing: what warmup compiled, a sparse run with mutations, tests and checkpoints finds in the
// cache, and compiles nothing else. The long form tunes a larger one, too.
func TestWarmupSparseOnTheRealThing(t *testing.T) {
	coldCache(t)
	work := t.TempDir()
	halves(t, filepath.Join(work, "set"))
	entries := func() int { return len(must(cache.New(must(cache.DefaultDir())).List())) }
	little := strings.Fields("sparse --hidden 3 --devices 1 --pop 1 --updates 5 --batch 2 --mutate-every 2 --method " +
		"masked --data " + filepath.Join(work, "set"))
	require.EqualValues(t, 0, onCPU.Result(t, append([]string{"warmup"}, little...)...)["hits"])
	compiled := entries()
	require.GreaterOrEqual(t, compiled, 4)
	require.Equal(t, "hit", onCPU.Result(t, append(little, "--out", filepath.Join(work, "little"))...)["cache"])
	require.Equal(t, compiled, entries(), "no program was compiled that warmup did not")
	if !long.On() {
		return
	}
	file := func(name, text string) string {
		path := filepath.Join(work, name)
		require.NoError(t, os.WriteFile(path, []byte("kind = 'sparse'\ndata = '"+filepath.Join(work, "set")+
			"'\ndevices = 2\npop = 3\nupdates = 70\nbatch = 8\nmutate-every = 4\ntune = 'full'\n"+text), 0o600))
		return path
	}
	first, same, other := file("a.toml", ""), file("b.toml", "seed = 7\nlr = 0.1\n"),
		file("c.toml", "dtype = 'bf16'\nmethod = 'masked'\n")
	warm := onCPU.Result(t, "warmup", first, same, other)
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

	stored := entries() - compiled
	require.GreaterOrEqual(t, stored, 10)
	var resolved string
	for _, config := range []string{first, same, other} {
		resolved = filepath.Join(work, filepath.Base(config)+".run")
		r := onCPU.Result(t, "sparse", "--config", config, "--out", resolved)
		require.Equal(t, "hit", r["cache"], config)
		require.FileExists(t, filepath.Join(resolved, "checkpoints", "000070.safetensors"))
		require.FileExists(t, filepath.Join(resolved, "best.safetensors"))
	}
	require.Equal(t, stored, entries()-compiled, "no program was compiled that warmup did not")
	again := onCPU.Result(t, "warmup", filepath.Join(resolved, "config.toml"))
	require.EqualValues(t, 1, again["hits"], "the config of a run's folder")
	require.Equal(t, "hit", onCPU.Result(t, "profile", other, "--repeats", "1")["program"].(map[string]any)["cache"])
}
