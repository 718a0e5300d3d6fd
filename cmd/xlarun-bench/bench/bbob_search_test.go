package bench_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/cmd/xlarun-bench/bench/bbob"
	"xlarun/rollout/evolve/strategy"
	"xlarun/xlabridge"
)

// few are functions that compile quickly.
func few(t *testing.T) []bbob.Function {
	t.Helper()
	all := bbob.Functions()
	require.Equal(t, []string{"sphere", "rosenbrock"}, []string{all[0].Name, all[7].Name})
	return []bbob.Function{all[0], all[7]}
}

func run(t *testing.T, b xlabridge.Backend, s bbob.Search, seed int64) []float64 {
	t.Helper()
	best, err := xlabridge.Jit(b, s.Run)(s.NewInputs(seed))
	require.NoError(t, err)
	require.Equal(t, []int{len(s.Functions), s.Seeds}, best.Dims())
	return floats(t, best)
}

// A search on several functions and seeds has the results of single searches, and of a loop over generations in Go.
func TestLanesAreRuns(t *testing.T) {
	s := bbob.Search{Functions: few(t), Dims: 3, Population: 6, Generations: 4, Seeds: 3}
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
		s := bbob.Search{Functions: few(t)[:1], Dims: 3, Population: 8, Generations: 1, Seeds: 2}
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
