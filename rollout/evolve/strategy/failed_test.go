package strategy

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/graph"
	"xlarun/graph/graphtest"
	"xlarun/graph/random"
	"xlarun/rollout/population"
	"xlarun/rollout/settings"
)

// floatsOf returns the numbers of an array.
var floatsOf = graphtest.Floats

// drawn returns the draws of a generation of n members.
func drawn(s *Erased, state any, members int, seed int64) any {
	groups := members / s.GroupSize
	return drawsOf(s, state, random.Split(random.New(seed), groups), groups)
}

// drawsOf returns the draws of groups with keys.
func drawsOf(s *Erased, state any, keys random.Key, groups int) any {
	return graph.VMap2(func(key random.Key, group *graph.Array) any {
		return s.Sample(key, state, group)
	})(keys, graph.Iota(groups))
}

// genomesOf returns the genomes of the members with draws, leaves [sides, groups, …].
func genomesOf(s *Erased, state, draws any) *graph.Array {
	return graph.VMap(func(side *graph.Array) any {
		return graph.VMap(func(draw any) any { return s.Member(state, draw, side) })(draws)
	})(graph.Iota(s.GroupSize)).(*graph.Array)
}

// Failed members do not move strategies: a fitness below all others has the same effect as NaN. If all members fail,
// the mean stays finite and does not move.
func TestFailedMembersAreNoParents(t *testing.T) {
	nan := float32(math.NaN())
	for number, c := range []struct {
		what string
		fail []int
	}{{"one", []int{3}}, {"the first", []int{0}}, {"more than the elites are not", []int{0, 1, 2, 4, 5, 6}},
		{"all", []int{0, 1, 2, 3, 4, 5, 6, 7}}} {
		for _, name := range general() {
			t.Run(fmt.Sprintf("%d %s, %s", number+1, c.what, name), func(t *testing.T) {
				s := lookup(name)
				const members, n = 8, 3
				start := []float32{1, -2, .5}
				state, err := graph.Eval(s.Init(graph.Float32s(start), members))
				require.NoError(t, err)
				for generation := range 3 {
					fitness := []float32{4, 1, 7, 9, 2, 6, 3, 5}
					for _, i := range c.fail {
						fitness[i] = nan
					}
					state, err = graph.Eval(tell(s, state, graph.Float32s(fitness),
						population.Whole(drawn(s, state, members, int64(generation)))))
					require.NoError(t, err)
					for _, leaf := range graph.Leaves(state) {
						for _, x := range floatsOf(t, leaf) {
							require.False(t, math.IsNaN(x))
						}
					}
				}
				mean := floatsOf(t, s.Mean(state).(*graph.Array))
				if len(c.fail) == members {
					require.InDeltaSlice(t, []float64{1, -2, .5}, mean, 1e-6)
				} else {
					require.NotEqual(t, []float64{1, -2, .5}, mean)
				}
			})
		}
	}
}

// Elites are the best members in order, without failed ones.
func TestBest(t *testing.T) {
	nan := math.NaN()
	for _, c := range []struct {
		number  int
		fitness []float64
		count   int
		order   []float64
		found   float64
	}{
		{1, []float64{3, 1, 4, 1, 5}, 3, []float64{4, 2, 0}, 1},
		{2, []float64{1, 1, 2, 1}, 4, []float64{2, 0, 1, 3}, 1},
		{3, []float64{nan, 2, nan, nan, 3}, 4, []float64{4, 1, 4, 1}, 1},
		{4, []float64{nan, nan}, 1, []float64{0}, 0},
		{5, []float64{math.Inf(-1), nan, math.Inf(1)}, 2, []float64{2, 0}, 1},
	} {
		f := make([]float32, len(c.fitness))
		for i, x := range c.fitness {
			f[i] = float32(x)
		}
		order, found := best(graph.Float32s(f), c.count)
		require.Equal(t, c.order, floatsOf(t, order), "case %d", c.number)
		require.Equal(t, c.found, floatsOf(t, found.Convert(graph.Float32))[0], "case %d", c.number)
	}
}

