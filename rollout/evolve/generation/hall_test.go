package generation

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/graph"
	"xlarun/rollout/settings"
)

// The hall of fame equals a sorted list: the highest fitness, each genome once.
func TestHall(t *testing.T) {
	inf := math.Inf(-1)
	for _, c := range []struct {
		// 1: it fills; 2: duplicates, higher and lower; 3: equal fitness; 4: generations without a number; 5: one
		// place; 6: what lies in a free place is nobody's
		number  int
		places  int
		fitness []float64
		genome  []float32
	}{
		{1, 3, []float64{5, 1, 3, 2, 9, 4}, []float32{1, 2, 3, 4, 5, 6}},
		{2, 3, []float64{5, 7, 6, 2, 9, 8}, []float32{1, 1, 1, 2, 2, 3}},
		{3, 2, []float64{5, 5, 5, 6}, []float32{1, 2, 3, 4}},
		{4, 2, []float64{inf, 3, inf, inf, 1}, []float32{7, 8, 9, 9, 6}},
		{5, 1, []float64{-3, -5, -2}, []float32{1, 2, 3}},
		{6, 3, []float64{2, 1}, []float32{0, 0}},
	} {
		type one struct{ fitness, genome, generation float64 }
		var want []one
		h := newHall(Best{Genome: graph.Zeros(graph.ShapeOf(graph.Float32, 2)), Observation: unscaled{}},
			c.places).(hall)
		for g, f := range c.fitness {
			now := one{f, float64(c.genome[g]), float64(g)}
			at := slices.IndexFunc(want, func(o one) bool { return o.genome == now.genome })
			switch {
			case math.IsInf(f, -1):
			case at >= 0 && f > want[at].fitness:
				want[at] = now
			case at < 0 && len(want) < c.places:
				want = append(want, now)
			case at < 0:
				low := 0
				for i, o := range want {
					if o.fitness < want[low].fitness {
						low = i
					}
				}
				if f > want[low].fitness {
					want[low] = now
				}
			}
			h = h.with(Best{Observation: unscaled{}, Genome: graph.Float32s([]float32{c.genome[g], 1}),
				Fitness:    graph.Of(float32(f)),
				Generation: graph.Of(int32(g))}).(hall)
		}
		var got []one
		fitness, err := graph.Floats(h.Fitness)
		require.NoError(t, err)
		generation, err := graph.Floats(h.Generation)
		require.NoError(t, err)
		genomes, err := graph.Floats(h.Genomes.(*graph.Array))
		require.NoError(t, err)
		for i, f := range fitness {
			if !math.IsInf(f, -1) {
				got = append(got, one{f, genomes[2*i], generation[i]})
			}
		}
		require.ElementsMatch(t, want, got, "case %d", c.number)
	}
	require.Empty(t, graph.Leaves(newHall(Best{Genome: graph.Scalar(0)}, 0).with(Best{})), "no places, no state")
}

// A wrong number of places is refused. Large networks have no hall by default.
func TestPlaces(t *testing.T) {
	for _, c := range []struct {
		text   string
		params int
		want   int // -1: refused
	}{{"auto", 100, 4}, {"auto", 1 << 20, 0}, {"", 100, 4}, {"0", 1, 0}, {"7", 1 << 20, 7}, {"1000", 1, 1000},
		{"1001", 1, -1}, {"-1", 1, -1}, {"many", 1, -1}, {"1.5", 1, -1}} {
		config := DefaultSearch()
		config.HallOfFame = c.text
		n, err := config.places(c.params)
		if c.want < 0 {
			require.ErrorContains(t, err, "want a number of members from 0 to 1000, or auto", c.text)
			require.ErrorAs(t, err, new(*settings.Error))
			continue
		}
		require.NoError(t, err)
		require.Equal(t, c.want, n, c.text)
	}
}
