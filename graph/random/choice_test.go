package random

import (
	"slices"
	"sort"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/graph"
)

func ints(t *testing.T, a *graph.Array) []int {
	t.Helper()
	v, err := graph.Floats(a)
	require.NoError(t, err)
	out := make([]int, len(v))
	for i := range v {
		out[i] = int(v[i])
	}
	return out
}

// Both ways of searching find what Go's own search finds.
func TestFirstAtLeast(t *testing.T) {
	for _, n := range []int{1, 2, 3, linearSearch, linearSearch + 1, 127, 128, 129, 200} {
		ascending := make([]float32, n)
		for i := range ascending {
			ascending[i] = float32(i / 2) // every value twice
		}
		var x []float32
		for i := -1; i <= n/2+1; i++ {
			x = append(x, float32(i), float32(i)+.5)
		}
		want := make([]int, len(x))
		for i, v := range x {
			want[i] = min(n-1, sort.Search(n, func(j int) bool { return ascending[j] >= v }))
		}
		require.Equal(t, want, ints(t, firstAtLeast(graph.Float32s(ascending), graph.Float32s(x))), n)
		two := graph.Float32s(x).Reshape(2, -1)
		require.Equal(t, want, ints(t, firstAtLeast(graph.Float32s(ascending), two)), n)
	}
}

func TestPermutationsHoldEverythingOnce(t *testing.T) {
	for _, n := range []int{0, 1, 2, 100, 2000} {
		got := ints(t, Permutation(New(3), n))
		if n > 10 {
			require.False(t, slices.IsSorted(got), n)
		}
		slices.Sort(got)
		for i := range n {
			require.Equal(t, i, got[i])
		}
		require.Len(t, got, n)
	}
}

// Over many keys each element comes first equally often.
func TestPermutationIsFair(t *testing.T) {
	const n, keys = 5, 4000
	first := make([]int, n)
	orders := graph.VMap(func(k Key) *graph.Array { return Permutation(k, n) })(Split(New(1), keys))
	for i, x := range ints(t, orders) {
		if i%n == 0 {
			first[x]++
		}
	}
	for _, c := range first {
		require.InDelta(t, keys/n, c, 5*25.3) // five standard deviations of a binomial count
	}
}

func TestDistinctDraws(t *testing.T) {
	weights := graph.Float32s([]float32{1, 0, 3, 2, 0, 5})
	for seed := range int64(20) {
		for name, got := range map[string][]int{
			"choice":      ints(t, Choice(New(seed), 4, Draws(2, 2), WithoutReplacement())),
			"weighted":    ints(t, Choice(New(seed), 6, Draws(4), Weights(weights), WithoutReplacement())),
			"categorical": ints(t, Categorical(New(seed), weights.Log(), 0, Draws(4), WithoutReplacement())),
		} {
			require.Len(t, got, 4)
			slices.Sort(got)
			require.Len(t, slices.Compact(got), 4, name)
			if name != "choice" {
				require.Equal(t, []int{0, 2, 3, 5}, got, "%s draws what has weight", name)
			}
		}
	}
}

// Weights need not add up to 1, may be integers, and those of 0 are never drawn.
func TestWeights(t *testing.T) {
	a := ints(t, Choice(New(2), 3, Draws(500), Weights(graph.Float32s([]float32{.5, 0, .25}))))
	require.Equal(t, a, ints(t, Choice(New(2), 3, Draws(500), Weights(graph.Float32s([]float32{2, 0, 1})))))
	require.Equal(t, a, ints(t, Choice(New(2), 3, Draws(500), Weights(graph.Int32s([]int32{2, 0, 1})))))
	require.NotContains(t, a, 1)
	require.Contains(t, a, 0)
	require.Contains(t, a, 2)
}

func TestChoiceOfKeepsTheOtherAxes(t *testing.T) {
	x := graph.Iota(12).Reshape(3, 4)
	require.Equal(t, []int{2, 5, 4}, ChoiceOf(New(1), x, 0, Draws(2, 5)).Dims())
	require.Equal(t, []int{3, 2}, ChoiceOf(New(1), x, -1, Draws(2)).Dims())
	require.Equal(t, []int{4}, ChoiceOf(New(1), x, 0).Dims())
	require.Equal(t, []int{0, 4}, ChoiceOf(New(1), x, 0, Draws(0)).Dims())
}

// Bernoulli takes its shape from p where no dims are given.
func TestBernoulliShape(t *testing.T) {
	p := graph.Float32s([]float32{0, 1, 0, 1}, 2, 2)
	got := Bernoulli(New(1), p)
	require.Equal(t, "bool[2,2]", got.Shape().String())
	require.Equal(t, []int{0, 1, 0, 1}, ints(t, got))
	require.Equal(t, []int{3, 2, 2}, Bernoulli(New(1), p, 3, 2, 2).Dims())
	require.Empty(t, Bernoulli(New(1), .5).Dims())
}
