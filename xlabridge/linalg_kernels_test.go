package xlabridge

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/graph"
	"xlarun/graph/linalg"
	"xlarun/internal/long"
)

// The kernels of linear algebra give what the interpreter gives, whatever part of a register or a tile a size fills.
func TestMatrixKernels(t *testing.T) {
	t.Parallel()
	client := open(t, Options{})
	if !client.HasKernels() {
		t.Skip("the plugin takes no kernels")
	}
	type arrays = []*graph.Array
	positive := func(x *graph.Array) *graph.Array {
		n := x.Dim(0)
		return graph.Add(graph.MatMul(x, graph.MatrixTranspose(x)), graph.Mul(float64(n), graph.Eye(x.DType(), n)))
	}
	heavy := func(x *graph.Array) *graph.Array { // a large diagonal
		return graph.Add(x, graph.Mul(float64(x.Dim(0)), graph.Eye(x.DType(), x.Dim(0))))
	}
	options := map[string][]linalg.TriangularOption{
		"lower": nil, "upper": {linalg.UpperTriangle()}, "unit": {linalg.UnitDiagonal()}, "transposed": {
			linalg.TransposedMatrix()},
		"upper transposed": {linalg.UpperTriangle(), linalg.TransposedMatrix()},
	}
	solve := func(way string, right bool) func(x arrays) arrays {
		o := options[way]
		if right {
			o = append([]linalg.TriangularOption{linalg.RightSide()}, o...)
		}
		return func(x arrays) arrays { return arrays{linalg.TriangularSolve(heavy(x[0]), x[1], o...)} }
	}
	type kase struct {
		what string
		dims [][]int // without the batch
		f    func(x arrays) arrays
	}
	var cases []kase
	ways := slices.Sorted(maps.Keys(options))
	// The short form leaves out sizes that take the same ways as those beside them, and gives each way of solving two
	// of the right sides.
	sizes := func(all []int) []int {
		return slices.DeleteFunc(all, func(n int) bool {
			return !long.On() && slices.Contains([]int{2, 4, 5, 8, 15, 33, 64}, n)
		})
	}
	for _, n := range sizes([]int{1, 2, 3, 4, 5, 8, 15, 16, 17, 33}) {
		cases = append(cases, kase{fmt.Sprint("factors, columns and rows of size ", n), [][]int{{n, n}, {n, 1}, {n, 3},
			{n, 5}, {n, 21}, {1, n}, {5, n}}, func(x arrays) arrays {
			lu, p, q := linalg.LU(x[0])
			out := arrays{linalg.Cholesky(positive(x[0])), lu, p, q}
			for w, way := range ways {
				for i, b := range x[1:] {
					if (w+i)%3 != 0 && !long.On() {
						continue
					}
					out = append(out, solve(way, i >= 4)(arrays{x[0], b})...)
				}
			}
			return out
		}})
	}
	cases = append(cases,
		kase{"lu by blocks", [][]int{{150, 150}}, func(x arrays) arrays {
			lu, p, q := linalg.LU(x[0])
			return arrays{lu, p, q}
		}},
		kase{"qr", [][]int{{1, 1}, {1, 5}, {5, 1}, {7, 7}, {8, 19}, {19, 8}, {40, 33}}, func(x arrays) (out arrays) {
			for _, a := range x {
				q, r := linalg.QR(a)
				out = append(out, q, r)
			}
			return out
		}},
		kase{"qr of what is zero, large, small or no number", [][]int{{6, 4}}, func(x arrays) (out arrays) {
			column := graph.Eq(graph.IotaAxis(x[0].Shape(), 1), 1)
			changed := arrays{graph.Mul(x[0], 0), graph.Mul(x[0], 1e37), graph.Mul(x[0], 1e-34),
				graph.Select(column, 0, x[0]), graph.Select(column, math.NaN(), x[0])}
			for _, a := range changed {
				q, r := linalg.QR(a)
				out = append(out, q, r)
			}
			return out
		}},
		kase{"lu of zeros", [][]int{{5, 5}}, func(x arrays) arrays {
			lu, p, q := linalg.LU(graph.Mul(0, x[0]))
			return arrays{lu, p, q}
		}},
		kase{"not positive definite", [][]int{{6, 6}}, func(x arrays) arrays {
			return arrays{linalg.Cholesky(graph.Neg(positive(x[0])))}
		}},
		kase{"not positive definite at the end", [][]int{{6, 6}}, func(x arrays) arrays {
			last := graph.Eq(graph.Iota(6), 5)
			return arrays{
				linalg.Cholesky(
					graph.Sub(positive(x[0]), graph.Mul(100, graph.Diag(graph.Convert(last, x[0].DType())))))}
		}},
		kase{"not a number", [][]int{{6, 6}}, func(x arrays) arrays {
			return arrays{linalg.Cholesky(graph.Add(positive(x[0]), math.NaN()))}
		}},
		kase{"singular", [][]int{{4, 4}, {4, 2}}, func(x arrays) arrays {
			return arrays{linalg.TriangularSolve(graph.Mul(0, x[0]), graph.Add(1, graph.Abs(x[1])))}
		}})
	// Eigenvectors of values that lie apart are compared themselves, of others by what they make of the matrix.
	eigen := func(x *graph.Array, apart bool) arrays {
		x = graph.Mul(graph.Add(x, graph.MatrixTranspose(x)), .5)
		if apart {
			x = graph.Add(x, graph.Diag(graph.Mul(graph.Convert(graph.Iota(x.Dim(0)), x.DType()), 3)))
		}
		w, v := linalg.Eigh(x)
		out := arrays{w, graph.MatMul(graph.Mul(v, graph.ExpandDims(w, 0)), graph.MatrixTranspose(v)),
			graph.MatMul(graph.MatrixTranspose(v), v)}
		if apart {
			out = append(out, v)
		}
		return out
	}
	general := func(x arrays) arrays {
		e := linalg.Eig(x[0])
		re, im := linalg.EigVals(x[0])
		return arrays{e.Re, e.Im, e.VectorsRe, e.VectorsIm, re, im}
	}
	heavyUneven := func(x *graph.Array) *graph.Array { // eigenvalues well apart
		return graph.Add(x, graph.Diag(graph.Mul(graph.Convert(graph.Iota(x.Dim(0)), x.DType()), 3)))
	}
	for _, n := range sizes([]int{1, 2, 3, 4, 5, 8, 15, 16, 17, 33, 64}) {
		cases = append(cases, kase{fmt.Sprint("eigenvectors of size ", n), [][]int{{n, n}}, func(x arrays) arrays {
			return append(eigen(x[0], true), eigen(x[0], false)...)
		}})
	}
	for _, change := range []struct {
		what string
		of   func(x *graph.Array) *graph.Array
	}{
		{"zeros", func(x *graph.Array) *graph.Array { return graph.Mul(0, x) }},
		{"one value many times", func(x *graph.Array) *graph.Array {
			return graph.Mul(-3, graph.Eye(x.DType(), x.Dim(0)))
		}},
		{"rank one", func(x *graph.Array) *graph.Array { return graph.Outer(graph.Index(x, 0), graph.Index(x, 0)) }},
		{"diagonal, in falling order", func(x *graph.Array) *graph.Array {
			return graph.Diag(graph.Neg(graph.Convert(graph.Iota(x.Dim(0)), x.DType())))
		}},
		{"two blocks", func(x *graph.Array) *graph.Array {
			return graph.Mul(x, graph.Eq(graph.Gt(graph.IotaAxis(x.Shape(), 0), 2),
				graph.Gt(graph.IotaAxis(x.Shape(), 1), 2)))
		}},
		{"not a number", func(x *graph.Array) *graph.Array { return graph.Mul(x, math.NaN()) }},
		{"one infinity", func(x *graph.Array) *graph.Array {
			return graph.Select(graph.Gt(graph.Eye(x.DType(), x.Dim(0)), 0), math.Inf(1), x)
		}},
		{"close to the largest float32", func(x *graph.Array) *graph.Array { return graph.Mul(x, 1e37) }},
		{"close to the smallest float32", func(x *graph.Array) *graph.Array { return graph.Mul(x, 1e-34) }},
		{"far apart in size, 1 and 1e-6", func(x *graph.Array) *graph.Array {
			return graph.Mul(x, graph.Select(graph.Gt(graph.IotaAxis(x.Shape(), 0), 2), 1e-6, graph.OnesLike(x)))
		}},
		{"two numbers in 1e-160 of the third", func(x *graph.Array) *graph.Array {
			return graph.Mul(graph.Reverse(graph.Eye(x.DType(), x.Dim(0)), 0),
				graph.Select(graph.Gt(graph.IotaAxis(x.Shape(), 0), 4), 1e-160, graph.OnesLike(x)))
		}},
	} {
		cases = append(cases, kase{"eigenvectors: " + change.what, [][]int{{6, 6}}, func(x arrays) arrays {
			return eigen(change.of(x[0]), false)
		}})
	}
	// Eigenvectors of matrices that are not symmetric, with real eigenvalues and pairs of complex ones.
	for _, n := range sizes([]int{1, 2, 3, 4, 5, 8, 17, 64}) {
		cases = append(cases, kase{fmt.Sprint("complex eigenvectors of size ", n), [][]int{{n, n}}, general})
	}
	for _, change := range []struct {
		what string
		of   func(x *graph.Array) *graph.Array
	}{
		{"zeros", func(x *graph.Array) *graph.Array { return graph.Mul(0, x) }},
		{"lower triangular", func(x *graph.Array) *graph.Array { return graph.Tril(heavyUneven(x), 0) }},
		{"upper triangular", func(x *graph.Array) *graph.Array { return graph.Triu(heavyUneven(x), 0) }},
		{"two blocks", func(x *graph.Array) *graph.Array {
			return graph.Mul(heavyUneven(x), graph.Eq(graph.Gt(graph.IotaAxis(x.Shape(), 0), 2),
				graph.Gt(graph.IotaAxis(x.Shape(), 1), 2)))
		}},
		{"a cycle", func(x *graph.Array) *graph.Array { return graph.Roll(graph.Eye(x.DType(), 6), 1, 0) }},
		{"skew-symmetric", func(x *graph.Array) *graph.Array { return graph.Sub(x, graph.MatrixTranspose(x)) }},
		{"one not a number", func(x *graph.Array) *graph.Array {
			return graph.Select(graph.Eq(graph.Reshape(graph.Iota(36), 6, 6), 7), math.NaN(), x)
		}},
		{"one infinity", func(x *graph.Array) *graph.Array {
			return graph.Select(graph.Eq(graph.Reshape(graph.Iota(36), 6, 6), 7), math.Inf(1), x)
		}},
		{"close to the largest float32", func(x *graph.Array) *graph.Array { return graph.Mul(x, 1e37) }},
		{"close to the smallest float32", func(x *graph.Array) *graph.Array { return graph.Mul(x, 1e-34) }},
		{"badly scaled", func(x *graph.Array) *graph.Array {
			size := graph.Exp(graph.Mul(3, graph.Convert(graph.Iota(6), x.DType())))
			return graph.Div(graph.Mul(heavyUneven(x), graph.ExpandDims(size, 1)), size)
		}},
	} {
		cases = append(cases, kase{"complex eigenvectors: " + change.what, [][]int{{6, 6}}, func(x arrays) arrays {
			return general(arrays{change.of(x[0])})
		}})
	}
	// Matrices of low rank: all but a few eigenvalues are rounding.
	var calls []sample
	for i, s := range [][2]int{{70, 7}, {90, 22}, {130, 65}, {160, 16}, {200, 100}} {
		n, rank := s[0], s[1]
		for k, d := range []graph.DType{graph.Float32, graph.Float64} {
			if i%2 != k && !long.On() {
				continue
			}
			f := func(in arrays) arrays {
				a := graph.MatMul(in[0], graph.MatrixTranspose(in[0]))
				w, v := linalg.Eigh(a)
				scale := graph.Sqrt(graph.Sum(graph.Square(a)))
				return arrays{
					graph.Div(graph.Sub(graph.MatMul(graph.Mul(v, graph.ExpandDims(w, 0)), graph.MatrixTranspose(v)),
						a), scale),
					graph.Sub(graph.MatMul(graph.MatrixTranspose(v), v), graph.Eye(d, n))}
			}
			// Whole numbers, as (7i + 13j + ij) mod 5 - 2.
			x := make([]float32, n*rank)
			for k := range x {
				x[k] = float32((7*(k/rank)+13*(k%rank)+k/rank*(k%rank))%5 - 2)
			}
			calls = append(calls, sample{fmt.Sprintf("low rank: %d of %d, %s", rank, n, d), f,
				arrays{graph.Convert(graph.Float32s(x, n, rank), d)}})
		}
	}
	for i, got := range together(t, client, calls) {
		for k, a := range got {
			for _, v := range floats(t, a) {
				require.InDelta(t, 0, v, map[graph.DType]float64{graph.Float32: 2e-6, graph.Float64: 1e-13}[a.DType()],
					"%s, result %d", calls[i].name, k)
			}
		}
	}
	calls = nil
	r := rand.New(rand.NewPCG(1, 2))
	for i, c := range cases {
		for k, d := range []graph.DType{graph.Float32, graph.Float64} {
			if i%2 != k && !long.On() { // both are one text in C
				continue
			}
			const batch = 3
			var in arrays
			for _, dims := range c.dims {
				in = append(in, graph.Case{Lo: -1, Hi: 1}.Input(r, graph.ShapeOf(d, append([]int{batch}, dims...)...)))
			}
			calls = append(calls, sample{fmt.Sprintf("case %d: %s %s", i+1, c.what, d), graph.VMap(c.f), in})
		}
	}
	sameTogether(t, client, calls, 16, map[graph.DType]float64{graph.Float32: 2e-4, graph.Float64: 1e-10})
}
