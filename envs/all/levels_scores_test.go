package all_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/envs"
	_ "xlarun/envs/all"
	"xlarun/graph"
	"xlarun/graph/random"
	"xlarun/internal/long"
	"xlarun/rollout/episode"
	"xlarun/rollout/policy"
	"xlarun/xlabridge/xlatest"
)

// byRule is a policy whose parameters choose what is played, one by hand or another.
type byRule struct {
	start any
	act   func(params []*graph.Array, carry any, observation *graph.Array,
		key random.Key) (next any, scores *graph.Array)
}

func (byRule) Traits() (t policy.Traits[any, any]) { return t }
func (byRule) Init(random.Key) any                 { return graph.Float32s(make([]float32, 5)) }
func (p byRule) Start(any) any                     { return p.start }
func (p byRule) Act(params, carry any, observation *graph.Array, key random.Key) (any, policy.Output) {
	next, scores := p.act(graph.Unstack(params.(*graph.Array), 0), carry, observation, key)
	return next, policy.Output{Action: scores}
}

// reflex is a policy without memory that plays at random in a part of the steps, its first parameter.
func reflex(act func(params []*graph.Array, observation *graph.Array) *graph.Array) byRule {
	return byRule{graph.None{}, func(params []*graph.Array, _ any, o *graph.Array, key random.Key) (any, *graph.Array) {
		return graph.None{}, sometimes(params[0], act(params, o), key)
	}}
}

// sometimes replaces scores by random ones with the given probability.
func sometimes(probability, scores *graph.Array, key random.Key) *graph.Array {
	u := random.Uniform(key, graph.ShapeOf(graph.Float32, scores.Size()+1), 0, 1)
	n := scores.Size()
	return graph.Select(u.Index(n).Lt(probability), graph.SliceAxis(u, 0, 0, n), scores)
}

// eyes look at a view of cells as far as reach to each side.
type eyes struct{ reach int }

// levelMoves are those of the four actions, to the east and to the south.
var levelMoves = [][2]int{{0, -1}, {1, 0}, {0, 1}, {-1, 0}}

// table makes f32[4, cells] of a number for each action and each cell of the view.
func (e eyes) table(number func(action, x, y int) float64) *graph.Array {
	var all []float64
	for a := range levelMoves {
		for y := -e.reach; y <= e.reach; y++ {
			for x := -e.reach; x <= e.reach; x++ {
				all = append(all, number(a, x, y))
			}
		}
	}
	return graph.Float64s(all, 4, len(all)/4).Convert(graph.Float32)
}

func distance(x, y int) float64 { return math.Abs(float64(x)) + math.Abs(float64(y)) }

// towards is for each action what it is worth to come nearer to the nearest thing of a layer, f32[4]: 1/2 for one
// beside, half as much for each cell more.
func (e eyes) towards(layer *graph.Array) *graph.Array {
	return layer.Mul(e.table(func(a, x, y int) float64 {
		if distance(x-levelMoves[a][0], y-levelMoves[a][1]) < distance(x, y) {
			return math.Pow(.5, distance(x, y))
		}
		return 0
	})).ReduceMax(1)
}

// within is 1 for each action after which something of a layer is at most so far away, f32[4].
func (e eyes) within(layer *graph.Array, far float64) *graph.Array {
	return layer.Mul(e.table(func(a, x, y int) float64 {
		if distance(x-levelMoves[a][0], y-levelMoves[a][1]) <= far {
			return 1
		}
		return 0
	})).ReduceMax(1)
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
		total = total.Add(graph.Mul(terms[i], terms[i+1]))
	}
	return total
}

// onward prefers to go on north, else east.
var onward = graph.Float32s([]float32{.004, .003, .002, .001})

// stays adds the score of the action stay, which is below all others except those of harmful actions.
func stays(scores *graph.Array) *graph.Array {
	return graph.Concatenate(0, scores, graph.Float32s([]float32{0}))
}

// greedyL0 goes to the nearest food, and straight on where it sees none.
var greedyL0 = reflex(func(_ []*graph.Array, o *graph.Array) *graph.Array {
	return eyes{2}.towards(o).Add(onward)
})

// greedyL1 avoids poison and walls, too. Its second parameter is what it thinks poison is worth.
var greedyL1 = reflex(func(p []*graph.Array, o *graph.Array) *graph.Array {
	e := eyes{2}
	poison := e.layer(o, 1)
	return stays(sum(1, e.towards(e.layer(o, 0)), 1, onward, -9, e.within(e.layer(o, 2), 0),
		p[1].Max(0), e.towards(poison), p[1].Min(0), e.within(poison, 0)))
})

