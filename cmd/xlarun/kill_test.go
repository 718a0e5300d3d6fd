package main

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A run that was killed at any moment, any number of times, and was gone on with until its end has written the bytes of one
// that was left alone. XLARUN_LONG=1 kills 300 times in place of 20.
func TestKilledRunsGoOn(t *testing.T) {
	kills := 5
	if os.Getenv("XLARUN_LONG") != "" {
		kills = 75
	}
	evolve := []string{"evolve", "--policy", "mlp:5,3", "--steps", "33", "--generations", "41", "--target", "0", "--judge", "7"}
	members := []string{"best.safetensors", "centre.safetensors", "best.gif", "fame-1.safetensors", "fame-2.safetensors"}
	for _, c := range []struct {
		number int
		what   string
		args   []string
		files  []string // beside those of every run
	}{
		{1, "openes, tiles that are padded", append(evolve, "CartPole-v1", "--pop", "26", "--tile", "6"), members},
		{2, "pgpe, another environment", append(evolve, "Pendulum-v1", "--pop", "14", "--strategy", "pgpe", "--episodes", "3"), members},
		{3, "simplega, an odd population", append(evolve, "Acrobot-v1", "--pop", "13", "--strategy", "simplega"), members},
		{4, "sparse, mutations between checkpoints", []string{"sparse", "--data", "pictures", "--pop", "3", "--batch", "7", "--hidden", "9,5", "--steps", "83",
			"--mutate-every", "5", "--method", "kernel"}, []string{"best.safetensors", "members.json"}},
		{5, "selfplay, with a pool of older checkpoints", []string{"selfplay", "--vertices", "4", "--num-simulations", "2", "--num-episodes", "6", "--game-batch-size", "4", "--training-batch-size", "8",
			"--network", "mlp:4", "--arena-games", "2", "--arena-every", "3", "--num-iterations", "23", "--pool", "3"}, []string{"best.safetensors"}},
		{6, "ppo, several agents that remember, all statistics", []string{"ppo", "Pendulum-v1", "--policy", "gru:3", "--envs", "4", "--horizon", "16", "--steps", "1856", "--agents", "3", "--entropy", "0,0.01",
			"--value", "popart", "--normalize-observations", "--normalize-rewards", "--target", "0", "--judge", "5"}, []string{"best.safetensors", "best.gif", "centre.safetensors", "agents.json"}},
		{7, "pqn", []string{"pqn", "--policy", "normedmlp:5", "--envs", "4", "--horizon", "16", "--steps", "2624", "--target", "0", "--judge", "5"},
			[]string{"best.safetensors", "best.gif", "centre.safetensors"}},
	} {
		t.Run(c.what, func(t *testing.T) {
			s := newShell(t)
			s.pictures(t, "pictures")
			args := slices.Clip(append(c.args, "--checkpoint-every", "1", "--seed", "3"))
			s.do(t, append(args, "--out", "warm")...) // compiles, which no other start does
			start := time.Now()
			s.do(t, append(args, "--out", "whole")...)
			// Only the moments depend on how fast this machine is, and whether a run that was not killed in time is tried again.
			life := time.Since(start)
			seed := uint64(start.UnixNano())
			t.Logf("seed %d, a life is %v", seed, life)
			random := rand.New(rand.NewPCG(seed, 0))
			for killed := 0; killed < kills; {
				require.NoError(t, os.RemoveAll(s.path("killed")))
				killed += s.killed(t, append(args, "--out", "killed"), "killed", kills-killed, random, &life)
				s.sameRun(t, "whole", "killed", c.files)
			}
		})
	}
}

// killed runs a command, kills it up to `most` times, goes on each time, and lets it come to its end at last. It returns
// the number of kills, less than most where the run was over before.
func (s *shell) killed(t *testing.T, args []string, folder string, most int, random *rand.Rand, life *time.Duration) (kills int) {
	t.Helper()
	for next := args; ; {
		if kills == most {
			s.do(t, next...)
			return kills
		}
		p := s.command(next...)
		require.NoError(t, p.Start())
		if status := p.signalled(random, life, os.Kill); status >= 0 {
			require.Zero(t, status, "%v: %s", next, &p.err)
			return kills
		}
		require.Empty(t, p.err.String())
		kills++
		next = s.goOn(t, args, folder)
	}
}

// goOn gives the command that goes on with a run that was killed: where there is no checkpoint yet, what --resume says.
func (s *shell) goOn(t *testing.T, args []string, folder string) []string {
	t.Helper()
	resume := []string{args[0], "--resume", folder}
	checkpoints, err := filepath.Glob(s.path(folder, "checkpoints", "*.safetensors"))
	require.NoError(t, err)
	if len(checkpoints) > 0 {
		return resume
	}
	sentence := s.refused(t, resume...)
	config := filepath.Join(folder, "config.toml")
	if _, err := os.Stat(s.path(config)); err != nil {
		require.Contains(t, sentence, "start it anew")
		require.NoError(t, os.RemoveAll(s.path(folder)))
		return args
	}
	require.Contains(t, sentence, "start it anew with --config "+config)
	require.NoError(t, os.Rename(s.path(config), s.path("again.toml")))
	require.NoError(t, os.RemoveAll(s.path(folder)))
	return []string{args[0], "--config", "again.toml", "--out", folder}
}

// sameRun holds that two runs left the same behind: files, and the rows, checkpoints and settings of every run.
func (s *shell) sameRun(t *testing.T, want, got string, files []string) {
	t.Helper()
	names := func(pattern string) (out []string) {
		paths, err := filepath.Glob(s.path(pattern))
		require.NoError(t, err)
		for _, p := range paths {
			out = append(out, filepath.Base(p))
		}
		return out
	}
	checkpoints := names(want + "/checkpoints/*")
	require.NotEmpty(t, checkpoints)
	require.Equal(t, checkpoints, names(got+"/checkpoints/*"))
	for _, c := range checkpoints {
		files = append(files, filepath.Join("checkpoints", c))
	}
	for _, f := range append(files, "metrics.jsonl", "config.toml") {
		whole, err := os.ReadFile(s.path(want, f))
		require.NoError(t, err)
		again, err := os.ReadFile(s.path(got, f))
		require.NoError(t, err)
		require.True(t, string(whole) == string(again), "%s: %d bytes, want %d", f, len(again), len(whole))
	}
	timings := func(folder string) int {
		text, err := os.ReadFile(s.path(folder, "timings.jsonl"))
		require.NoError(t, err)
		return strings.Count(string(text), "\n")
	}
	require.Equal(t, timings(want), timings(got))
	require.Empty(t, names(got+"/.xlarun*"), "nothing half-written stays")
}