// The three members of a difference differ, every member occurs, and the base is the best.
func TestDEChoosesOthers(t *testing.T) {
	for _, base := range []string{deBest, deRandom} {
		for _, members := range []int{4, 5, 9} {
			e := &DE{Base: base}
			fitness := make([]float32, members)
			fitness[2] = 1
			state := DEState{Fitness: graph.Float32s(fitness),
				Members: graph.Zeros(graph.ShapeOf(graph.Float32, members, 1))}
			for _, member := range []int{0, 2, members - 1} {
				abc := graph.VMap(func(key random.Key) *graph.Array {
					k := random.SplitN(key, 2)
					a, b, c := e.choose(k[0], k[1], state, graph.Of(int32(member)))
					return graph.Stack([]*graph.Array{a, b, c}, 0)
				})(random.Split(random.New(int64(member)), 300))
				v := floatsOf(t, abc)
				seen := map[float64]bool{}
				for i := 0; i < len(v); i += 3 {
					a, b, c := v[i], v[i+1], v[i+2]
					if base == deBest {
						require.Equal(t, 2., a)
					} else {
						require.NotEqual(t, float64(member), a)
					}
					require.False(t, b == c || b == a || c == a || b == float64(member) || c == float64(member),
						"%d of %d: %v %v %v", member, members, a, b, c)
					require.True(t, min(a, b, c) >= 0 && max(a, b, c) < float64(members))
					seen[b], seen[c] = true, true
				}
				others := members - 1
				if base == deBest && member != 2 {
					others--
				}
				require.Len(t, seen, others)
			}
		}
	}
}

// A trial is base + weight·(b - c) in parameters that cross over, at least one; without crossover exactly one.
func TestDETrials(t *testing.T) {
	e := &DE{CrossoverRate: settings.Num(0), Weight: settings.Num(.5), Base: deBest}
	rows := []float32{0, 0, 0, 0, 8, 8, 8, 8, 100, 100, 100, 100, 40, 40, 40, 40}
	state := DEState{graph.Float32s(rows, 4, 4), graph.Float32s([]float32{1, 2, 3, 0}), graph.Of(int32(5))}
	places := map[int]bool{}
	for seed := range int64(40) {
		trial := floatsOf(t, e.Sample(random.New(seed), state, graph.Of(int32(0))))
		crossed := slices.DeleteFunc([]int{0, 1, 2, 3}, func(i int) bool { return trial[i] == 0 })
		require.Len(t, crossed, 1)
		places[crossed[0]] = true
		require.Contains(t, []float64{100 + .5*(8-40), 100 + .5*(40-8)}, trial[crossed[0]])
	}
	require.Len(t, places, 4)
}

// Children come from elites, with the elite's rate within its bounds. Child 0 comes from the best.
func TestSAMRGA(t *testing.T) {
	g := defaults[*SAMRGA]("samrga")
	g.SigmaMin, g.SigmaMax = settings.Num(.9), settings.Num(3)
	require.Equal(t, 4, g.Keeps(8))
	state := SAMRGAState{graph.Float32s([]float32{1000, 1000, -1000, -1000}, 2, 2), graph.Float32s([]float32{1, 2})}
	children := drawn(Erase(g), state, 40, 1).(samrgaChild)
	x, sigma := floatsOf(t, children.Genome), floatsOf(t, children.Sigma)
	require.Greater(t, x[0], 900.)
	of := map[bool]int{}
	for i, s := range sigma {
		best := x[2*i] > 0
		of[best]++
		least, most := float64(float32(.9)), 2.
		if !best {
			least, most = 1., 3.
		}
		require.True(t, s >= least && s <= most, "child %d: %g", i, s)
	}
	require.True(t, of[true] > 10 && of[false] > 10, "%v", of)
	told := tell(Erase(g), state, graph.Iota(40), population.Whole(children)).(SAMRGAState)
	require.Equal(t, sigma[38:], []float64{floatsOf(t, told.Sigma)[1], floatsOf(t, told.Sigma)[0]})
	require.Equal(t, x[78:], floatsOf(t, told.Elites)[:2])
}

// The best member of all generations stays.
func TestRandomSearch(t *testing.T) {
	s := Erase(&RandomSearch{Sigma: settings.Num(2)})
	state := s.Init(graph.Float32s([]float32{1, 1}), 3)
	noise := graph.Float32s([]float32{1, 2, 3, 4, 5, 6}, 3, 2)
	for _, c := range []struct {
		fitness []float32
		best    []float64
	}{{[]float32{0, 1, float32(math.NaN())}, []float64{7, 9}}, {[]float32{1, 1, 1}, []float64{7, 9}},
		{[]float32{0, 2, 3}, []float64{11, 13}}} {
		state = tell(s, state, graph.Float32s(c.fitness), population.Whole(noise))
		require.Equal(t, c.best, floatsOf(t, s.Mean(state).(*graph.Array)))
	}
}

