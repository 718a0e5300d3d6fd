package strategy

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/graph"
	"xlarun/graph/random"
	"xlarun/internal/long"
	"xlarun/rollout/population"
	"xlarun/rollout/settings"
	"xlarun/xlabridge"
	"xlarun/xlabridge/xlatest"
)

// hill is -|x - 1|², valley is -Rosenbrock, ridge is an ellipsoid of condition 1000 across all axes. Their maxima are
// 0.
func hill(x *graph.Array) *graph.Array {
	return x.Sub(1).Square().Sum().Neg()
}

func valley(x *graph.Array) *graph.Array {
	n := x.Dim(0)
	a, b := graph.SliceAxis(x, 0, 0, n-1), graph.SliceAxis(x, 0, 1, n)
	return graph.Mul(100, b.Sub(a.Square()).Square()).Add(graph.Sub(1, a).Square()).Sum().Neg()
}

func ridge(x *graph.Array) *graph.Array {
	n := x.Dim(0)
	axis := graph.Iota(n).Convert(graph.Float32).Add(1).Div(float32(math.Sqrt(float64(n*(n+1)*(2*n+1)) / 6)))
	x = x.Sub(1)
	x = x.Sub(axis.Mul(graph.Mul(2, x.Dot(axis)))) // mirrored
	power := graph.Iota(n).Convert(graph.Float32).Mul(float32(3 / float64(n-1)))
	return graph.Pow(float32(10), power).Mul(x.Square()).Sum().Neg()
}

// climb searches function 0, 1 or 2 from -1 on, and returns the fitness of the mean at the start and at the end. With
// failing, a fifth of each generation has NaN fitness.
func climb(t *testing.T, b xlabridge.Backend, s *Erased, n, members, generations int, failing bool) func(number int32,
	seed int64) (start, end float64) {
	t.Helper()
	function := func(number, x *graph.Array) *graph.Array {
		return graph.Switch(number, func() *graph.Array { return hill(x) }, func() *graph.Array { return valley(x) },
			func() *graph.Array { return ridge(x) })
	}
	type step struct {
		State  any
		Number *graph.Array
		Key    random.Key
	}
	type reached struct {
		State any
		Mean  *graph.Array // fitness
	}
	groups := members / s.GroupSize
	shape := []int{n}
	if !s.Flat {
		shape = []int{n / 2, 2} // a matrix
	}
	next := xlabridge.Jit2(b, func(in step, generation *graph.Array) reached {
		// As in evolve: otherwise the compiler computes the hash of the keys again for each number drawn.
		keys := graph.Once(random.Split(random.FoldIn(in.Key, generation), groups))
		draws := graph.Once(drawsOf(s, in.State, keys, groups))
		fitness := graph.VMap(func(x *graph.Array) *graph.Array {
			return function(in.Number, x)
		})(genomesOf(s, in.State, draws).Reshape(members, n))
		if failing {
			fitness = graph.Select(graph.Iota(members).Add(generation).Rem(5).Eq(0), math.NaN(),
				fitness)
		}
		state := tell(s, in.State, fitness, population.Whole(draws))
		return reached{state, function(in.Number, graph.Flatten1D(s.Mean(state).(*graph.Array)))}
	})
	return func(number int32, seed int64) (start, end float64) {
		state, err := graph.Eval(s.Init(graph.Full(graph.ShapeOf(graph.Float32, shape...), -1), members))
		require.NoError(t, err)
		start, err = graph.Float(function(graph.Of(number), graph.Full(graph.ShapeOf(graph.Float32, n), -1)))
		require.NoError(t, err)
		var last reached
		for g := range generations {
			last, err = next(step{state, graph.Of(number), random.New(seed)}, graph.Of(int32(g)))
			require.NoError(t, err)
			state = last.State
		}
		end, err = graph.Float(last.Mean)
		require.NoError(t, err)
		return start, end
	}
}

