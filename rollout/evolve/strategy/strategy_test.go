package strategy

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/graph"
	"xlarun/graph/random"
	"xlarun/rollout/population"
	"xlarun/rollout/settings"
	"xlarun/third_party/oracles"
)

// trace is one run of evosax, as third_party/oracles/evosax_openes.py writes it.
type trace struct {
	Strategy string
	Config   struct {
		Optimizer  string
		Population int
		Sigma      float64
		SigmaDecay float64 `json:"sigma_decay"`
		Rate       float64 `json:"learning_rate"`
		MaxSpeed   float64 `json:"max_velocity"`
	}
	Start struct{ Mean, Std oracles.Array }
	Steps []struct {
		Noise, Population, Fitness, Shaped, Mean, Std oracles.Array
		Adam                                          *struct {
			Count  int
			Mu, Nu oracles.Array
		}
	}
}

// openES and pgpe return the strategies of a trace.
func (tr trace) openES(decay float64) *Erased {
	return Erase(&OpenES{gaussian: gaussian{LearningRate: settings.Num(tr.Config.Rate),
		Sigma: settings.Num(tr.Config.Sigma), SigmaDecay: settings.Num(decay)}})
}

func (tr trace) pgpe() *Erased {
	return Erase(&PGPE{LearningRate: settings.Num(tr.Config.Rate), Sigma: settings.Num(tr.Config.Sigma),
		StdLearningRate: settings.Num(.1),
		Optimizer:       tr.Config.Optimizer, MaxSpeed: settings.Num(tr.Config.MaxSpeed)})
}

// tell is Tell with fitness alone.
func tell(s *Erased, state any, fitness *graph.Array, d population.Draws) any {
	return s.Tell(state, Evaluation{Fitness: fitness, Length: graph.ZerosLike(fitness)}, d)
}

func readTraces(t *testing.T) []trace {
	t.Helper()
	var file struct{ Traces []trace }
	require.NoError(t, oracles.Read("testdata/evosax_openes.json", &file))
	require.NotEmpty(t, file.Traces)
	return file.Traces
}

func array(a oracles.Array) *graph.Array { return graph.Float32s(a.Float32s(), a.Shape...) }

// near requires relative and absolute agreement to tol.
func near(t *testing.T, want oracles.Array, got *graph.Array, tol float64, what string, step int) {
	t.Helper()
	values, err := graph.Floats(got)
	require.NoError(t, err)
	require.Len(t, values, want.Len())
	for i, w := range want.Floats() {
		require.InDelta(t, w, values[i], tol*math.Max(1, math.Abs(w)), "%s after step %d, element %d", what, step, i)
	}
}

// returns converts evosax's fitness, which it minimizes, to returns.
func returns(a oracles.Array) *graph.Array { return array(a).Neg() }

func TestCenteredRanksAreEvosax(t *testing.T) {
	steps := 0
	for _, tr := range readTraces(t) {
		for i, s := range tr.Steps {
			if s.Shaped.Len() == 0 {
				continue
			}
			steps++
			// evosax's smallest is best, at -0.5.
			near(t, s.Shaped, CenteredRanks(returns(s.Fitness)).Neg(), 1e-6, "shaped", i)
		}
	}
	require.Positive(t, steps)
}

func TestCenteredRanks(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	for _, c := range []struct {
		name          string
		fitness, want []float64
	}{
		{"ordered", []float64{1, 2, 3}, []float64{-.5, 0, .5}},
		{"ties share", []float64{5, 1, 5, 0}, []float64{1. / 3, -1. / 6, 1. / 3, -.5}},
		{"all equal", []float64{7, 7, 7, 7}, []float64{0, 0, 0, 0}},
		{"NaN is worst", []float64{nan, 1, 2}, []float64{-.5, 0, .5}},
		{"NaN ties with -Inf", []float64{nan, -inf, 2}, []float64{-.25, -.25, .5}},
		{"infinite", []float64{inf, 0, -inf}, []float64{.5, 0, -.5}},
		{"one", []float64{3}, []float64{0}},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := make([]float32, len(c.fitness))
			for i, v := range c.fitness {
				f[i] = float32(v)
			}
			got, err := graph.Floats(CenteredRanks(graph.Float32s(f)))
			require.NoError(t, err)
			require.InDeltaSlice(t, c.want, got, 1e-6)
		})
	}
}

// Ranks by sorting equal ranks by pairs, with ties and infinities.
func TestRanksBySort(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{2, 3, 4, 7, 8, 9, 100, 300} {
		f := make([]float32, n)
		for i := range f {
			f[i] = float32(r.IntN(n/2+1)) - 1
		}
		f[r.IntN(n)] = float32(math.Inf(1))
		f[r.IntN(n)] = float32(math.Inf(-1))
		want, err := graph.Floats(ranksByPairs(graph.Float32s(f)))
		require.NoError(t, err)
		got, err := graph.Floats(ranksBySort(graph.Float32s(f)))
		require.NoError(t, err)
		require.Equal(t, want, got, "%v", f)
	}
}

