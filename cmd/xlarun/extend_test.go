package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"xlarun/cmd/internal/shelltest"
	"xlarun/internal/long"
)

// example is examples/extend as a program: xlarun with parts that are registered in another module. The module is in a
// workspace with this one, so that the packages which were built for this test serve it too. The go command keeps a
// program that "go run" links, and not one of "go build -o". -exec copies it. Without what debuggers read it is linked
// in half of the time.
func example(t *testing.T) *shelltest.Shell {
	t.Helper()
	s := shelltest.New(t)
	s.Program = s.Path("extend")
	for _, args := range [][]string{{"work", "init", filepath.Join("..", ".."), "."},
		{"run", "-ldflags=-s -w", "-exec", fmt.Sprintf(`sh -c 'cp "$0" "%s"'`, s.Program), "."}} {
		cmd := exec.Command("go", args...)
		cmd.Dir = filepath.Join("..", "..", "examples", "extend")
		cmd.Env = append(os.Environ(), "GOWORK="+s.Path("go.work"))
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%v: %s", args, out)
	}
	return s
}

// Every command knows what another module registers. The short form runs the strategy and the policy on the
// interpreter, and compiles the programs of the kind alone.
func TestExtend(t *testing.T) {
	s := example(t)
	evolve := []string{"evolve", "TMaze-v0", "--policy", "memory", "--policy.units", "5", "--strategy", "parents",
		"--strategy.parents", "7", "--pop", "19", "--steps", "9", "--episodes", "2", "--generations", "15", "--target",
		"0", "--eval-episodes", "9", "--seed", "5", "--checkpoint-every", "1"}
	search := []string{"search", "TMaze-v0", "--members", "37", "--generations", "12", "--steps", "9", "--target", "0",
		"--episodes", "2", "--eval-episodes", "9", "--policy", "mlp:3", "--seed", "5", "--checkpoint-every", "1"}
	if !long.On() {
		evolve = slices.Clip(append(evolve, "--backend", "reference"))
	}
	random := rand.New(rand.NewPCG(1, 2))
	for _, c := range []struct {
		number int
		args   []string
		last   int
		config []string // lines of it
		notice string   // in the plain display
		phases int
		// A line of the config, and changes of it: with the first, other programs are compiled, with the second none
		// is.
		other, same [2]string
	}{
		{1, evolve, 15,
			[]string{"kind = 'evolve'", "[strategy]\nname = 'parents'\nparents = 7\nsigma = 0.5",
				"[policy]\nname = 'memory'\nunits = 5"},
			"generation 15: best ever ", 3, [2]string{"parents = 7", "parents = 6"},
			[2]string{"sigma = 0.5", fmt.Sprint("sigma = ", rand.Float64())}},
		{2, search, 12, []string{"kind = 'search'", "members = 37", "[policy]\nname = 'mlp:3'"},
			"generation 12: best return ", 0, [2]string{"members = 37", "members = 36"},
			[2]string{"seed = 5", fmt.Sprint("seed = ", rand.Int32())}},
	} {
		kind := c.args[0]
		t.Run(kind, func(t *testing.T) {
			compiled := kind == "search" || long.On()
			if compiled {
				require.EqualValues(t, 1, s.Result(t, append([]string{"warmup"}, asTask(c.args)...)...)["ready"])
			}
			first := s.Result(t, append(c.args, "--out", kind)...)
			if compiled {
				require.Equal(t, "hit", first["cache"], "warmup compiled it")
			}
			require.EqualValues(t, c.last, first["generations"])
			require.Equal(t, kind, first["kind"])
			require.Contains(t, first, "best_member_mean_return")
			for _, lines := range c.config {
				require.Contains(t, s.Read(t, kind, "config.toml"), lines)
			}
			require.Equal(t, c.last, strings.Count(s.Read(t, kind, "metrics.jsonl"), "\n"))
			require.Contains(t, s.Do(t, kind, "--config", kind+"/config.toml", "--out", kind+"-again"), c.notice)
			sameRun(t, s.Path(kind), s.Path(kind+"-again"))
			stoppedAtFirst(t, s.Path(kind), s.Path(kind+"-stopped"))
			s.Do(t, kind, "--resume", kind+"-stopped")
			sameRun(t, s.Path(kind), s.Path(kind+"-stopped"))

			played := s.Result(t, "play", kind, "--episodes", "20", "--backend", "reference")
			require.Equal(t, "TMaze-v0", played["env"])
			require.EqualValues(t, 20, played["episodes"])
			require.NoError(t, os.Remove(s.Path(kind, "play.gif"))) // no file of the run: sameRun compares those
			s.Do(t, "export", kind, "--out", kind+".safetensors")
			require.Equal(t, played["mean_return"], s.Result(t, "play", kind+".safetensors", "--episodes", "20",
				"--backend", "reference")["mean_return"])
			if !compiled {
				return
			}

			config := s.Read(t, kind, "config.toml")
			for name, change := range map[string][2]string{"other.toml": c.other, "same.toml": c.same} {
				require.Equal(t, 1, strings.Count(config, change[0]), change)
				text := strings.Replace(config, change[0], change[1], 1)
				require.NoError(t, os.WriteFile(s.Path(name), []byte(text), 0o666))
			}
			require.EqualValues(t, 1, s.Result(t, "warmup", kind+"/config.toml", "same.toml")["ready"])
			require.Equal(t, "hit", s.Result(t, kind, "--config", "same.toml", "--out", "none")["cache"])
			if !long.On() {
				return
			}
			profile := s.Result(t, "profile", kind, "--repeats", "2")
			require.Equal(t, kind, profile["kind"])
			require.Positive(t, profile["steady_steps_per_second"])
			phases, _ := profile["phases"].([]any)
			require.Len(t, phases, c.phases)
			require.EqualValues(t, 2, s.Result(t, "warmup", kind+"/config.toml", "other.toml")["ready"])
			start := time.Now()
			s.Do(t, append(c.args, "--devices", "1", "--out", kind+"-one")...)
			life := time.Since(start)
			require.Equal(t, s.Read(t, kind, "metrics.jsonl"), s.Read(t, kind+"-one", "metrics.jsonl"),
				"on any number of devices")
			stopAndResume(t, s, append(c.args, "--out", kind+"-killed"), kind+"-killed", 0, 3, random, &life)
			sameRun(t, s.Path(kind), s.Path(kind+"-killed"))
		})
	}
	require.Contains(t, s.Refused(t, "study", "run", "spec.toml"), "this program has no command study: import "+
		"xlarun/cmd/xlarun-study/command in its main package")
	help := s.Do(t, "search", "--help")
	for _, text := range []string{"--members int", "members that are drawn in a generation (default 512)",
		"xlarun help policies lists"} {
		require.Contains(t, help, text)
	}
	require.Contains(t, s.Do(t, "help", "policies"), "memory")
	require.NotContains(t, help, "--tune")
	require.Contains(t, s.Do(t, "help", "policies", "memory"), "--policy.units int")
	for _, c := range []struct {
		number int
		args   []string
		want   string
	}{
		{1, append(search, "--members", "0"), "--members got 0, wants a whole number from 1 to 1048576"},
		{2, append(search, "--policy.units", "5"), "--policy.units got a value, wants one of the settings that the " +
			"policy mlp has"},
		{3, append(search, "--env", "TMaze-v1"), "got the argument TMaze-v0 and --env TMaze-v1"},
		{4, []string{"search", "TMaze"}, "did you mean TMaze-v0?"},
		{5, append(search, "--target", "much"), "--target got \"much\", wants a mean return"},
		{6, append(search, "--devices", "2000"), "--devices got 2000"},
		{7, append(evolve, "--strategy.parents", "0"), "--strategy.parents got 0, wants a whole number from 1"},
		{8, append(evolve, "--strategy.sigma", "NaN"), "--strategy.sigma got NaN, wants a number above 0"},
		{9, append(evolve, "--strategy", "openes"), "--strategy.parents got a value, wants one of the settings that " +
			"the strategy openes has"},
		{10, append(search, "--policy", "memory:0"), "--policy got \"memory:0\", wants"},
		{11, []string{"evolve", "--resume", "search"}, "the run there is one of search"},
		{12, []string{"search", "--resume", "search", "--members", "3"}, "was started with 37"},
	} {
		require.Contains(t, s.Refused(t, c.args...), c.want, "case %d", c.number)
	}
}

// Environments, policies, a strategy, kinds of run and a program of one's own are short.
func TestExampleIsShort(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("..", "..", "examples", "extend", "*.go"))
	require.NoError(t, err)
	lines := map[string]int{}
	all := 0
	for _, f := range files {
		if !strings.HasSuffix(f, "_test.go") {
			text, err := os.ReadFile(f)
			require.NoError(t, err)
			n := strings.Count(string(text), "\n")
			lines[filepath.Base(f)], all = n, all+n
		}
	}
	require.Len(t, lines, 12)
	require.Less(t, all, 800, "%v", lines)
}

// asTask is a command of a kind of run as an argument of warmup: without what is for runs alone.
func asTask(args []string) []string {
	if args[0] == "evolve" {
		return args[1:]
	}
	var out []string
	for i, a := range args {
		if i != 1 { // the environment, which is the default one
			out = append(out, a)
		}
	}
	return out
}
