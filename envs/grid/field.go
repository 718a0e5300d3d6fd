// Package grid holds worlds of cells with walls, in which an agent sees a square around itself.
package grid

import (
	"xlarun/graph"
	"xlarun/graph/random"
)

// size is that of a grid and of the view on it.
type size struct {
	height, width int // cells
	view          int // cells of a side of the view, an odd number
}

const (
	tallest = 64
	word    = 32 // bits
)

// reach is how many cells are seen to each side.
func (z size) reach() int { return z.view / 2 }

// rows is how many there are with those around the grid.
func (z size) rows() int { return z.height + 2*z.reach() }

// fits tells whether a row with what is around it is a word, and cells can be drawn by 32 bits.
func (z size) fits() bool {
	return z.height >= 1 && z.height <= tallest && z.width >= 1 && z.view >= 3 && z.view%2 == 1 && z.width+2*z.reach() <= word
}

// A field is layers of things on a grid, i32[layers, rows]: column x of row y is bit x + reach of word y + reach, so that a view never leaves
// the field. The first layer is walls; all around the grid there are. An int8 for each cell takes as much memory, and looking up or
// writing a cell that is only known when the program runs takes a loop over lanes on CPU: here all is arithmetic on whole layers.
type field struct {
	words *graph.Array
	size
}

// around are the walls around the grid, i32[rows].
func (z size) around() *graph.Array {
	walls := make([]int32, z.rows())
	for y := range walls {
		walls[y] = -1
		if y >= z.reach() && y < z.reach()+z.height {
			walls[y] = int32(^((1<<z.width - 1) << z.reach()))
		}
	}
	return graph.Int32s(walls)
}

// scatter draws in each cell at most one thing: of kind i with the probability densities[i], a layer for each kind, the first of which are
// walls. Cells beyond the given height and width are walls.
func (z size) scatter(key random.Key, height, width *graph.Array, densities ...*graph.Array) field {
	u := z.draws(key)
	kind, high := graph.Zeros(graph.ShapeOf(graph.Int32, z.width, z.height)), graph.Scalar(0)
	for _, d := range densities {
		high = graph.Add(high, d)
		kind = graph.Add(kind, graph.Convert(graph.Ge(u, high), graph.Int32)) // that of nothing in the end
	}
	inside := graph.And(graph.Lt(graph.IotaAxis(kind.Shape(), 1), height), graph.Lt(graph.IotaAxis(kind.Shape(), 0), width))
	kind = graph.Barrier(where(inside, kind))[0]

	// Column by column, so that all rows are done at once: sums along columns take longer than all the rest on CPU.
	layer := graph.Reshape(graph.Iota(len(densities)), len(densities), 1)
	rows := graph.Zeros(graph.ShapeOf(graph.Int32, len(densities), z.height))
	for x := range z.width {
		is := graph.Eq(graph.ExpandDims(graph.Index(kind, x), 0), layer)
		rows = graph.Or(rows, where(is, graph.Full(graph.ShapeOf(graph.Int32), 1<<(x+z.reach()))))
	}
	words := graph.Pad(rows, 0, []int{0, z.reach()}, []int{0, z.reach()})
	around := graph.Pad(graph.ExpandDims(z.around(), 0), 0, []int{0, 0}, []int{len(densities) - 1, 0})
	return field{graph.Or(words, around), z}
}

// draws are a number from 0 to 1 for each cell, f32[width, height], of 16 bits, so that a hash is enough for four cells.
func (z size) draws(key random.Key) *graph.Array {
	const digits = 16
	hash := graph.Barrier(random.Bits(key, graph.Uint64, (z.width+3)/4, z.height))[0]
	var parts []*graph.Array
	for i := range 4 {
		part := graph.And(graph.ShiftRightLogical(hash, i*digits), 1<<digits-1)
		parts = append(parts, number(graph.Convert(part, graph.Int32)))
	}
	return graph.Mul(graph.SliceAxis(graph.Concatenate(0, parts...), 0, 0, z.width), 1./(1<<digits))
}

// number is whole numbers, or bools, as float32.
func number(x *graph.Array) *graph.Array { return graph.Convert(x, graph.Float32) }

