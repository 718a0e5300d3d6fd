package main

import (
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"xlarun/cmd/internal/runtest"
	"xlarun/cmd/internal/shelltest"
	"xlarun/internal/long"
)

// stops are the signals that end a run, in turn; the short form sends each once. A run cannot hear the first of them.
var stops = []os.Signal{os.Kill, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP}

// A run that is stopped at random times, by a kill or by a request to end, and resumed each time writes the same bytes
// as one that runs through. The short form stops one 4 times; TestGolden, which compiles its programs, resumes runs of
// all kinds in this process. The long form stops runs of all kinds 75 times.
func TestStoppedRunsResume(t *testing.T) {
	evolve := []string{"evolve", "--policy", "mlp:5,3", "--steps", "33", "--generations", "41", "--target", "0",
		"--eval-episodes", "7", "--seed", "3"}
	for _, c := range []struct {
		number int
		what   string
		args   []string
		long   bool
	}{
		{0, "openes", runtest.Small(t, "openes", "--generations", "41"), false},
		{1, "openes, tiles that are padded", append(evolve, "CartPole-v1", "--pop", "26", "--tile", "6"), true},
		{2, "pgpe, another environment", append(evolve, "Pendulum-v1", "--pop", "14", "--strategy", "pgpe",
			"--episodes", "3"), true},
		{3, "simplega, an odd population", append(evolve, "Acrobot-v1", "--pop", "13", "--strategy", "simplega"), true},
		{4, "sparse, mutations between checkpoints", []string{"sparse", "--data", "pictures", "--pop", "3", "--batch",
			"7", "--hidden", "9,5", "--updates", "83", "--mutate-every", "5", "--method", "kernel", "--seed",
			"3"}, true},
		{5, "selfplay, with a pool of older checkpoints", []string{"selfplay", "--vertices", "4", "--num-simulations",
			"2", "--num-episodes", "6", "--game-batch-size", "4", "--training-batch-size", "8", "--network", "mlp:4",
			"--arena-games", "2", "--arena-every", "3", "--num-iterations", "23", "--pool", "3", "--seed", "3"}, true},
		{6, "ppo, several agents with memory, all statistics", []string{"ppo", "Pendulum-v1", "--policy", "gru:3",
			"--envs", "4", "--horizon", "16", "--steps", "1856", "--agents", "3", "--entropy-coef", "0,0.01", "--value",
			"popart", "--normalize-observations", "--normalize-rewards", "--target", "0", "--eval-episodes", "5",
			"--seed",
			"3"}, true},
		{7, "pqn", []string{"pqn", "--policy", "normedmlp:5", "--envs", "4", "--horizon", "16", "--steps", "2624",
			"--target", "0", "--eval-episodes", "5", "--seed", "3"}, true},
		{8, "islands", []string{"islands", "CartPole-v1", "--backend", "reference", "--islands", "4", "--topology",
			"random", "--migrate-every", "2", "--migrants", "2", "--pop", "8", "--policy", "linear", "--steps", "5",
			"--eval-episodes", "2", "--target", "0", "--generations", "12", "--strategy.sigma", "0.05..0.5"}, true},
	} {
		count := len(stops)
		if long.On() {
			count = 75
		} else if c.long {
			continue
		}
		t.Run(c.what, func(t *testing.T) {
			s := shelltest.New(t)
			runtest.Pictures(t, s.Path("pictures"))
			args := slices.Clip(append(c.args, "--checkpoint-every", "1"))
			start := time.Now()
			s.Do(t, append(args, "--out", "whole")...)
			// Only the times of the signals depend on how fast this machine is.
			life := time.Since(start)
			seed := uint64(start.UnixNano())
			t.Logf("seed %d, a life is %v", seed, life)
			random := rand.New(rand.NewPCG(seed, 0))
			for stopped := 0; stopped < count; {
				require.NoError(t, os.RemoveAll(s.Path("stopped")))
				stopped += stopAndResume(t, s, append(args, "--out", "stopped"), "stopped", stopped, count, random,
					&life)
				sameRun(t, s.Path("whole"), s.Path("stopped"))
			}
		})
	}
}

