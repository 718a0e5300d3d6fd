package all_test

import (
	"image"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"xlarun/envs"
	"xlarun/envs/draw"
	"xlarun/envs/envtest"
	"xlarun/graph"
	"xlarun/graph/random"
)

// nim is a game with every part: two players take one to three of five to seven stones in turn, and whoever takes the
// last one wins. fault is what it does wrong on purpose.
type nim struct {
	fault string
	calls *int
}

type nimParams struct{ Least *graph.Array } // fewest stones at the start

type nimState struct {
	Stones, Mover, Time *graph.Array // int32
	Over                *graph.Array // bool
	Paid                *graph.Array // f32[2]
}

func (e nim) Spec() envs.Spec {
	s := envs.Spec{ID: "Nim-v0", Observation: envs.Box{Low: []float64{0}, High: []float64{7}, Dims: []int{1},
		DType: graph.Float32}, Action: envs.Discrete{N: 3},
		MaxSteps: 8, Players: 2, LegalMask: true,
		Descriptor: envs.Box{Low: []float64{0, 0}, High: []float64{1, 10}, Dims: []int{2}, DType: graph.Float32},
		Objectives: []string{"stones left", "quick"}, Reports: []string{"stones"}}
	switch e.fault {
	case "no id":
		s.ID = ""
	case "no steps":
		s.MaxSteps = 0
	case "no actions":
		s.Action = envs.Discrete{}
	case "no mask":
		s.LegalMask = false
	case "mask of a box":
		s.Action = envs.Symmetric(1)
	case "one player":
		s.Players = 1
	case "three players":
		s.Players = 3
	case "no descriptor":
		s.Descriptor = envs.Box{}
	case "integer descriptor":
		s.Descriptor.DType = graph.Int32
	case "short descriptor":
		s.Descriptor.Low, s.Descriptor.High, s.Descriptor.Dims = []float64{0}, []float64{1}, []int{1}
	case "narrow descriptor":
		s.Descriptor.High = []float64{1, 0}
	case "no objectives":
		s.Objectives = nil
	case "three objectives":
		s.Objectives = []string{"a", "b", "c"}
	case "no reports":
		s.Reports = nil
	case "two reports":
		s.Reports = []string{"a", "b"}
	case "a report with a blank":
		s.Reports = []string{"stones left"}
	case "narrow observation":
		s.Observation = envs.Box{Low: []float64{0}, High: []float64{3}, Dims: []int{1}, DType: graph.Float32}
	case "integer observation":
		s.Observation = envs.Discrete{N: 8}
	case "early end":
		s.MaxSteps = 3
	case "large reward":
		s.MaxReward = new(.5)
	}
	return s
}

func (e nim) DefaultParams() nimParams {
	if e.fault == "nil parameter" {
		return nimParams{}
	}
	return nimParams{envs.Steps(5)}
}

func (e nim) Reset(key random.Key, p nimParams) (nimState, *graph.Array) {
	stones := p.Least.Add(random.Randint(key, graph.ShapeOf(graph.Int32), 0, 3))
	if e.fault == "hidden state" {
		*e.calls++
		stones = p.Least.Add(*e.calls % 3)
	}
	if e.fault == "reused key" {
		stones = stones.Add(random.Randint(key, graph.ShapeOf(graph.Int32), 0, 1))
	}
	s := nimState{Stones: stones, Mover: envs.Steps(0), Time: envs.Steps(0), Over: envs.False(),
		Paid: graph.Zeros(graph.ShapeOf(graph.Float32, 2))}
	if e.fault == "carry" {
		s.Time = graph.Scalar(0)
	}
	return s, e.Observe(s, p)
}

