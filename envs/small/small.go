// Package small has small environments that each test one ability: memory (MemoryChain, TMaze), credit assignment
// (UmbrellaChain, DiscountingChain), exploration (DeepSea, FourRooms, FrozenLake), learning within an episode
// (BernoulliBandit, GaussianBandit, MetaMaze, PointRobot), control (Catch, Pong, Reacher, Swimmer), no skill
// (SimpleBandit), several choices at once (Lander). IDs that end in bsuite are from Osband et al., "Behaviour Suite for
// Reinforcement Learning" (2020).
//
// All except TMaze and Lander equal the environments of the same name in gymnax 1.0.1. The comments list differences
// between gymnax and its sources. There is no reward threshold unless a comment gives one.
package small

import (
	"image"
	"image/color"
	"math"

	"xlarun/envs"
	"xlarun/envs/draw"
	"xlarun/graph"
)

// box is a float32 space with the same bounds for all elements.
func box(low, high float64, dims ...int) envs.Box {
	return envs.Box{Low: []float64{low}, High: []float64{high}, Dims: dims, DType: graph.Float32}
}

// unbounded is a float32 space without bounds.
func unbounded(dims ...int) envs.Box { return box(math.Inf(-1), math.Inf(1), dims...) }

// number is 1 for true and 0 for false.
func number(b *graph.Array) *graph.Array { return b.Convert(graph.Int32) }

// float converts a number or bool to float32.
func float(x *graph.Array) *graph.Array { return x.Convert(graph.Float32) }

// sign is 1 for true and -1 for false.
func sign(b *graph.Array) *graph.Array { return graph.Select(b, 1., -1.) }

// cell is the grid bool[rows, columns] that is true only at (y, x), which may be outside.
func cell(y, x *graph.Array, rows, columns int) *graph.Array {
	return graph.Iota(rows).Reshape(rows, 1).Eq(y).And(graph.Iota(columns).Reshape(1, columns).Eq(x))
}

// yes is the bool scalar true.
func yes() *graph.Array { return envs.False().Not() }

// board is a canvas of cells, row 0 at the top.
type board struct {
	*draw.Canvas
	rows int
}

func newBoard(size image.Point, rows, columns int) board {
	c := draw.NewCanvas(size, draw.At(-.2, -.2), draw.At(float64(columns)+.2, float64(rows)+.2))
	c.Rectangle(draw.Steel, draw.At(-.1, -.1), draw.At(float64(columns)+.1, float64(rows)+.1))
	c.Rectangle(draw.Paper, draw.At(0, 0), draw.At(float64(columns), float64(rows)))
	return board{c, rows}
}

// middle of a cell.
func (b board) middle(y, x float64) draw.Point { return draw.At(x+.5, float64(b.rows)-y-.5) }

// fill paints a square in a cell; share is its side.
func (b board) fill(color color.Color, y, x, share float64) {
	m := b.middle(y, x)
	b.Rectangle(color, draw.At(m.X-share/2, m.Y-share/2), draw.At(m.X+share/2, m.Y+share/2))
}

// dot paints a disc in a cell.
func (b board) dot(color color.Color, y, x, radius float64) { b.Disc(color, b.middle(y, x), radius) }

// newChain makes a canvas for n steps in a row.
func newChain(size image.Point, n int) *draw.Canvas {
	return draw.NewCanvas(size, draw.At(-1, -3), draw.At(float64(n)+1, 3))
}

// chain paints n steps in a row; the steps played are filled.
func chain(c *draw.Canvas, n, played int) {
	c.Line(draw.Steel, draw.At(0, 0), draw.At(float64(n), 0), .06)
	for i := range n + 1 {
		color := color.Color(draw.Steel)
		if i <= played {
			color = draw.Ink
		}
		c.Disc(color, draw.At(float64(i), 0), .2)
	}
	c.Disc(draw.Accent, draw.At(float64(min(played, n+1)), 0), .35)
}

// qualityColor is the color for good or bad.
func qualityColor(good bool) color.Color {
	if good {
		return draw.Accent
	}
	return draw.Signal
}