// Ask and Tell of OpenES with Adam agree with evosax for five generations, with ties and a failed member. The decay of
// σ follows evosax's schedule, which lags by one generation.
func TestOpenESAgreesWithEvosax(t *testing.T) {
	tested := map[string]int{}
	for _, tr := range readTraces(t) {
		if tr.Strategy != "openes" {
			continue
		}
		tested[tr.Config.Optimizer]++
		es := tr.openES(cmp.Or(tr.Config.SigmaDecay, 1))
		state := es.Init(array(tr.Start.Mean), tr.Config.Population)
		require.Len(t, tr.Steps, 5)
		for i, s := range tr.Steps {
			noise := array(s.Noise)
			asked := genomesOf(es, state, noise).Reshape(s.Population.Shape...)
			state = tell(es, state, returns(s.Fitness), population.Whole(noise))
			told := state.(GaussianState)
			sigma, err := graph.Float(told.Sigma)
			require.NoError(t, err)
			for _, std := range s.Std.Floats() {
				require.InDelta(t, std, sigma, 1e-6, "step %d", i)
			}
			if tr.Config.Optimizer != "adam" {
				continue
			}
			near(t, s.Population, asked, 1e-6, "population", i)
			near(t, s.Mean, told.Mean, 1e-6, "mean", i)
			near(t, s.Adam.Mu, told.Adam.Mu.Neg(), 1e-6, "first moment", i) // evosax descends
			near(t, s.Adam.Nu, told.Adam.Nu, 1e-6, "second moment", i)
			count, err := graph.Float(told.Adam.Count)
			require.NoError(t, err)
			require.Equal(t, float64(s.Adam.Count), count)
		}
	}
	require.Equal(t, map[string]int{"adam": 1, "sgd": 1}, tested)
}

// Tell of PGPE with Adam and with ClipUp agrees with evosax for five generations.
func TestPGPEAgreesWithEvosax(t *testing.T) {
	tested := 0
	for _, tr := range readTraces(t) {
		if tr.Strategy != "pgpe" {
			continue
		}
		tested++
		es := tr.pgpe()
		state := es.Init(array(tr.Start.Mean), tr.Config.Population)
		near(t, tr.Start.Std, state.(PGPEState).Std, 1e-6, "std", -1)
		require.Len(t, tr.Steps, 5)
		for i, s := range tr.Steps {
			noise := array(s.Noise)
			near(t, s.Population, genomesOf(es, state, noise).Reshape(s.Population.Shape...), 1e-6, "population", i)
			state = tell(es, state, returns(s.Fitness), population.Whole(noise))
			near(t, s.Mean, state.(PGPEState).Mean, 1e-6, "mean", i)
			near(t, s.Std, state.(PGPEState).Std, 1e-6, "std", i)
		}
	}
	require.Equal(t, 2, tested)
}

// The elites are the best children in order, the first among equals, failed ones last. Children come from elites.
func TestSimpleGA(t *testing.T) {
	elites := elitist[SimpleGAState]{EliteRatio: .6}
	ga := Erase(&SimpleGA{elitist: elites, Sigma: settings.Num(.5), SigmaDecay: settings.Num(.5)})
	require.Equal(t, 3, ga.Keeps(5))
	require.Equal(t, 1, ga.Keeps(1))
	state := ga.Init(graph.Float32s([]float32{1, 2}), 5)
	children := graph.Float32s([]float32{0, 0, 1, 10, 2, 20, 3, 30, 4, 40}, 5, 2)
	fitness := graph.Float32s([]float32{float32(math.NaN()), 5, 7, 5, -1})
	state = tell(ga, state, fitness, population.Whole(children))
	kept, err := graph.Floats(state.(SimpleGAState).Elites)
	require.NoError(t, err)
	require.Equal(t, []float64{2, 20, 1, 10, 3, 30}, kept)
	still := Erase(&SimpleGA{elitist: elites, SigmaDecay: settings.Num(1)})
	state = tell(still, state, fitness, population.Whole(children)) // σ is 0 from here on
	parents := map[float64]int{}
	for seed := range int64(60) {
		child, err := graph.Floats(still.Sample(random.New(seed), state, nil).(*graph.Array))
		require.NoError(t, err)
		require.Equal(t, 10*child[0], child[1])
		parents[child[0]]++
	}
	require.Len(t, parents, 3)
	for _, n := range parents {
		require.Greater(t, n, 8)
	}
}

// A group's noise depends on its key alone.
func TestOpenESSample(t *testing.T) {
	es := &OpenES{gaussian: gaussian{Sigma: settings.Num(1)}}
	state := es.Init(graph.Zeros(graph.ShapeOf(graph.Float32, 2000)), 2)
	draw := func(seed int64) []float64 {
		v, err := graph.Floats(es.Sample(random.New(seed), state, nil))
		require.NoError(t, err)
		return v
	}
	a := draw(1)
	require.Equal(t, a, draw(1))
	require.NotEqual(t, a, draw(2))
	sum, squares := 0., 0.
	for _, x := range a {
		sum += x
		squares += x * x
	}
	require.InDelta(t, 0, sum/2000, .1)
	require.InDelta(t, 1, squares/2000, .15)
}

