package levels_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/envs"
	_ "xlarun/envs/levels"
	"xlarun/graph"
	"xlarun/graph/random"
	"xlarun/rollout/episode"
	"xlarun/rollout/policy"
	"xlarun/xlabridge"
)

// byHand is a policy without parameters.
type byHand struct {
	start any
	act   func(carry any, observation *graph.Array, key random.Key) (next any, scores *graph.Array)
}

func (byHand) Init(random.Key) any { return graph.Scalar(0) }
func (p byHand) Start(any) any     { return p.start }
func (p byHand) Act(_, carry any, observation *graph.Array, key random.Key) (any, policy.Output) {
	next, scores := p.act(carry, observation, key)
	return next, policy.Output{Action: scores}
}

// reflex is a policy without memory.
func reflex(act func(observation *graph.Array) *graph.Array) byHand {
	return byHand{graph.None{}, func(_ any, o *graph.Array, _ random.Key) (any, *graph.Array) { return graph.None{}, act(o) }}
}

// atRandom plays any of so many actions.
func atRandom(actions int) byHand {
	return byHand{graph.None{}, func(_ any, _ *graph.Array, key random.Key) (any, *graph.Array) {
		return graph.None{}, random.Uniform(key, graph.ShapeOf(graph.Float32, actions), 0, 1)
	}}
}

// eyes look at a view of cells as far as reach to each side.
type eyes struct{ reach int }

// moves of the four actions, to the east and to the south.
var moves = [][2]int{{0, -1}, {1, 0}, {0, 1}, {-1, 0}}

// table makes f32[4, cells] of a number for each action and each cell of the view.
func (e eyes) table(number func(action, x, y int) float64) *graph.Array {
	var all []float64
	for a := range moves {
		for y := -e.reach; y <= e.reach; y++ {
			for x := -e.reach; x <= e.reach; x++ {
				all = append(all, number(a, x, y))
			}
		}
	}
	return graph.Convert(graph.Float64s(all, 4, len(all)/4), graph.Float32)
}

func distance(x, y int) float64 { return math.Abs(float64(x)) + math.Abs(float64(y)) }

// towards is for each action what it is worth to come nearer to the nearest thing of a layer, f32[4]: 1/2 for one beside, half as much
// for each cell more.
func (e eyes) towards(layer *graph.Array) *graph.Array {
	return graph.ReduceMax(graph.Mul(layer, e.table(func(a, x, y int) float64 {
		if distance(x-moves[a][0], y-moves[a][1]) < distance(x, y) {
			return math.Pow(.5, distance(x, y))
		}
		return 0
	})), 1)
}

// within is 1 for each action after which something of a layer is at most so far away, f32[4].
func (e eyes) within(layer *graph.Array, far float64) *graph.Array {
	return graph.ReduceMax(graph.Mul(layer, e.table(func(a, x, y int) float64 {
		if distance(x-moves[a][0], y-moves[a][1]) <= far {
			return 1
		}
		return 0
	})), 1)
}

// layer i of a view.
func (e eyes) layer(observation *graph.Array, i int) *graph.Array {
	n := (2*e.reach + 1) * (2*e.reach + 1)
	return graph.SliceAxis(observation, 0, i*n, (i+1)*n)
}

// sum adds up vectors with weights.
func sum(terms ...any) *graph.Array {
	total := graph.Scalar(0)
	for i := 0; i < len(terms); i += 2 {
		total = graph.Add(total, graph.Mul(terms[i], terms[i+1]))
	}
	return total
}

// onward prefers to go on north, else east.
var onward = graph.Float32s([]float32{.004, .003, .002, .001})

// stays adds the action stay, the last choice but for what hurts.
func stays(scores *graph.Array) *graph.Array {
	return graph.Concatenate(0, scores, graph.Float32s([]float32{0}))
}

func greedyL0(o *graph.Array) *graph.Array {
	return graph.Add(eyes{1}.towards(o), onward)
}

func greedyL1(o *graph.Array) *graph.Array {
	e := eyes{2}
	return stays(sum(1, e.towards(e.layer(o, 0)), 1, onward, -2, e.within(e.layer(o, 1), 0), -9, e.within(e.layer(o, 2), 0)))
}

