package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/graph/safetensors"
)

// A run ends after the rounds, the steps or the time that the user gives, whatever its kind, beyond its default length,
// and goes on from there.
func TestEndsOfAnyRun(t *testing.T) {
	small := strings.Fields("--pop 4 --policy linear --steps 2 --eval-episodes 1 --target 0 --backend reference")
	ppo := []string{"--envs", "2", "--horizon", "4", "--epochs", "1", "--minibatches", "1", "--policy", "linear",
		"--eval-episodes", "1", "--target", "0", "--backend", "reference"}
	for _, c := range []struct {
		number int
		kind   string
		args   []string
		end    string
		steps  string // key of the last step in the result
		want   any    // nil: any number
		by     string
	}{
		{1, "evolve", small, "--rounds 3", "generations", 3., "rounds"},
		{2, "evolve", small, "--rounds 101", "generations", 101., "rounds"},
		{3, "evolve", small, "--total-steps 17", "generations", 3., "total_steps"},
		{4, "evolve", small, "--for 1ns", "generations", 0., ""},
		{5, "evolve", small, "--rounds 5 -g 2", "generations", 2., "last"},
		{6, "ppo", ppo, "--rounds 2", "updates", 2., "rounds"},
		{7, "ppo", ppo, "--generations 2", "updates", 2., "rounds"},
		{8, "ppo", ppo, "--total-steps 9", "updates", 2., "total_steps"},
		{9, "evolve", small, "--for 1h -g 1", "generations", 1., "last"},
	} {
		if c.number == 4 { // a run has at least one round, or nothing would be left of it
			c.want, c.by = 1., "time"
		}
		b := onInterpreter(t)
		args := append(append([]string{c.kind, "--out", "none", "--json"}, c.args...), strings.Fields(c.end)...)
		require.Equal(t, StatusOK, b.do(args...), "%d: %s", c.number, b.err)
		o := result(t, b)
		require.Equal(t, c.want, o[c.steps], "%d", c.number)
		require.Equal(t, c.by, o["ended_by"], "%d", c.number)
	}
	b := onInterpreter(t)
	for _, bad := range []string{"--for 0s", "--for -1s", "--for soon", "--rounds -1", "--total-steps -1"} {
		b.refused(t, strings.Fields(bad)[0]+" got", append([]string{"evolve"}, strings.Fields(bad)...)...)
	}
}

// A run that ended early goes on to the bytes of one that did not.
func TestEarlyEndGoesOn(t *testing.T) {
	b := onInterpreter(t)
	args := strings.Fields("evolve --pop 4 --policy linear --steps 2 --eval-episodes 1 --target 0 " +
		"--backend reference --checkpoint-every 1")
	b.ok(t, append(args, "-g", "5", "--out", "whole")...)
	b.ok(t, append(args, "-g", "5", "--rounds", "2", "--out", "a")...)
	b.ok(t, "evolve --resume a --rounds 0")
	requireSame(t, "whole", "a", "metrics.jsonl", "best.safetensors", "config.toml")
	// steps count over the whole run
	b.ok(t, append(args, "--total-steps", "16", "--out", "b", "--json")...)
	require.Equal(t, 2., result(t, b)["generations"])
	b.ok(t, "evolve --resume b --total-steps 24 --json")
	require.Equal(t, 3., result(t, b)["generations"])
}

