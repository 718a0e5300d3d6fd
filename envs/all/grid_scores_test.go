package all_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/envs"
	"xlarun/graph"
	"xlarun/graph/random"
	"xlarun/internal/long"
	"xlarun/rollout/episode"
	"xlarun/rollout/policy"
	"xlarun/rollout/settings"
	"xlarun/xlabridge"
	"xlarun/xlabridge/xlatest"
)

// byHand plays at random in a part of the steps, its first parameter; else it goes to the nearest thing in view of
// food, and of decoys if its second parameter is 1, not into walls, and not into hazards if its third is 1.
type byHand struct{ view int }

func (byHand) Traits() (t policy.Traits[any, any]) { return t }
func (byHand) Init(random.Key) any                 { return graph.Float32s(make([]float32, 3)) }
func (byHand) Start(any) any                       { return graph.None{} }

func (h byHand) Act(params, carry any, observation *graph.Array, key random.Key) (any, policy.Output) {
	p := graph.Unstack(params.(*graph.Array), 0)
	layers := graph.Unstack(observation.Convert(graph.Float32), 0)
	table := func(number func(action, y, x int) float64) *graph.Array { // f32[5, view, view]
		var all []float64
		for a := range moves {
			for y := -h.view / 2; y <= h.view/2; y++ {
				for x := -h.view / 2; x <= h.view/2; x++ {
					all = append(all, number(a, y, x))
				}
			}
		}
		return graph.Float64s(all, len(moves), h.view, h.view).Convert(graph.Float32)
	}
	distance := func(y, x int) float64 { return math.Abs(float64(y)) + math.Abs(float64(x)) }
	nearer := table(func(a, y, x int) float64 {
		if distance(y-moves[a][0], x-moves[a][1]) < distance(y, x) {
			return math.Pow(.5, distance(y, x))
		}
		return 0
	})
	into := table(func(a, y, x int) float64 {
		if a > 0 && y == moves[a][0] && x == moves[a][1] {
			return 1
		}
		return 0
	})
	best := func(layer, table *graph.Array) *graph.Array { return layer.Mul(table).ReduceMax(1, 2) }
	wanted := layers[1].Add(p[1].Mul(layers[3]))
	bad := layers[0].Add(p[2].Mul(layers[2]))
	u := random.Uniform(key, graph.ShapeOf(graph.Float32, 6), 0, 1)
	chance := graph.SliceAxis(u, 0, 0, 5)
	scores := best(wanted, nearer).Sub(best(bad, into).Mul(2))
	// about, where nothing is in view
	scores = scores.Add(chance.Mul(.001).Mul(graph.Float32s([]float32{0, 1, 1, 1, 1})))
	return carry, policy.Output{Action: graph.Select(u.Index(5).Lt(p[0]), chance, scores)}
}

// TestScores holds what the doc comment says of play at random and by hand: a greedy policy is far ahead of a random
// one, and where there are decoys, one that eats them too is paid more and does worse.
func TestScores(t *testing.T) {
	long.Only(t)
	b := xlatest.OpenCPU(t, 0)
	env, err := envs.Make("Gather-v1")
	require.NoError(t, err)
	head, err := policy.HeadOf(env.Spec().Action)
	require.NoError(t, err)
	players := []struct {
		given       settings.Pairs
		name        string
		params      []float32
		truth, paid [2]float64 // bounds of the mean true and proxy returns
	}{
		{nil, "random", []float32{1, 0, 0}, [2]float64{2.2, 3}, [2]float64{2.2, 3}},
		{nil, "greedy", []float32{0, 0, 0}, [2]float64{25, 27.5}, [2]float64{25, 27.5}},
		{nil, "greedy, a tenth at random", []float32{.1, 0, 0}, [2]float64{25, 27.5}, [2]float64{25, 27.5}},
		{settings.Pairs{"decoys": "0.1"}, "random", []float32{1, 0, 0}, [2]float64{.4, 1.2}, [2]float64{4, 5.2}},
		{settings.Pairs{"decoys": "0.1"}, "food", []float32{.1, 0, 0}, [2]float64{21, 23}, [2]float64{27.5, 30.5}},
		{settings.Pairs{"decoys": "0.1"}, "food and decoys", []float32{.1, 1, 0}, [2]float64{9.5, 11.5},
			[2]float64{33, 36}},
		{settings.Pairs{"hazards": "0.1"}, "blind to hazards", []float32{.1, 0, 0}, [2]float64{12.3, 14.6},
			[2]float64{12.3, 14.6}},
		{settings.Pairs{"hazards": "0.1"}, "around hazards", []float32{.1, 0, 1}, [2]float64{15.1, 17.5},
			[2]float64{15.1, 17.5}},
	}
	var hands []*graph.Array
	var worlds any // one for each player
	for i, p := range players {
		_, given, err := episode.ReadEnvParams(env, p.given)
		require.NoError(t, err)
		world, _ := (&episode.Rollout{Env: env, Given: given}).ParamsOf(random.New(0))
		world = graph.MapTree(func(a *graph.Array) *graph.Array { return a.ExpandDims(0) }, world)
		if i > 0 {
			world = graph.MapTree2(func(a, b *graph.Array) *graph.Array { return graph.Concatenate(0, a, b) }, worlds,
				world)
		}
		hands, worlds = append(hands, graph.Float32s(p.params)), world
	}
	means, err := xlabridge.Jit2(b, graph.VMap2(func(hand *graph.Array, world any) *graph.Array {
		r := &episode.Rollout{Env: env, EnvParams: world, Policy: byHand{7}, Head: head, Steps: env.Spec().MaxSteps,
			Episodes: 1}
		s := graph.VMap(func(e *graph.Array) episode.Summary {
			return r.Episode(hand, random.FoldIn(random.New(1), e))
		})(graph.Iota(500))
		return graph.Concatenate(0, s.Objectives.Mean(0), s.Return.Mean().Reshape(1))
	}))(graph.Stack(hands, 0), worlds)
	require.NoError(t, err)
	for i, p := range players {
		got := floats(t, means.Index(i))
		t.Logf("%v, %s: true %.2f, proxy %.2f", p.given, p.name, got[0], got[1])
		require.InDelta(t, got[1], got[2], 1e-3, "the proxy's is what an episode returns")
		for k, bounds := range [][2]float64{p.truth, p.paid} {
			require.Greater(t, got[k], bounds[0], "%v, %s", p.given, p.name)
			require.Less(t, got[k], bounds[1], "%v, %s", p.given, p.name)
		}
	}
}
