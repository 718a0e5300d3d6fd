// Package levels is a series of foraging tasks. Each needs one more ability: Forage-L0 needs reflexes, Forage-L1 needs
// to distinguish objects and manage energy, Forage-L2 needs memory. The worlds are square toruses. A forager observes a
// square around itself, north up, with a layer for each kind of object.
//
// The scores in the doc comments are mean returns of whole episodes with the default parameters. TestScores measures
// the scores of random and hand-written policies; examples/forage-l*.toml
// evolve policies.
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

// The actions. Other numbers are as stay.
const (
	north = iota
	east
	south
	west
	stay
)

// field is layers of objects on a torus, i32[layers, side]: column x of row y (counted from the north) is bit x of word
// y. All steps are arithmetic on whole layers, without gathers and scatters, which are slow on CPU.
type field struct {
	words *graph.Array
	size
}

// size is the size of a torus and of the forager's view.
type size struct {
	side  int // cells; a power of two up to 16
	reach int // number of visible cells to each side
}

// viewSide is the number of cells in a row of the view.
func (z size) viewSide() int { return 2*z.reach + 1 }

// scatter draws at most one object for each cell: kind i with probability densities[i]. Each kind has a layer. The 3 x
// 3 cells around the middle, where the forager starts, stay free.
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
		present := free.And(u.Ge(low).And(u.Lt(high)))
		layers[i] = graph.ShiftLeft(present.Convert(graph.Int32), graph.Iota(z.side)).Sum(1)
		low = high
	}
	return field{graph.Stack(layers, 0), z}
}

// bit is bit x of words, 0 or 1.
func bit(words *graph.Array, x any) *graph.Array {
	return graph.ShiftRightLogical(words, x).And(1)
}

// number converts integers or bools to float32.
func number(x *graph.Array) *graph.Array { return x.Convert(graph.Float32) }

// word is 32 random bits, i32[].
func word(key random.Key) *graph.Array {
	return graph.Bitcast(random.Bits(key, graph.Uint32), graph.Int32)
}

// count is the number of objects in each layer, f32[layers].
func (f field) count() *graph.Array { return number(graph.PopCount(f.words).Sum(1)) }

// position is a cell of the torus: column and row from the north, i32[] each.
type position struct{ X, Y *graph.Array }

// middle is the start of foragers.
func (z size) middle() position { return position{envs.Steps(z.side / 2), envs.Steps(z.side / 2)} }

// view is the view from a position, i32[layers]: bit c of a word is cell c of the view, row by row from the north.
func (f field) view(at position) *graph.Array {
	// the row of the view for each row of the field
	row := graph.Iota(f.side).Add(f.reach).Sub(at.Y).And(f.side - 1)
	first := at.X.Sub(f.reach).And(f.side - 1)
	wrapped := graph.ShiftLeft(f.words, graph.Sub(f.side, first))
	bits := graph.ShiftRightLogical(f.words, first).Or(wrapped).And(1<<f.viewSide() - 1)
	bits = graph.ShiftLeft(bits, row.Min(f.viewSide()-1).Mul(f.viewSide()))
	bits = graph.Select(row.Lt(f.viewSide()), bits, graph.ZerosLike(bits))
	return graph.Once(bits.Sum(1))
}

// move is the result of an action.
type move struct {
	to          position
	dx, dy      *graph.Array // i32[]: steps to the east and to the south
	found       *graph.Array // f32[layers]: 1 for each layer with an object at the new position
	randomWords []*graph.Array
}

// walk moves a forager. Walls, objects of the layer with the index walls (-1: no layer), block it. The random words are
// computed once together with the move (graph.Once).
func (z size) walk(at position, view, action *graph.Array, walls int, chance ...*graph.Array) move {
	is := func(a int) *graph.Array { return action.Eq(a).Convert(graph.Int32) }
	dx, dy := is(east).Sub(is(west)), is(south).Sub(is(north))
	cell := func() *graph.Array {
		return dy.Mul(z.viewSide()).Add(dx).Add(z.reach*z.viewSide() + z.reach)
	}
	if walls >= 0 {
		open := graph.Sub(1, bit(view.Index(walls), cell()))
		dx, dy = dx.Mul(open), dy.Mul(open)
	}
	all := graph.Once(append([]*graph.Array{dx, dy}, chance...))
	dx, dy = all[0], all[1]
	wrapped := func(x, d *graph.Array) *graph.Array { return x.Add(d).And(z.side - 1) }
	return move{position{wrapped(at.X, dx), wrapped(at.Y, dy)}, dx, dy, number(bit(view, cell())), all[2:]}
}

// cells draws two different cells from 16 bits of a random word: indices of the torus's cells, i32[] each.
func (z size) cells(word *graph.Array) (one, other *graph.Array) {
	all := z.side * z.side // up to 256
	one = word.And(all - 1)
	further := graph.ShiftRightLogical(graph.ShiftRightLogical(word, 8).And(255).Mul(all-1), 8)
	return one, one.Add(further).Add(1).And(all - 1)
}

