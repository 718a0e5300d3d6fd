package qd

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/graph"
)

// The table of near centroids finds what all distances find, also where a descriptor lies on a border of buckets.
func TestCellIsTheNearestCentroid(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	tables := 0
	for _, c := range []struct{ cells, d int }{{2, 1}, {50, 1}, {300, 2}, {400, 3}, {60, 5}} {
		made, err := (&CVT{Number: c.cells}).Divide(c.d)
		require.NoError(t, err)
		cvt := made.(cvt)
		if _, ok := cvt.Tables().(nearTable); ok {
			tables++
		}
		points := cvt.centroids().points
		const batch = 500
		x := make([]float32, batch*c.d)
		side := max(1, cvt.centroids().side)
		for i := range x {
			if x[i] = rng.Float32(); rng.IntN(3) == 0 {
				x[i] = float32(rng.IntN(side+1)) / float32(side)
			}
		}
		all := graph.Float32s(x, batch, c.d)
		got := floats(t, graph.VMap(func(x *graph.Array) *graph.Array { return cvt.Cell(cvt.Tables(), x) })(all))
		every := graph.Float32s(points.flat, points.len(), c.d)
		brute := graph.VMap(func(x *graph.Array) *graph.Array { return nearest(every, x) })(all)
		require.Equal(t, floats(t, brute), got, "%+v: of equally near centroids the first", c)
		for i := range batch {
			mine := x[i*c.d : (i+1)*c.d]
			least := math.Inf(1)
			for p := range points.len() {
				least = min(least, points.squareTo(p, mine))
			}
			require.InDelta(t, least, points.squareTo(int(got[i]), mine), 1e-6, "%+v", c)
			host := newBuckets(points, sideOf(points, 2)).nearest(mine, i%3-1)
			require.InDelta(t, least, points.squareTo(host, mine), 1e-12, "%+v", c)
		}
	}
	require.GreaterOrEqual(t, tables, 3, "tables serve few numbers in a descriptor")
}

// Cells of a CVT have about the same size: each gets its share of uniform descriptors, and the centroid is their mean.
func TestCentroidsAreMeans(t *testing.T) {
	p := kMeans(50, 2, 0)
	rng := rand.New(rand.NewPCG(5, 6))
	b := newBuckets(p, sideOf(p, 2))
	sums, counts := make([]float64, 100), make([]float64, 50)
	const samples = 100_000
	for range samples {
		x := []float32{rng.Float32(), rng.Float32()}
		c := b.nearest(x, -1)
		counts[c]++
		sums[2*c] += float64(x[0])
		sums[2*c+1] += float64(x[1])
	}
	for c, n := range counts {
		require.InDelta(t, 1./50, n/samples, .012)
		require.InDelta(t, float64(p.at(c)[0]), sums[2*c]/n, .03)
		require.InDelta(t, float64(p.at(c)[1]), sums[2*c+1]/n, .03)
	}
	require.Equal(t, p, kMeans(50, 2, 0), "the same seed gives the same centroids")
	require.NotEqual(t, p, kMeans(50, 2, 1))
}

func TestGrid(t *testing.T) {
	g := grid{3, 2}
	require.Equal(t, 6, g.Cells())
	for cell, center := range g.Centers() {
		at := graph.Float32s([]float32{float32(center[0]), float32(center[1])})
		require.Equal(t, []float64{float64(cell)}, floats(t, g.Cell(nil, at)))
	}
	for _, c := range []struct {
		x, y float32
		want float64
	}{{0, 0, 0}, {1, 1, 5}, {.34, .49, 2}, {.32, .51, 1}} {
		require.Equal(t, []float64{c.want}, floats(t, g.Cell(nil, graph.Float32s([]float32{c.x, c.y}))))
	}
}