// A resume with nothing left to do changes nothing in config.toml, and says what had ended the run. An end that
// the run is past is refused. A new end replaces the stored ones.
func TestResumeWithEnds(t *testing.T) {
	b := onInterpreter(t)
	start := func(dir string, ends ...string) {
		t.Helper()
		args := []string{"evolve", "--pop", "4", "--policy", "linear", "--steps", "2", "--eval-episodes", "1",
			"--target", "0",
			"--backend", "reference", "--checkpoint-every", "1", "--out", dir}
		b.ok(t, append(args, ends...)...)
	}
	start("length", "-g", "3")
	start("rounds", "--rounds", "3")
	start("steps", "--total-steps", "17")
	require.Contains(t, b.out.String(), "stopped after 24 steps, in generation 3", "what was done, not what was asked")
	start("one", "--rounds", "1")
	require.Contains(t, b.out.String(), "stopped after 1 generation, in generation 1")
	for _, c := range []struct{ dir, flags, want string }{
		{"length", "", "(generations = 3)"},
		{"length", "--rounds 10", "(generations = 3)"},
		{"length", "--total-steps 100", "(generations = 3)"},
		{"length", "--for 1s", "(generations = 3)"},
		{"rounds", "", "(rounds = 3)"},
		{"rounds", "--rounds 3", "(rounds = 3)"},
		{"steps", "", "(total-steps = 17)"},
	} {
		config := read(t, c.dir, "config.toml")
		require.Equal(t, StatusOK, b.do(append([]string{"evolve", "--resume", c.dir}, strings.Fields(c.flags)...)...),
			"%v: %s", c, b.err)
		require.Contains(t, b.out.String(), "nothing was left to do: the run had ended with generation 3 "+c.want, "%v",
			c)
		require.Equal(t, config, read(t, c.dir, "config.toml"), "%v", c)
	}
	for _, c := range []struct{ flags, want string }{
		{"--rounds 2", "its state has 3 generations, and --rounds 2 ends the run before it: give more"},
		{"--total-steps 16", "its state has 24 steps, and --total-steps 16 ends the run before it: give more"},
		{"-g 2", "its state is of generation 3, and --generations 2 ends the run before it: give more"},
	} {
		for _, dir := range []string{"length", "rounds", "steps"} {
			files := b.files(t)
			b.refused(t, "--resume "+dir+": "+c.want,
				append([]string{"evolve", "--resume", dir}, strings.Fields(c.flags)...)...)
			require.Equal(t, files, b.files(t), "%v", c)
		}
	}
	for _, c := range []struct {
		dir, flags  string
		generations float64
	}{
		{"rounds", "--total-steps 33", 5}, {"steps", "--rounds 5", 5}, {"length", "-g 5", 5},
		{"rounds", "-g 7", 7}, {"steps", "--for 1ns", 6}, {"one", "--for 1ns", 2}, {"one", "--rounds 3", 3},
	} {
		args := append([]string{"evolve", "--json", "--resume", c.dir}, strings.Fields(c.flags)...)
		require.Equal(t, StatusOK, b.do(args...), "%v: %s", c, b.err)
		require.Equal(t, c.generations, result(t, b)["generations"], "%v", c)
	}
	require.NotContains(t, read(t, "steps", "config.toml"), "generations =", "it has no length of its own")
	require.Contains(t, read(t, "rounds", "config.toml"), "generations = 7")
	require.Contains(t, read(t, "rounds", "config.toml"), "total-steps = 0")
}

// The config of a run that had ended says how its members were evaluated again. It kept the number of episodes of the
// evaluation before, whose best.safetensors was gone.
func TestConfigOfAnEvaluationAnew(t *testing.T) {
	b := onInterpreter(t)
	b.ok(t, "evolve --pop 4 --policy linear --steps 2 --eval-episodes 1 --target 0 --backend reference --rounds 2 "+
		"--out a")
	config := read(t, "a", "config.toml")
	b.ok(t, "evolve --resume a --eval-episodes 3 --rounds 0 -g 2")
	require.Contains(t, b.out.String(), "nothing was left to do")
	require.Equal(t, strings.Replace(config, "eval-episodes = 1", "eval-episodes = 3", 1), read(t, "a", "config.toml"))
	f, err := safetensors.Open("a/best.safetensors")
	require.NoError(t, err)
	defer f.Close()
	require.Equal(t, "3", f.Metadata()["episodes"])
}

// A run of qd that has reached the goal it is resumed with has nothing to do; it once computed one more
// generation. What was not measured then is null in the JSON; it was 0.
func TestResumeWithAGoalThatIsReached(t *testing.T) {
	b := onInterpreter(t)
	b.ok(t, "qd CartPole-v1 --archive grid:4 --batch 8 --policy linear --steps 90 --eval-episodes 1 --eval-every 1 "+
		"--backend reference -g 2 --out a")
	rows := read(t, "a", "metrics.jsonl")
	b.ok(t, "qd --resume a -g 3 --target 2 --json")
	require.Equal(t, rows, read(t, "a", "metrics.jsonl"))
	r := result(t, b)
	require.Equal(t, "goal", r["ended_by"])
	for _, name := range []string{"steps_per_second", "time_to_first_generation_seconds", "generation_seconds_p50"} {
		require.Contains(t, r, name)
		require.Nil(t, r[name], name)
	}
	b.ok(t, "qd --resume a -g 3 --target 90 --json")
	require.EqualValues(t, 3, result(t, b)["generations"], "a goal that is farther away")
}

