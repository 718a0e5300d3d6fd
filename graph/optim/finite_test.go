package optim_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/graph"
	"xlarun/graph/linalg"
	"xlarun/graph/optim"
)

// Infinities are not finite, integers are ignored, and the state counts the steps and marks the leaves.
func TestStepsThatAreNotFinite(t *testing.T) {
	type params struct{ W, N *graph.Array }
	start := params{graph.Scalar(1), graph.Of(3)}
	opt := optim.ApplyIfFinite(optim.SGD(1), 1)
	state := opt.Init(start)
	for i, c := range []struct {
		grad       float64
		want       float64
		row, total float64
	}{
		{.5, .5, 0, 0}, {math.Inf(1), .5, 1, 1}, {.25, .25, 0, 1}, {math.NaN(), .25, 1, 2},
		{math.Inf(-1), math.Inf(1), 2, 3},
	} {
		start, state = optim.Step(opt, start, params{graph.Scalar(c.grad), graph.Of(7)}, state)
		s := state.(optim.FiniteState)
		require.Equal(t, []float64{c.want}, floats(t, start.W), i)
		require.Equal(t, []float64{3}, floats(t, start.N), i)
		require.Equal(t, []float64{c.row, c.total}, append(floats(t, s.Row), floats(t, s.Total)...), i)
	}
	zero := optim.ZeroNaNs()
	g, s := optim.Update(zero, params{graph.Scalar(math.NaN()), graph.Of(7)}, zero.Init(start), start)
	require.Equal(t, []float64{0}, floats(t, g.W))
	require.Equal(t, []float64{1}, floats(t, s.(optim.NaNState).Found.(params).W))
	g, s = optim.Update(zero, params{graph.Scalar(math.Inf(1)), graph.Of(7)}, s, start)
	require.Equal(t, []float64{math.Inf(1)}, floats(t, g.W))
	require.Equal(t, []float64{0}, floats(t, s.(optim.NaNState).Found.(params).W))
}

// Muon's updates of matrices, wide, tall and of one element, are nearly orthogonal; a gradient of zeros gives none.
func TestMuonIsOrthogonal(t *testing.T) {
	for _, dims := range [][2]int{{3, 5}, {5, 3}, {4, 4}, {1, 1}, {1, 6}} {
		w := graph.Add(1, graph.Iota(dims[0]*dims[1]).Convert(graph.Float32).Reshape(dims[0],
			dims[1])).Sin()
		opt := optim.ScaleByMuon()
		u, _ := optim.Update(opt, w, opt.Init(w), w)
		_, s, _ := linalg.SVD(u)
		most := floats(t, s)[0]
		require.InDelta(t, 1, most, .35, dims)
		u, _ = optim.Update(opt, graph.ZerosLike(w), opt.Init(w), w)
		require.Equal(t, make([]float64, dims[0]*dims[1]), floats(t, u))
	}
}
