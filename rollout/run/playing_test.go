package run

import (
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/envs"
	"xlarun/graph"
	"xlarun/graph/random"
	"xlarun/rollout/episode"
	"xlarun/rollout/plan"
	"xlarun/rollout/policy"
	"xlarun/rollout/settings"
	"xlarun/xlabridge"
)

// guess is an environment of one step: the reward is the action.
type guess struct{}

func init() {
	envs.MustRegister(guess{})
	envs.MustRegister(duel{})
	policy.MustRegister("test-shift", &shift{Shift: settings.Num(0)})
}

func (guess) Spec() envs.Spec {
	return envs.Spec{ID: "Guess-v0", Observation: envs.Symmetric(1), Action: envs.Box{Low: []float64{-envs.Unbounded},
		High: []float64{envs.Unbounded}, Dims: []int{1},
		DType: graph.Float32}, MaxSteps: 1, RewardThreshold: 3}
}
func (guess) DefaultParams() graph.None { return graph.None{} }
func (g guess) Reset(random.Key, graph.None) (state, obs *graph.Array) {
	return envs.Steps(0), g.Observe(nil, graph.None{})
}
func (guess) Observe(*graph.Array, graph.None) *graph.Array {
	return graph.Zeros(graph.ShapeOf(graph.Float32, 1))
}
func (g guess) Step(_ random.Key, s, action *graph.Array,
	p graph.None) (next, obs, reward, terminated, truncated *graph.Array) {
	return graph.Add(s, 1), g.Observe(s, p), graph.Index(action, 0), graph.Ge(s, 0), envs.False()
}

// duel is guess for two.
type duel struct{ guess }

func (d duel) Spec() envs.Spec {
	s := d.guess.Spec()
	s.ID, s.Players = "Duel-v0", 2
	return s
}

// shift is a policy that answers its parameter and a Number more.
type shift struct {
	policy.Stateless[*graph.Array]
	Shift settings.Number `set:"shift" help:"added"`
}

func (s *shift) Make(envs.Space, int) (policy.Policy, error)         { return policy.Erase(s), nil }
func (s *shift) Traits() (t policy.Traits[*graph.Array, graph.None]) { return t }
func (s *shift) Init(random.Key) *graph.Array                        { return graph.Scalar(0) }
func (s *shift) Act(x *graph.Array, none graph.None, _ *graph.Array, _ random.Key) (graph.None, policy.Output) {
	return none, policy.Output{Action: graph.Reshape(graph.Add(x, s.Shift.Array()), 1)}
}

// turns is an experiment without a word of its own.
type turns struct {
	EpisodeSettings
	Common
	Members int `set:"members" min:"1" max:"100" help:"of them"`
}

func (x *turns) Job() *Job {
	return x.Plays(Job{Last: 3, Board: func() []DisplayRow { return Curves("best_return") }}, x.Rollout)
}

func newTurns() *turns {
	return &turns{EpisodeSettings: EpisodeSettings{EnvSettings: EnvSettings{Env: "Guess-v0", Policy: "test-shift"},
		Steps: 1, Episodes: 1,
		GoalSettings: GoalSettings{Target: "auto", EvalEpisodes: 1}}, Members: 5}
}

// An experiment that embeds EpisodeSettings is checked and described by what it is made of.
func TestPlaying(t *testing.T) {
	for _, c := range []struct {
		number int
		change func(*turns)
		want   string
	}{
		{1, func(*turns) {}, ""},
		{2, func(x *turns) { x.Members = 0 }, "members: got 0, want a whole number from 1 to 100"},
		{3, func(x *turns) { x.Env = "Gues-v0" }, "did you mean Guess-v0?"},
		{4, func(x *turns) { x.Policy = "test-shif" }, "did you mean test-shift?"},
		{5, func(x *turns) { x.Parted = settings.Values{"policy.shift": "x"} }, `policy.shift: got "x", want a number`},
		{6, func(x *turns) { x.Parted = settings.Values{"policy.drift": 1} }, "did you mean policy.shift?"},
		{7, func(x *turns) { x.Target = "nan" }, `target: got "nan", want a mean return`},
		{8, func(x *turns) { x.Target = "" }, ""},
		{12, func(x *turns) { x.Target = "inf" }, `target: got "inf", want a mean return`},
		{11, func(x *turns) {
			x.Env = "Duel-v0"
		},
			`env: got "Duel-v0", want an environment of one player: in this one 2 move in turn, and here each ` +
				`member plays by itself`},
	} {
		x := newTurns()
		c.change(x)
		err := Kind{Unit: "round"}.Check(x, x.Job(), plan.Machine{})
		if c.want == "" {
			require.NoError(t, err, "case %d", c.number)
			continue
		}
		require.ErrorContains(t, err, c.want, "case %d", c.number)
		require.ErrorAs(t, err, new(*settings.Error), "case %d", c.number)
	}
	x := newTurns()
	x.Parted = settings.Values{"policy.shift": 2}
	require.Equal(t, "env Guess-v0, policy test-shift, steps 1, episodes 1, members 5, seed 0", Kind{}.JobOf(x).Setup)
	require.Equal(t, "turns env Guess-v0, policy test-shift, steps 1, episodes 1, members 5",
		Kind{Name: "turns"}.JobOf(x).Purpose)
	require.Equal(t, "Guess-v0", x.Job().Title)
	x.Devices = 2
	require.Contains(t, Kind{}.JobOf(x).Setup, "devices 2")
	require.Equal(t, []DisplayRow{{Label: "best return", Parts: []Part{{Metric: "best_return"}}, Curve: "best_return",
		Plain: true}}, x.Job().Board())
}

