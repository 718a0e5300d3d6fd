package cli

import (
	"flag"
	"os"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/envs/process/simulated"
	"xlarun/internal/ramdisk"
)

func TestMain(m *testing.M) {
	simulated.Main()
	ramdisk.Use()
	debug.SetGCPercent(400)                                // the interpreter's garbage takes a fifth of the time
	if err := flag.Set("test.parallel", "4"); err != nil { // most parallel tests wait; -parallel goes before
		panic(err)
	}
	os.Exit(m.Run())
}

// A file does not run a command: not a config, not a run that goes on, not a member. The command line does.
func TestFilesRunNoCommands(t *testing.T) {
	b := onInterpreter(t)
	env := "exec:" + simulated.Command("", 0)
	common := strings.Fields("--backend reference --pop 4 --eval-episodes 2 --target 0 --keep 100 --checkpoint-every 1")
	b.ok(t, append([]string{"evolve", env, "--generations", "3", "--out", "run"}, common...)...)
	require.Equal(t, StatusOK, b.do("play", "run", "--episodes", "2", "--backend", "reference"), "it runs already")
	other := "exec:" + simulated.Command("", 99)
	for _, file := range []string{"config.toml", "best.safetensors"} {
		text := strings.ReplaceAll(read(t, "run", file), env, other)
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	}
	refused := "names a command, which only the command line may do: give --env \""
	b.refused(t, "config.toml: key \"env\" got ", "evolve --config config.toml --out none")
	require.Contains(t, b.err.String(), refused)
	require.NotEqual(t, StatusOK, b.do("evolve", "--config", "config.toml", "--env", "exec:true", "--out", "none"))
	killed(t, "run", "part", "000001.safetensors")
	b.ok(t, "evolve", "--resume", "part", "--env", env)
	requireSame(t, "run", "part", "metrics.jsonl", "best.safetensors")
	require.Equal(t, StatusUsage, b.do("evolve", "--resume", "part", "--env", other))
	b.ok(t, "evolve", "--config", "config.toml", "--env", other, "--out", "none")
	b.refused(t, `--env got "CartPole-v1", wants exec:COMMAND: other environments stand`, "play run --env CartPole-v1")
	b.refused(t, "--devices got 2, wants 1 for the environment exec:", "evolve", env, "--devices", "2", "--out", "none")
	b.refused(t, "--agents got 2, wants 1 for the environment exec:", "ppo", env, "--agents", "2", "--out", "none",
		"--backend", "reference")
}

// A run whose process dies ends with one sentence, keeps its checkpoints, and goes on to the same bytes.
func TestRunKeepsItsStateWhenTheProcessDies(t *testing.T) {
	b := onInterpreter(t)
	flag := t.TempDir() + "/dies"
	env := "exec:" + simulated.Command("dies-if-"+flag, 2)
	args := []string{"evolve", env, "--backend", "reference", "--pop", "4", "--eval-episodes", "2", "--target", "0",
		"--keep",
		"100", "--checkpoint-every", "1", "--generations", "5", "--out"}
	b.ok(t, append(args, "whole")...)
	killed(t, "whole", "part", "000002.safetensors")
	require.NoError(t, os.WriteFile(flag, nil, 0o600))
	require.Equal(t, StatusFailed, b.do("evolve", "--resume", "part", "--env", env))
	require.Contains(t, b.err.String(), "the process ended by exit status 3, its last words: the simulator exploded")
	require.NoError(t, os.Remove(flag))
	b.ok(t, "evolve", "--resume", "part", "--env", env)
	requireSame(t, "whole", "part", "metrics.jsonl", "best.safetensors", "final.safetensors")
}