// LogWeights equal the weights of Hansen's tutorial, by place.
func TestLogWeights(t *testing.T) {
	inf := math.Inf(1)
	for _, c := range []struct {
		number  int
		what    string
		fitness []float64
		parents int
		order   []int // members from the best on
	}{
		{1, "some", []float64{3, 1, 4, 1.5, 9, 2.6}, 3, []int{4, 2, 0, 5, 3, 1}},
		{2, "equal ones: the first", []float64{2, 2, 2, 2}, 2, []int{0, 1, 2, 3}},
		{3, "NaN and infinities", []float64{math.NaN(), -inf, inf, 0, math.NaN()}, 4, []int{2, 3, 0, 1, 4}},
		{4, "one member", []float64{7}, 1, []int{0}},
		{5, "more parents than members", []float64{1, 2}, 100, []int{1, 0}},
		{6, "nobody is a number", []float64{math.NaN(), math.NaN()}, 1, []int{0, 1}},
	} {
		want, sum := make([]float64, len(c.fitness)), 0.
		for place, member := range c.order {
			want[member] = max(0, math.Log(float64(c.parents)+.5)-math.Log(float64(place+1)))
			sum += want[member]
		}
		for i := range want {
			want[i] /= sum
		}
		f := make([]float32, len(c.fitness))
		for i, x := range c.fitness {
			f[i] = float32(x)
		}
		got, err := graph.Floats(LogWeights(graph.Float32s(f), c.parents))
		require.NoError(t, err)
		require.InDeltaSlice(t, want, got, 1e-6, "case %d: %s", c.number, c.what)
	}
}

// Noise and Move work leaf by leaf and keep dtypes.
func TestNoiseAndMove(t *testing.T) {
	type genome struct{ W, Half, N, None *graph.Array }
	g := genome{graph.Float32s([]float32{1, 2}), graph.Float32s([]float32{1}).Convert(graph.BFloat16),
		graph.Int32s([]int32{5, -5, 16777215}),
		graph.Zeros(graph.ShapeOf(graph.Float32, 0))}
	key := random.New(3)
	z := Noise(key, g)
	floats := func(a *graph.Array) []float64 {
		v, err := graph.Floats(a)
		require.NoError(t, err)
		return v
	}
	require.Equal(t, floats(random.Normal(random.FoldIn(key, 0), g.W.Shape())), floats(z.W))
	require.Equal(t, floats(random.Normal(random.FoldIn(key, 1), g.Half.Shape())), floats(z.Half))
	require.Equal(t, []float64{0, 0, 0}, floats(z.N))
	change := genome{graph.Float32s([]float32{.5, -.5}), graph.Float32s([]float32{2}).Convert(graph.BFloat16),
		graph.Int32s([]int32{3, -2, 1}), g.None}
	moved := Move(g, graph.Scalar(.5), change)
	require.Equal(t, []float64{1.25, 1.75}, floats(moved.W))
	require.Equal(t, []float64{2}, floats(moved.Half))
	require.Equal(t, []float64{6, -6, 16777216}, floats(moved.N), "6.5 and 16777215.5 are rounded to even")
	for i, a := range graph.Leaves(moved) {
		require.Equal(t, graph.Leaves(g)[i].Shape(), a.Shape())
	}
	large := graph.Int32s([]int32{16777217, 1<<30 + 1})
	require.Equal(t, []float64{16777217, 1<<30 + 1},
		floats(Move(large, graph.Scalar(.5), graph.ZerosLike(large))), "what nothing changes stays")
	// what Draws.Sum gives
	sums := genome{z.W, graph.Float32s([]float32{1}), graph.Float32s([]float32{.4, .6, 0}), g.None}
	require.Equal(t, []float64{5, -4, 16777215}, floats(Move(g, graph.Scalar(1), sums).N))
}

// A strategy that is made has settings of its own: those of the next one are the defaults again.
func TestMakeCopiesTheDefaults(t *testing.T) {
	one, err := Make("simplega", settings.Values{"sigma": 3})
	require.NoError(t, err)
	require.Equal(t, 3., one.Settings.(*SimpleGA).Sigma.Value)
	require.Equal(t, .1, lookup("simplega").Settings.(*SimpleGA).Sigma.Value)
}

// A genome of another type than the strategy's was a panic in the strategy, then an error with the line of traits.go.
func TestErasedStrategiesRefuseOtherTrees(t *testing.T) {
	for name, want := range map[string]string{
		"openes": `^the strategy's Init: got a tree of type strategy\.Adam, want \*graph\.Array$`,
		"neat":   `^neat\.go:\d+: the strategy's Init: got a tree of type strategy\.Adam, want genome\.Genome$`,
	} {
		require.Regexp(t, want, graph.Try(func() { lookup(name).Init(Adam{}, 4) }).Error())
	}
}

// general lists the strategies that take any policy.
func general() []string {
	return slices.DeleteFunc(Names(), func(name string) bool {
		return lookup(name).Fit != nil
	})
}

// lookup returns the strategy of a name with its default settings.
func lookup(name string) *Erased {
	s, _ := Make(name, nil)
	return s
}