// Basis and scale stay until an eigendecomposition is due.
func TestCMAESDecomposesWhenItIsDue(t *testing.T) {
	s := Erase(&CMAES{Sigma: settings.Num(1), EigenEvery: 3})
	state := s.Init(graph.Float32s([]float32{1, 2}), 6).(CMAESState)
	before := floatsOf(t, state.Scale)
	for generation := range 6 {
		next, err := graph.Eval(tell(s, state, graph.Float32s([]float32{1, 5, 2, 4, 3, 0}),
			population.Whole(drawn(s, state, 6, int64(generation)))))
		require.NoError(t, err)
		state = next.(CMAESState)
		now := floatsOf(t, state.Scale)
		require.Equal(t, generation%3 != 2, slices.Equal(before, now), "generation %d", generation)
		if generation%3 == 2 { // B·D²·Bᵀ is the covariance
			scaled := state.Basis.Mul(state.Scale.Square())
			require.InDeltaSlice(t, floatsOf(t, state.Covariance),
				floatsOf(t, scaled.Dot(graph.MatrixTranspose(state.Basis))), 1e-5)
		}
		before = now
	}
	for _, c := range []struct{ n, members, every int }{{10, 40, 1}, {100, 256, 7}, {386, 256, 114}} {
		require.Equal(t, c.every, (&CMAES{}).every(recombine(c.members, c.n, true)))
	}
}

// A fitness that is not finite counts as the worst finite one, with every shaping.
func TestShaping(t *testing.T) {
	inf, nan := float32(math.Inf(1)), float32(math.NaN())
	draws := DrawsOf[*graph.Array](population.Whole(graph.Zeros(graph.ShapeOf(graph.Float32, 2, 1))))
	for _, c := range []struct {
		number  int
		shaping string
		decay   float64
		fitness []float32
		want    []float64
	}{
		{1, shapeRaw, 0, []float32{1, nan, -inf, 4}, []float64{1, 1, 1, 4}},
		{2, shapeRaw, 0, []float32{nan, nan, -inf, inf}, []float64{0, 0, 0, 0}},
		{3, shapeZScore, 0, []float32{3, 1, 1, nan}, []float64{math.Sqrt(3), -1 / math.Sqrt(3), -1 / math.Sqrt(3),
			-1 / math.Sqrt(3)}},
		{4, shapeZScore, 0, []float32{2, 2, 2, 2}, []float64{0, 0, 0, 0}},
		{5, shapeRanks, 0, []float32{2, nan, 3, 1}, []float64{1. / 6, -.5, .5, -1. / 6}},
		{6, shapeRaw, .5, []float32{2, nan, 3, 1}, []float64{0, -1, 1, -1}},
		{7, shapeRaw, 0, []float32{-5, nan, -3, -2}, []float64{-5, -5, -3, -2}},
		{8, shapeZScore, 0, []float32{1000.1, 1000.1, 1000.1}, []float64{0, 0, 0}}, // was 0.5
	} {
		e := &OpenES{gaussian{Sigma: settings.Num(1)}, Shaped{Shaping: c.shaping, WeightDecay: c.decay}}
		state := e.Init(graph.Float32s([]float32{2}), 4) // squares are 4
		require.InDeltaSlice(t, c.want, floatsOf(t, shape(e.Shaped, e, state, graph.Float32s(c.fitness), draws)), 1e-4,
			"case %d", c.number)
	}
}

// The smallest population of each strategy, with one parameter and with several, gives finite states.
func TestSmallestPopulations(t *testing.T) {
	for _, name := range general() {
		for _, n := range []int{1, 3} {
			s := lookup(name)
			members := max(s.GroupSize, s.LeastPopulation)
			state := s.Init(graph.Ones(graph.ShapeOf(graph.Float32, n)), members)
			for generation := range 4 {
				fitness := graph.Float32s([]float32{float32(generation), 1, 3, 2})
				next, err := graph.Eval(tell(s, state, graph.SliceAxis(fitness, 0, 0, members),
					population.Whole(drawn(s, state, members, int64(generation)))))
				require.NoError(t, err, name)
				state = next
			}
			for i, leaf := range graph.Leaves(state) {
				for _, x := range floatsOf(t, leaf) {
					require.False(t, math.IsNaN(x) || math.IsInf(x, 0), "%s of %d parameters, leaf %d: %g", name, n, i,
						x)
				}
			}
		}
	}
}
