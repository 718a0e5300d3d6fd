package main

import (
	"bytes"
	"context"
	"encoding/json"
	"image"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/cmd/xlarun/cli"
	"xlarun/envs"
	"xlarun/envs/bodies"
	"xlarun/envs/envtest"
	"xlarun/envs/mujoco"
	"xlarun/graph"
	"xlarun/graph/lower"
	"xlarun/graph/nn"
	"xlarun/graph/nn/nir"
	"xlarun/graph/random"
	"xlarun/rollout/qd"
	"xlarun/rollout/run"
	"xlarun/rollout/settings"
	"xlarun/xlabridge"
)

func TestTMaze(t *testing.T) {
	env, err := envs.Make("TMaze-v0")
	require.NoError(t, err)
	require.NoError(t, envtest.Check(env))
	for _, c := range []struct {
		number  int
		what    string
		actions []int
		sign    float64
		want    float64
		ends    bool
	}{
		{1, "the reward's arm", []int{1, 1, 1, 1, 1, 1, 2}, 1, 1, true},
		{2, "the other arm", []int{1, 1, 1, 1, 1, 1, 0}, 1, 0, true},
		{3, "on the left", []int{1, 1, 1, 1, 1, 1, 0}, -1, 1, true},
		{4, "who turns in the corridor stays, who goes ahead at the junction, too", []int{0, 1, 2, 1, 1, 1, 1, 1, 1, 1,
			2}, 1, 1, true},
		{5, "the limit", []int{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}, -1, 0, false},
	} {
		m, p := TMaze{}, TMaze{}.DefaultParams()
		s, _ := m.Reset(random.New(0), p)
		s.Sign = graph.Scalar(c.sign)
		for i, a := range c.actions {
			var obs, reward, terminated, truncated *graph.Array
			s, obs, reward, terminated, truncated = m.Step(random.New(1), s, envs.Steps(a), p)
			last := i == len(c.actions)-1
			require.Equal(t, last && c.ends, number(t, terminated) == 1, "case %d, step %d", c.number, i)
			require.Equal(t, i == 11, number(t, truncated) == 1, "case %d, step %d", c.number, i)
			if last {
				require.Equal(t, c.want, number(t, reward), "case %d", c.number)
			}
			sign := 0.
			if number(t, s.Place) == 0 {
				sign = c.sign
			}
			require.Equal(t, sign, number(t, graph.Index(obs, 0)),
				"case %d, step %d: the sign is seen in the first cell alone", c.number, i)
		}
		turned := map[bool]float64{true: 1}[c.ends]
		require.Equal(t, turned, number(t, m.Report(s, p)), "case %d", c.number)
		state, err := graph.Eval(s)
		require.NoError(t, err)
		img, err := m.Draw(state, image.Pt(90, 90))
		require.NoError(t, err)
		require.Equal(t, image.Pt(90, 90), img.Bounds().Size())
	}
}

func number(t *testing.T, a *graph.Array) float64 {
	t.Helper()
	v, err := graph.Floats(a)
	require.NoError(t, err)
	return v[0]
}

// Who remembers the sign finds the reward; who does not finds every other one at most.
func TestMemoryIsNeeded(t *testing.T) {
	reached := func(policy string) float64 {
		var out, text bytes.Buffer
		status := cli.Run(context.Background(), []string{"evolve", "TMaze-v0", "--policy", policy, "--strategy",
			"parents", "--steps", "12", "--episodes", "8",
			"--generations", "50", "--tune", "off", "--out", "none", "--json"}, cli.Streams{Out: &out, Err: &text,
			Env: os.Getenv})
		require.Zero(t, status, "%s", &text)
		lines := strings.Split(strings.TrimSpace(out.String()), "\n")
		var r struct {
			Mean float64 `json:"best_member_mean_return"`
		}
		require.NoError(t, json.Unmarshal([]byte(lines[len(lines)-1]), &r))
		return r.Mean
	}
	require.GreaterOrEqual(t, reached("memory:8"), .95)
	require.GreaterOrEqual(t, reached("gru:8"), .95)
	require.LessOrEqual(t, reached("mlp:8"), .7) // half of 100 episodes, and four standard errors
}

