package strategy

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/graph"
	"xlarun/graph/random"
	"xlarun/rollout/population"
)

// An immigrant's draw makes its member. For a distant one, the member lies in the same direction, as far as likely
// noise reaches.
func TestImmigrantsAreMembers(t *testing.T) {
	const n, members = 7, 8
	receiving := 0
	for _, name := range Names() {
		s, err := Make(name, nil)
		require.NoError(t, err)
		if s.Immigrant == nil {
			continue
		}
		receiving++
		start := random.Normal(random.New(1), graph.ShapeOf(graph.Float32, n))
		state := s.Init(start, members)
		// A told generation makes scales and bases that are no identities.
		keys := random.SplitN(random.New(2), members/s.GroupSize)
		draws := make([]any, len(keys))
		for i, key := range keys {
			draws[i] = s.Sample(key, state, graph.Of(int32(i)))
		}
		leaves, tree := graph.Flatten(draws[0])
		for j := range leaves {
			var rows []*graph.Array
			for _, d := range draws {
				rows = append(rows, graph.Leaves(d)[j])
			}
			leaves[j] = graph.Stack(rows, 0)
		}
		fitness := graph.Float32s([]float32{3, 1, 4, 1.5, 9, 2.6, 5, 3.5})
		state = tell(s, state, fitness, population.Whole(tree.Unflatten(leaves)))
		mean := s.Mean(state).(*graph.Array)
		if several, ok := state.(SVCMAESState); ok { // side 0 belongs to the first search
			mean = several.Searches.Mean.Index(0)
		}
		away := random.Normal(random.New(3), graph.ShapeOf(graph.Float32, n))
		floats := func(a *graph.Array) []float64 {
			v, err := graph.Floats(a)
			require.NoError(t, err)
			return v
		}
		member := func(genome *graph.Array) []float64 {
			return floats(s.Member(state, s.Immigrant(state, genome), graph.Of(int32(0))).(*graph.Array))
		}
		near := mean.Add(away.Mul(float32(.02)))
		require.InDeltaSlice(t, floats(near), member(near), 2e-4, name)
		far := mean.Add(away.Mul(float32(1e5)))
		if s.Parent != nil {
			require.Equal(t, floats(far), member(far), name)
			continue
		}
		got, c, dot, a2, m2 := member(far), floats(mean), 0., 0., 0.
		for i, x := range floats(away) {
			m := got[i] - c[i]
			dot, a2, m2 = dot+x*m, a2+x*x, m2+m*m
		}
		require.InDelta(t, 1, dot/math.Sqrt(a2*m2), 1e-3, "%s turns it", name)
		require.Less(t, math.Sqrt(m2), 50., "%s is thrown by it", name)
	}
	require.GreaterOrEqual(t, receiving, 12)
}

// likely keeps likely noise, and cuts other noise to Hansen's length.
func TestLikely(t *testing.T) {
	length := func(z ...float32) float64 {
		v, err := graph.Floats(likely(graph.Float32s(z)))
		require.NoError(t, err)
		return math.Hypot(v[0], v[1])
	}
	most := math.Sqrt2 + 1
	require.InDelta(t, 1, length(.6, .8), 1e-6)
	require.InDelta(t, most, length(30, 40), 1e-5)
	require.InDelta(t, most, length(3e30, -4e30), 1e-5, "squares beyond all numbers")
	require.True(t, math.IsNaN(length(float32(math.NaN()), 0)), "whoever is no number is told apart by the caller")
}