// bit is bit x of words, 0 or 1.
func bit(words *graph.Array, x any) *graph.Array {
	return graph.And(graph.ShiftRightLogical(words, x), 1)
}

// where is a where it holds, and 0 elsewhere.
func where(holds, a *graph.Array) *graph.Array { return graph.Select(holds, a, 0) }

// empty draws evenly one of the cells that have nothing, by 32 random bits: its row, counted from the field's, is where is true,
// and cell, i32[], has its bit alone; 0 where no cell is empty.
func (f field) empty(chance *graph.Array) (row, cell *graph.Array) {
	const digits = 21 // of which the product with up to 2047 cells has 32
	free := graph.Not(graph.ReduceOr(f.words, 0))
	once := graph.Barrier(free, graph.PopCount(free)) // not anew for each pair of rows
	free, counts := once[0], once[1]
	i := graph.Iota(f.rows())
	sooner := graph.Lt(graph.ExpandDims(i, 0), graph.ExpandDims(i, 1))
	before := graph.Sum(where(sooner, graph.ExpandDims(counts, 0)), 1)
	k := graph.ShiftRightLogical(graph.Mul(graph.And(chance, 1<<digits-1), graph.Sum(counts)), digits)
	row = graph.And(graph.Ge(k, before), graph.Lt(k, graph.Add(before, counts)))
	found := graph.Barrier(graph.Sum(where(row, free)), graph.Sum(where(row, graph.Sub(k, before))))
	c := graph.Iota(word)
	one := graph.ShiftLeft(graph.OnesLike(c), c)
	nth := graph.Eq(graph.PopCount(graph.And(found[0], graph.Sub(one, 1))), found[1])
	return row, graph.Sum(where(nth, graph.And(found[0], one)))
}

// rowsOfWord is how many rows of a view are in a word.
func (z size) rowsOfWord() int { return word / z.view }

// viewWords is how many words a layer of a view has.
func (z size) viewWords() int { return (z.view + z.rowsOfWord() - 1) / z.rowsOfWord() }

// place is the word and the bit of a view's row and column.
func (z size) place(row, column int) (w, b int) {
	return row / z.rowsOfWord(), row%z.rowsOfWord()*z.view + column
}

// from is what is seen from a row and a column of the grid, i32[layers, words].
func (f field) from(y, x *graph.Array) *graph.Array {
	seen := graph.And(graph.ShiftRightLogical(f.words, x), 1<<f.view-1)
	words := make([]*graph.Array, f.viewWords())
	for w := range words {
		row := graph.Sub(graph.Sub(graph.Iota(f.rows()), y), w*f.rowsOfWord()) // in the word, of each row of the field
		last := min(f.rowsOfWord(), f.view-w*f.rowsOfWord())
		here := graph.And(graph.Ge(row, 0), graph.Lt(row, last))
		words[w] = graph.Sum(where(here, graph.ShiftLeft(seen, graph.Mul(where(here, row), f.view))), 1)
	}
	return graph.Barrier(graph.Stack(words, 1))[0]
}

// alone is a layer, i32[rows], of one cell of the grid.
func (z size) alone(y, x *graph.Array) *graph.Array {
	at := graph.Eq(graph.Iota(z.rows()), graph.Add(y, z.reach()))
	return where(at, graph.ShiftLeft(graph.Full(graph.ShapeOf(graph.Int32), 1), graph.Add(x, z.reach())))
}

// observation is a view, i32[layers, words], as zeros and ones of float16, [layers, view, view].
func (z size) observation(view *graph.Array) *graph.Array {
	layers, cells := view.Dim(0), z.view*z.view
	all := bit(graph.ExpandDims(view, 2), graph.Iota(z.rowsOfWord()*z.view)) // with those behind the last row
	seen := graph.SliceAxis(graph.Reshape(all, layers, -1), 1, 0, cells)
	half := func(x float64) *graph.Array { return graph.Full(graph.ShapeOf(graph.Float16), x) }
	return graph.Reshape(graph.Select(graph.Eq(seen, 1), half(1), half(0)), layers, z.view, z.view)
}
