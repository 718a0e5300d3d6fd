package cli

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"xlarun/cmd/xlarun/console"
	"xlarun/rollout/run"
	"xlarun/xlabridge"
)

// killed copies a run's folder as a kill after its checkpoint of a step would have left it: the logs are further.
func killed(t *testing.T, from, to, checkpoint string) {
	t.Helper()
	require.NoError(t, os.CopyFS(to, os.DirFS(from)))
	for _, name := range checkpoints(t, to) {
		if name > checkpoint {
			require.NoError(t, os.Remove(filepath.Join(to, "checkpoints", name)))
		}
	}
	require.Equal(t, checkpoint, slices.Max(checkpoints(t, to)))
}

// requireSame holds the files of a run that went on against those of one that was not disturbed, byte by byte.
func requireSame(t *testing.T, want, got string, files ...string) {
	t.Helper()
	for _, name := range files {
		require.Equal(t, read(t, want, name), read(t, got, name), "%s of %s", name, got)
	}
	last := checkpoints(t, want)
	name := filepath.Join("checkpoints", last[len(last)-1])
	require.Equal(t, read(t, want, name), read(t, got, name), "%s of %s", name, got)
}

// onInterpreter is a command line whose runs are computed on the interpreter.
func onInterpreter(t *testing.T) *bed {
	b := newBed(t)
	b.OpenBackend = func(context.Context, console.BackendFlags, console.Listener) (xlabridge.Backend, error) {
		return &xlabridge.Reference{}, nil
	}
	return b
}

// A run that was stopped and goes on leaves what one that was not disturbed leaves, wherever it was stopped.
func TestEvolveGoesOnToTheByte(t *testing.T) {
	for _, words := range []string{"openes", "simplega", "openes --normalize-observations"} {
		t.Run(words, func(t *testing.T) {
			b := onInterpreter(t)
			same := []string{"config.toml", "metrics.jsonl", "best.safetensors", "final.safetensors", "best.gif"}
			args := strings.Fields("evolve --backend reference --policy linear --pop 8 --steps 6 --eval-episodes 3 " +
				"--target 0 --seed 5 --checkpoint-every 1 --keep 100 --strategy")
			args = append(args, strings.Fields(words)...)
			b.ok(t, append(args, "--generations", "6", "--out", "whole")...)
			require.Len(t, checkpoints(t, "whole"), 6)

			// 1: killed at any checkpoint, the first and the last too.
			for _, at := range []string{"000001.safetensors", "000004.safetensors", "000006.safetensors"} {
				killed(t, "whole", at, at)
				require.Equal(t, StatusOK, b.do("evolve", "--resume", at), "%s: %s", at, b.err)
				requireSame(t, "whole", at, same...)
			}
			require.Contains(t, b.out.String(), "nothing was left to do: the run had ended with generation 6")

			// 2: ended early, and taken further than was meant.
			b.ok(t, append(args, "--generations", "2", "--out", "short")...)
			b.ok(t, "evolve --resume short --generations 6 --json")
			requireSame(t, "whole", "short", same...)
			require.EqualValues(t, 6, result(t, b)["generations"])

			// 3: the newest checkpoint is damaged: the one before it is taken.
			killed(t, "whole", "damaged", "000004.safetensors")
			newest := filepath.Join("damaged", "checkpoints", "000004.safetensors")
			require.NoError(t, os.Truncate(newest, 200))
			b.out.b.Reset()
			b.ok(t, "evolve --resume damaged")
			require.Contains(t, b.out.String(), "000004.safetensors", "it is told")
			requireSame(t, "whole", "damaged", same...)
		})
	}
}

func TestSparseGoesOnToTheByte(t *testing.T) {
	b := onInterpreter(t)
	halves(t, filepath.Join(b.dir, "set"))
	b.ok(t, "sparse --data set --pop 2 --updates 8 --batch 8 --hidden 6 --density 0.5 --mutate-every 3 --backend "+
		"reference --checkpoint-every 1 --keep 100 --out whole")
	for _, at := range checkpoints(t, "whole") {
		killed(t, "whole", at, at)
		require.Equal(t, StatusOK, b.do("sparse", "--resume", at), "%s: %s", at, b.err)
		requireSame(t, "whole", at, "config.toml", "metrics.jsonl", "best.safetensors", "members.json")
	}
}