// A resumed search that has reached its goal has nothing to do, as a run of qd has. One with a validation holds it
// first, after another generation.
func TestResumedSearchesWhoseGoalIsReached(t *testing.T) {
	b := onInterpreter(t)
	for i, c := range []struct{ args, target string }{
		{"evolve CartPole-v1 --policy linear --pop 4", "--target 2"},
		{"evolve CartPole-v1 --strategy neat --policy genome --pop 12", "--target 2"},
		{"islands CartPole-v1 --policy linear --pop 4 --islands 2", "--target 2"},
		{"evolve CartPole-v1 --policy linear --pop 4 --validation-episodes 1 --validation-target 1", "--target 2"},
		{"evolve CartPole-v1 --policy linear --pop 4", "--target 19"},
	} {
		out := fmt.Sprint("run", i)
		args := append(strings.Fields(c.args), "--steps", "19", "--eval-episodes", "1", "--eval-every", "1",
			"--backend", "reference", "--target", "0", "-g", "2", "--out", out)
		require.Equal(t, StatusOK, b.do(args...), "%v: %s", c, b.err)
		rows := read(t, out, "metrics.jsonl")
		require.Equal(t, 2, strings.Count(rows, "\n"))
		args = append([]string{args[0], "--resume", out, "-g", "3", "--json"}, strings.Fields(c.target)...)
		require.Equal(t, StatusOK, b.do(args...), "%v: %s", c, b.err)
		if i < 3 {
			require.Equal(t, "goal", result(t, b)["ended_by"], c)
			require.Equal(t, rows, read(t, out, "metrics.jsonl"), c)
		} else {
			require.EqualValues(t, 3, result(t, b)["generations"], c)
		}
	}
}

// Ppo and pqn that have reached the goal they are resumed with end at once, too. They once computed one more
// update.
func TestResumedLearningWhoseGoalIsReached(t *testing.T) {
	b := onInterpreter(t)
	for _, c := range []struct{ kind, agents string }{{"ppo", "1"}, {"ppo", "2"}, {"pqn", "1"}} {
		out := c.kind + c.agents
		rate := "1e-4..1e-3"
		if c.agents == "1" {
			rate = "1e-3"
		}
		b.ok(t, c.kind, "CartPole-v1", "--policy", "linear", "--agents", c.agents, "--envs", "8", "--horizon", "40",
			"--epochs", "1", "--minibatches", "2", "--eval-episodes", "1", "--backend", "reference", "--eval-envs", "2",
			"--eval-every", "2", "--target", "400", "--rounds", "2", "--out", out, "--learning-rate", rate)
		rows := read(t, out, "metrics.jsonl")
		b.ok(t, c.kind, "--resume", out, "--rounds", "0", "--target", "2", "--json")
		require.Equal(t, "goal", result(t, b)["ended_by"], out)
		require.Equal(t, rows, read(t, out, "metrics.jsonl"), out)
		require.Contains(t, b.out.String(), "nothing was left to do: the run had ended with update 2 (it had reached")
		if c.agents == "2" { // one agent has one rate: what is refused is the flag, not the run's file
			b.refused(t, "--agents got 1, but the run in ppo2 was started with 2", "ppo --resume ppo2 --agents 1")
		}
	}
}

