// Package minatar holds the five games of MinAtar: Young and Tian, "MinAtar: an Atari-inspired testbed for thorough and
// reproducible reinforcement learning experiments" (2019). Each is played on a grid of 10 x 10 cells; an observation is
// bool[10, 10, channels], row by row from the top. The actions are those that have an effect.
//
// They are equal to gymnax 1.0.1, which the comments of each compare with the paper's own program. Beyond gymnax there
// are MinAtar's sticky actions: with probability Sticky the last action is played in place of the one given. Sticky is
// 0 by default, as in gymnax; MinAtar's own default is 0.1.
//
// Step beyond an episode's end is without meaning, but harmless. No return counts as solved.
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

// spec is what the five have in common.
func spec(id string, channels, actions, steps int) envs.Spec {
	return envs.Spec{ID: id, Observation: envs.Box{Low: []float64{0}, High: []float64{1}, Dims: []int{
		side, side, channels}, DType: graph.Bool, MostlyZeros: true},
		Action: envs.Discrete{N: actions}, MaxSteps: steps}
}

// stickyKey sets the draw for sticky actions apart from those that the rules make of the same key.
const stickyKey = 0x571c

// played is the action that counts: with probability p the last one again.
func played(key random.Key, action, last, p *graph.Array) *graph.Array {
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

// cell is the grid that is true at one place, which may lie outside.
func cell(y, x *graph.Array) *graph.Array {
	return rows().Eq(y).And(columns().Eq(x))
}

// A set of cells is kept as i32[10], one number for each row, bit x of which is column x: what the rules ask of the
// whole set takes ten steps of work then, and not a hundred.

// bit is the row with one cell; x may not be negative.
func bit(x *graph.Array) *graph.Array { return graph.ShiftLeft(1, x) }

// line is the set that has the bits of one row, and nothing if y is outside.
func line(y, bits *graph.Array) *graph.Array {
	return graph.Select(graph.Iota(side).Eq(y), bits, 0)
}

// lineOf is one row of a set.
func lineOf(set, y *graph.Array) *graph.Array {
	return graph.ReduceOr(graph.Select(graph.Iota(side).Eq(y), set, 0))
}

// some tells whether any bit is set.
func some(bits *graph.Array) *graph.Array { return bits.Ne(0) }

// when is the bits where a condition holds, and none elsewhere.
func when(b, bits *graph.Array) *graph.Array { return graph.Select(b, bits, graph.ZerosLike(bits)) }

// grid is a set as bool[10, 10].
func grid(set *graph.Array) *graph.Array {
	return some(set.Reshape(side, 1).And(bit(columns())))
}

// channels makes an observation of grids.
func channels(grids ...*graph.Array) *graph.Array {
	return graph.Stack(grids, 2)
}

// settle computes values once that several parts of a step read (see graph.Once).
func settle(values ...**graph.Array) {
	var in []*graph.Array
	for _, v := range values {
		in = append(in, *v)
	}
	for i, out := range graph.Once(in) {
		*values[i] = out
	}
}

// layer says how a channel is painted: as squares of a colour, whose side is a share of the cell's.
type layer struct {
	channel int
	colour  color.Color
	size    float64
}

// paint draws the channels of an observation from above, later layers over earlier ones.
func paint[S any](id string, state any, size image.Point, time func(S) *graph.Array, observe func(S) *graph.Array,
	layers ...layer) (image.Image, error) {
	// The time stands for the whole state: whether it is of one member, and has a value.
	if _, err := draw.Scalars(id, state, func(s S) []*graph.Array { return []*graph.Array{time(s)} }); err != nil {
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
	c, err := draw.NewCanvas(size, draw.At(-.2, -.2), draw.At(side+.2, side+.2))
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
			c.Rectangle(l.colour, draw.At(x-half, y-half), draw.At(x+half, y+half))
		}
	}
	return c.Image(), nil
}

// faint is the colour of trails.
var faint = color.RGBA{0xb9, 0xc4, 0xca, 0xff}