// interrupted is what a run says that is asked to end.
var interrupted = regexp.MustCompile(`^xlarun \w+: interrupted (after \w+ \d+; the state of \w+ \d+ is in ` +
	`\S+/checkpoints/\d+\.safetensors|before the first \w+ was done; nothing was written|before a further \w+ was ` +
	`done; the run in \S+ goes on from \w+ \d+)\n$`)

// stopAndResume runs a command and stops it, from the stop numbered first up to the one numbered last, resuming each
// time. Then it lets the run end. It returns the number of stops, which is smaller if the run ended before.
func stopAndResume(t *testing.T, s *shelltest.Shell, args []string, folder string, first, last int, random *rand.Rand,
	life *time.Duration) (count int) {
	t.Helper()
	for next := args; ; {
		if first+count == last {
			s.Do(t, next...)
			return count
		}
		p := s.Command(next...)
		require.NoError(t, p.Start())
		stop := stops[(first+count)%len(stops)]
		switch status := p.Signaled(random, life, stop); {
		case status == 0:
			return count
		case status < 0: // the signal itself ended the process, which did not listen yet
			require.Empty(t, p.Err.String())
		default:
			want := 130
			if stop == syscall.SIGTERM {
				want = 75
			}
			require.Equal(t, want, status, "%v: %s", next, &p.Err)
			require.Regexp(t, interrupted, p.Err.String())
		}
		count++
		next = resumed(t, s, args, folder)
	}
}

// resumed returns the command that resumes a run that was stopped. If it has no checkpoint yet, that is the command
// that --resume recommends.
func resumed(t *testing.T, s *shelltest.Shell, args []string, folder string) []string {
	t.Helper()
	resume := []string{args[0], "--resume", folder}
	checkpoints, err := filepath.Glob(s.Path(folder, "checkpoints", "*.safetensors"))
	require.NoError(t, err)
	if len(checkpoints) > 0 {
		return resume
	}
	sentence := s.Refused(t, resume...)
	config := filepath.Join(folder, "config.toml")
	if _, err := os.Stat(s.Path(config)); err != nil {
		require.Contains(t, sentence, "start it anew")
		require.NoError(t, os.RemoveAll(s.Path(folder)))
		return args
	}
	require.Contains(t, sentence, "start it anew with --config "+config)
	require.NoError(t, os.Rename(s.Path(config), s.Path("again.toml")))
	require.NoError(t, os.RemoveAll(s.Path(folder)))
	return []string{args[0], "--config", "again.toml", "--out", folder}
}

// sameRun checks that two runs left equal files, except those with times.
func sameRun(t *testing.T, want, got string) {
	t.Helper()
	names := left(t, want)
	require.Subset(t, names, []string{"best.safetensors", "config.toml", "metrics.jsonl"})
	require.Equal(t, names, left(t, got))
	for _, name := range names {
		whole, again := read(t, want, name), read(t, got, name)
		require.True(t, whole == again, "%s: %d bytes, want %d", name, len(again), len(whole))
	}
	timings := func(folder string) int { return strings.Count(read(t, folder, "timings.jsonl"), "\n") }
	require.Equal(t, timings(want), timings(got))
}

// left lists the files of a run's folder that depend on its settings alone.
func left(t *testing.T, folder string) (names []string) {
	t.Helper()
	require.NoError(t, filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		name, _ := filepath.Rel(folder, path)
		timed := name == "profile.json" || name == "timings.jsonl" || strings.Contains(name, "tfevents") ||
			name == "curves.png" // which a run of some seconds has
		if err == nil && !d.IsDir() && !timed {
			names = append(names, name)
		}
		return err
	}))
	return names
}