func (e nim) Step(_ random.Key, s nimState, action *graph.Array,
	p nimParams) (next nimState, obs, reward, terminated, truncated *graph.Array) {
	envs.CheckAction(e.Spec(), action)
	left := s.Stones.Sub(action.Add(1)).Max(0)
	empty := left.Eq(0)
	// a legal move that ends the game
	last := s.Stones.Eq(action.Add(1)).And(action.Lt(3)).And(s.Over.Not())
	win := graph.Select(graph.Iota(2).Eq(s.Mover), 1., -1.)
	move := envs.Move{Over: s.Over, Legal: nim{}.Legal(s, p), Action: action, Player: s.Mover,
		Rewards: graph.Select(empty, win, graph.ZerosLike(win)), Ends: empty}
	switch e.fault {
	case "cheats":
		move.Legal = graph.Ones(graph.ShapeOf(graph.Bool, 3))
	case "revives":
		move.Over = envs.False()
	case "endless":
		move.Legal, move.Ends = e.Legal(s, p), envs.False()
	}
	next = nimState{Stones: left, Mover: graph.Sub(1, s.Mover)}
	next.Paid, reward, terminated = envs.Referee(move)
	next.Over = terminated
	next.Time, truncated = envs.Tick(s.Time.Convert(graph.Int32), envs.Steps(8))
	obs = e.Observe(next, p)
	switch e.fault {
	case "constant key":
		next.Stones = left.Add(random.Randint(random.New(3), graph.ShapeOf(graph.Int32), 0, 1))
	case "constant half of a key":
		a, _ := random.Split2(random.New(3))
		next.Stones = left.Add(random.Randint(a, graph.ShapeOf(graph.Int32), 0, 1))
	case "observe":
		obs = obs.Add(terminated.Convert(graph.Float32))
	case "integer reward":
		reward = reward.Convert(graph.Int32)
	case "nan reward":
		reward = next.Stones.Convert(graph.Float32).Sub(9).Log()
	case "integer end":
		terminated = terminated.Convert(graph.Int32)
	case "no end":
		truncated = nil
	case "truncated early":
		truncated = next.Time.Ge(2)
	case "endless":
		truncated = envs.False()
	case "other reward":
		reward = graph.Select(last, reward.Neg(), reward)
	case "positive sum":
		next.Paid = graph.Select(last, next.Paid.Abs(), next.Paid)
	}
	return next, obs, reward, terminated, truncated
}

func (nim) Observe(s nimState, _ nimParams) *graph.Array {
	return s.Stones.Convert(graph.Float32).Reshape(1)
}

func (e nim) Legal(s nimState, _ nimParams) *graph.Array {
	enough := graph.Iota(3).Lt(s.Stones)
	switch e.fault {
	case "no legal action":
		return enough
	case "wide mask":
		return graph.Ones(graph.ShapeOf(graph.Bool, 4))
	case "endless":
		return graph.Ones(graph.ShapeOf(graph.Bool, 3))
	}
	return enough.Or(s.Over)
}

func (e nim) Player(s nimState, _ nimParams) *graph.Array {
	switch e.fault {
	case "player 2":
		return s.Mover.Add(1)
	case "float player":
		return s.Mover.Convert(graph.Float32)
	}
	return s.Mover
}

func (e nim) Rewards(s nimState, _ nimParams) *graph.Array { return s.Paid }

func (nim) Describe(s nimState, _ nimParams) *graph.Array {
	return graph.Stack([]*graph.Array{s.Mover.Convert(graph.Float32), s.Time.Convert(graph.Float32)}, 0)
}

func (e nim) Objectives(s nimState, _ nimParams) *graph.Array {
	stones, time := s.Stones.Convert(graph.Float32), s.Time.Convert(graph.Float32)
	if e.fault == "infinite objective" {
		stones = graph.Div(1, stones)
	}
	return graph.Stack([]*graph.Array{stones, time.Neg()}, 0)
}

func (nim) Report(s nimState, _ nimParams) *graph.Array {
	return s.Stones.Convert(graph.Float32).Reshape(1)
}

func (e nim) Draw(state any, size image.Point) (image.Image, error) {
	if e.fault == "small picture" {
		size = image.Pt(1, 1)
	}
	c := draw.NewCanvas(size, draw.At(0, 0), draw.At(8, 2))
	v := draw.Scalars(c, "Nim-v0", state, func(s nimState) []*graph.Array { return []*graph.Array{s.Stones} })
	if e.fault == "no picture" {
		draw.Grid(c, "Nim-v0", state, func(s nimState) *graph.Array { return s.Stones }, 3, 3)
	}
	for i := range int(v[0]) {
		c.Disc(draw.Steel, draw.At(float64(i+1), 1), .4)
	}
	return c.Image()
}

func TestCheckAcceptsAGameWithEveryPart(t *testing.T) {
	env := envs.Erase(nim{})
	require.NoError(t, envtest.Check(env))
	auto := envs.TraitsOf(envs.Erase(envs.AutoReset(env)))
	require.NotNil(t, auto.Draw)
	require.NotNil(t, auto.Describe)
	require.NotNil(t, auto.Objectives)
	require.NotNil(t, auto.Report)
	require.NotNil(t, auto.Legal)
	require.NotNil(t, auto.Rewards)
}

