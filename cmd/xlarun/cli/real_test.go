package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/cmd/internal/shelltest"
	"xlarun/internal/long"
	"xlarun/rollout/plan"
	"xlarun/xlabridge/cache"
)

// onCPU runs command lines on the CPU plugin.
var onCPU = shelltest.Program(Run)

// coldCache gives the test an empty cache of programs.
func coldCache(t *testing.T) {
	t.Helper()
	dir := t.TempDir()
	shelltest.EmptyCache(t, dir)
	t.Setenv("XLARUN_CACHE", dir)
}

// A run on the CPU plugin, which it gets the way a user does, with an empty cache of programs: evolve finds there what
// warmup compiled. A run that was cut short goes on to the same bytes, in the long form on other devices. Without a
// compiler, it comes to the same results.
func TestEvolveOnTheRealThing(t *testing.T) {
	coldCache(t)
	t.Chdir(t.TempDir())
	experiment := strings.Fields("CartPole-v1 --pop 8 --steps 5 --policy linear --target 0 --eval-episodes 3 --tune " +
		"off")
	warmup := append([]string{"warmup", "--devices", "2"}, experiment...)
	first := onCPU.Result(t, warmup...)
	require.EqualValues(t, 0, first["hits"])
	require.Positive(t, first["programs"].([]any)[0].(map[string]any)["bytes"])
	require.EqualValues(t, 1, onCPU.Result(t, warmup...)["hits"])

	evolve := append([]string{"evolve"}, experiment...)
	whole := onCPU.Result(t, append(evolve, "--devices", "2", "--generations", "6", "--out", "whole")...)
	require.Equal(t, []any{"hit", 2., 6.}, []any{whole["cache"], whole["devices"], whole["generations"]})
	for _, file := range []string{"config.toml", "profile.json", "best.safetensors", "final.safetensors", "best.gif",
		"checkpoints/000006.safetensors"} {
		info, err := os.Stat(filepath.Join("whole", file))
		require.NoError(t, err)
		require.Positive(t, info.Size(), file)
	}
	entries, err := cache.New(must(cache.DefaultDir())).List()
	require.NoError(t, err)
	i := slices.IndexFunc(entries, func(e cache.Entry) bool {
		return e.Meta.Purpose == "evolve CartPole-v1, 8 x linear, openes, 5 steps"
	})
	require.GreaterOrEqual(t, i, 0, "the cache says what an entry is for")

	devices, found := 2., "hit"
	if long.On() {
		devices, found = 1, "miss"
	}
	cut := onCPU.Result(t, append(evolve, "--devices", fmt.Sprint(devices), "--generations", "3", "--out", "cut")...)
	require.Equal(t, []any{found, devices}, []any{cut["cache"], cut["devices"]})
	onCPU.Result(t, "evolve", "--resume", "cut", "--devices", "2", "--generations", "6")
	requireSame(t, "whole", "cut", "config.toml", "metrics.jsonl", "best.safetensors", "final.safetensors", "best.gif")

	plain := onCPU.Result(t, append(evolve, "--jit=false", "--generations", "6", "--out", "none")...)
	require.Equal(t, "off", plain["cache"])
	require.InDelta(t, whole["mean_fitness"], plain["mean_fitness"], 1e-4)
	require.InDelta(t, whole["best_fitness"], plain["best_fitness"], 1e-4)
}

// TestWarmupOnTheRealThing: a warmup that measures plans stores one, for which a second warmup, evolve and profile find
// the programs. rollout/evolve tests the tuner, and TestProfile the report.
func TestWarmupOnTheRealThing(t *testing.T) {
	long.Only(t)
	coldCache(t)
	experiment := strings.Fields("CartPole-v1 --pop 8 --steps 5 --policy linear --devices 2")
	warmup := append([]string{"warmup"}, experiment...)
	first := onCPU.Result(t, warmup...)
	program := first["programs"].([]any)[0].(map[string]any)
	// On a busy machine the tuner's 3 s may be over before it has compared plans. It stores none then, and the next
	// warmup measures again, and maybe compiles for another plan.
	for range 20 {
		if source := program["plan_source"]; source == plan.Tuned || source == plan.Present {
			break
		}
		require.Contains(t, program["plan_reason"], "the tuner's time was over")
		first = onCPU.Result(t, warmup...)
		program = first["programs"].([]any)[0].(map[string]any)
	}
	second := onCPU.Result(t, warmup...)
	require.EqualValues(t, 1, second["hits"], "the run before: %v; this one: %v", first, second)
	require.Equal(t, plan.Present, second["programs"].([]any)[0].(map[string]any)["plan_source"])
	evolved := onCPU.Result(t, append([]string{"evolve", "--out", "none", "--generations", "2"}, experiment...)...)
	require.Equal(t, "hit", evolved["cache"])
	p := onCPU.Result(t, append([]string{"profile", "--repeats", "2"}, experiment...)...)
	require.Equal(t, "hit", p["program"].(map[string]any)["cache"])
	require.Positive(t, p["predicted_memory_bytes_per_device"])
	require.Positive(t, p["roofline"].(map[string]any)["flops"])
}

// Tests that ask for the shared cache again share it: it once lay below itself then, and was empty.
func TestCacheIsSharedOnce(t *testing.T) {
	shelltest.ShareCache(t)
	dir := os.Getenv("XLARUN_CACHE")
	shelltest.ShareCache(t)
	require.Equal(t, dir, os.Getenv("XLARUN_CACHE"))
	require.Equal(t, dir, shelltest.New(t).Cache)
}

func TestDoctorOnTheRealThing(t *testing.T) {
	shelltest.ShareCache(t)
	onCPU.Do(t, "plugin", "install")
	said := onCPU.Do(t, "doctor")
	require.Contains(t, said, "a small program gave the right result on cpu")
	require.Regexp(t, `int8     products of int8 (by a kernel for (amx|avx512_vnni)|have no kernel)`, said)
	require.Regexp(t, `bf16     products of bfloat16 (by a kernel for (amx|avx512_bf16)|have no kernel)`, said)
}