// Generations are what a loop over the members makes.
func TestSearch(t *testing.T) {
	s := &Search{EpisodeSettings: run.EpisodeSettings{EnvSettings: run.EnvSettings{Env: "TMaze-v0", Policy: "memory:3"},
		Steps: 8, Episodes: 3,
		GoalSettings: run.GoalSettings{Target: "0", EvalEpisodes: 1}}, Members: 5, Generations: 2,
		Common: run.Common{Seed: 4}}
	x, err := s.Start(t.Context(), &xlabridge.Reference{})
	require.NoError(t, err)
	r, err := s.Rollout()
	require.NoError(t, err)
	best, params := math.Inf(-1), any(nil)
	for round := range s.Generations {
		sum := 0.
		for i := range s.Members {
			own, episodes := random.Split2(random.FoldIn(random.FoldIn(random.New(4), round), i))
			member, err := graph.Eval(r.Policy.Init(own))
			require.NoError(t, err)
			reached := number(t, r.Member(member, episodes).Return)
			if sum += reached; reached > best {
				best, params = reached, member
			}
		}
		m, err := x.Step(t.Context())
		require.NoError(t, err)
		require.Equal(t, int64(round+1), m.Step)
		require.False(t, m.Done)
		require.InDelta(t, best, m.Values[0].Number, 1e-6)
		require.InDelta(t, sum/5, m.Values[1].Number, 1e-6)
	}
	require.Positive(t, best, "a member that found a reward")
	snapshot, err := x.Snapshot(t.Context())
	require.NoError(t, err)
	members, err := x.Describe().Members.Candidates(snapshot)
	require.NoError(t, err)
	for i, leaf := range graph.Leaves(members[0].Params) {
		want, err := graph.Floats(graph.Leaves(params)[i])
		require.NoError(t, err)
		got, err := graph.Floats(leaf)
		require.NoError(t, err)
		require.InDeltaSlice(t, want, got, 1e-6)
	}
}

// commandLine runs a command and returns its last line as JSON.
func commandLine(t *testing.T, args ...string) map[string]any {
	t.Helper()
	var out, text bytes.Buffer
	status := cli.Run(context.Background(), append(args, "--json"), cli.Streams{Out: &out, Err: &text, Env: os.Getenv})
	require.Zero(t, status, "%s", &text)
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	var r map[string]any
	require.NoError(t, json.Unmarshal([]byte(lines[len(lines)-1]), &r))
	return r
}

// programs notes the programs that a run starts with.
type programs struct {
	xlabridge.Reference
	all []*graph.Program
}

func (b *programs) Compile(p *graph.Program, o xlabridge.CompileOptions) (*xlabridge.Compiled, error) {
	b.all = append(b.all, p)
	return b.Reference.Compile(p, o)
}

// Keys of A2C are split from keys in a loop. XLA compiled them for minutes on Breakout, until lowering computed them
// once.
func TestA2CCompilesFast(t *testing.T) {
	i := slices.IndexFunc(run.Kinds(), func(k run.Kind) bool { return k.Name == "a2c" })
	a := run.Kinds()[i].New().(*A2C)
	a.Env = "Breakout-MinAtar-v1"
	b := &programs{}
	x, err := a.Start(t.Context(), b)
	require.NoError(t, err)
	require.NoError(t, x.Close())
	for _, p := range b.all {
		without, target := p.Graph, graph.TargetCPUKernels
		for _, pass := range lower.Passes {
			if pass.Name != "once" && pass.Name != "hashcalls" { // a hash by a kernel is small
				without = pass.Apply(without, target)
			}
		}
		l, err := lower.Lower(p, target)
		require.NoError(t, err)
		require.Empty(t, lower.Repeated(l.Graph))
		require.Contains(t, lower.Repeated(without), "a2c.go:", "%s without the pass", p.Name)
	}
	require.NotEmpty(t, b.all)
}