// --resume auto starts a run, goes on with it, and starts it anew if it was killed before its first checkpoint.
func TestResumeAuto(t *testing.T) {
	b := onInterpreter(t)
	args := strings.Fields("evolve CartPole-v1 --pop 4 --policy linear --steps 2 --eval-episodes 1 --target 0 " +
		"--backend reference --checkpoint-every 1 -g 4")
	auto := append(args, "--out", "a", "--resume", "auto")
	b.ok(t, append(args, "--out", "whole")...)
	b.ok(t, append(auto, "--rounds", "2")...)
	require.Equal(t, []string{"000001.safetensors", "000002.safetensors"}, checkpoints(t, "a"))
	b.ok(t, append(auto, "--rounds", "0")...)
	requireSame(t, "whole", "a", "metrics.jsonl", "best.safetensors", "config.toml")
	b.ok(t, append(auto, "--rounds", "0")...)
	require.Contains(t, b.out.String(), "nothing was left to do")

	for _, bad := range []struct{ args, want string }{
		{"--seed 3", "--seed got 3, but the run in a was started with 0"},
		{"--strategy pgpe", "--strategy got pgpe"},
	} {
		b.refused(t, bad.want, append(auto, strings.Fields(bad.args)...)...)
	}
	other := append([]string{"evolve", "Acrobot-v1"}, auto[2:]...)
	b.refused(t, "Acrobot-v1", other...)

	// a kill before the first checkpoint
	require.NoError(t, os.RemoveAll(filepath.Join("a", "checkpoints")))
	b.ok(t, append(auto, "--rounds", "0")...)
	requireSame(t, "whole", "a", "metrics.jsonl", "best.safetensors", "config.toml")

	// checkpoints that are all damaged are not thrown away
	for _, name := range checkpoints(t, "a") {
		require.NoError(t, os.WriteFile(filepath.Join("a", "checkpoints", name), []byte("damaged"), 0o600))
	}
	require.Equal(t, StatusFailed, b.do(auto...))
	require.Contains(t, b.err.String(), "none of the checkpoints in a/checkpoints can be used "+
		"(checkpoints/000004.safetensors: ")
	require.Equal(t, "damaged", read(t, "a", "checkpoints", "000004.safetensors"))

	b.refused(t, "wants --out FOLDER", "evolve --resume auto")
	b.refused(t, "--out whole: it holds a run already: continue it by --resume whole",
		append(args, "--out", "whole")...)
}

// Rows that are lost end a resume, and --drop-rows goes on without them.
func TestDropRows(t *testing.T) {
	b := onInterpreter(t)
	b.ok(t, "evolve --pop 4 --policy linear --steps 2 --eval-episodes 1 --target 0 --backend reference --out a -g 4")
	rows := strings.SplitAfter(read(t, "a", "metrics.jsonl"), "\n")
	for _, keep := range []int{0, 1, 3} {
		cut := strings.Join(rows[:keep], "") + `{"generation":`
		require.NoError(t, os.WriteFile("a/metrics.jsonl", []byte(cut), 0o600))
		require.Equal(t, StatusFailed, b.do("evolve", "--resume", "a"))
		require.Contains(t, b.err.String(), "--drop-rows")
		require.Equal(t, cut, read(t, "a", "metrics.jsonl"))
		b.ok(t, "evolve --resume a --drop-rows")
		require.Contains(t, b.out.String(), "without the others")
		require.Equal(t, strings.Join(rows[:keep], ""), read(t, "a", "metrics.jsonl"))
	}
	b.ok(t, "evolve --resume a --drop-rows -g 6")
	require.Equal(t, 5, strings.Count(read(t, "a", "metrics.jsonl"), "\n"))
}

// Names from other libraries are known by name.
func TestForeignNames(t *testing.T) {
	b := onInterpreter(t)
	for _, c := range [][3]string{
		{"evolve", "--population 8", "--pop?"}, {"evolve", "--popsize 8", "--pop?"},
		{"ppo", "--num_envs 8", "--envs?"}, {"ppo", "--lr 1", "--learning-rate?"},
		{"ppo", "--ent-coef 1", "--entropy-coef?"}, {"evolve", "--logdir a", "--out?"},
		{"ppo", "--total_timesteps 8", "--steps?"}, {"sparse", "--learning-rate 1", "--lr?"},
		{"selfplay", "--num-sims 3", "--num-simulations?"}, {"evolve", "--gpu", "--backend?"},
	} {
		b.refused(t, "did you mean "+c[2], append([]string{c[0]}, strings.Fields(c[1])...)...)
	}
	require.NoError(t, os.WriteFile("a.toml", []byte("num_envs = 3\n"), 0o600))
	b.refused(t, "did you mean envs?", "ppo a.toml")
}
