// Package levels is a ladder of foraging tasks, each of which asks for one ability more: Forage-L0 for a reflex,
// Forage-L1 for telling things apart and keeping house with energy, Forage-L2 for memory. All are played on square
// toruses; what a forager sees is a square around it, north up, with a layer for each kind of thing.
//
// The figures in the doc comments are mean returns of whole episodes with the default parameters; TestScores measures
// those of random and hand-written play, and WORKSPACE.md has the commands for evolved ones.
package levels

import (
	"image"
	"image/color"
	"math/bits"

	"xlarun/envs"
	"xlarun/envs/draw"
	"xlarun/graph"
	"xlarun/graph/random"
)

// The actions. What is none of them stays.
const (
	north = iota
	east
	south
	west
	stay
)

// A field is layers of things on a torus, i32[layers, side]: column x of row y, which is y rows from the north, is bit
// x of word y. No step looks up or writes a place that is only known when the program runs: all is arithmetic on whole
// layers.
type field struct {
	words *graph.Array
	size
}

// size is that of a torus and of the view on it.
type size struct {
	side  int // cells; a power of two up to 16
	reach int // how many cells are seen to each side
}

// wide is the cells of a row of the view.
func (z size) wide() int { return 2*z.reach + 1 }

// scatter draws in each cell at most one thing: of kind i with the probability densities[i], a layer for each kind. The
// cells that touch the middle, where the forager starts, are free.
func scatter(key random.Key, z size, densities ...*graph.Array) field {
	u := random.Uniform(key, graph.ShapeOf(graph.Float32, z.side, z.side), 0, 1)
	near := func(axis int) *graph.Array {
		return graph.IotaAxis(graph.ShapeOf(graph.Int32, z.side, z.side), axis).Sub(z.side / 2).Abs().Le(1)
	}
	free := near(0).And(near(1)).Not()
	layers := make([]*graph.Array, len(densities))
	low := graph.Scalar(0)
	for i, d := range densities {
		high := low.Add(d)
		there := free.And(u.Ge(low).And(u.Lt(high)))
		layers[i] = graph.ShiftLeft(there.Convert(graph.Int32), graph.Iota(z.side)).Sum(1)
		low = high
	}
	return field{graph.Stack(layers, 0), z}
}

// bit is bit x of words, 0 or 1.
func bit(words *graph.Array, x any) *graph.Array {
	return graph.ShiftRightLogical(words, x).And(1)
}

// number is whole numbers, or bools, as float32.
func number(x *graph.Array) *graph.Array { return x.Convert(graph.Float32) }

// word is 32 random bits, i32[].
func word(key random.Key) *graph.Array {
	return graph.Bitcast(random.Bits(key, graph.Uint32), graph.Int32)
}

// count is how many things each layer has, f32[layers].
func (f field) count() *graph.Array { return number(graph.PopCount(f.words).Sum(1)) }

// place is a cell of the torus: column and row from the north, i32[] each.
type place struct{ X, Y *graph.Array }

// middle is where foragers start.
func (z size) middle() place { return place{envs.Steps(z.side / 2), envs.Steps(z.side / 2)} }

// from is what is seen from a place, i32[layers]: bit c of a word is cell c of the view, row by row from the north.
func (f field) from(at place) *graph.Array {
	// of the view, for each row of the field
	row := graph.Iota(f.side).Add(f.reach).Sub(at.Y).And(f.side - 1)
	first := at.X.Sub(f.reach).And(f.side - 1)
	seen := graph.ShiftRightLogical(f.words, first).Or(graph.ShiftLeft(f.words, graph.Sub(f.side, first))).And(
		1<<f.wide() - 1)
	seen = graph.ShiftLeft(seen, row.Min(f.wide()-1).Mul(f.wide()))
	seen = graph.Select(row.Lt(f.wide()), seen, graph.ZerosLike(seen))
	return graph.Once(seen.Sum(1))
}

// move is where an action leads, and what is there.
type move struct {
	to     place
	dx, dy *graph.Array   // i32[]: how far to the east and to the south
	found  *graph.Array   // f32[layers]: 1 for each layer that has something there
	chance []*graph.Array // random words
}

// walk moves a forager who sees the layers of view by an action; what is none stays. Into something of the layer walls
// it stays, too; -1 for none. Words of chance are finished with the move.
func (z size) walk(at place, view, action *graph.Array, walls int, chance ...*graph.Array) move {
	is := func(a int) *graph.Array { return action.Eq(a).Convert(graph.Int32) }
	dx, dy := is(east).Sub(is(west)), is(south).Sub(is(north))
	cell := func() *graph.Array {
		return dy.Mul(z.wide()).Add(dx).Add(z.reach*z.wide() + z.reach)
	}
	if walls >= 0 {
		open := graph.Sub(1, bit(view.Index(walls), cell()))
		dx, dy = dx.Mul(open), dy.Mul(open)
	}
	all := graph.Once(append([]*graph.Array{dx, dy}, chance...))
	dx, dy = all[0], all[1]
	wrapped := func(x, d *graph.Array) *graph.Array { return x.Add(d).And(z.side - 1) }
	return move{place{wrapped(at.X, dx), wrapped(at.Y, dy)}, dx, dy, number(bit(view, cell())), all[2:]}
}

