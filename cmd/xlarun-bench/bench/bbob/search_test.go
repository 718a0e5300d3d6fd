package bbob

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/graph"
	"xlarun/rollout/evolve/strategy"
	"xlarun/xlabridge"
)

// few are functions that compile quickly.
func few(t *testing.T) []Function {
	t.Helper()
	all := Functions()
	require.Equal(t, []string{"sphere", "rosenbrock"}, []string{all[0].Name, all[7].Name})
	return []Function{all[0], all[7]}
}

func run(t *testing.T, b xlabridge.Backend, s Search, seed int64) []float64 {
	t.Helper()
	best, err := xlabridge.Jit(b, s.Run)(s.NewInputs(seed))
	require.NoError(t, err)
	require.Equal(t, []int{len(s.Functions), s.Seeds}, best.Dims())
	return floats(t, best)
}

// A search on several functions and seeds has the results of single searches, and of a loop over generations in Go.
func TestLanesAreRuns(t *testing.T) {
	s := Search{Functions: few(t), Dims: 3, Population: 6, Generations: 4, Seeds: 3}
	var err error
	s.Strategy, err = strategy.Make("snes", nil)
	require.NoError(t, err)
	b := &xlabridge.Reference{}
	all := run(t, b, s, 1)
	fewer := s
	fewer.Generations = 2
	for i, before := range run(t, b, fewer, 1) {
		require.LessOrEqual(t, all[i], before, "the best so far never gets worse")
	}
	require.NotEqual(t, all, run(t, b, s, 2), "another seed draws other members")
	require.Equal(t, all, run(t, b, s, 1))
	one := s
	one.Functions = s.Functions[:1] // its lanes have the same numbers, so the same keys
	require.InDeltaSlice(t, all[:s.Seeds], run(t, b, one, 1), 1e-5)
}

// Every strategy that is compared finds better values of the sphere than it starts with.
func TestStrategiesDescend(t *testing.T) {
	for _, name := range []string{"annealing", "asebo", "cmaes", "crfmnes", "de", "diffusion", "gesmrga",
		"gradientless", "guidedes", "hillclimbing", "iamalgam", "iamalgamu", "lmmaes", "maes", "mr15ga", "nres",
		"openes", "pes", "pso", "randomsearch", "rmes", "samrga", "simplega", "svcmaes"} {
		s := Search{Functions: few(t)[:1], Dims: 3, Population: 8, Generations: 1, Seeds: 2}
		var err error
		s.Strategy, err = strategy.Make(name, nil)
		require.NoError(t, err)
		b := &xlabridge.Reference{}
		first := run(t, b, s, 1)
		s.Generations = 8
		for i, after := range run(t, b, s, 1) {
			require.Less(t, after, first[i], name)
			require.False(t, math.IsNaN(after), name)
		}
	}
}

// In-place draws do what the strategies expect of them.
func TestDrawn(t *testing.T) {
	d := drawn{graph.Float32s([]float32{1, 2, 3, 4, 5, 6}, 3, 2)}
	w := graph.Float32s([]float32{1, -1, .5})
	require.Equal(t, 3, d.Items())
	require.Equal(t, []float64{.5, 1}, floats(t, d.Sum(w, nil).(*graph.Array)))
	double := func(draw any) any { return graph.Mul(2, draw.(*graph.Array)) }
	require.Equal(t, []float64{1, 2}, floats(t, d.Sum(w, double).(*graph.Array)))
	require.Equal(t, []float64{2, 4, 6, 8, 10, 12}, floats(t, d.Map(double).(*graph.Array)))
	require.Equal(t, []float64{1 - 9 + 12.5, 2 - 12 + 15, 2 - 12 + 15, 4 - 16 + 18},
		floats(t, d.Outer(w, func(draw any) *graph.Array {
			return draw.(*graph.Array)
		})))
}