func TestGoal(t *testing.T) {
	for target, want := range map[string]float64{"auto": 3, "": 3, "0": math.NaN(), "-0": math.NaN(), "-2.5": -2.5,
		"inf": math.NaN(), "x": math.NaN()} {
		p := GoalSettings{Target: target}
		got := p.Goal(guess{}.Spec())
		require.True(t, got == want || math.IsNaN(got) && math.IsNaN(want), "%q: %v", target, got)
	}
	p := GoalSettings{Target: "auto"}
	require.True(t, math.IsNaN(p.Goal(envs.Spec{RewardThreshold: math.NaN()})))
	require.True(t, math.IsNaN(p.Goal(envs.Spec{})), "nobody set a threshold")
}

// A target that no return reaches is refused: --target 501 of CartPole once ran to the end, and --steps 100 kept the
// target 475 of episodes of 500 steps.
func TestTargetsThatCanBeReached(t *testing.T) {
	for _, c := range []struct {
		target   string
		steps    int
		limit    string // max-steps
		want     float64
		refused  string
		remarked bool
	}{
		{"auto", 500, "", 475, "", false}, {"auto", 100, "", math.NaN(), "", true}, {"", 474, "", math.NaN(), "", true},
		{"500", 500, "", 500, "", false}, {"501", 500, "", 501, "at most 500, the largest return of 500 steps", false},
		{"501", 2000, "", 501, "at most 500", false}, {"501", 2000, "1000", 501, "", false},
		{"100", 100, "", 100, "", false}, {"120", 100, "", 120, "at most 100", false},
		{"0", 9, "", math.NaN(), "", false},
		{"-3", 9, "", -3, "", false},
	} {
		p := EpisodeSettings{EnvSettings: EnvSettings{Env: "CartPole-v1", Policy: "linear"}, Steps: c.steps,
			Episodes: 1, GoalSettings: GoalSettings{Target: c.target}}
		if c.limit != "" {
			p.EnvParam = p.EnvParam.With("max-steps", c.limit)
		}
		r, err := p.Rollout()
		if c.refused != "" {
			require.ErrorContains(t, err, c.refused, "%v", c)
			continue
		}
		require.NoError(t, err, "%v", c)
		got := p.Goal(r.Env.Spec())
		require.True(t, got == c.want || math.IsNaN(got) && math.IsNaN(c.want), "%v: %v", c, got)
		require.Equal(t, c.remarked, strings.Contains(p.Remark(), "reaches the target of CartPole-v1, 475, so the run "+
			"has none"), "%v: %s", c, p.Remark())
	}
}