// likes plays Forage-L2 when each kind of berry is worth so much to it, and where that is less than 0, it is avoided.
func likes(o, first, second *graph.Array, on *graph.Array) *graph.Array {
	e := eyes{2}
	scores := sum(1, on, -9, e.within(e.layer(o, 2), 0), -3, e.within(e.layer(o, 3), 1))
	for i, worth := range []*graph.Array{first, second} {
		kind := e.layer(o, i)
		scores = graph.Add(scores, sum(graph.Max(worth, 0), e.towards(kind), graph.Min(worth, 0), e.within(kind, 0)))
	}
	return stays(scores)
}

// cueOf is what a cue says of both kinds: 1 and -1, or 0 where none is seen.
func cueOf(o *graph.Array) (first, second *graph.Array) {
	first = graph.Sub(graph.Index(o, 100), graph.Index(o, 101))
	return first, graph.Neg(first)
}

// remembers plays Forage-L2 with the last cue in mind, and keeps its direction where it sees nothing.
var remembers = byHand{
	start: []*graph.Array{graph.Scalar(0), onward},
	act: func(carry any, o *graph.Array, _ random.Key) (any, *graph.Array) {
		was := carry.([]*graph.Array)
		first, _ := cueOf(o)
		first = graph.Select(graph.Eq(first, 0), was[0], first)
		scores := likes(o, first, graph.Neg(first), was[1])
		last := graph.OneHot(graph.ArgMax(graph.SliceAxis(scores, 0, 0, 4), 0), 4, graph.Float32)
		back := graph.Roll(last, 2, 0)
		return []*graph.Array{first, sum(.01, last, -.005, back, .1, onward)}, scores
	},
}

// score is the mean return of a policy on fresh episodes, and its standard error.
func score(t *testing.T, b xlabridge.Backend, id string, p policy.Policy, episodes int) (mean, err float64) {
	t.Helper()
	env, failed := envs.Make(id)
	require.NoError(t, failed)
	head, failed := policy.HeadOf(env.Spec().Action)
	require.NoError(t, failed)
	r := &episode.Rollout{Env: env, Policy: p, Head: head, Steps: env.Spec().MaxSteps, Episodes: 1}
	judge, failed := episode.NewJudge(b, r, graph.Scalar(0), 1, episodes, "a policy by hand")
	require.NoError(t, failed)
	defer func() { require.NoError(t, judge.Close()) }()
	j, failed := judge.Play([]any{graph.Scalar(0)}, random.New(1))
	require.NoError(t, failed)
	require.Zero(t, j[0].Failed)
	return j[0].Mean, j[0].Error
}

func TestScores(t *testing.T) {
	b, err := xlabridge.Open(t.Context(), xlabridge.Options{CacheDir: t.TempDir()})
	require.NoError(t, err)
	defer func() { require.NoError(t, b.Close()) }()
	one := graph.Scalar(1)
	for _, c := range []struct {
		id, name string
		p        policy.Policy
	}{
		{"Forage-L0-v1", "random", atRandom(4)}, {"Forage-L0-v1", "greedy", reflex(greedyL0)},
		{"Forage-L1-v1", "random", atRandom(5)}, {"Forage-L1-v1", "greedy", reflex(greedyL1)},
		{"Forage-L2-v1", "random", atRandom(5)},
		{"Forage-L2-v1", "first", reflex(func(o *graph.Array) *graph.Array { return likes(o, one, graph.Neg(one), onward) })},
		{"Forage-L2-v1", "any", reflex(func(o *graph.Array) *graph.Array { return likes(o, one, one, onward) })},
		{"Forage-L2-v1", "none", reflex(func(o *graph.Array) *graph.Array { return likes(o, graph.Neg(one), graph.Neg(one), onward) })},
		{"Forage-L2-v1", "cue", reflex(func(o *graph.Array) *graph.Array { a, b := cueOf(o); return likes(o, graph.Sub(graph.Mul(a,4), .01), graph.Sub(graph.Mul(b,4), .01), onward) })},
		{"Forage-L2-v1", "remembers", remembers},
	} {
		mean, e := score(t, b, c.id, c.p, 2000)
		t.Logf("%s %s: %.2f ± %.2f", c.id, c.name, mean, e)
	}
}