// Every promise that nim can break is found.
func TestCheckFindsFaults(t *testing.T) {
	for number, c := range []struct{ fault, want string }{
		{"no id", `the Spec of "": ID: got "", want a name`},
		{"no steps", "MaxSteps: got 0, want the step limit of an episode"},
		{"no actions", "Action: got Discrete(0), want 1 choice or more"},
		{"no mask", "LegalMask and a method Legal belong together: the Spec says false, the environment has " +
			"them: true"},
		{"mask of a box",
			"LegalMask: got true beside the actions Box(-1, 1, [1], f32), want actions that are Discrete"},
		{"one player", "Players > 1 and methods Player and Rewards belong together"},
		{"three players", "Rewards: got f32[2], want f32[3]"},
		{"no descriptor", "Descriptor and a method Describe or DescribeStep belong " +
			"together"},
		{"integer descriptor", "i32), want f32[d]"},
		{"short descriptor", "Describe: got f32[2], want f32[1]"},
		{"narrow descriptor", "the descriptor lies outside of Box(0, [1 0], [2], f32)"},
		{"no objectives", "Objectives and a method Objectives belong together"},
		{"three objectives", "Objectives: got f32[2], want f32[3]"},
		{"no reports", "Reports and a method Report belong together"},
		{"two reports", "Report: got f32[1], want f32[2]"},
		{"a report with a blank", `got the name "stones left" in Reports ["stones left"], want different names of ` +
			`lower-case letters`},
		{"narrow observation", "the observation lies outside of Box(0, 3, [1], f32)"},
		{"integer observation", "the observation of Reset: got f32[1], want i32[]"},
		{"early end", "truncated is false, want it in step 3 (MaxSteps) alone"},
		{"nil parameter", ".Least"},
		{"hidden state", "two episodes with the same key differ in .Next.Stones"},
		{"carry", ".Time"},
		{"reused key", "Nim-v0: envtest_test.go:97: random.Randint: it gets the key that random.Randint at " +
			"envtest_test.go:"},
		{"constant key", "random.Randint: it gets the same key in each iteration of the loop at envtest.go:"},
		{"constant half of a key", "random.Split2: it gets the same key in each iteration of the loop at envtest.go:"},
		{"observe", "the observation that Observe gives is not that of Step"},
		{"integer reward", "the reward: got i32[], want f32[]"},
		{"nan reward", "the reward is NaN"},
		{"large reward", "the reward is 1, want at most MaxReward, 0.5"},
		{"integer end", "terminated: got i32[], want bool[]"},
		{"no end", "truncated: got nil, want bool[]"},
		{"truncated early", "step 2 of random play (lane 0): truncated is true, want it in step 8 (MaxSteps) alone"},
		{"endless", "truncated is false, want it in step 8 (MaxSteps) alone"},
		{"no legal action", "no action is legal in the next state"},
		{"wide mask", "Legal: got bool[4], want bool[3]"},
		{"player 2", "players 1 and then 2 move, want numbers below Players, 2"},
		{"float player", "Player: got f32[], want i32[]"},
		{"other reward", "who moved, of"},
		{"positive sum", "do not sum to 0"},
		{"cheats", "want the game to end, -1 for that player and 1 shared by the others"},
		{"revives", "the game was over before: got terminated"},
		{"infinite objective", "the objectives are [+Inf"},
		{"small picture", "the picture has (1,1) pixels, want (64,48)"},
		{"no picture", "the state that Reset gave cannot be drawn: envs: cannot draw Nim-v0: its state has leaves of " +
			"i32[], want i32[3,3]"},
	} {
		err := envtest.Check(envs.Erase(nim{c.fault, new(int)}))
		assert.ErrorContains(t, err, c.want, "case %d: %s", number, c.fault)
	}
}

// twice describes its steps and its last state.
type twice struct{ nim }

func (twice) DescribeStep(_, _ nimState, _ *graph.Array, _ nimParams) *graph.Array {
	return graph.Float32s([]float32{0, 0})
}

// An environment has Describe or DescribeStep.
func TestCheckFindsTwoDescriptors(t *testing.T) {
	err := envtest.Check(envs.Erase(twice{}))
	require.ErrorContains(t, err, `the environment "Nim-v0" has Describe and DescribeStep, want one of them`)
}
