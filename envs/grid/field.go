// Package grid holds worlds of cells with walls, in which an agent sees a square around itself.
package grid

import (
	"fmt"

	"xlarun/envs"
	"xlarun/graph"
	"xlarun/graph/random"
)

// size is the size of a grid and of the view on it.
type size struct {
	height, width int // cells
	view          int // cells of a side of the view, an odd number
}

const (
	largest    = 256 // cells of a side of the grid
	widestView = 31  // cells of a side; a row of the view fits into a word
	word       = 32  // bits
)

// reach returns how many cells are seen to each side.
func (z size) reach() int { return z.view / 2 }

// rows returns the number of rows, with those around the grid.
func (z size) rows() int { return z.height + 2*z.reach() }

// wordsOfRow returns how many words a row and its surroundings take.
func (z size) wordsOfRow() int { return (z.width + 2*z.reach() + word - 1) / word }

// wordsOfLayer returns how many words a layer has.
func (z size) wordsOfLayer() int { return z.rows() * z.wordsOfRow() }

// check returns an error that names a size that a grid cannot have.
func (z size) check() error {
	for _, s := range z.sizes() {
		odd := s.Name != "view" || s.Value >= 3 && s.Value <= widestView && s.Value%2 == 1
		if s.Value < 1 || s.Value > largest || !odd {
			return fmt.Errorf("got %d as %s, want %s", s.Value, s.Name, s.Wants)
		}
	}
	return nil
}

// sizes lists the sizes of the grid.
func (z size) sizes() []envs.Size {
	side := fmt.Sprintf("a whole number from 1 to %d", largest)
	return []envs.Size{{Name: "height", Value: z.height, Wants: side, Room: true},
		{Name: "width", Value: z.width, Wants: side, Room: true},
		{Name: "view", Value: z.view, Wants: fmt.Sprintf("an odd number from 3 to %d", widestView)}}
}

// field is layers of objects on a grid, i32[layers, words]. The words of a row follow each other, from the west. Column
// x of row y is bit x + reach of the words of row y + reach, so a view never leaves the field. The first layer is the
// walls, which also surround the grid.
//
// Bits need only arithmetic on whole layers, no gathers and scatters. docs/notes/grid.md compares them with an int8 for
// each cell.
type field struct {
	words *graph.Array
	size
}

// around returns the walls around the grid, i32[words].
func (z size) around() *graph.Array {
	walls := make([]int32, z.wordsOfLayer())
	for i := range walls {
		walls[i] = -1
	}
	for y := range z.height {
		for x := range z.width {
			w, b := z.wordOf(x)
			walls[(y+z.reach())*z.wordsOfRow()+w] &^= 1 << b
		}
	}
	return graph.Int32s(walls)
}

