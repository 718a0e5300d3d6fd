package envs_test

import (
	"image"
	"image/color"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/envs/draw"
	"xlarun/graph"
)

func TestCanvasPlacesShapesInItsView(t *testing.T) {
	// 10 pixels for one unit, in the middle of the width.
	c := draw.NewCanvas(image.Pt(40, 20), draw.At(0, 0), draw.At(2, 2))
	c.Rectangle(draw.Wood, draw.At(0, 0), draw.At(1, 1))
	c.Disc(draw.Accent, draw.At(1.5, 1.5), .4)
	c.Line(draw.Ink, draw.At(0, 1.5), draw.At(1, 1.5), .2)
	c.Polygon(draw.Signal, draw.At(1, 0), draw.At(2, 0), draw.At(2, 1))
	c.Polygon(draw.Signal)
	c.Disc(draw.Signal, draw.At(1e300, math.Inf(1)), 1)
	img, err := c.Image()
	require.NoError(t, err)
	for at, want := range map[image.Point]color.RGBA{{12, 18}: draw.Wood, {25, 5}: draw.Accent, {15, 5}: draw.Ink,
		{28, 17}: draw.Signal, {5, 10}: draw.Paper, {22, 11}: draw.Paper} {
		require.Equal(t, want, img.At(at.X, at.Y), "pixel %v", at)
	}
}

func TestNewCanvasRefuses(t *testing.T) {
	for _, size := range []image.Point{{0, 1}, {1, 0}, {-1, 5}, {draw.MaxSide + 1, 1}, {1, draw.MaxSide + 1}} {
		_, err := draw.NewCanvas(size, draw.At(0, 0), draw.At(1, 1)).Image()
		require.ErrorContains(t, err, "want 1 to 8192 on each side", "%v", size)
	}
}

func TestCanvasReads(t *testing.T) {
	type state struct{ X, Board *graph.Array }
	s := state{graph.Scalar(3), graph.Iota(6).Reshape(2, 3).Eq(4)}
	x := func(s state) []*graph.Array { return []*graph.Array{s.X} }
	board := func(s state) *graph.Array { return s.Board }
	newCanvas := func() *draw.Canvas { return draw.NewCanvas(image.Pt(40, 20), draw.At(0, 0), draw.At(2, 2)) }
	c := newCanvas()
	require.Equal(t, []float64{3}, draw.Scalars(c, "A-v0", s, x))
	require.Equal(t, []float64{0, 0, 0, 0, 1, 0}, draw.Grid(c, "A-v0", s, board, 2, 3))
	img, err := c.Image()
	require.NoError(t, err)
	require.Equal(t, image.Pt(40, 20), img.Bounds().Size())

	for number, x := range []struct {
		state any
		want  string
	}{
		{3, "cannot draw a int as A-v0, want a envs_test.state"},
		{state{X: s.X}, "a field of its envs_test.state is nil"},
		{state{Board: graph.Ones(graph.ShapeOf(graph.Bool, 3, 2))},
			"its state has leaves of bool[3,2], want bool[2,3]"},
		{state{Board: graph.Ones(graph.ShapeOf(graph.Bool, 7, 2, 3))},
			"want bool[2,3]: take one member of the population"},
		{state{Board: graph.Abstract(graph.ShapeOf(graph.Float32, 2, 3))}, "no value"},
		{state{Board: graph.Full(graph.ShapeOf(graph.Float32, 2, 3), math.NaN())}, "its state holds NaN"},
		{state{Board: graph.Full(graph.ShapeOf(graph.Float32, 2, 3), math.Inf(-1))}, "its state holds -Inf"},
	} {
		c := newCanvas()
		require.Equal(t, make([]float64, 6), draw.Grid(c, "A-v0", x.state, board, 2, 3))
		_, err := c.Image()
		require.ErrorContains(t, err, x.want, "case %d", number)
	}
	require.Equal(t, []float64{0}, draw.Scalars(c, "A-v0", state{X: graph.Iota(2)}, x))
	draw.Scalars(c, "A-v0", 3, x)
	_, err = c.Image()
	require.ErrorContains(t, err, "its state has leaves of i32[2], want scalars", "the first error")
}
