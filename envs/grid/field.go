// Package grid holds worlds of cells with walls, in which an agent sees a square around itself.
package grid

import (
	"xlarun/graph"
	"xlarun/graph/random"
)

// size is the size of a grid and of the view on it.
type size struct {
	height, width int // cells
	view          int // cells of a side of the view, an odd number
}

const (
	tallest = 64
	word    = 32 // bits
)

// reach returns how many cells are seen to each side.
func (z size) reach() int { return z.view / 2 }

// rows returns the number of rows, with those around the grid.
func (z size) rows() int { return z.height + 2*z.reach() }

// fits reports whether a row and its surroundings fit into a word, and 32 bits are enough to draw a cell.
func (z size) fits() bool {
	odd := z.view >= 3 && z.view%2 == 1
	return z.height >= 1 && z.height <= tallest && z.width >= 1 && odd && z.width+2*z.reach() <= word
}

// field is layers of objects on a grid, i32[layers, rows]. Column x of row y is bit x + reach of word y + reach, so
// a view never leaves the field. The first layer is the walls, which also surround the grid. Bits are faster than an
// int8 for each cell: gathering or scattering a cell takes a loop over lanes on CPUs, while bits need only arithmetic
// on whole layers.
type field struct {
	words *graph.Array
	size
}

// around returns the walls around the grid, i32[rows].
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

// scatter draws at most one thing in each cell: kind i with probability densities[i]. Each kind has a layer; the first
// is walls. Cells beyond the given height and width are walls.
func (z size) scatter(key random.Key, height, width *graph.Array, densities ...*graph.Array) field {
	u := z.draws(key)
	kind, high := graph.Zeros(graph.ShapeOf(graph.Int32, z.width, z.height)), graph.Scalar(0)
	for _, d := range densities {
		high = high.Add(d)
		kind = kind.Add(u.Ge(high).Convert(graph.Int32)) // len(densities): nothing
	}
	inside := graph.IotaAxis(kind.Shape(), 1).Lt(height).And(graph.IotaAxis(kind.Shape(), 0).Lt(width))
	kind = graph.Once(where(inside, kind))

	// Column by column, so that all rows are done at once. Sums along columns take longer than everything else on CPUs.
	layer := graph.Iota(len(densities)).Reshape(len(densities), 1)
	rows := graph.Zeros(graph.ShapeOf(graph.Int32, len(densities), z.height))
	for x := range z.width {
		is := kind.Index(x).ExpandDims(0).Eq(layer)
		rows = rows.Or(where(is, graph.Full(graph.ShapeOf(graph.Int32), 1<<(x+z.reach()))))
	}
	words := graph.Pad(rows, 0, []int{0, z.reach()}, []int{0, z.reach()})
	around := graph.Pad(z.around().ExpandDims(0), 0, []int{0, 0}, []int{len(densities) - 1, 0})
	return field{words.Or(around), z}
}

// draws returns a number from 0 to 1 for each cell, f32[width, height]. Each has 16 bits, so one hash serves four
// cells.
func (z size) draws(key random.Key) *graph.Array {
	const digits = 16
	hash := graph.Once(random.Bits(key, graph.Uint64, (z.width+3)/4, z.height))
	var parts []*graph.Array
	for i := range 4 {
		part := graph.ShiftRightLogical(hash, i*digits).And(1<<digits - 1)
		parts = append(parts, number(part.Convert(graph.Int32)))
	}
	return graph.SliceAxis(graph.Concatenate(0, parts...), 0, 0, z.width).Mul(1. / (1 << digits))
}

// number converts whole numbers or bools to float32.
func number(x *graph.Array) *graph.Array { return x.Convert(graph.Float32) }

// bit returns bit x of words, 0 or 1.
func bit(words *graph.Array, x any) *graph.Array {
	return graph.ShiftRightLogical(words, x).And(1)
}

// where returns a where the condition holds, and 0 elsewhere.
func where(holds, a *graph.Array) *graph.Array { return graph.Select(holds, a, 0) }

// empty draws one of the empty cells, uniformly, from 32 random bits. row, bool[rows], is true in the row of the cell.
// cell, i32[], has only the bit of its column; it is 0 if no cell is empty.
func (f field) empty(bits32 *graph.Array) (row, cell *graph.Array) {
	const digits = 21 // times at most 2047 cells is less than 2^32
	free := graph.ReduceOr(f.words, 0).Not()
	free, counts := graph.Once(graph.PairOf(free, graph.PopCount(free))).Unpack()
	i := graph.Iota(f.rows())
	sooner := i.ExpandDims(0).Lt(i.ExpandDims(1))
	before := where(sooner, counts.ExpandDims(0)).Sum(1)
	k := graph.ShiftRightLogical(bits32.And(1<<digits-1).Mul(counts.Sum()), digits)
	row = k.Ge(before).And(k.Lt(before.Add(counts)))
	// The free cells of the drawn row as bits, and the number of free cells before the drawn one.
	cells, rank := graph.Once(graph.PairOf(where(row, free).Sum(), where(row, k.Sub(before)).Sum())).Unpack()
	c := graph.Iota(word)
	bits := graph.ShiftLeft(graph.OnesLike(c), c)
	drawn := graph.PopCount(cells.And(bits.Sub(1))).Eq(rank)
	return row, where(drawn, cells.And(bits)).Sum()
}

// rowsOfWord returns how many rows of a view fit into a word.
func (z size) rowsOfWord() int { return word / z.view }

// viewWords returns how many words a layer of a view has.
func (z size) viewWords() int { return (z.view + z.rowsOfWord() - 1) / z.rowsOfWord() }

// place returns the word and the bit of a row and column of a view.
func (z size) place(row, column int) (w, b int) {
	return row / z.rowsOfWord(), row%z.rowsOfWord()*z.view + column
}

// from returns the view from a row and a column of the grid, i32[layers, words].
func (f field) from(y, x *graph.Array) *graph.Array {
	seen := graph.ShiftRightLogical(f.words, x).And(1<<f.view - 1)
	words := make([]*graph.Array, f.viewWords())
	for w := range words {
		row := graph.Iota(f.rows()).Sub(y).Sub(w * f.rowsOfWord()) // in the word, of each row of the field
		last := min(f.rowsOfWord(), f.view-w*f.rowsOfWord())
		here := row.Ge(0).And(row.Lt(last))
		words[w] = where(here, graph.ShiftLeft(seen, where(here, row).Mul(f.view))).Sum(1)
	}
	return graph.Once(graph.Stack(words, 1))
}

// alone returns a layer, i32[rows], of one cell of the grid.
func (z size) alone(y, x *graph.Array) *graph.Array {
	at := graph.Iota(z.rows()).Eq(y.Add(z.reach()))
	return where(at, graph.ShiftLeft(graph.Full(graph.ShapeOf(graph.Int32), 1), x.Add(z.reach())))
}

// observation converts a view, i32[layers, words], to zeros and ones, f16[layers, view, view].
func (z size) observation(view *graph.Array) *graph.Array {
	layers, cells := view.Dim(0), z.view*z.view
	all := bit(view.ExpandDims(2), graph.Iota(z.rowsOfWord()*z.view)) // and unused bits after the last row
	seen := graph.SliceAxis(all.Reshape(layers, -1), 1, 0, cells)
	half := func(x float64) *graph.Array { return graph.Full(graph.ShapeOf(graph.Float16), x) }
	return graph.Select(seen.Eq(1), half(1), half(0)).Reshape(layers, z.view, z.view)
}