// A2C learns, and a run that was stopped goes on to the same bytes.
func TestA2C(t *testing.T) {
	r := commandLine(t, "a2c", "--out", "none")
	require.Equal(t, "goal", r["ended_by"])
	require.Greater(t, r["best_member_mean_return"], 400.)

	t.Chdir(t.TempDir())
	commandLine(t, "a2c", "--target", "0", "--rounds", "40", "--out", "whole")
	commandLine(t, "a2c", "--target", "0", "--rounds", "15", "--out", "half")
	commandLine(t, "a2c", "--resume", "half", "--rounds", "40")
	for _, name := range []string{"metrics.jsonl", "best.safetensors"} {
		whole, err := os.ReadFile("whole/" + name)
		require.NoError(t, err)
		half, err := os.ReadFile("half/" + name)
		require.NoError(t, err)
		require.Equal(t, whole, half, name)
	}
	config, err := os.ReadFile("half/config.toml")
	require.NoError(t, err)
	require.NotContains(t, string(config), "updates =", "--rounds is its only end")
	r = commandLine(t, "a2c", "Pendulum-v1", "--rounds", "3", "--out", "none") // a box of actions
	require.Equal(t, 3., r["updates"])
	// The critic of a network of a file has another number of outputs than the file.
	g, err := nir.FromLayers(nir.Scale{DT: 1e-3}, nn.NewDense(random.New(1), 4, 2))
	require.NoError(t, err)
	require.NoError(t, g.WriteFile("network.nir"))
	for policy, more := range map[string][]string{"gru:3": nil, "nir:network.nir": {"--policy.input", "observation"}} {
		var text bytes.Buffer
		args := append([]string{"a2c", "--policy", policy, "--out", "none"}, more...)
		require.Equal(t, 2, cli.Run(context.Background(), args, cli.Streams{Out: &text, Err: &text, Env: os.Getenv}))
		require.Contains(t, text.String(), "--policy got \""+policy+"\", wants a policy without memory")
	}
}

// Same pays 1 for a step whose parameter is the one of Reset, and ends an episode after four steps.
type Same struct{}

// SameParams has one number, f32[].
type SameParams struct{ Size *graph.Array }

// SameState has the parameter that Reset got, f32[], and the steps taken, i32[].
type SameState struct{ Size, Time *graph.Array }

func (Same) Spec() envs.Spec {
	return envs.Spec{ID: "Same-v0", Observation: envs.Symmetric(1), Action: envs.Discrete{N: 2}, MaxSteps: 4}
}

func (Same) DefaultParams() SameParams { return SameParams{graph.Scalar(.5)} }

func (m Same) Reset(_ random.Key, p SameParams) (SameState, *graph.Array) {
	s := SameState{p.Size, envs.Steps(0)}
	return s, m.Observe(s, p)
}

func (Same) Observe(s SameState, _ SameParams) *graph.Array { return s.Size.Reshape(1) }

func (m Same) Step(_ random.Key, s SameState, _ *graph.Array,
	p SameParams) (next SameState, obs, reward, terminated, truncated *graph.Array) {
	next.Size = s.Size
	next.Time, truncated = envs.Tick(s.Time, envs.Steps(4))
	return next, m.Observe(next, p), graph.Select(s.Size.Eq(p.Size), 1., 0.), graph.Of(false), truncated
}

// Parameters that are drawn for each episode stay what they are until it ends.
func TestA2CDrawsParametersOnceAnEpisode(t *testing.T) {
	envs.MustRegister(Same{})
	r := commandLine(t, "a2c", "Same-v0", "--env-param", "size=-1..1", "--target", "0", "--rounds", "2", "--out",
		"none")
	require.Equal(t, 4., r["recent_return"])
}

// With the rule's term in its loss, PPO acts by the rule soon.
func TestRule(t *testing.T) {
	few := []string{"ppo", "CartPole-v1", "--rounds", "40", "--target", "0", "--out", "none"}
	plain := commandLine(t, few...)
	ruled := commandLine(t, append(few, "--auxiliary", "rule", "--auxiliary.weight", "2")...)
	require.NotContains(t, plain, "auxiliary_loss")
	require.Less(t, ruled["auxiliary_loss"], 2*math.Ln2*.8)
	require.Greater(t, ruled["recent_return"], plain["recent_return"])
}

