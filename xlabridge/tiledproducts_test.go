package xlabridge

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/graph"
	"xlarun/internal/long"
)

// Products of matrices in loops that are one function, whichever way their operands lie, and their gradients, are the
// interpreter's. The short form compiles one of those that are alike.
func TestTiledProducts(t *testing.T) {
	t.Parallel()
	client := open(t, Options{})
	var calls []sample
	for i, c := range []struct {
		spec string
		x, y []int
	}{
		{"ij,jk->ik", []int{17, 33}, []int{33, 29}},
		{"ij,kj->ik", []int{17, 33}, []int{29, 33}},
		{"ji,jk->ik", []int{33, 17}, []int{33, 29}},
		{"ji,kj->ik", []int{33, 17}, []int{29, 33}},
		{"ij,jk->ki", []int{128, 64}, []int{64, 2}},          // few columns
		{"ji,jk->ik", []int{128, 64}, []int{128, 3}},         // few columns, and rows that are contracted
		{"ij,jk->ik", []int{3, 200}, []int{200, 70}},         // few rows
		{"ij,jk->ik", []int{65, 8}, []int{8, 66}},            // written out term by term
		{"ij,jk->ik", []int{65, 1}, []int{1, 66}},            // a single term
		{"ij,jk->ik", []int{65, 9}, []int{9, 66}},            // one more than that
		{"bij,bjk->bik", []int{3, 17, 33}, []int{3, 33, 29}}, // one for each lane
		{"bji,kjb->bik", []int{3, 33, 17}, []int{29, 33, 3}},
		{"abij,bajk->abik", []int{2, 3, 17, 33}, []int{3, 2, 33, 29}},
		{"aij,jk->aik", []int{5, 17, 33}, []int{33, 29}},  // several axes of rows
		{"ijl,jlk->ik", []int{17, 6, 5}, []int{6, 5, 29}}, // several contracted
		{"ilj,jkl->ik", []int{17, 6, 5}, []int{5, 29, 6}}, // and in another order
		{"ij,jk->ik", []int{100, 100}, []int{100, 100}},
	} {
		f := func(x, y *graph.Array) []*graph.Array {
			type sums struct{ Product, X, Y *graph.Array }
			step := func(s sums, _ graph.None) (sums, graph.None) {
				// Each iteration has operands of its own.
				x, y := graph.Add(x, graph.Mul(s.X, .1)), graph.Add(y, graph.Mul(s.Y, .1))
				p := graph.Einsum(c.spec, x, y)
				gx, gy := graph.Grads2(func(x, y *graph.Array) *graph.Array {
					return graph.Mean(graph.Sin(graph.Einsum(c.spec, x, y)))
				})(x, y)
				return sums{graph.Add(s.Product, p), graph.Add(s.X, gx), graph.Add(s.Y, gy)}, graph.None{}
			}
			none := func(a *graph.Array) *graph.Array { return graph.Zeros(a.Shape()) }
			s, _ := graph.Scan(step, sums{none(graph.Einsum(c.spec, x, y)), none(x), none(y)}, graph.None{},
				graph.Length(3))
			return []*graph.Array{s.Product, s.X, s.Y}
		}
		r := rand.New(rand.NewPCG(uint64(i), 7))
		draw := func(dims []int) *graph.Array {
			return graph.Case{Lo: -1, Hi: 1}.Input(r, graph.ShapeOf(graph.Float32, dims...))
		}
		x, y := draw(c.x), draw(c.y)
		l := lowered2(t, client.Target(), f, graph.Abstract(x.Shape()), graph.Abstract(y.Shape()))
		require.True(t, l.Facts.Tiles, "case %d: %s", i+1, c.spec)
		if !long.On() && slices.Contains([]int{2, 4, 6, 9, 12, 14, 15, 16}, i+1) {
			continue
		}
		calls = append(calls, sample{fmt.Sprintf("case %d: %s %v %v", i+1, c.spec, c.x, c.y),
			func(in []*array) []*array { return f(in[0], in[1]) }, []*array{x, y}})
	}
	want, got := together(t, &Reference{}, calls), together(t, client, calls)
	for i, c := range calls {
		for k := range want[i] {
			a, b := floats(t, want[i][k]), floats(t, got[i][k])
			for j := range a {
				require.InDelta(t, a[j], b[j], 2e-5*(1+math.Abs(a[j])), "%s: result %d, element %d", c.name, k, j)
			}
		}
	}
}

// A row that is no number spoils its row of the product alone, and sums of infinities are none.
func TestTiledProductsOfNoNumbers(t *testing.T) {
	client := open(t, Options{})
	f := func(x, y *graph.Array) *graph.Array {
		s, _ := graph.Scan(func(s *graph.Array, _ graph.None) (*graph.Array, graph.None) {
			return graph.Add(s, graph.Dot(x, y)), graph.None{}
		},
			graph.Zeros(graph.ShapeOf(graph.Float32, x.Dim(0), y.Dim(1))), graph.None{}, graph.Length(2))
		return s
	}
	values := make([]float32, 20*30)
	for i := range values {
		values[i] = 1
	}
	values[3*30+5], values[7*30], values[11*30], values[11*30+29] = float32(math.NaN()), float32(math.Inf(1)),
		float32(math.Inf(1)), float32(math.Inf(-1))
	x := graph.Reshape(graph.Of(values), 20, 30)
	out, err := Jit2(client, f)(x, graph.Ones(graph.ShapeOf(graph.Float32, 30, 40)))
	require.NoError(t, err)
	for i, v := range floats(t, out) {
		switch i / 40 {
		case 3, 11:
			require.True(t, math.IsNaN(v), "row %d is %v", i/40, v)
		case 7:
			require.True(t, math.IsInf(v, 1), "row %d is %v", i/40, v)
		default:
			require.Equal(t, 60., v, "row %d", i/40)
		}
	}
}

// A loop with a product costs no digits of a long sum elsewhere in the program.
func TestTiledProductsLeaveSumsAlone(t *testing.T) {
	const n = 1 << 22
	f := func(x, w *graph.Array) []*graph.Array {
		y, _ := graph.Scan(func(y *graph.Array, _ graph.None) (*graph.Array, graph.None) {
			return graph.Dot(y, w), graph.None{}
		}, w, graph.None{}, graph.Length(2))
		return []*graph.Array{graph.Sum(x), graph.Sum(y)}
	}
	out, err := Jit2(open(t, Options{}), f)(graph.Full(graph.ShapeOf(graph.Float32, n), float32(.1)),
		graph.Ones(graph.ShapeOf(graph.Float32, 32, 32)))
	require.NoError(t, err)
	require.InEpsilon(t, n*float64(float32(.1)), floats(t, out[0])[0], 1e-5)
	require.Equal(t, 32*32*32*32., floats(t, out[1])[0])
}