// eat removes the objects at a position. Then in each layer one object grows in the drawn cell, cells i32[layers], if
// the cell is free and the layer's count, f32[layers], is below its target. It returns the new field and counts.
func (f field) eat(at position, cells, count, target *graph.Array) (next field, have *graph.Array) {
	column := func(x *graph.Array) *graph.Array { return x.Reshape(f.words.Dim(0), 1) }
	in := func(row, x *graph.Array) *graph.Array { // a layer with a single object in row and column x
		return graph.Select(graph.Iota(f.side).Eq(row), graph.ShiftLeft(graph.OnesLike(x), x),
			graph.ZerosLike(x))
	}
	here := in(at.Y, at.X)
	missing := count.Lt(target)
	fresh := in(column(graph.Select(missing, graph.ShiftRightLogical(cells, f.log()), -1)),
		column(cells.And(f.side-1)))
	fresh = fresh.And(graph.ReduceOr(f.words, 0).Or(here).Not())
	grown := number(fresh.Ne(0).Convert(graph.Int32).Sum(1))
	return field{f.words.And(here.Not()).Or(fresh), f.size}, count.Add(grown)
}

// log is the binary logarithm of side.
func (z size) log() int { return bits.Len(uint(z.side)) - 1 }

// density is the target counts of two kinds from their densities, and 0 for walls, which do not grow.
func (z size) density(one, other *graph.Array) *graph.Array {
	return graph.Stack([]*graph.Array{one, other, graph.Scalar(0)}, 0).Mul(z.side * z.side)
}

// observation is the layers of a view, i32[] each, as zeros and ones, followed by further numbers, f32[] each: f32[n].
func (z size) observation(layers []*graph.Array, further ...*graph.Array) *graph.Array {
	cells := z.viewSide() * z.viewSide()
	viewCells := len(layers) * cells
	i := graph.Iota(viewCells + len(further))
	words, shifts := layers[0], i
	for l := 1; l < len(layers); l++ {
		here := i.Ge(l * cells)
		words, shifts = graph.Select(here, layers[l], words), graph.Select(here, i.Sub(l*cells), shifts)
	}
	out := number(bit(words, shifts))
	for j, x := range further {
		out = graph.Select(i.Eq(viewCells+j), x, out)
	}
	return out
}

// space is the observation space of the layers of a view and further numbers, all from 0 to 1, for so many actions. The
// substrate has a sheet for each layer and each further number, and the middle of the view in the middle. An action
// lies where the cell lies that it leads to.
func (z size) space(layers, further, actions int) envs.Box {
	l := &envs.Substrate{}
	reach := float64(z.reach)
	for sheet := range layers {
		for c := range z.viewSide() * z.viewSide() {
			east, south := c%z.viewSide()-z.reach, c/z.viewSide()-z.reach
			l.Elements = append(l.Elements,
				envs.Place{Sheet: sheet, X: float64(east) / reach, Y: -float64(south) / reach})
		}
	}
	for i := range further {
		l.Elements = append(l.Elements, envs.Place{Sheet: layers + i})
	}
	l.Outputs = []envs.Place{north: {Y: 1 / reach}, east: {X: 1 / reach}, south: {Y: -1 / reach}, west: {X: -1 / reach},
		stay: {}}[:actions]
	return envs.Box{Low: []float64{0}, High: []float64{1}, Dims: []int{len(l.Elements)}, DType: graph.Float32,
		Substrate: l}
}

// picture is a canvas for a map.
type picture struct {
	*draw.Canvas
	size
	x, y int // the forager's cell
}

func (z size) newCanvas(pixels image.Point) *draw.Canvas {
	return draw.NewCanvas(pixels, draw.At(-.5, -.5), draw.At(float64(z.side)+.5, float64(z.side)+.5))
}

// newPicture paints the ground and the view.
func (z size) newPicture(c *draw.Canvas, x, y float64) *picture {
	p := &picture{c, z, int(x), int(y)}
	c.Rectangle(ground, draw.At(0, 0), draw.At(float64(z.side), float64(z.side)))
	for dy := -z.reach; dy <= z.reach; dy++ {
		for dx := -z.reach; dx <= z.reach; dx++ {
			corner := p.corner(p.x+dx, p.y+dy)
			c.Rectangle(lit, corner, draw.At(corner.X+1, corner.Y+1))
		}
	}
	return p
}

// The colors of the ground and of the view.
var (
	ground = color.RGBA{0xec, 0xed, 0xe8, 0xff}
	lit    = color.RGBA{0xd8, 0xe3, 0xea, 0xff}
)

// corner is the lower left corner of the cell in column x and row y, on the torus.
func (p *picture) corner(x, y int) draw.Point {
	wrap := func(i int) int { return ((i % p.side) + p.side) % p.side }
	return draw.At(float64(wrap(x)), float64(p.side-1-wrap(y)))
}

// each calls paint with the lower left corner of each non-empty cell of a layer.
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

// forager paints the forager.
func (p *picture) forager() {
	c := p.corner(p.x, p.y)
	middle := draw.At(c.X+.5, c.Y+.5)
	p.Disc(draw.Ink, middle, .4)
	for _, eye := range []float64{-.14, .14} {
		p.Disc(draw.Paper, draw.At(middle.X+eye, middle.Y+.1), .08)
	}
}
