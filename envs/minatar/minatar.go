// Package minatar has the five games of MinAtar: Young and Tian, "MinAtar: an Atari-inspired testbed for thorough and
// reproducible reinforcement learning experiments" (2019). The world is a grid of 10 x 10 cells; an observation is
// bool[10, 10, channels], row by row from the top. Each game has only the actions with an effect.
//
// The games equal gymnax 1.0.1; the comments list differences between gymnax and MinAtar. MinAtar's sticky actions,
// which gymnax does not have, repeat the last action with probability Sticky. The default is 0; in MinAtar it is 0.1.
//
// Step after the end of an episode is meaningless, but harmless. There are no reward thresholds.
package minatar

import (
	"image"
	"image/color"

	"xlarun/envs"
	"xlarun/envs/draw"
	"xlarun/graph"
	"xlarun/graph/random"
)

const side = 10

// spec is the Spec of a game.
func spec(id string, channels, actions, steps int) envs.Spec {
	return envs.Spec{ID: id, Observation: envs.Box{Low: []float64{0}, High: []float64{1}, Dims: []int{
		side, side, channels}, DType: graph.Bool, MostlyZeros: true},
		Action: envs.Discrete{N: actions}, MaxSteps: steps}
}

// stickyKey makes the draw for sticky actions independent of the rules' draws from the same key.
const stickyKey = 0x571c

// stickyAction is the action to play: with probability p the last action again.
func stickyAction(key random.Key, action, last, p *graph.Array) *graph.Array {
	action = action.Convert(graph.Int32)
	return graph.Select(random.Bernoulli(random.FoldIn(key, stickyKey), p), last, action)
}

// moved is x after one of two opposite actions, within low … high.
func moved(x, action *graph.Array, less, more, low, high int) *graph.Array {
	step := number(action.Eq(more)).Sub(number(action.Eq(less)))
	return graph.Clamp(low, x.Add(step), high)
}

// number is 1 for true and 0 for false.
func number(b *graph.Array) *graph.Array { return b.Convert(graph.Int32) }

// rows and columns number the cells, i32[10, 1] and i32[1, 10].
func rows() *graph.Array    { return graph.Iota(side).Reshape(side, 1) }
func columns() *graph.Array { return graph.Iota(side).Reshape(1, side) }

// cell is the grid that is true only at one cell, which may be outside.
func cell(y, x *graph.Array) *graph.Array {
	return rows().Eq(y).And(columns().Eq(x))
}

// A set of cells is i32[10], one number for each row; bit x is column x. Operations on sets take ten elements instead
// of a hundred.

// bit is the row with only cell x; x must not be negative.
func bit(x *graph.Array) *graph.Array { return graph.ShiftLeft(1, x) }

// line is the set with the given bits in row y; empty if y is outside.
func line(y, bits *graph.Array) *graph.Array {
	return graph.Select(graph.Iota(side).Eq(y), bits, 0)
}

// lineOf is row y of a set.
func lineOf(set, y *graph.Array) *graph.Array {
	return graph.ReduceOr(graph.Select(graph.Iota(side).Eq(y), set, 0))
}

// nonZero reports whether any bit is set.
func nonZero(bits *graph.Array) *graph.Array { return bits.Ne(0) }

// when is bits where the condition holds, else 0.
func when(b, bits *graph.Array) *graph.Array { return graph.Select(b, bits, graph.ZerosLike(bits)) }

// grid is a set as bool[10, 10].
func grid(set *graph.Array) *graph.Array {
	return nonZero(set.Reshape(side, 1).And(bit(columns())))
}

// channels stacks grids to an observation.
func channels(grids ...*graph.Array) *graph.Array { return graph.Stack(grids, 2) }

// settle applies graph.Once to several variables.
func settle(values ...**graph.Array) {
	var in []*graph.Array
	for _, v := range values {
		in = append(in, *v)
	}
	for i, out := range graph.Once(in) {
		*values[i] = out
	}
}

// layer is how paint draws a channel: as squares of a color.
type layer struct {
	channel int
	color   color.Color
	size    float64 // side of the squares, in cells
}

// paint draws the channels of an observation from above, later layers over earlier ones.
func paint[S any](id string, state any, size image.Point, time func(S) *graph.Array, observe func(S) *graph.Array,
	layers ...layer) (image.Image, error) {
	c := draw.NewCanvas(size, draw.At(-.2, -.2), draw.At(side+.2, side+.2))
	// Reading the time checks that the state is concrete and of one member.
	draw.Scalars(c, id, state, func(s S) []*graph.Array { return []*graph.Array{time(s)} })
	if _, err := c.Image(); err != nil {
		return nil, err
	}
	var obs []float64
	var n int
	err := graph.Try(func() {
		o := observe(state.(S))
		n = o.Dim(2)
		var err error
		if obs, err = graph.Floats(o); err != nil {
			envs.Refuse(id, "its state cannot be observed: %v", err)
		}
	})
	if err != nil {
		return nil, err
	}
	c.Rectangle(draw.Steel, draw.At(-.1, -.1), draw.At(side+.1, side+.1))
	c.Rectangle(draw.Paper, draw.At(0, 0), draw.At(side, side))
	for _, l := range layers {
		for i := range side * side {
			if obs[i*n+l.channel] == 0 {
				continue
			}
			x, y, half := float64(i%side)+.5, float64(side-1-i/side)+.5, l.size/2
			c.Rectangle(l.color, draw.At(x-half, y-half), draw.At(x+half, y+half))
		}
	}
	return c.Image()
}

// faint is the color of trails.
var faint = color.RGBA{0xb9, 0xc4, 0xca, 0xff}
