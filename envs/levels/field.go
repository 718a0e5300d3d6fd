// Package levels is a ladder of foraging tasks, each of which asks for one ability more: Forage-L0 for a reflex, Forage-L1 for
// telling things apart and keeping house with energy, Forage-L2 for memory. All are played on square toruses; what a
// forager sees is a square around it, north up, with a layer for each kind of thing.
//
// The figures in the doc comments are mean returns of whole episodes with the default parameters; TestScores measures
// those of random and hand-written play, and WORKSPACE.md has the commands for evolved ones.
package levels

import (
	"image"
	"image/color"

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

// A field is layers of a torus of side x side cells, i32[layers, side]: cell x of row y, which is y cells from the north, is bit
// x of a word. It is kept as the forager sees it, who always stands in the same cell (home): a move rolls the field, so
// that no step looks anything up by a number that is only known when the program runs, and all of a step is arithmetic
// on a few words.
type field struct {
	words *graph.Array
	side  int // a power of two up to 16
}

// home is the row, and the bit in it, of the forager.
func (f field) home() int { return f.side / 2 }

// layer is one kind of thing, i32[side].
func (f field) layer(i int) *graph.Array { return graph.Index(f.words, i) }

// scatter draws in each cell at most one thing: of kind i with the probability densities[i], a layer for each kind. The cells that
// touch home are free.
func scatter(key random.Key, side int, densities ...*graph.Array) field {
	u := random.Uniform(key, graph.ShapeOf(graph.Float32, side, side), 0, 1)
	column := graph.Iota(side)
	near := func(axis int) *graph.Array {
		return graph.Le(graph.Abs(graph.Sub(graph.IotaAxis(graph.ShapeOf(graph.Int32, side, side), axis), side/2)), 1)
	}
	free := graph.Not(graph.And(near(0), near(1)))
	layers := make([]*graph.Array, len(densities))
	low := graph.Scalar(0)
	for i, d := range densities {
		high := graph.Add(low, d)
		there := graph.And(free, graph.And(graph.Ge(u, low), graph.Lt(u, high)))
		layers[i] = graph.Sum(graph.ShiftLeft(graph.Convert(there, graph.Int32), column), 1)
		low = high
	}
	return field{graph.Stack(layers, 0), side}
}

// bit is bit x of words, 0 or 1.
func bit(words *graph.Array, x any) *graph.Array {
	return graph.And(graph.ShiftRightLogical(words, x), 1)
}

// step is how far an action moves the forager, to the east and to the south, i32[].
func step(action *graph.Array) (dx, dy *graph.Array) {
	is := func(a int) *graph.Array { return graph.Convert(graph.Eq(action, a), graph.Int32) }
	return graph.Sub(is(east), is(west)), graph.Sub(is(south), is(north))
}

// blocked tells whether an action leads into a cell that a layer fills.
func (f field) blocked(walls, action *graph.Array) *graph.Array {
	h := f.home()
	into := graph.Full(graph.ShapeOf(graph.Bool), false)
	for _, to := range []struct{ action, x, y int }{{north, h, h - 1}, {east, h + 1, h}, {south, h, h + 1}, {west, h - 1, h}} {
		wall := graph.Eq(bit(graph.Index(walls, to.y), to.x), 1)
		into = graph.Or(into, graph.And(graph.Eq(action, to.action), wall))
	}
	return into
}

// moved is the field after the forager went dx cells to the east and dy to the south, at most one. What is computed for a
// member once is kept from being computed for each word again (once), which a compiler would do.
func (f field) moved(dx, dy *graph.Array) field {
	w := f.words
	w = graph.Select(graph.Gt(dy, 0), graph.Roll(w, -1, 1), graph.Select(graph.Lt(dy, 0), graph.Roll(w, 1, 1), w))
	turn := graph.And(dx, f.side-1)
	w = graph.And(graph.Or(graph.ShiftRightLogical(w, turn), graph.ShiftLeft(w, graph.Sub(f.side, turn))), 1<<f.side-1)
	return field{graph.Barrier(w)[0], f.side}
}

// once finishes arrays before they are used.
func once(x ...*graph.Array) []*graph.Array { return graph.Barrier(x...) }

// found is 1 for each layer that has something in the forager's cell, else 0: i32[layers].
func (f field) found() *graph.Array {
	return bit(graph.IndexAxis(f.words, 1, f.home()), f.home())
}

// cells are two different cells that a random word draws, as numbers of the torus's cells, i32[] each. It takes 16 of its bits.
func (f field) cells(word *graph.Array) (one, other *graph.Array) {
	all := f.side * f.side // up to 256
	one = graph.And(word, all-1)
	further := graph.ShiftRightLogical(graph.Mul(graph.And(graph.ShiftRightLogical(word, 8), 255), all-1), 8)
	return one, graph.And(graph.Add(graph.Add(one, further), 1), all-1)
}

// eaten is the field after the forager ate what it found, and after in each layer one thing grew in the cell that is drawn for it,
// i32[layers], where that is free and the layer has fewer things, f32[layers], than want. have is how many it has then.
func (f field) eaten(cells, has, want *graph.Array) (next field, have *graph.Array) {
	layers := f.words.Dim(0)
	column := func(x *graph.Array) *graph.Array { return graph.Reshape(x, layers, 1) }
	here := graph.Select(graph.Eq(graph.Iota(f.side), f.home()), int32(1)<<f.home(), int32(0))
	taken := graph.Or(graph.ReduceOr(f.words, 0), here)
	row := graph.Quo(cells, f.side)
	drawn := graph.ShiftLeft(graph.OnesLike(cells), graph.Rem(cells, f.side))
	drawn = graph.Select(graph.Lt(has, want), drawn, graph.ZerosLike(drawn))
	fresh := graph.Select(graph.Eq(graph.Iota(f.side), column(row)), column(drawn), int32(0))
	fresh = graph.And(fresh, graph.Not(taken))
	grown := graph.Sum(number(graph.Ne(fresh, 0)), 1)
	return field{graph.Or(graph.And(f.words, graph.Not(here)), fresh), f.side}, graph.Add(has, grown)
}

// count is how many things each layer has, f32[layers].
func (f field) count() *graph.Array { return number(graph.Sum(graph.PopCount(f.words), 1)) }

// view is what lies at most reach cells away to each side, layer by layer, row by row from the north: f32[layers·(2·reach+1)²]
// of zeros and ones.
func (f field) view(reach int) *graph.Array {
	h, wide := f.home(), 2*reach+1
	rows := graph.SliceAxis(f.words, 1, h-reach, h+reach+1)
	rows = graph.Reshape(rows, rows.Dim(0), wide, 1)
	seen := bit(rows, graph.Add(graph.Iota(wide), h-reach))
	return graph.Flatten1D(graph.Convert(seen, graph.Float32))
}

// place is where the forager stands on the map that pictures show, i32[] each.
type place struct{ X, Y *graph.Array }

// start is the middle of the map.
func startPlace(side int) place { return place{envs.Steps(side / 2), envs.Steps(side / 2)} }

func (p place) moved(dx, dy *graph.Array, side int) place {
	return place{graph.And(graph.Add(p.X, dx), side-1), graph.And(graph.Add(p.Y, dy), side-1)}
}

// walk moves the forager in a field of two kinds of things and walls, unless a wall is in the way. It finishes the words of chance
// with the move, before anything is done with a field.
func (f field) walk(action *graph.Array, from place, words ...*graph.Array) (field, place, []*graph.Array) {
	dx, dy := step(graph.Select(f.blocked(f.layer(2), action), int32(stay), action))
	all := once(append([]*graph.Array{dx, dy}, words...)...)
	dx, dy = all[0], all[1]
	return f.moved(dx, dy), from.moved(dx, dy, f.side), all[2:]
}

// density is how many things of two kinds a field of a side is to have, of their parts of the cells, and no walls, which do not grow.
func density(side int, one, other *graph.Array) *graph.Array {
	return graph.Mul(graph.Stack([]*graph.Array{one, other, graph.Scalar(0)}, 0), side*side)
}

// zeroOne is the space of observations that are n numbers from 0 to 1.
func zeroOne(n int) envs.Box {
	return envs.Box{Low: []float64{0}, High: []float64{1}, Dims: []int{n}, DType: graph.Float32}
}

// number is whole numbers, or bools, as float32.
func number(x *graph.Array) *graph.Array { return graph.Convert(x, graph.Float32) }

// picture is a map that is painted.
type picture struct {
	*draw.Canvas
	side, x, y int // of the map; where the forager stands, y from the north
}

// newPicture begins a picture of a map, whose forager sees reach cells far.
func newPicture(size image.Point, side int, x, y float64, reach int) (*picture, error) {
	c, err := draw.NewCanvas(size, draw.At(-.5, -.5), draw.At(float64(side)+.5, float64(side)+.5))
	if err != nil {
		return nil, err
	}
	p := &picture{c, side, int(x), int(y)}
	c.Rectangle(color.RGBA{0xec, 0xed, 0xe8, 0xff}, draw.At(0, 0), draw.At(float64(side), float64(side)))
	for dy := -reach; dy <= reach; dy++ {
		for dx := -reach; dx <= reach; dx++ {
			corner := p.corner(dx, dy)
			c.Rectangle(color.RGBA{0xd8, 0xe3, 0xea, 0xff}, corner, draw.At(corner.X+1, corner.Y+1))
		}
	}
	return p, nil
}

// corner is the lower left corner of the cell that lies dx cells to the east and dy to the south of the forager.
func (p *picture) corner(dx, dy int) draw.Point {
	wrap := func(i int) int { return ((i % p.side) + p.side) % p.side }
	return draw.At(float64(wrap(p.x+dx)), float64(p.side-1-wrap(p.y+dy)))
}

// each calls paint with the lower left corner of each cell that a layer fills.
func (p *picture) each(words []float64, paint func(corner draw.Point)) {
	for row, word := range words {
		for column := range p.side {
			if int64(word)>>column&1 == 1 {
				paint(p.corner(column-p.side/2, row-p.side/2))
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
	c := p.corner(0, 0)
	middle := draw.At(c.X+.5, c.Y+.5)
	p.Disc(draw.Ink, middle, .4)
	for _, eye := range []float64{-.14, .14} {
		p.Disc(draw.Paper, draw.At(middle.X+eye, middle.Y+.1), .08)
	}
}
