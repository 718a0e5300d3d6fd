package play

import (
	"bytes"
	"context"
	"encoding/json"
	"image"
	"image/color"
	"image/draw"
	"image/gif"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"

	"xlarun/cmd/xlarun/console"
	"xlarun/envs"
	_ "xlarun/envs/all"
	"xlarun/envs/classic"
	"xlarun/graph"
	"xlarun/graph/graphtest"
	"xlarun/graph/random"
	"xlarun/graph/safetensors"
	"xlarun/rollout/episode"
	_ "xlarun/rollout/evolve" // whose runs are played
	"xlarun/rollout/policy"
	"xlarun/rollout/run"
	"xlarun/xlabridge"
)

// unseen is an environment that cannot be drawn. The rewards of half of its episodes are no numbers, those of the
// others 1.
type unseen struct{}

func (unseen) Spec() envs.Spec {
	return envs.Spec{ID: "Unseen-v0", Observation: envs.Symmetric(1), Action: envs.Discrete{N: 2}, MaxSteps: 3}
}
func (unseen) DefaultParams() graph.None { return graph.None{} }
func (u unseen) Reset(key random.Key, _ graph.None) (state, obs *graph.Array) {
	state = graph.Select(random.Bernoulli(key, .5), math.NaN(), 1.)
	return state, u.Observe(state, graph.None{})
}
func (unseen) Observe(*graph.Array, graph.None) *graph.Array { return graph.Float32s([]float32{0}) }
func (u unseen) Step(_ random.Key, state, _ *graph.Array,
	_ graph.None) (next, obs, reward, terminated, truncated *graph.Array) {
	return state, u.Observe(state, graph.None{}), state, envs.False(), envs.False()
}

func init() { envs.MustRegister(unseen{}) }

// bed is a command line in an empty working folder.
type bed struct {
	t      *testing.T
	dir    string
	opened int
}

func newBed(t *testing.T) *bed {
	b := &bed{t: t, dir: t.TempDir()}
	t.Chdir(b.dir)
	return b
}

// run runs a command line.
func (b *bed) run(args ...string) (status int, stdout, stderr string) {
	b.t.Helper()
	var out, errs bytes.Buffer
	streams := console.Streams{In: strings.NewReader(""), Out: &out, Err: &errs}
	root := &cobra.Command{Use: "xlarun"}
	open := func(context.Context, console.BackendFlags, console.Listener) (xlabridge.Backend, error) {
		b.opened++
		return &xlabridge.Reference{}, nil
	}
	root.AddCommand(ExportCommand(streams), Command(streams, open), RenderCommand(streams, open))
	status = console.Run(b.t.Context(), root, args, streams)
	return status, out.String(), errs.String()
}

// good is run, of a command that has to work.
func (b *bed) good(args ...string) string {
	b.t.Helper()
	status, out, errs := b.run(args...)
	require.Zero(b.t, status, errs)
	require.Empty(b.t, errs)
	return out
}

// json is good with --json.
func (b *bed) json(args ...string) (r Result, lines []string) {
	b.t.Helper()
	lines = strings.Split(strings.TrimSpace(b.good(append(args, "--json")...)), "\n")
	require.NoError(b.t, json.Unmarshal([]byte(lines[len(lines)-1]), &r))
	return r, lines
}