// playsL2 plays Forage-L2. Parameters 2 and 3 are the values of the two kinds of berries. Parameter 4 is the value of
// the kind in the current cue, or in the last cue if parameter 5 is 1.
var playsL2 = byRule{
	start: []*graph.Array{graph.Scalar(0), onward},
	act: func(p []*graph.Array, carry any, o *graph.Array, key random.Key) (any, *graph.Array) {
		e := eyes{2}
		was := carry.([]*graph.Array)
		// 1: the first kind is good, -1: the second
		cue, ahead := o.Index(100).Sub(o.Index(101)), onward
		remembers := p[4].Eq(1)
		cue, ahead = graph.Select(remembers.And(cue.Eq(0)), was[0], cue), graph.Select(remembers, was[1],
			ahead)
		scores := sum(1, ahead, -9, e.within(e.layer(o, 2), 0), -3, e.within(e.layer(o, 3), 1))
		for i, worth := range []*graph.Array{p[1].Add(p[3].Mul(cue)),
			p[2].Sub(p[3].Mul(cue))} {
			kind := e.layer(o, i)
			scores = scores.Add(sum(worth.Max(0), e.towards(kind), worth.Min(0),
				e.within(kind, 0)))
		}
		scores = sometimes(p[0], stays(scores), key)
		last := graph.OneHot(graph.SliceAxis(scores, 0, 0, 4).ArgMax(0), 4, graph.Float32)
		return []*graph.Array{cue, sum(.01, last, -.005, graph.Roll(last, 2, 0), .1, onward)}, scores
	},
}

// TestLevelScores holds what the levels' doc comments say of play at random and by hand: a greedy policy is far ahead
// of a random one; in L2, none without memory comes near what memory is worth, whatever it thinks of the berries.
func TestLevelScores(t *testing.T) {
	long.Only(t)
	b := xlatest.OpenCPU(t, 0)
	type player struct {
		name        string
		params      []float32
		least, most float64 // mean return
	}
	for _, c := range []struct {
		id      string
		policy  byRule
		players []player
	}{
		{"Forage-L0-v1", greedyL0, []player{{"random", []float32{1, 0, 0, 0}, 9, 11}, {"greedy", []float32{0, 0, 0, 0},
			55, 61}}},
		{"Forage-L1-v1", greedyL1, []player{
			{"random", []float32{1, 0, 0, 0}, -.5, .5}, {"greedy", []float32{0, -2, 0, 0}, 16, 22},
			{"greedy, a tenth at random", []float32{.1, -2, 0, 0}, 28, 35}, {"eats poison, too", []float32{0, 1, 0, 0},
				-1, 1},
		}},
		{"Forage-L2-v1", playsL2, []player{
			{"random", []float32{1, 0, 0, 0}, -6, -2}, {"eats the first kind", []float32{0, 1, -1, 0}, -8, 8},
			{"eats both", []float32{0, 1, 1, 0}, -3, 3},
			{"eats none", []float32{0, -1, -1, 0}, -3, 0},
			{"eats what a cue speaks for", []float32{0, -.01, -.01, 4}, -3, 3},
			{"the first kind, or what a cue speaks for", []float32{.1, 1, -1, 4}, -8, 8},
			{"remembers", []float32{0, 0, 0, 1, 1}, 60, 75},
		}},
	} {
		env, err := envs.Make(c.id)
		require.NoError(t, err)
		head, err := policy.HeadOf(env.Spec().Action)
		require.NoError(t, err)
		r := &episode.Rollout{Env: env, Policy: c.policy, Head: head, Steps: env.Spec().MaxSteps, Episodes: 1}
		judge, err := episode.NewEvaluator(b, r, c.policy.Init(random.New(0)), len(c.players), 500, "policies by hand")
		require.NoError(t, err)
		members := make([]any, len(c.players))
		for i, p := range c.players {
			members[i] = graph.Float32s(append(p.params, make([]float32, 5-len(p.params))...))
		}
		judgements, err := judge.Play(members, random.New(1))
		require.NoError(t, err)
		require.NoError(t, judge.Close())
		for i, p := range c.players {
			j := judgements[i]
			t.Logf("%s, %s: %.2f ± %.2f, %.0f steps", c.id, p.name, j.Mean, j.Error, j.Length)
			require.Zero(t, j.Failed)
			require.Greater(t, j.Mean, p.least, "%s, %s", c.id, p.name)
			require.Less(t, j.Mean, p.most, "%s, %s", c.id, p.name)
		}
	}
}
