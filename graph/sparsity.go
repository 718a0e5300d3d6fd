package graph

// Sparsity says where a matrix has elements, as compressed sparse rows. In VMap it is the union of all lanes' places,
// the same in each lane: a place where a lane has no element must change nothing there. So a loop over the places has
// the same number of iterations in all lanes, and reads the same places of their arrays.
type Sparsity struct {
	At      *Array // i32[rows·columns]: the places in row-major order, ascending; what follows the last one is 0
	Columns *Array // i32[rows·columns]: the column of each place
	Starts  *Array // i32[rows+1]: where the places of each row begin in At; where those of the last row end
	Rows    *Array // i32[]: rows that are no padding, which come first
}

// SparsityOf returns the places where a mask, bool[rows, columns], is true. count, i32[], is the number of its rows
// that are no padding.
func SparsityOf(mask, count *Array) Sparsity {
	if mask.DType() != Bool || mask.Rank() != 2 {
		throw("SparsityOf", "got %s, want bool[rows, columns]", mask.shape)
	}
	rows, columns := mask.Dim(0), mask.Dim(1)
	all := rows * columns
	has := BatchMax(Convert(Flatten1D(mask), Int32))
	ends := CumSum(has, 0) // of the places up to each one
	at := ScatterSet(Zeros(ShapeOf(Int32, all)), Select(Gt(has, 0), Sub(ends, 1), int32(all)), Iota(all))
	starts := Concatenate(0, Zeros(ShapeOf(Int32, 1)), IndexAxis(Reshape(ends, rows, columns), 1, columns-1))
	return Sparsity{At: at, Columns: Rem(at, columns), Starts: starts, Rows: BatchMax(count)}
}

// foldUnroll is the number of places in an iteration of FoldRow's loop: 2 took 8 % less time than 1 in networks of 34
// nodes on AVX-512, and 4 took as long as 2.
const foldUnroll = 2

// FoldRow applies f to each place of a row, i32[], in ascending order, each time with what it returned for the place
// before: the place in the matrix, i32[], and its column, i32[].
func FoldRow[C any](s Sparsity, row *Array, start C, f func(c C, at, column *Array) C) C {
	read := func(a, k *Array) *Array { return DynamicIndex(a, k, 0) }
	end := read(s.Starts, Add(row, 1))
	type loop struct {
		K *Array
		C C
	}
	return While(func(l loop) *Array { return Lt(l.K, end) }, func(l loop) loop {
		for range foldUnroll {
			l.C = SelectTree(Lt(l.K, end), f(l.C, read(s.At, l.K), read(s.Columns, l.K)), l.C)
			l.K = Add(l.K, 1)
		}
		return l
	}, loop{read(s.Starts, row), start}).C
}