// wordOf returns the word of a row, and its bit, that hold a column.
func (z size) wordOf(column int) (w, b int) {
	return (column + z.reach()) / word, (column + z.reach()) % word
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
	rows := make([]*graph.Array, z.wordsOfRow()) // i32[layers, height] each: one word of all rows
	for w := range rows {
		rows[w] = graph.Zeros(graph.ShapeOf(graph.Int32, len(densities), z.height))
	}
	for x := range z.width {
		is := kind.Index(x).ExpandDims(0).Eq(layer)
		w, b := z.wordOf(x)
		rows[w] = rows[w].Or(where(is, graph.Scalar(int32(uint32(1)<<b), graph.Int32)))
	}
	inner := rows[0]
	if len(rows) > 1 {
		inner = graph.Stack(rows, 2).Reshape(len(densities), -1)
	}
	margin := z.reach() * z.wordsOfRow()
	words := graph.Pad(inner, 0, []int{0, margin}, []int{0, margin})
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

// empty draws one of the empty cells, uniformly, from 32 random bits. at, bool[words], is true at the word of the cell.
// cell, i32[], has only the bit of its column; it is 0 if no cell is empty.
func (f field) empty(bits32 *graph.Array) (at, cell *graph.Array) {
	free := graph.ReduceOr(f.words, 0).Not()
	free, counts := graph.Once(graph.PairOf(free, graph.PopCount(free))).Unpack()
	before := graph.CumSum(counts, 0).Sub(counts)
	if n := f.wordsOfLayer(); n <= 32 { // the sum over all pairs is faster
		i := graph.Iota(n)
		sooner := i.ExpandDims(0).Lt(i.ExpandDims(1))
		before = where(sooner, counts.ExpandDims(0)).Sum(1)
	}
	k := f.below(bits32, counts.Sum())
	at = k.Ge(before).And(k.Lt(before.Add(counts)))
	// The free cells of the drawn word as bits, and the number of free cells before the drawn one.
	cells, rank := graph.Once(graph.PairOf(where(at, free).Sum(), where(at, k.Sub(before)).Sum())).Unpack()
	c := graph.Iota(word)
	bits := graph.ShiftLeft(graph.OnesLike(c), c)
	drawn := graph.PopCount(cells.And(bits.Sub(1))).Eq(rank)
	return at, where(drawn, cells.And(bits)).Sum()
}

// below converts 32 random bits to a whole number from 0 to n - 1, where n is at most the number of cells.
func (z size) below(bits32, n *graph.Array) *graph.Array {
	digits, one := 21, bits32.And(1<<21-1) // times at most 2047 cells is less than 2^32
	if z.height*z.width > 2047 {
		digits, one, n = 32, graph.Bitcast(bits32, graph.Uint32).Convert(graph.Uint64), n.Convert(graph.Uint64)
	}
	return graph.ShiftRightLogical(one.Mul(n), digits).Convert(graph.Int32)
}

// cellAt returns row and column of a cell that empty drew; the first cell if it drew none.
func (z size) cellAt(at, cell *graph.Array) (y, x *graph.Array) {
	index := func(i, is *graph.Array) *graph.Array { return where(is, i).Sum() }
	i, c := graph.Iota(z.wordsOfLayer()), graph.Iota(word)
	column := index(c, bit(cell, c).Eq(1))
	if n := z.wordsOfRow(); n > 1 {
		column = column.Add(index(i.Rem(n).Mul(word), at))
		i = graph.FloorDiv(i, n)
	}
	return index(i, at).Sub(z.reach()).Max(0), column.Sub(z.reach()).Max(0)
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
	rows := f.words // i32[layers, rows]: the words from column x on
	if n := f.wordsOfRow(); n == 1 {
		rows = graph.ShiftRightLogical(rows, x)
	} else {
		each, first := rows.Reshape(-1, f.rows(), n), graph.ShiftRightLogical(x, 5)
		from := func(w *graph.Array) *graph.Array { return where(graph.Iota(n).Eq(w), each).Sum(2) }
		shift := x.And(word - 1)
		low, high := graph.ShiftRightLogical(from(first), shift), graph.ShiftLeft(from(first.Add(1)),
			graph.Sub(word, shift))
		rows = low.Or(high)
	}
	seen := rows.And(1<<f.view - 1)
	words := make([]*graph.Array, f.viewWords())
	for w := range words {
		row := graph.Iota(f.rows()).Sub(y).Sub(w * f.rowsOfWord()) // in the word, of each row of the field
		last := min(f.rowsOfWord(), f.view-w*f.rowsOfWord())
		here := row.Ge(0).And(row.Lt(last))
		words[w] = where(here, graph.ShiftLeft(seen, where(here, row).Mul(f.view))).Sum(1)
	}
	return graph.Once(graph.Stack(words, 1))
}

// alone returns a layer, i32[words], of one cell of the grid.
func (z size) alone(y, x *graph.Array) *graph.Array {
	w, b := y.Add(z.reach()), x.Add(z.reach())
	if n := z.wordsOfRow(); n > 1 {
		w, b = w.Mul(n).Add(graph.ShiftRightLogical(b, 5)), b.And(word-1)
	}
	return where(graph.Iota(z.wordsOfLayer()).Eq(w), graph.ShiftLeft(graph.Scalar(1, graph.Int32), b))
}

// observation converts a view, i32[layers, words], to zeros and ones, f16[layers, view, view].
func (z size) observation(view *graph.Array) *graph.Array {
	layers, cells := view.Dim(0), z.view*z.view
	all := bit(view.ExpandDims(2), graph.Iota(z.rowsOfWord()*z.view)) // and unused bits after the last row
	seen := graph.SliceAxis(all.Reshape(layers, -1), 1, 0, cells)
	half := func(x float64) *graph.Array { return graph.Scalar(x, graph.Float16) }
	return graph.Select(seen.Eq(1), half(1), half(0)).Reshape(layers, z.view, z.view)
}
