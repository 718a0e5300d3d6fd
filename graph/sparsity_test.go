package graph

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// numbersOf runs f on the reference interpreter.
func numbersOf(t *testing.T, f func() *Array) (values []int) {
	t.Helper()
	p, err := TraceArgs("numbers", []any{}, TraceOptions{}, func([]any) any { return f() })
	require.NoError(t, err)
	out, err := p.Interpret(nil, nil)
	require.NoError(t, err)
	numbers := floatsOf(t, out[0])
	for _, x := range numbers {
		values = append(values, int(x))
	}
	return values
}

func TestFixedPoint(t *testing.T) {
	// The largest number up to each place: lanes take different numbers of iterations.
	spread := func(x *Array) *Array {
		return FixedPoint(func(x *Array) *Array {
			return Max(x, Concatenate(0, SliceAxis(x, 0, 0, 1), SliceAxis(x, 0, 0, 3)))
		}, x)
	}
	rows := [][]int32{{9, 1, 2, 3}, {1, 2, 3, 4}, {5, 0, 7, 0}}
	want := []int{9, 9, 9, 9, 1, 2, 3, 4, 5, 5, 7, 7}
	t.Run("each lane stands still where it does alone", func(t *testing.T) {
		all := append(append(append([]int32{}, rows[0]...), rows[1]...), rows[2]...)
		require.Equal(t, want, numbersOf(t, func() *Array { return VMap(spread)(Reshape(Of(all), 3, 4)) }))
		for i, row := range rows {
			require.Equal(t, want[4*i:4*i+4], numbersOf(t, func() *Array { return spread(Of(row)) }))
		}
	})
	t.Run("floats are refused", func(t *testing.T) {
		err := Try(func() { FixedPoint(func(x *Array) *Array { return x }, Of([]float32{1})) })
		require.ErrorContains(t, err, "FixedPoint: got f32[1], want whole numbers or bools")
	})
}

func TestSparsity(t *testing.T) {
	mask := func(rows, columns int, bits ...bool) *Array { return Reshape(Of(bits), rows, columns) }
	flat := func(s Sparsity) *Array { return Concatenate(0, s.At, s.Columns, s.Starts, Reshape(s.Rows, 1)) }
	// visited writes down the columns of each row in the order in which FoldRow takes them, as decimal digits.
	visited := func(m *Array) *Array {
		s := SparsityOf(m, Of(int32(m.Dim(0))))
		return ForiLoop(0, s.Rows, func(i, y *Array) *Array {
			digits := FoldRow(s, i, Of(int32(0)), func(n, _, column *Array) *Array {
				return Add(Mul(n, 10), Add(column, 1))
			})
			return DynamicUpdateIndex(y, digits, i, 0)
		}, Zeros(ShapeOf(Int32, m.Dim(0))))
	}
	t.Run("compressed rows", func(t *testing.T) {
		got := numbersOf(t, func() *Array {
			return flat(SparsityOf(mask(2, 3, false, true, true, false, false, true), Of(int32(2))))
		})
		require.Equal(t, []int{1, 2, 5, 0, 0, 0 /* columns */, 1, 2, 2, 0, 0, 0 /* starts */, 0, 2, 3, 2}, got)
	})
	t.Run("none and all, in rows of even and odd length", func(t *testing.T) {
		none := mask(2, 2, false, false, false, false)
		require.Equal(t, []int{0, 0}, numbersOf(t, func() *Array { return visited(none) }))
		require.Equal(t, []int{123}, numbersOf(t, func() *Array { return visited(mask(1, 3, true, true, true)) }))
		require.Equal(t, []int{12, 0, 2, 1}, numbersOf(t, func() *Array {
			return visited(mask(4, 2, true, true, false, false, false, true, true, false))
		}))
	})
	t.Run("lanes have the union of their places", func(t *testing.T) {
		got := numbersOf(t, func() *Array {
			return VMap(func(m *Array) *Array { return visited(m) })(Reshape(Of([]bool{
				true, false, false, false, false, true,
				false, true, false, false, false, false}), 2, 2, 3))
		})
		require.Equal(t, []int{12, 3, 12, 3}, got)
	})
	t.Run("what is no mask is refused", func(t *testing.T) {
		err := Try(func() { SparsityOf(Of([]bool{true}), Of(int32(1))) })
		require.ErrorContains(t, err, "SparsityOf: got bool[1], want bool[rows, columns]")
	})
}