// A config that was emptied is written again from the newest checkpoint.
func TestResumeWithoutConfig(t *testing.T) {
	b := newBed(t)
	require.Equal(t, StatusOK, b.drift("--target", "0", "--generations", "5", "--seed", "9", "--sigma", "0.5", "--out",
		"run"), "%s", b.err)
	config := read(t, "run", "config.toml")
	b.write(t, "run/config.toml", "")
	b.ok(t, "drift --resume run")
	require.Contains(t, b.out.String(), "run/config.toml is empty: the settings are those of the checkpoint of step "+
		"5, and it is written again")
	require.Equal(t, config, read(t, "run", "config.toml"))
}

// An island's config.toml does not have its server. A command line that names it again gets as far as connecting.
func TestResumeAnIslandOfAServer(t *testing.T) {
	b := onInterpreter(t)
	island := "evolve CartPole-v1 --backend reference --policy linear --pop 4 --steps 2 --eval-episodes 1 -g 2 " +
		"--target 0 --migrants 1 --migrate-every 1 --island 02 --out i2"
	b.ok(t, island+" --migration-dir shared")
	stored := strings.ReplaceAll(read(t, "i2", "config.toml"), "migration-dir = 'shared'\n", "migration-dir = ''\n")
	b.write(t, "i2/config.toml", stored)
	b.write(t, "token", "a-token-of-16-or-more")
	require.NoError(t, os.Chmod("token", 0o600))
	server := " --join nats://127.0.0.1:1/isl --wait 0s --token-file token"
	for _, args := range []string{"evolve --resume i2", "evolve --resume i2 --island 02", island + " --resume auto"} {
		require.Equal(t, console.StatusNoServer, b.do(strings.Fields(args+server)...), "%s: %s", args, b.err)
	}
	b.refused(t, "wants --migration-dir with it, the folder that the islands share, or --join", "evolve --resume i2")
	b.refused(t, "--island got 03, but the run in i2 was started with 02", "evolve --resume i2 --island 03"+server)
	b.ok(t, "sample i2 --members 1 --backend reference") // it was refused, too

	// So does the config in a checkpoint.
	k, _ := run.Lookup("evolve")
	g := &flagValues{values: map[string]string{"join": "nats://127.0.0.1:1/isl"}, own: ownFlags{resume: "i2"}}
	x, err := g.readResume(k, "", nil)
	require.NoError(t, err)
	before := x.atCheckpoint(strings.Replace(stored, "generations = 2\n", "generations = 1\n", 1))
	require.NotNil(t, before)
	require.Equal(t, "1", before.all()["generations"].Text())
}

// A run that reached its goal is over; with another goal it goes on.
func TestResumeOfASolvedRun(t *testing.T) {
	b := newBed(t)
	require.Equal(t, StatusOK, b.drift("--target", "200", "--out", "run"), "%s", b.err)
	b.ok(t, "drift --resume run")
	require.Contains(t, b.out.String(), "nothing was left to do: the run had ended with generation 2")
	b.ok(t, "drift --resume run --target 450 --json")
	require.EqualValues(t, 5, result(t, b)["generations"])
	require.Equal(t, 5, strings.Count(read(t, "run", "metrics.jsonl"), "\n"))
	require.Contains(t, read(t, "run", "config.toml"), "target = '450'")
}

// 1: an interrupted run goes on where its state was.
func TestInterruptAndResume(t *testing.T) {
	b := newBed(t)
	require.Equal(t, StatusOK, b.drift("--target", "0", "--generations", "60", "--out", "whole"), "%s", b.err)
	started := make(chan struct{})
	fakes.shape.step = func(g int) {
		if g == 3 {
			close(started)
		}
		time.Sleep(10 * time.Millisecond)
	}
	require.Equal(t, StatusInterrupted, interruptible(t, b, started, "drift", "--policy", "linear", "--eval-episodes",
		"2",
		"--steps", "3", "--target", "0", "--generations", "60", "--out", "run"))
	fakes.shape.step = nil
	b.ok(t, "drift --resume run")
	went := fakes.made[2]
	require.Equal(t, 60, went.done)
	require.Less(t, went.stepped, 60)
	requireSame(t, "whole", "run", "config.toml", "metrics.jsonl", "best.safetensors", "final.safetensors")
}