// PopulationRollout plays members as a loop does; the policy's Numbers are inputs, and so what they are when the
// program runs.
func TestSpread(t *testing.T) {
	x := newTurns()
	x.Parted = settings.Values{"policy.shift": 2}
	play, err := x.PopulationRollout(&xlabridge.Reference{}, 0, 5)
	require.NoError(t, err)
	require.Equal(t, 5., play.EnvSteps())
	require.Equal(t, 5, play.Tiles.Items)
	key := random.New(1)
	round := func(s *graph.Array, in episode.PopulationInputs) (*graph.Array, *graph.Array) {
		played := play.Play(in, key, func(number *graph.Array, key random.Key) any {
			return graph.Add(random.Normal(key, graph.ShapeOf(graph.Float32)), graph.Convert(number, graph.Float32))
		})
		return graph.Add(s, 1), played.Fitness()
	}
	for _, shift := range []float32{2, 7} {
		in := play.Inputs()
		in.Policy["policy.shift"] = graph.Of(shift)
		loop, err := NewLoop(&xlabridge.Reference{}, LoopOptions{Name: "round", Plan: play.Plan}, graph.Scalar(0), in,
			round)
		require.NoError(t, err)
		got, err := loop.Numbers()
		require.NoError(t, err)
		var want []float64
		for i := range 5 {
			z, err := graph.Float(random.Normal(play.Key(key, envs.Steps(i)), graph.ShapeOf(graph.Float32)))
			require.NoError(t, err)
			want = append(want, z+float64(i)+float64(shift))
		}
		require.InDeltaSlice(t, want, got, 1e-5)
		require.NoError(t, loop.Close())
		require.ErrorIs(t, loop.SetInputs(in), ErrGone)
	}
	_, err = x.PopulationRollout(&xlabridge.Reference{}, 2, 5)
	require.ErrorContains(t, err, "devices: got 2, want at most the 1")
	_, err = x.PopulationRollout(&xlabridge.Reference{}, 0, 0)
	require.ErrorContains(t, err, "got a population of 0 members")
	x.Episodes = 0
	_, err = x.PopulationRollout(&xlabridge.Reference{}, 0, 5)
	require.ErrorContains(t, err, "episodes: got 0")
}

// A loop alone is a Run: its results have names, one of them a goal.
func TestLoopAsRun(t *testing.T) {
	type state struct{ Turn, Member *graph.Array }
	newLoop := func(o LoopOptions) *Loop {
		o.Name = "count"
		l, err := NewLoop(&xlabridge.Reference{}, o, state{graph.Scalar(0), graph.Scalar(7)}, graph.None{},
			func(s state, _ graph.None) (state, []*graph.Array) {
				next := graph.Add(s.Turn, 1)
				return state{next, graph.Mul(s.Member, 2)}, []*graph.Array{
					next, graph.Stack([]*graph.Array{graph.Neg(next), graph.Div(next, graph.Sub(next, 2))}, 0)}
			})
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, l.Close()) })
		return l
	}
	for _, c := range []struct {
		number int
		goal   Value
		done   int // the round that reaches it; 0: none
		ending string
	}{
		{1, Value{"turn", 2}, 2, "turn 3, 2 wanted"},
		{2, Value{"turn", math.NaN()}, 0, "turn 3"},
		{3, Value{}, 0, "turn 3"},
		{4, Value{"minus_turn", -1}, 1, "minus turn -3, -1 wanted"},
		{5, Value{"ratio", math.Inf(1)}, 2, "ratio 3, +Inf wanted"},
		{6, Value{"nothing", 0}, 0, "turn 3"},
	} {
		l := newLoop(LoopOptions{Work: 12, Goal: c.goal, Metrics: []string{"turn", "minus_turn", "ratio"}})
		require.Equal(t, "nothing was measured", l.ending(Metrics{}), "case %d", c.number)
		done := 0
		var last Metrics
		for i := range 3 {
			m, err := l.Step(t.Context())
			require.NoError(t, err)
			ratio := float64(i+1) / float64(i-1)
			require.Equal(t, []Value{{"turn", float64(i + 1)}, {"minus_turn", -float64(i + 1)}, {"ratio", ratio}},
				m.Values)
			require.Equal(t, 12., m.Work)
			require.Equal(t, int64(i+1), m.Step)
			if m.Done && done == 0 {
				done = i + 1
			}
			require.Equal(t, m.Done, l.reached(m.Number))
			last = m
		}
		require.Equal(t, c.done, done, "case %d", c.number)
		require.Equal(t, c.ending, l.ending(last), "case %d", c.number)
	}
	_, err := newLoop(LoopOptions{Metrics: []string{"turn"}}).Step(t.Context())
	require.EqualError(t, err, "the program count gives 3 numbers, its metrics have 1 names: give each a name")

	r := WithCandidates(newLoop(LoopOptions{Metrics: []string{"a", "b", "c"}}), func(s state) []Candidate {
		return []Candidate{{"it", s.Member}}
	})
	steps(t, r, 2)
	s, err := r.Snapshot(t.Context())
	require.NoError(t, err)
	candidates, err := r.(Members).Candidates(s)
	require.NoError(t, err)
	require.Equal(t, "it", candidates[0].Name)
	require.Equal(t, 28., must(graph.Float(candidates[0].Params.(*graph.Array))))
	_, err = r.(Members).Candidates(Snapshot{})
	require.ErrorContains(t, err, "restore what the same settings made")
}