// save writes a member's file as runs do, and gives the member.
func (b *bed) save(path, env, spec string, steps int, seed int64) *episode.Rollout {
	b.t.Helper()
	r := newRollout(b.t, env, spec, steps)
	metadata := episode.Describe(env, spec, nil, steps)
	maps.Copy(metadata, map[string]string{"kind": "evolve", "member": "best_ever", "generation": "42", "seed": "8",
		"mean_return": "-12.25", "standard_error": "0.5", "episodes": "64"})
	require.NoError(b.t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(b.t, safetensors.Save(path, r.Policy.Init(random.New(seed)), metadata))
	return r
}

func newRollout(t *testing.T, env, spec string, steps int) *episode.Rollout {
	t.Helper()
	e, err := envs.Make(env)
	require.NoError(t, err)
	p, h, err := policy.Make(spec, nil, e.Spec().Observation, e.Spec().Action)
	require.NoError(t, err)
	return &episode.Rollout{Env: e, Policy: p, Head: h, Steps: steps, Episodes: 1}
}

// Evaluator reports the statistics of the same episodes as a loop that plays them one by one. The picture shows the
// one whose return is the median.
func TestPlayIsALoop(t *testing.T) {
	b := newBed(t)
	for _, c := range []struct {
		env   string
		steps int
	}{{"CartPole-v1", 50}, {"Pendulum-v1", 6}} {
		r := b.save("run/best.safetensors", c.env, "mlp:3", c.steps, 1)
		params := r.Policy.Init(random.New(1))
		const n = 5
		got, lines := b.json("play", "run", "--episodes", "5", "--seed", "3", "--frames", "2")
		var returns, lengths []float64
		mean, length, spread := 0., 0., 0.
		for e := range n {
			s, err := graph.Eval(r.Episode(params, random.FoldIn(run.EpisodesKey(3), e)))
			require.NoError(t, err)
			x := graphtest.Floats(t, s.Return)
			l := graphtest.Floats(t, s.Length)
			returns, lengths = append(returns, x[0]), append(lengths, l[0])
			mean, length = mean+x[0]/n, length+l[0]/n
		}
		for _, x := range returns {
			spread += (x - mean) * (x - mean) / (n - 1)
		}
		spread = math.Sqrt(spread)
		drawn := slices.Index(returns, slices.Sorted(slices.Values(returns))[n/2])
		for name, x := range map[*float64]float64{got.Mean: mean, got.Std: spread, got.Error: spread / math.Sqrt(n),
			got.Least:    slices.Min(returns),
			got.Greatest: slices.Max(returns), got.MeanLength: length, got.Return: returns[drawn]} {
			require.InDelta(t, x, *name, 1e-3)
		}
		full := 0
		for _, l := range lengths {
			if int(l) == got.Steps {
				full++
			}
		}
		require.Equal(t, full, got.Full)
		require.Equal(t, lengths[drawn], float64(got.Length))
		require.Equal(t, Result{File: "run/best.safetensors", Member: "best", Candidate: "best_ever", Kind: "evolve",
			Env: c.env, Policy: "mlp:3", Backend: "reference", Actions: "greedy",
			Seed: 3, Episodes: n, Steps: c.steps, Gif: "run/play.gif", Drawn: "median", Length: got.Length,
			Mean: got.Mean, Error: got.Error, Std: got.Std, Least: got.Least, Greatest: got.Greatest,
			MeanLength: got.MeanLength, Full: got.Full, Return: got.Return}, got)
		text := strings.Join(lines[:len(lines)-1], "\n")
		for _, part := range []string{"best member of run (best ever), generation 42: mlp:3 for " + c.env,
			"-12.25 ± 0.50 over 64 episodes", "5 new episodes", "seed 3",
			"run/play.gif: median of 5, "} {
			require.Contains(t, text, part)
		}
		data, err := os.ReadFile("run/play.gif")
		require.NoError(t, err)
		require.Len(t, decode(t, data), 2)
	}
}

// The picture is of the episode that --episode names. It was once that of episode 0, which may be one of the worst.
func TestEpisodeChoosesWhatIsDrawn(t *testing.T) {
	b := newBed(t)
	r := b.save("m.safetensors", "CartPole-v1", "mlp:3", 60, 1)
	params := r.Policy.Init(random.New(1))
	of := func(seed int64, e int) float64 {
		return graphtest.Floats(t, r.Episode(params, random.FoldIn(run.EpisodesKey(seed), e)).Return)[0]
	}
	var returns []float64
	for e := range 6 {
		returns = append(returns, of(3, e))
	}
	slices.Sort(returns)
	require.NotEqual(t, returns[0], returns[2])
	for which, want := range map[string]float64{"worst": returns[0], "median": returns[2], "best": returns[5],
		"11": of(11, 0)} {
		got, lines := b.json("play", "m.safetensors", "--seed", "3", "--episodes", "6", "--episode", which, "--frames",
			"1")
		require.Equal(t, which, got.Drawn)
		require.Equal(t, want, *got.Return, which)
		text := which + " of 6, "
		if which == "11" {
			text = "seed 11, "
		}
		require.Contains(t, lines[len(lines)-2], "m-play.gif: "+text)
	}
	for _, c := range []struct{ args, want string }{
		{"--episode first", `--episode got "first", wants best, median, worst or a seed`},
		{"--episode best --gif none", "--episode got best, but --gif none draws no picture"},
	} {
		status, _, errs := b.run(append([]string{"play", "m.safetensors"}, strings.Fields(c.args)...)...)
		require.NotZero(t, status)
		require.Contains(t, errs, c.want)
	}
}

// Failures, the episodes of the choice and both ways to act stand beside the numbers that a file has.
func TestResultsOfTheFile(t *testing.T) {
	b := newBed(t)
	r := newRollout(t, "CartPole-v1", "linear", 2)
	metadata := episode.Describe("CartPole-v1", "linear", nil, 2)
	maps.Copy(metadata, map[string]string{"mean_return": "118.34", "standard_error": "9.81", "failed_episodes": "0",
		"episodes": "100", "evaluated_on": "new episodes", "choice_mean_return": "156.96",
		"choice_standard_error": "8.9", "choice_failed_episodes": "3"})
	require.NoError(t, safetensors.Save("m.safetensors", r.Policy.Init(random.New(1)), metadata))
	out := b.good("play", "m.safetensors", "--episodes", "2", "--gif", "none")
	require.Contains(t, out, "when saved   mean return 118.3 ± 9.8 over 100 new episodes\n"+
		"when chosen  mean return 157.0 ± 8.9 (3 of 100 episodes failed)\n")
}

// Without flags: the run's steps, a seed that is not the run's, and 500 episodes.
// 7: a member that ppo trained with drawn actions was played with the most probable ones, without a word. It acts as
// its file says, and as --actions says, with the returns of a loop over Rollout.Episode.
func TestActions(t *testing.T) {
	b := newBed(t)
	for _, env := range []string{"CartPole-v1", "Pendulum-v1"} {
		r := newRollout(t, env, "mlp:3", 40)
		params := policy.Distributed{Own: r.Policy.Init(random.New(1)), Distribution: graph.None{}}
		if env == "Pendulum-v1" {
			params.Distribution = policy.Deviations{Log: graph.Float32s([]float32{.5})}
		}
		metadata := episode.Describe(env, "mlp:3", nil, 40)
		maps.Copy(metadata, map[string]string{"actions": policy.Sampled, "mean_return": "7", "choice_mean_return": "9",
			"sampled_mean_return": "7", "greedy_mean_return": "5", "greedy_failed_episodes": "2", "episodes": "20"})
		require.NoError(t, safetensors.Save(env+".safetensors", params, metadata))
		b.good("export", env+".safetensors", "--actions", "greedy", "--out", env+"-greedy.safetensors")
		greedy, err := Open(env+"-greedy.safetensors", "")
		require.NoError(t, err)
		require.Equal(t, []string{"5", "2", ""}, []string{greedy.Metadata["mean_return"],
			greedy.Metadata["failed_episodes"], greedy.Metadata["choice_mean_return"]}, "it was that of sampled ones")
		mean := func(actions string) float64 {
			p, err := policy.NewSampling(r.Policy, actions, r.Env.Spec().Action)
			require.NoError(t, err)
			one := *r
			one.Policy = p
			sum := 0.
			for e := range 4 {
				x := graphtest.Floats(t, one.Episode(params, random.FoldIn(run.EpisodesKey(1), e)).Return)
				sum += x[0] / 4
			}
			return sum
		}
		require.NotEqual(t, mean(policy.Greedy), mean(policy.Sampled))
		for _, c := range []struct{ args, want string }{
			{env + ".safetensors", policy.Sampled}, {env + ".safetensors --actions greedy", policy.Greedy},
			{env + "-greedy.safetensors", policy.Greedy},
			{env + "-greedy.safetensors --actions sampled", policy.Sampled},
		} {
			got, lines := b.json(strings.Fields("play --episodes 4 --gif none " + c.args)...)
			require.Equal(t, c.want, got.Actions, c.args)
			require.InEpsilon(t, mean(c.want), *got.Mean, 1e-4, c.args)
			require.Contains(t, strings.Join(lines, "\n"), ", "+c.want+" actions\n")
		}
	}
	b.save("evolved.safetensors", "CartPole-v1", "mlp:3", 9, 1)
	for _, c := range []struct{ args, want string }{
		{"play evolved.safetensors --actions sampled", "--actions got \"sampled\", wants greedy for this member, " +
			"whose file has no distribution over actions"},
		{"play CartPole-v1.safetensors --actions soft", "--actions got \"soft\", wants sampled or greedy"},
		{"render CartPole-v1.safetensors --actions soft", "--actions got \"soft\", wants sampled or greedy"},
		{"export CartPole-v1.safetensors --actions soft --out x.safetensors", "--actions got \"soft\", wants sampled"},
	} {
		status, _, errs := b.run(strings.Fields(c.args)...)
		require.NotZero(t, status, c.args)
		require.Contains(t, errs, c.want, c.args)
	}
}

func TestPlayDefaults(t *testing.T) {
	b := newBed(t)
	b.save("champion.safetensors", "Pendulum-v1", "linear", 1, 1)
	r, _ := b.json("play", "champion.safetensors")
	require.Equal(t, []any{500, int64(9), 1, "champion-play.gif", ""}, []any{r.Episodes, r.Seed, r.Steps, r.Gif,
		r.Member})
	require.FileExists(t, "champion-play.gif")
	r, _ = b.json("play", "champion.safetensors", "--steps", "2", "--episodes", "1", "--gif", "none")
	require.Equal(t, []any{2, 1, ""}, []any{r.Steps, r.Episodes, r.Gif})
	require.Nil(t, r.Std, "of one episode it is not known")
	require.Nil(t, r.Error)
	_, out, _ := b.run("play", "champion.safetensors", "--episodes", "1", "--gif", "none")
	require.Contains(t, out, "one episode has no standard error")
	entries, err := os.ReadDir(".")
	require.NoError(t, err)
	require.Len(t, entries, 2, "no temporary file is left")
}

// Which member is taken is said.
func TestWhichMember(t *testing.T) {
	b := newBed(t)
	b.save("run/final.safetensors", "Pendulum-v1", "linear", 1, 1)
	play := func(more ...string) string {
		return b.good(append([]string{"play", "run", "--episodes", "1", "--gif", "none"}, more...)...)
	}
	out := play()
	require.Contains(t, out, "final member of run")
	require.Contains(t, out, "the run has judged no best member yet: this is its final one")
	require.NotContains(t, play("--member", "final"), "no best member yet")
	b.save("run/best.safetensors", "Pendulum-v1", "linear", 1, 2)
	require.Contains(t, play(), "best member of run")
	require.Contains(t, play("--member", "final"), "final member of run")
	require.NotEqual(t, play(), play("--member", "final"))
}

// A member of a user's own environment or policy names the program that made it: all environments were listed.
func TestPlayOfAnotherProgram(t *testing.T) {
	b := newBed(t)
	for _, c := range []struct{ env, policy, version, want string }{
		{"Mine-v0", "linear", "0.1.0-dev in example.com/mine+0887bd257ee0", "this program has no environment Mine-v0" +
			". example.com/mine, the program that made it, may have it: give the command to that one (go run . in"},
		{"Pendulum-v1", "own:5", "0.1.0 in example.com/mine", "this program has no policy own. example.com/mine, the"},
		{"Mine-v0", "linear", "0.1.0", "known are "},
		{"Pendulum-v1", "linear", "0.1.0 in example.com/mine", "the file has no array"},
	} {
		metadata := episode.Describe(c.env, c.policy, nil, 1)
		metadata["xlarun"], metadata["kind"] = c.version, "evolve"
		require.NoError(t, safetensors.Save("m.safetensors", map[string]*graph.Array{"x": graph.Scalar(1)}, metadata))
		status, _, errs := b.run("play", "m.safetensors")
		require.Equal(t, console.StatusUsage, status)
		require.Contains(t, errs, c.want)
	}
}

// Episodes whose return is no number are left out of the figures, and said.
func TestPlayWithoutNumbers(t *testing.T) {
	b := newBed(t)
	b.save("m.safetensors", "Unseen-v0", "linear", 3, 1)
	r, lines := b.json("play", "m.safetensors", "--episodes", "64")
	require.True(t, r.Failed > 10 && r.Failed < 54, "%d", r.Failed)
	require.Equal(t, []float64{3, 0, 0, 3, 3, 3}, []float64{*r.Mean, *r.Error, *r.Std, *r.Least, *r.Greatest,
		*r.MeanLength})
	require.Contains(t, strings.Join(lines, "\n"), "whose return is no number")
	require.Empty(t, r.Gif, "it cannot be drawn")
	for seed := range 10 {
		r, _ := b.json("play", "m.safetensors", "--episodes", "1", "--seed", strconv.Itoa(seed))
		if r.Failed == 1 {
			require.Nil(t, r.Mean)
			return
		}
	}
	t.Fatal("no seed of ten fails")
}

// Each wrong input is a sentence and status 2; nothing is opened and nothing written.
func TestBadInput(t *testing.T) {
	b := newBed(t)
	b.save("run/best.safetensors", "Pendulum-v1", "linear", 1, 1)
	b.save("unseen.safetensors", "Unseen-v0", "linear", 1, 1)
	b.save("other.safetensors", "Pendulum-v1", "linear", 1, 1)
	require.NoError(t, os.MkdirAll("empty", 0o755))
	require.NoError(t, os.MkdirAll("young", 0o755))
	require.NoError(t, os.WriteFile("young/config.toml", nil, 0o644))
	require.NoError(t, os.WriteFile("noise.safetensors", []byte("noise noise noise"), 0o644))
	require.NoError(t, os.WriteFile("taken.gif", nil, 0o644))
	require.NoError(t, os.MkdirAll("folder.gif", 0o755))
	require.NoError(t, os.MkdirAll("folder.safetensors", 0o755))
	require.NoError(t, syscall.Mkfifo("pipe.safetensors", 0o644))
	one := map[string]*graph.Array{"0.at": graph.Of([]int32{3}), "0.w": graph.Float32s([]float32{1})}
	require.NoError(t, os.MkdirAll("sparse", 0o755))
	require.NoError(t, safetensors.Save("sparse/best.safetensors", one, map[string]string{
		"kind": "sparse", "member": "2"}))
	require.NoError(t, safetensors.Save("checkpoint.safetensors", one, map[string]string{"format": "xlarun checkpoint",
		"kind": "evolve"}))
	require.NoError(t, safetensors.Save("plain.safetensors", one, nil))
	require.NoError(t, safetensors.Save("gone.safetensors", one, episode.Describe("Gone-v0", "linear", nil, 3)))
	before := b.files()
	for _, c := range []struct {
		args string
		want []string
	}{
		{"play", []string{"got 0 arguments"}},
		{"play run run", []string{"got 2 arguments"}},
		{"play nowhere", []string{"nowhere cannot be read (no such file or directory)"}},
		{"play empty", []string{"empty is no run's folder"}},
		{"play young", []string{"the run young has saved no member yet"}},
		{"play run --member final", []string{"the run run has no member final; it has best"}},
		{"play run --member bst",
			[]string{`--member got "bst", wants best, final or one of the hall of fame, hall-of-fame-1, ` +
				`hall-of-fame-2, …, did you mean best?`}},
		{"play other.safetensors --member best", []string{"other.safetensors is one member's file"}},
		{"play noise.safetensors", []string{"noise.safetensors", "this is no safetensors file, or it is damaged"}},
		{"play pipe.safetensors", []string{"pipe.safetensors is no file"}},
		{"play sparse", []string{"sparse/best.safetensors is a member of a run of sparse", "cannot be played"}},
		{"play checkpoint.safetensors", []string{"checkpoint.safetensors is a checkpoint"}},
		{"play plain.safetensors", []string{"plain.safetensors: this is no member that acts in an environment"}},
		{"play gone.safetensors", []string{"gone.safetensors: ", "Gone-v0"}},
		{"play run --episodes 0", []string{"--episodes got 0, wants 1 to 100000"}},
		{"play run --steps -1", []string{"--steps got -1"}},
		{"play run --frames -1", []string{"--frames got -1"}},
		{"play run --gif none --frames 3", []string{"--gif none draws no picture"}},
		{"play run --gif x.png", []string{`--gif got "x.png", wants a file that ends in .gif, or none`}},
		{"play run --gif no/x.gif", []string{"there is no folder no"}},
		{"play run --gif folder.gif", []string{"it is a folder"}},
		{"play run --seed 1.5", []string{`--seed got "1.5"`}},
		{"play run --backend gpu", []string{`--backend got "gpu"`, "did you mean cuda?"}},
		{"play unseen.safetensors --gif x.gif", []string{"Unseen-v0 cannot be drawn"}},
		{"render", []string{"got 0 arguments"}},
		{"render Forage-L3", []string{"Forage-L3 is no folder of a run, no file and no environment",
			"did you mean Forage-L"}},
		{"render Unseen-v0", []string{"Unseen-v0 cannot be drawn"}},
		{"render CartPole-v1 --member best", []string{`--member got "best", but CartPole-v1 is an environment`}},
		{"render CartPole-v1 --policy mlpp", []string{"--policy mlpp: ", "did you mean mlp?"}},
		{"render run --policy mlp", []string{`--policy got "mlp", but run has a policy of its own`}},
		{"render sparse", []string{"cannot be played"}},
		{"render CartPole-v1 --size 3x3",
			[]string{`--size got "3x3", wants WIDTHxHEIGHT, each from 64 to 8192 pixels`}},
		{"render CartPole-v1 --size 100", []string{`--size got "100"`}},
		{"render CartPole-v1 --steps 0", []string{"--steps got 0, wants 1 to 1000000"}},
		{"render CartPole-v1 --frames -1", []string{"--frames got -1"}},
		{"render CartPole-v1 --out x.png", []string{`--out got "x.png", wants a file that ends in .gif, or none`}},
		{"render CartPole-v1 --out none", []string{"--out none draws no GIF, and there is no --png"}},
		{"render CartPole-v1 --png run", []string{"--png run is a folder with something in it"}},
		{"render CartPole-v1 --png taken.gif", []string{"--png taken.gif cannot be written (not a directory)"}},
		{"render CartPole-v1 --png no/frames", []string{"there is no folder no"}},
		{"render CartPole-v1 --env-param gravity", []string{`--env-param got "gravity", wants NAME=VALUE`}},
		{"render CartPole-v1 --env-param gravity=x", []string{`--env-param got "gravity=x", wants a number`}},
		{"render CartPole-v1 --env-param gravit=1", []string{"did you mean gravity?"}},
		{"export run", []string{"--out is missing"}},
		{"export", []string{"got 0 arguments"}},
		{"export nowhere --out x.safetensors", []string{"nowhere cannot be read"}},
		{"export run --out no/x.safetensors", []string{"there is no folder no"}},
		{"export run --out other.safetensors", []string{"--out other.safetensors is there already", "--force"}},
		{"export run --out folder.safetensors --force", []string{"folder.safetensors is there and is no file"}},
		{"export run --out pipe.safetensors --force", []string{"pipe.safetensors is there and is no file"}},
		{"export sparse --out x.safetensors --member final", []string{"the run sparse has no member final"}},
		{"export checkpoint.safetensors --out x.safetensors", []string{"checkpoint.safetensors is a checkpoint"}},
		{"export plain.safetensors --out x.safetensors", []string{"this is no member"}},
	} {
		status, out, errs := b.run(strings.Fields(c.args)...)
		require.Equal(t, console.StatusUsage, status, c.args)
		require.Empty(t, out, c.args)
		require.Equal(t, 1, strings.Count(errs, "\n"), "%s: %s", c.args, errs)
		for _, want := range c.want {
			require.Contains(t, errs, want, c.args)
		}
	}
	require.Zero(t, b.opened)
	require.Equal(t, before, b.files())
}

// files are the names of all files below the bed's folder.
func (b *bed) files() (names []string) {
	require.NoError(b.t, filepath.WalkDir(b.dir, func(path string, _ os.DirEntry, err error) error {
		names = append(names, path)
		return err
	}))
	return names
}

// A picture that was not asked for and cannot be written is one line: the figures are what counts. A picture that was
// asked for is an error.
func TestPictureCannotBeWritten(t *testing.T) {
	b := newBed(t)
	b.save("m.safetensors", "Pendulum-v1", "linear", 1, 1)
	require.NoError(t, os.MkdirAll("m-play.gif/full", 0o755))
	status, out, errs := b.run("play", "m.safetensors", "--episodes", "2")
	require.Equal(t, console.StatusOK, status, errs)
	require.Contains(t, out, "mean return")
	require.Contains(t, out, "picture      none: m-play.gif cannot be written")
	require.Contains(t, out, "--gif FILE writes it elsewhere")
	require.NoError(t, os.MkdirAll("there/m.gif", 0o755))
	status, out, errs = b.run("play", "m.safetensors", "--episodes", "2", "--gif", "there/m.gif")
	require.Equal(t, console.StatusUsage, status)
	require.Empty(t, out)
	require.Contains(t, errs, "--gif there/m.gif cannot be written: it is a folder")
}

// A picture that was asked for and cannot be written at the end is an error.
func TestAskedPictureCannotBeWritten(t *testing.T) {
	b := newBed(t)
	b.save("m.safetensors", "Pendulum-v1", "linear", 1, 1)
	status, out, errs := b.run("play", "m.safetensors", "--episodes", "2", "--gif", "/proc/m.gif")
	require.Equal(t, console.StatusFailed, status)
	require.Contains(t, out, "mean return")
	require.Contains(t, errs, "the picture /proc/m.gif cannot be written")
	require.Contains(t, errs, "--gif FILE writes it elsewhere")
}

// An exported member has what another program needs, and plays as before.
func TestExport(t *testing.T) {
	b := newBed(t)
	for _, c := range []struct {
		env, spec string
		want      map[string]string
	}{
		{"CartPole-v1", "mlp:3", map[string]string{"layers": "[4,3,2]", "activation": "tanh", "head": "argmax",
			"action_space": `{"type":"Discrete","n":2,"shape":[],"dtype":"int32"}`,
			"observation_space": `{"type":"Box","low":[-4.8,null,-0.4188790204786391,null],` +
				`"high":[4.8,null,0.4188790204786391,null],"shape":[4],"dtype":"float32"}`}},
		{"Pendulum-v1", "linear", map[string]string{"layers": "[3,1]", "activation": "", "head": "tanh",
			"action_space": `{"type":"Box","low":[-2],"high":[2],"shape":[1],"dtype":"float32"}`}},
	} {
		b.save("run/best.safetensors", c.env, c.spec, 9, 1)
		out := b.good("export", "run", "--out", "x.safetensors", "--force")
		require.Contains(t, out, "best member of run (best ever), generation 42 is in x.safetensors: Layers.0.B, "+
			"Layers.0.W")
		s, err := Open("x.safetensors", "")
		require.NoError(t, err)
		before, err := Open("run", "")
		require.NoError(t, err)
		for key, want := range before.Metadata {
			require.Equal(t, want, s.Metadata[key])
		}
		for key, want := range c.want {
			require.Equal(t, want, s.Metadata[key], key)
		}
		require.Equal(t, []string{"xlarun member", "1"}, []string{s.Metadata["format"], s.Metadata["format_version"]})
		require.Equal(t, before.names(), s.names())
		played := func(path string) []float64 {
			r, _ := b.json("play", path, "--episodes", "3", "--gif", "none")
			return []float64{*r.Mean, *r.Std, *r.MeanLength}
		}
		require.Equal(t, played("run"), played("x.safetensors"))
	}
	b.save("run/final.safetensors", "CartPole-v1", "mlp:5", 9, 1)
	b.good("export", "run", "--out", "final.safetensors", "--member", "final")
	s, err := Open("final.safetensors", "")
	require.NoError(t, err)
	require.Equal(t, "[4,5,2]", s.Metadata["layers"])
}

// A member of a sparse run is written as it is.
func TestExportSparse(t *testing.T) {
	b := newBed(t)
	arrays := map[string]*graph.Array{"0.at": graph.Of([]int32{3, 5}), "0.w": graph.Float32s([]float32{1, -2})}
	require.NoError(t, os.MkdirAll("run", 0o755))
	require.NoError(t, safetensors.Save("run/best.safetensors", arrays, map[string]string{
		"kind": "sparse", "member": "2", "step": "10"}))
	b.good("export", "run", "--out", "x.safetensors")
	s, err := Open("x.safetensors", "")
	require.NoError(t, err)
	delete(s.Metadata, "digest")
	require.Equal(t, map[string]string{"kind": "sparse", "member": "2", "step": "10", "format": "xlarun member",
		"format_version": "1"}, s.Metadata)
	require.Equal(t, []string{"0.at", "0.w"}, s.names())
	for name, a := range arrays {
		require.Equal(t, floats(t, a), floats(t, s.Arrays[name]))
	}
}

// 1: a member's file with one bit of a weight turned over is refused in a sentence, by play, by export and by
// episode.Load.
func TestDamagedMember(t *testing.T) {
	b := newBed(t)
	b.save("run/best.safetensors", "CartPole-v1", "mlp:5", 9, 1)
	b.good("export", "run", "--out", "x.safetensors")
	b.good("play", "x.safetensors", "--episodes", "2", "--gif", "none")
	data, err := os.ReadFile("x.safetensors")
	require.NoError(t, err)
	data[len(data)-3] ^= 1
	require.NoError(t, os.WriteFile("x.safetensors", data, 0o644))
	for _, args := range [][]string{{"play", "x.safetensors"}, {"render", "x.safetensors"},
		{"export", "x.safetensors", "--out", "y.safetensors"}} {
		status, _, stderr := b.run(args...)
		require.NotZero(t, status, args)
		require.Regexp(t, `x.safetensors is damaged: its digest is crc32c:[0-9a-f]{8}, `+
			`the file says "crc32c:[0-9a-f]{8}"; take it from a copy`, stderr)
	}
	_, err = episode.Load("x.safetensors")
	require.ErrorContains(t, err, "is damaged")
	require.NoFileExists(t, "y.safetensors")
}

// floats returns the numbers of an array.
var floats = graphtest.Floats

// decode gives the frames as a viewer shows them.
func decode(t *testing.T, data []byte) (frames []*image.RGBA) {
	t.Helper()
	got, err := gif.DecodeAll(bytes.NewReader(data))
	require.NoError(t, err)
	screen := image.NewRGBA(image.Rect(0, 0, got.Config.Width, got.Config.Height))
	for _, part := range got.Image {
		draw.Draw(screen, part.Rect, part, part.Rect.Min, draw.Over)
		frame := image.NewRGBA(screen.Rect)
		copy(frame.Pix, screen.Pix)
		frames = append(frames, frame)
	}
	return frames
}

// A picture has a frame of each state: above it the caption, and below the caption what the environment draws.
func TestPictureShowsTheEpisode(t *testing.T) {
	for _, c := range []struct {
		env   string
		seed  int64
		steps int
	}{{"CartPole-v1", 4, 20}, {"Pendulum-v1", math.MinInt64, 12}, {"MountainCarContinuous-v0", 0, 1}} {
		t.Run(c.env, func(t *testing.T) {
			r := newRollout(t, c.env, "mlp:3", c.steps)
			params := r.Policy.Init(random.New(1))
			rec, err := Record(&xlabridge.Reference{}, r, params, c.seed)
			require.NoError(t, err)
			data := pictured(t, r, params, c.seed)
			frames := decode(t, data)
			require.Len(t, frames, rec.Length+1)
			text := newCaptions(rec, seedText(c.seed), size.X)
			require.Equal(t, c.seed == math.MinInt64, text.rows == 2, "a long seed has a row of its own")
			drawn := envs.TraitsOf(r.Env).Draw
			for i, frame := range frames {
				require.Equal(t, size, frame.Rect.Size())
				picture, err := drawn(rec.State(i), image.Pt(size.X, size.Y-text.height()))
				require.NoError(t, err)
				requireLike(t, text.above(picture, i), frame, text.height())
				caption := frame.SubImage(image.Rect(0, 0, size.X, text.height()))
				require.Greater(t, inked(caption), 150, "letters")
				if i > 0 {
					require.NotEqual(t, text.above(picture, i-1).Pix[:text.height()*frame.Stride],
						frame.Pix[:text.height()*frame.Stride], "the caption counts")
				}
			}
		})
	}
}

// inked counts the pixels that are not of the ground's color.
func inked(img image.Image) (n int) {
	b := img.Bounds()
	for y := b.Min.Y; y < b.Max.Y; y++ {
		for x := b.Min.X; x < b.Max.X; x++ {
			if img.At(x, y) != color.Color(color.RGBA{0xfa, 0xfa, 0xf7, 0xff}) {
				n++
			}
		}
	}
	return n
}

// requireLike compares images: to the byte down to a row, and below it up to what a palette of 256 colors loses at
// edges.
func requireLike(t *testing.T, want, got *image.RGBA, row int) {
	t.Helper()
	require.Equal(t, want.Rect, got.Rect)
	require.Equal(t, want.Pix[:row*want.Stride], got.Pix[:row*want.Stride])
	sum := 0
	for i := range want.Pix {
		d := int(want.Pix[i]) - int(got.Pix[i])
		if d = max(d, -d); d > 80 {
			t.Fatalf("byte %d is %d, want %d", i, got.Pix[i], want.Pix[i])
		}
		sum += d
	}
	require.Less(t, float64(sum)/float64(len(want.Pix)), .2)
}

// At most so many frames: the first and the last among them, each step at most once.
func TestShown(t *testing.T) {
	require.Equal(t, []int{0, 1, 2, 3}, shown(3, 0))
	require.Equal(t, []int{0, 1, 2, 3}, shown(3, 99))
	require.Equal(t, []int{0, 3}, shown(3, 2))
	require.Equal(t, []int{3}, shown(3, 1))
	require.Equal(t, []int{0}, shown(0, 7))
	for _, frames := range []int{2, 3, 200, 499, 500, 501} {
		steps := shown(500, frames)
		require.Len(t, steps, frames)
		require.Equal(t, []int{0, 500}, []int{steps[0], steps[frames-1]})
		require.True(t, slices.IsSorted(steps))
		require.Len(t, slices.Compact(slices.Clone(steps)), frames)
	}
}

// pictured is the picture of an episode.
func pictured(t *testing.T, r *episode.Rollout, params any, seed int64) []byte {
	t.Helper()
	recorder, err := episode.NewRecorder(&xlabridge.Reference{}, r, params)
	require.NoError(t, err)
	defer func() { require.NoError(t, recorder.Close()) }()
	rec, err := recorder.Record(params, random.FoldIn(run.EpisodesKey(seed), 0))
	require.NoError(t, err)
	data, err := Draw(r.Env, rec, seedText(seed), 0)
	require.NoError(t, err)
	return data
}

// What is no number ends a picture; an environment that nobody can draw has none.
func TestPictureEnds(t *testing.T) {
	r := newRollout(t, "Pendulum-v1", "linear", 5)
	p := classic.Pendulum{}.DefaultParams()
	p.Dt = graph.Scalar(math.NaN())
	r.EnvParams = p
	params := r.Policy.Init(random.New(1))
	data := pictured(t, r, params, 1)
	require.Len(t, decode(t, data), 1)
	rec, err := Record(&xlabridge.Reference{}, r, params, 1)
	require.NoError(t, err)
	require.Equal(t, "step 5  return  NaN  seed 1", newCaptions(rec, seedText(1), size.X).text(5)[0])

	r = newRollout(t, "Unseen-v0", "linear", 3)
	data = pictured(t, r, r.Policy.Init(random.New(1)), 1)
	require.Nil(t, data)
}

func TestReturnText(t *testing.T) {
	for x, want := range map[float64]string{500: "500.0", -1234.56: "-1234.6", .00123: "0.00123",
		math.Copysign(0, -1): "0.0", 1e300: "1e+300", math.Inf(-1): "-Inf"} {
		require.Equal(t, want, returnText(x))
	}
	require.Equal(t, "NaN", returnText(math.NaN()))
}