// What --resume cannot go on with is refused in a sentence, and nothing is changed.
func TestResumeRefuses(t *testing.T) {
	b := newBed(t)
	require.Equal(t, StatusOK, b.drift("--target", "0", "--generations", "5", "--out", "run"), "%s", b.err)
	edited := func(dir, old, new string) {
		t.Helper()
		require.NoError(t, os.CopyFS(dir, os.DirFS("run")))
		text := read(t, dir, "config.toml")
		require.Contains(t, text, old)
		b.write(t, filepath.Join(dir, "config.toml"), strings.Replace(text, old, new, 1))
	}
	edited("version", "kind_version = 7", "kind_version = 6")
	edited("other", "kind = 'drift'\nkind_version = 7", "kind = 'evolve'\nkind_version = 4")
	edited("bad", "pop = 256", "pop = = 256")
	edited("seed", "seed = 0", "seed = 5")
	edited("sigma", "sigma = 0.1", "sigma = 0.2")
	edited("short", "steps = 3\n", "")
	require.NoError(t, os.Mkdir("empty", 0o755))
	require.NoError(t, os.MkdirAll("none/checkpoints", 0o755))
	b.write(t, "none/config.toml", read(t, "run", "config.toml"))
	b.write(t, "file", "")
	require.NoError(t, os.CopyFS("damaged", os.DirFS("run")))
	for _, name := range checkpoints(t, "damaged") {
		require.NoError(t, os.Truncate(filepath.Join("damaged", "checkpoints", name), 100))
	}
	b.opened = 0
	before := b.files(t)
	for i, c := range []struct {
		args   string
		status int
		want   string
	}{
		{"drift --resume nowhere", StatusUsage, "--resume nowhere: there is no such folder: give that of a run, or " +
			"start it anew"},
		{"drift --resume empty", StatusUsage, "--resume empty: a run there was stopped before it had done anything, " +
			"or there was none, as no config.toml is in it: start it anew"},
		{"drift --resume file", StatusUsage, "--resume file: there is no such folder"},
		{"drift --resume none", StatusUsage, "; start it anew with --config none/config.toml"},
		{"drift --resume bad", StatusUsage, "bad/config.toml:"},
		{"drift CartPole-v1 --resume run", StatusUsage, "--resume run goes on with the settings and in the folder of " +
			"that run: leave the argument, --config and --out out"},
		{"drift --resume run --out x", StatusUsage, "leave the argument, --config and --out out"},
		{"drift --resume run --config run/config.toml", StatusUsage, "leave the argument, --config and --out out"},
		{"drift --resume run --pop 32", StatusUsage, "--pop got 32, but the run in run was started with 256: leave " +
			"it out, or start another run"},
		{"drift --resume run --seed 1", StatusUsage, "--seed got 1, but the run in run was started with 0"},
		{"drift --resume run --sigma 0.3", StatusUsage, "--strategy.sigma got 0.3, but the run in run was started " +
			"with 0.1"},
		{"drift --resume run --strategy simplega", StatusUsage, "--strategy got simplega, but the run in run was " +
			"started with openes"},
		{"drift --resume run --policy mlp:3", StatusUsage, "--policy got mlp:3, but the run in run was started " +
			"with linear"},
		{"drift --resume run --pop many", StatusUsage, `--pop got "many", wants a whole number`},
		{"drift --resume run --generations 4", StatusUsage, "--resume run: its state is of generation 5, and " +
			"--generations 4 ends the run before it: give more"},
		{"drift --resume seed", StatusUsage, "--resume seed: its config.toml has seed 5, but the run was at 0 in " +
			"generation 5, as its checkpoint says: put that back, or start another run with --config seed/config.toml"},
		{"drift --resume sigma", StatusUsage, "--resume sigma: its config.toml has strategy.sigma 0.2, but the run " +
			"was at 0.1 in generation 5"},
		{"drift --resume short", StatusUsage, "--resume short: its config.toml has steps 500, but the run was at 3 " +
			"in generation 5"},
		{"drift --resume version", StatusUsage, "version/config.toml is of version 6 of drift, this xlarun"},
		{"sparse --resume run", StatusUsage, "--resume run: the run there is one of drift: go on with xlarun drift " +
			"--resume run"},
		{"evolve --resume other", StatusFailed, "its state is of version 7 of drift, this xlarun"},
		{"drift --resume damaged", StatusFailed, "000005.safetensors"},
	} {
		b.err.b.Reset()
		require.Equal(t, c.status, b.do(strings.Fields(c.args)...), "%d: %s: %s", i, c.args, b.err)
		require.Contains(t, b.err.String(), c.want, "%d", i)
		require.Equal(t, 1, strings.Count(b.err.String(), "\n"), "%d", i)
		require.Zero(t, b.opened, "%d", i)
		require.Equal(t, before, b.files(t), "%d", i)
	}
}
