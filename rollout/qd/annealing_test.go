package qd

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/envs"
	"xlarun/graph"
	"xlarun/rollout/settings"
	"xlarun/third_party/oracles"
)

// Thresholds, acceptance and improvement equal pyribs's, with annealing and without.
func TestThresholdsOfPyribs(t *testing.T) {
	var file struct {
		Archives []struct {
			Rate  float64
			Min   *float64
			Sides []int
			Steps []struct{ Descriptors, Fitnesses, Status, Value, Thresholds oracles.Array }
		}
	}
	require.NoError(t, oracles.Read("testdata/ribs_archive.json.gz", &file))
	for _, c := range file.Archives {
		annealing := Annealing{Rate: settings.Num(c.Rate)}
		if c.Min != nil {
			annealing.Min = settings.Num(*c.Min)
		}
		a := newElites(12, 1, 2, annealing)
		for k, s := range c.Steps {
			b := batchOf(grid(c.Sides), envs.Positive(1, 1), graph.Zeros(graph.ShapeOf(graph.Float32, 30, 1)),
				array(s.Fitnesses), array(s.Descriptors))
			var change Change
			a, change = a.insert(b, graph.Of(int32(k)), annealing)
			status := change.Accepted.Convert(graph.Int32).Mul(change.Empty.Convert(graph.Int32).Add(1))
			require.Equal(t, s.Status.Floats(), floats(t, status), "rate %g, step %d", c.Rate, k)
			require.InDeltaSlice(t, s.Value.Floats(), floats(t, change.Improvement), 1e-5)
			for i, got := range floats(t, a.Threshold) {
				if want := s.Thresholds.Floats()[i]; !math.IsInf(want, -1) || !math.IsInf(got, -1) {
					require.InDelta(t, want, got, 1e-5, "rate %g, step %d, cell %d", c.Rate, k, i)
				}
			}
		}
	}
}