// Every strategy climbs: by a factor, the mean is nearer to the maximum of a function of 10 parameters after 200
// generations of 40 members, a fifth of which fail. The short form has those of which there are no traces of evosax,
// and cmaes, which decomposes a matrix.
func TestStrategiesClimb(t *testing.T) {
	b := xlatest.OpenCPU(t, 1)
	half := settings.Num(.5)
	for _, c := range []struct {
		strategy string
		change   func(s any)
		least    [3]float64 // factors for hill, valley and ridge: a third of what was seen or less, svcmaes in 24 seeds
		long     bool       // another setting of a strategy that stands above
	}{
		{"openes", func(s any) { s.(*OpenES).LearningRate = settings.Num(.05) },
			[3]float64{10000, 100, 10000}, true},
		{"pgpe", func(s any) { s.(*PGPE).LearningRate = settings.Num(.05) }, [3]float64{1e6, 100, 1e5}, true},
		{"pgpe", func(s any) { s.(*PGPE).Optimizer = pgpeClipUp }, [3]float64{1000, 100, 100}, true},
		{"simplega", nil, [3]float64{10, 10, 100}, false},
		{"snes", func(s any) { s.(*SNES).Sigma = half }, [3]float64{1e8, 100, 1e7}, true},
		{"sepcmaes", func(s any) { s.(*SepCMAES).Sigma = half }, [3]float64{1e8, 100, 1e6}, true},
		{"cmaes", func(s any) { s.(*CMAES).Sigma = half }, [3]float64{1e8, 1000, 1e8}, false},
		{"cmaes", func(s any) { s.(*CMAES).Sigma, s.(*CMAES).EigenEvery = half, 7 },
			[3]float64{1e8, 1000, 1e8}, true},
		{"xnes", func(s any) { s.(*XNES).Sigma = half }, [3]float64{1e5, 100, 1e6}, true},
		{"crfmnes", func(s any) { s.(*CRFMNES).Sigma = half }, [3]float64{1e8, 1e5, 1e8}, true},
		{"ars", func(s any) { s.(*ARS).LearningRate = settings.Num(.05) }, [3]float64{10000, 100, 10000}, true},
		{"eggroll", func(s any) { s.(*Eggroll).LearningRate = settings.Num(.05) },
			[3]float64{1000, 100, 1000}, false},
		{"de", nil, [3]float64{1e7, 100, 1e6}, true},
		{"de", func(s any) { s.(*DE).Base = deRandom }, [3]float64{100, 10, 100}, true},
		{"pso", nil, [3]float64{1000, 100, 1000}, true},
		{"samrga", nil, [3]float64{1e5, 100, 100}, false},
		{"randomsearch", nil, [3]float64{1.3, 3.8, 3.6}, false},
		{"maes", func(s any) { s.(*MAES).Sigma = half }, [3]float64{1e8, 2000, 1e8}, true},
		{"lmmaes", func(s any) { s.(*LMMAES).Sigma = half }, [3]float64{1e8, 200, 60000}, true},
		{"rmes", func(s any) { s.(*RmES).Sigma = half }, [3]float64{2e7, 700, 9000}, true},
		{"svcmaes", func(s any) { s.(*SVCMAES).Sigma = half }, [3]float64{8, 13, 1200}, true},
		{"iamalgam", func(s any) { s.(*IAMaLGaM).Sigma = half }, [3]float64{2000, 90, 50}, true},
		{"iamalgamu", func(s any) { s.(*UnivariateIAMaLGaM).Sigma = half }, [3]float64{1e8, 200, 90}, true},
		{"guidedes", func(s any) { s.(*GuidedES).LearningRate = settings.Num(.05) },
			[3]float64{300, 30, 4000}, true},
		{"asebo", func(s any) { s.(*ASEBO).LearningRate = settings.Num(.05) }, [3]float64{4000, 60, 30000}, true},
		{"nres", func(s any) { s.(*NRES).LearningRate = settings.Num(.05) }, [3]float64{40000, 100, 10000}, true},
		{"pes", func(s any) { s.(*PES).LearningRate = settings.Num(.05) }, [3]float64{4000, 100, 2000}, true},
		{"mr15ga", nil, [3]float64{2e7, 100, 200}, true},
		{"gesmrga", nil, [3]float64{30000, 200, 200}, true},
		{"diffusion", func(s any) { s.(*Diffusion).Sigma = half }, [3]float64{1, 9, 1}, true},
		{"hillclimbing", func(s any) { s.(*HillClimbing).Sigma = settings.Num(.1) },
			[3]float64{900, 90, 2000}, true},
		{"gradientless", nil, [3]float64{8e5, 100, 3000}, true},
		{"annealing", func(s any) { s.(*SimulatedAnnealing).Sigma = settings.Num(.1) },
			[3]float64{200, 80, 2000}, true},
	} {
		if c.long && !long.On() {
			continue
		}
		s := lookup(c.strategy)
		if c.change != nil {
			c.change(s.Settings)
		}
		run := climb(t, b, s, 10, 40, 200, true)
		for i, least := range c.least {
			start, end := run(int32(i), 1)
			require.GreaterOrEqual(t, start/min(end, -1e-12), least, "%s on function %d: %g, then %g", c.strategy, i,
				start, end)
		}
	}
}