// The own emitter and descriptor fill cells, and the emitter learns its standard deviation by the 1/5 rule.
func TestQualityDiversity(t *testing.T) {
	args := []string{"qd", "CartPole-v1", "--policy", "mlp:4", "--steps", "40", "--archive", "grid:20", "--emitter",
		"fifth", "--descriptor", "shares", "--descriptor.actions", "0", "--batch", "64", "-g", "20", "--eval-episodes",
		"2",
		"--out", "none"}
	r := commandLine(t, args...)
	require.Equal(t, []any{.1, []any{0.}}, []any{r["emitter.sigma"], r["descriptor.actions"]})
	require.Greater(t, r["coverage"], .5)

	var text bytes.Buffer
	require.Equal(t, 2, cli.Run(context.Background(), append(args, "--descriptor.actions", "0,3"),
		cli.Streams{Out: &text, Err: &text, Env: os.Getenv}))
	require.Contains(t, text.String(), "--descriptor.actions got 3, wants actions from 0 to 1")
	text.Reset() // it was an error of the function that counts them
	require.Equal(t, 2, cli.Run(context.Background(), append(args, "--descriptor.actions", ""),
		cli.Streams{Out: &text, Err: &text, Env: os.Getenv}))
	require.Contains(t, text.String(), `--descriptor.actions got "", wants one action or more, as in 0,2`)

	f := &Fifth{Sigma: settings.Num(.5), Change: settings.Num(1)}
	for accepted, want := range map[bool]float64{true: .5 * math.Exp(.8), false: .5 * math.Exp(-.2)} {
		c := qd.Change{Accepted: graph.Of([]bool{accepted, accepted})}
		next := f.Tell(random.New(0), f.Init(nil, 2, nil), nil, qd.Child{}, qd.Batch{}, c)
		require.InDelta(t, want, number(t, next.(*graph.Array)), 1e-6)
	}
}

// A body with longer legs stands higher: lengths follow the design, masses the lengths, and inertias across a leg the
// cubes. The policy's design does not depend on what it observes.
func TestLegs(t *testing.T) {
	env, err := envs.Make("Legs-v0")
	require.NoError(t, err)
	m := mujoco.HalfCheetah.Model()
	f32 := func(n int) graph.Shape { return graph.ShapeOf(graph.Float32, n) }
	own, long, same := m.Params(), stretched(m, graph.Ones(f32(6))), stretched(m, graph.Zeros(f32(6)))
	for _, c := range []struct {
		what                    string
		own, same, long, factor *graph.Array
	}{
		{"mass", own.Mass, same.Mass, long.Mass, graph.Float32s([]float32{1, 1, 1.5, 1.5, 1.5, 1.5, 1.5, 1.5})},
		{"place", own.Pos, same.Pos, long.Pos, graph.Float32s([]float32{1, 1, 1, 1.5, 1.5, 1, 1.5, 1.5}).Reshape(8, 1)},
		{"inertia", own.Inertia.Index(4), same.Inertia.Index(4), long.Inertia.Index(4),
			graph.Float32s([]float32{1.5 * 1.5 * 1.5, 1.5 * 1.5 * 1.5, 1.5})},
		{"half length", own.Size.Index(4).Index(1), same.Size.Index(4).Index(1), long.Size.Index(4).Index(1),
			graph.Scalar(1.5)},
	} {
		want, err := graph.Floats(c.own)
		require.NoError(t, err)
		got, err := graph.Floats(c.same)
		require.NoError(t, err)
		require.InDeltaSlice(t, want, got, 1e-6, c.what)
		want, err = graph.Floats(c.own.Mul(c.factor))
		require.NoError(t, err)
		got, err = graph.Floats(c.long)
		require.NoError(t, err)
		require.InDeltaSlice(t, want, got, 1e-5, c.what)
	}
	below := func(p bodies.Params) float64 { // how far a foot is below the torso
		s := bodies.Data{Q: graph.Zeros(f32(9)), V: graph.Zeros(f32(9)), Warm: graph.Zeros(f32(9))}
		places := m.Forward(s, graph.Zeros(f32(6)), p, bodies.Options{Engine: 4, Frames: bodies.Places}).Pos
		return number(t, places.Index(1).Index(2).Sub(places.Index(4).Index(2)))
	}
	require.InDelta(t, .25+.14, below(own), 1e-5)
	require.InDelta(t, 1.5*(.25+.14), below(long), 1e-5)
	b := &Bodied{Designs: 6}
	made, err := b.Make(env.Spec().Observation, 12)
	require.NoError(t, err)
	p := made.Init(random.New(0)).(BodiedParams)
	p.Design = graph.Iota(6).Convert(graph.Float32)
	act := func(x float64) []float64 {
		_, out := made.Act(p, made.Start(p), graph.Ones(f32(17)).Mul(x), random.New(1))
		action, err := graph.Floats(out.Action)
		require.NoError(t, err)
		return action
	}
	require.NotEqual(t, act(1)[:6], act(-1)[:6])
	require.Equal(t, []float64{0, 1, 2, 3, 4, 5}, act(1)[6:])
	require.Equal(t, act(1)[6:], act(-1)[6:])
}
