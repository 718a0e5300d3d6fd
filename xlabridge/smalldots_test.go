package xlabridge

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/graph"
	"xlarun/graph/lower"
)

// One small matrix times each of many, as it lies and transposed.
func TestSharedSmallDots(t *testing.T) {
	c := open(t, Options{})
	x := graph.Sin(graph.Convert(graph.Reshape(graph.Iota(48), 8, 6), graph.Float32))
	y := graph.Cos(graph.Convert(graph.Reshape(graph.Iota(3*7*6*9), 3, 7, 6, 9), graph.Float32))
	for axis, left := range []*graph.Array{graph.Transpose(x), x} {
		f := func(x, y *graph.Array) *graph.Array { return graph.DotGeneral(x, y, nil, nil, []int{axis}, []int{2}) }
		in, err := graph.Eval([]*graph.Array{left, y})
		require.NoError(t, err)
		p, err := graph.Trace2("products", f, in[0], in[1])
		require.NoError(t, err)
		l, err := lower.Lower(p, c.Target())
		require.NoError(t, err)
		require.Contains(t, l.StableHLO, "xlarun_small_dots")
		got, err := Jit2(c, f)(in[0], in[1])
		require.NoError(t, err)
		require.Equal(t, []int{8, 3, 7, 9}, got.Dims())
		require.InDeltaSlice(t, floats(t, f(in[0], in[1])), floats(t, got), 1e-5)
	}
}

// The kernel for products of many small matrices, for sizes that fill registers and that do not, in all layouts.
func TestSmallDots(t *testing.T) {
	t.Parallel()
	c := open(t, Options{})
	c.target = graph.TargetCPUKernelsAlways
	r := rand.New(rand.NewPCG(1, 2))
	const products = 3
	var calls []sample
	var check []func(got []float64)
	for _, size := range [][3]int{{2, 3, 2}, {16, 16, 16}, {32, 32, 32}, {7, 5, 9}, {31, 17, 23}, {6, 32, 18},
		{9, 4, 31}} {
		rows, inner, columns := size[0], size[1], size[2]
		for layout := range 4 {
			// draw makes matrices, and how they lie.
			draw := func(height, width int, transposed bool) (v []float32, lies *graph.Array) {
				v = make([]float32, products*height*width)
				for i := range v {
					v[i] = float32(r.IntN(17) - 8) // sums are exact
				}
				if lies = graph.Float32s(v, products, height, width); transposed {
					lies = graph.Transpose(lies, 0, 2, 1)
				}
				return v, lies
			}
			x, left := draw(rows, inner, layout&1 != 0)
			y, right := draw(inner, columns, layout&2 != 0)
			in, err := graph.Eval([]*graph.Array{left, right})
			require.NoError(t, err)
			product := func(x, y *graph.Array) *graph.Array {
				return graph.DotGeneral(x, y, []int{0}, []int{0}, []int{2 - layout&1}, []int{1 + layout>>1})
			}
			lowered, err := graph.Trace2("products", product, in[0], in[1])
			require.NoError(t, err)
			l, err := lower.Lower(lowered, c.Target())
			require.NoError(t, err)
			require.Contains(t, l.StableHLO, "xlarun_small_dots", "%v, layout %d", size, layout)
			calls = append(calls, sample{"", func(in []*array) []*array { return []*array{product(in[0], in[1])} }, in})
			check = append(check, func(got []float64) {
				for i := range got {
					p, row, column := i/(rows*columns), i/columns%rows, i%columns
					want := float32(0)
					for k := range inner {
						want += x[(p*rows+row)*inner+k] * y[(p*inner+k)*columns+column]
					}
					require.EqualValues(t, want, got[i], "%v, layout %d, element %d", size, layout, i)
				}
			})
		}
	}
	for i, out := range together(t, c, calls) {
		check[i](floats(t, out[0]))
	}
}