// cells are two different cells that a random word draws, as numbers of the torus's cells, i32[] each. It takes 16 of
// its bits.
func (z size) cells(word *graph.Array) (one, other *graph.Array) {
	all := z.side * z.side // up to 256
	one = word.And(all - 1)
	further := graph.ShiftRightLogical(graph.ShiftRightLogical(word, 8).And(255).Mul(all-1), 8)
	return one, one.Add(further).Add(1).And(all - 1)
}

// eaten is the field after what is at a place was eaten, and after in each layer one thing grew in the cell that is
// drawn for it, i32[layers], where that is free and the layer has fewer things, f32[layers], than it is to have; and
// how many it has then.
func (f field) eaten(at place, cells, has, want *graph.Array) (next field, have *graph.Array) {
	column := func(x *graph.Array) *graph.Array { return x.Reshape(f.words.Dim(0), 1) }
	in := func(row, x *graph.Array) *graph.Array { // a layer of the cell in that row and column alone
		return graph.Select(graph.Iota(f.side).Eq(row), graph.ShiftLeft(graph.OnesLike(x), x),
			graph.ZerosLike(x))
	}
	here := in(at.Y, at.X)
	missing := has.Lt(want)
	fresh := in(column(graph.Select(missing, graph.ShiftRightLogical(cells, f.log()), -1)),
		column(cells.And(f.side-1)))
	fresh = fresh.And(graph.ReduceOr(f.words, 0).Or(here).Not())
	grown := number(fresh.Ne(0).Convert(graph.Int32).Sum(1))
	return field{f.words.And(here.Not()).Or(fresh), f.size}, has.Add(grown)
}

// log is the logarithm of side.
func (z size) log() int { return bits.Len(uint(z.side)) - 1 }

// density is how many things of two kinds there are to be, of their parts of the cells, and no walls, which do not
// grow.
func (z size) density(one, other *graph.Array) *graph.Array {
	return graph.Stack([]*graph.Array{one, other, graph.Scalar(0)}, 0).Mul(z.side * z.side)
}

// observation is a view of some layers, i32[] each, as zeros and ones, with further numbers, f32[] each, behind:
// f32[n].
func (z size) observation(layers []*graph.Array, further ...*graph.Array) *graph.Array {
	cells := z.wide() * z.wide()
	seen := len(layers) * cells
	i := graph.Iota(seen + len(further))
	words, shifts := layers[0], i
	for l := 1; l < len(layers); l++ {
		here := i.Ge(l * cells)
		words, shifts = graph.Select(here, layers[l], words), graph.Select(here, i.Sub(l*cells), shifts)
	}
	out := number(bit(words, shifts))
	for j, x := range further {
		out = graph.Select(i.Eq(seen+j), x, out)
	}
	return out
}

// zeroOne is the space of observations that are n numbers from 0 to 1.
func zeroOne(n int) envs.Box {
	return envs.Box{Low: []float64{0}, High: []float64{1}, Dims: []int{n}, DType: graph.Float32}
}

// picture is a map that is painted.
type picture struct {
	*draw.Canvas
	size
	x, y int // where the forager stands
}

// newPicture begins a picture of a map.
func (z size) newPicture(pixels image.Point, x, y float64) (*picture, error) {
	c, err := draw.NewCanvas(pixels, draw.At(-.5, -.5), draw.At(float64(z.side)+.5, float64(z.side)+.5))
	if err != nil {
		return nil, err
	}
	p := &picture{c, z, int(x), int(y)}
	c.Rectangle(ground, draw.At(0, 0), draw.At(float64(z.side), float64(z.side)))
	for dy := -z.reach; dy <= z.reach; dy++ {
		for dx := -z.reach; dx <= z.reach; dx++ {
			corner := p.corner(p.x+dx, p.y+dy)
			c.Rectangle(lit, corner, draw.At(corner.X+1, corner.Y+1))
		}
	}
	return p, nil
}

// The ground, and what of it the forager sees.
var (
	ground = color.RGBA{0xec, 0xed, 0xe8, 0xff}
	lit    = color.RGBA{0xd8, 0xe3, 0xea, 0xff}
)

// corner is the lower left corner of the cell in a column and a row, on the torus.
func (p *picture) corner(x, y int) draw.Point {
	wrap := func(i int) int { return ((i % p.side) + p.side) % p.side }
	return draw.At(float64(wrap(x)), float64(p.side-1-wrap(y)))
}

// each calls paint with the lower left corner of each cell that a layer fills.
func (p *picture) each(words []float64, paint func(corner draw.Point)) {
	for y, word := range words {
		for x := range p.side {
			if int64(word)>>x&1 == 1 {
				paint(p.corner(x, y))
			}
		}
	}
}

// berries paints a layer of food.
func (p *picture) berries(words []float64, fill color.Color) {
	p.each(words, func(c draw.Point) { p.Disc(fill, draw.At(c.X+.5, c.Y+.5), .3) })
}

// walls paints a layer of walls.
func (p *picture) walls(words []float64) {
	p.each(words, func(c draw.Point) { p.Rectangle(draw.Steel, c, draw.At(c.X+1, c.Y+1)) })
}

// forager paints the forager itself.
func (p *picture) forager() {
	c := p.corner(p.x, p.y)
	middle := draw.At(c.X+.5, c.Y+.5)
	p.Disc(draw.Ink, middle, .4)
	for _, eye := range []float64{-.14, .14} {
		p.Disc(draw.Paper, draw.At(middle.X+eye, middle.Y+.1), .08)
	}
}
