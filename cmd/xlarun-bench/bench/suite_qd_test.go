package bench

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/cmd/xlarun-bench/bench/bbob"
	"xlarun/internal/long"
	"xlarun/rollout/qd"
	"xlarun/rollout/settings"
	"xlarun/third_party/oracles"
	"xlarun/xlabridge"
	"xlarun/xlabridge/xlatest"
)

// After as many evaluations, an archive has as many elites as QDax's, as good ones: none of the numbers is
// significantly lower, by the exact rank-sum test at 5 %. Each run has centroids of its own, as in QDax: some
// centroids leave the arm fewer cells within its reach.
func TestArchivesAreAsFullAsQDaxs(t *testing.T) {
	long.Only(t)
	var file struct {
		Tasks map[string]map[string][]float64
	}
	require.NoError(t, oracles.Read("testdata/qdax_seeds.json", &file))
	b := xlatest.Open(t, 1)
	for _, c := range []struct{ name, env string }{{"arm", "Arm-v0"}, {"Rastrigin", "Rastrigin-v0"}} {
		t.Run(c.name, func(t *testing.T) {
			theirs, ours := file.Tasks[c.env], map[string][]float64{}
			for seed := range 20 {
				for name, x := range archiveOf(t, b, c.env, int64(seed)) {
					ours[name] = append(ours[name], x)
				}
			}
			for i, percent := range theirs["coverage"] {
				theirs["coverage"][i] = filledCells(percent / 100)
			}
			for name, runs := range ours {
				require.Len(t, theirs[name], 20)
				p, sign := bbob.RankSum(runs, theirs[name])
				t.Logf("%s: median %.6g, QDax's %.6g, p %.3g", name, median(runs), median(theirs[name]), p)
				require.False(t, sign < 0 && p < .05, name)
			}
		})
	}
}

const cellsOfSeeds = 1024

// filledCells returns the number of cells of a coverage. Ranks of whole numbers have ties where rounding hides them.
func filledCells(coverage float64) float64 { return math.Round(coverage * cellsOfSeeds) }

// archiveOf returns the metrics of a run that qdax_seeds.py describes.
func archiveOf(t *testing.T, b xlabridge.Backend, env string, seed int64) map[string]float64 {
	t.Helper()
	const generations = 100
	c := qd.DefaultConfig()
	c.Env, c.Batch, c.Archive, c.Seed = env, 256, "cvt:1024", seed
	c.Parted = c.Parted.With("emitter.line-sigma", .1).With("archive.seed", seed)
	for name, value := range c.Suggested() {
		if f, ok := settings.Lookup(&c, name); ok {
			require.NoError(t, f.Set(value))
		} else {
			c.Parted = c.Parted.With(name, value)
		}
	}
	r, err := c.Start(t.Context(), b)
	require.NoError(t, err)
	defer func() { require.NoError(t, r.Close()) }()
	for {
		m, err := r.Step(t.Context())
		require.NoError(t, err)
		if m.Step < generations {
			continue
		}
		numbers := map[string]float64{}
		for _, name := range []string{"coverage", "qd_score", "best_fitness"} {
			x, ok := m.Get(name)
			require.True(t, ok, name)
			numbers[name] = x
		}
		numbers["coverage"] = filledCells(numbers["coverage"])
		return numbers
	}
}

func median(x []float64) float64 {
	x = slices.Sorted(slices.Values(x))
	return (x[(len(x)-1)/2] + x[len(x)/2]) / 2
}
