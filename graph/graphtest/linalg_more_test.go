package graphtest_test

import (
	"fmt"
	"math"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	. "xlarun/graph"
	"xlarun/graph/graphtest"
	"xlarun/graph/linalg"
	"xlarun/third_party/oracles"
)

// moreLinalg are functions over factorisations, by their names in third_party/oracles/jax_more_linalg.py.
var moreLinalg = map[string]func(numbers []float64, x []*Array) *Array{
	"pinv":         func(_ []float64, x []*Array) *Array { return linalg.Pinv(x[0]) },
	"matrix_rank":  func(_ []float64, x []*Array) *Array { return linalg.MatrixRank(x[0]) },
	"cond":         func(_ []float64, x []*Array) *Array { return linalg.Cond(x[0]) },
	"matrix_power": func(n []float64, x []*Array) *Array { return linalg.MatrixPower(x[0], int(n[0])) },
	"multi_dot":    func(_ []float64, x []*Array) *Array { return linalg.MultiDot(x...) },
	"cross":        func(_ []float64, x []*Array) *Array { return linalg.Cross(x[0], x[1]) },
	"vector_norm":  func(n []float64, x []*Array) *Array { return linalg.VectorNorm(x[0], int(n[0]), n[1]) },
	"trace":        func(n []float64, x []*Array) *Array { return linalg.Trace(x[0], int(n[0])) },
	"diagonal":     func(n []float64, x []*Array) *Array { return Diagonal(x[0], -2, -1, int(n[0])) },
	"diag":         func(n []float64, x []*Array) *Array { return Diag(x[0], int(n[0])) },
	"cholesky": func(_ []float64, x []*Array) *Array {
		square := MatMul(x[0], MatrixTranspose(x[0]))
		return linalg.Cholesky(Add(square, Eye(Float32, x[0].Dim(-1))))
	},
	"inv":     func(_ []float64, x []*Array) *Array { return linalg.Inv(x[0]) },
	"det":     func(_ []float64, x []*Array) *Array { return linalg.Det(x[0]) },
	"slogdet": func(_ []float64, x []*Array) *Array { return linalg.LogDet(x[0]) },
	"solve":   func(_ []float64, x []*Array) *Array { return linalg.Solve(x[0], x[1]) },
	"svdvals": func(_ []float64, x []*Array) *Array { _, s, _ := linalg.SVD(x[0]); return s },
	"norm": func(n []float64, x []*Array) *Array {
		return linalg.MatrixNorm(x[0], map[float64]linalg.NormKind{1: linalg.ColumnSum, 2: linalg.Spectral}[n[0]])
	},
}

// These functions have the values, shapes and gradients of JAX, for matrices with and without leading axes.
func TestMoreLinalgAgainstJAX(t *testing.T) {
	var doc struct {
		Cases []struct {
			Op       string
			Numbers  []string
			Inputs   []oracles.Array
			Output   oracles.Array
			Gradient *oracles.Array
		}
	}
	require.NoError(t, oracles.Read("../testdata/jax_more_linalg.json", &doc))
	seen := map[string]bool{}
	for i, c := range doc.Cases {
		seen[c.Op] = true
		t.Run(fmt.Sprint(i, " ", c.Op, c.Numbers, c.Inputs[0].Shape), func(t *testing.T) {
			var numbers []float64
			for _, text := range c.Numbers {
				x, err := strconv.ParseFloat(text, 64)
				require.NoError(t, err)
				numbers = append(numbers, x)
			}
			var inputs []*Array
			for _, in := range c.Inputs {
				inputs = append(inputs, Float32s(in.Float32s(), in.Shape...))
			}
			f := func(x []*Array) *Array { return moreLinalg[c.Op](numbers, x) }
			graphtest.Same(t, graphtest.FromOracle(c.Output), f(inputs), graphtest.Both(2e-4))
			if c.Gradient == nil {
				return
			}
			graphtest.Same(t, graphtest.FromOracle(*c.Gradient), Grad(func(x *Array) *Array {
				return graphtest.Weighted(f(append([]*Array{x}, inputs[1:]...)))
			})(inputs[0]), graphtest.Both(2e-4))
		})
	}
	for name := range moreLinalg {
		require.True(t, seen[name], name)
	}
}

// Empty, bad and not finite operands.
func TestMoreLinalgEdges(t *testing.T) {
	m := func(dims ...int) *Array { return Ones(ShapeOf(Float32, dims...)) }
	for want, f := range map[string]func(){
		"MatrixPower: got f32[2,3], want a square matrix": func() { linalg.MatrixPower(m(2, 3), 2) },
		"MultiDot: got 1 arrays":                          func() { linalg.MultiDot(m(2, 2)) },
		"as array 1, want a matrix":                       func() { linalg.MultiDot(m(2, 2), m(2), m(2, 2)) },
		"want vectors of 2 or 3":                          func() { linalg.Cross(m(4), m(4)) },
		"got the ord NaN":                                 func() { linalg.VectorNorm(m(3), 0, math.NaN()) },
		"got 2 offsets, want one or none":                 func() { Diag(m(3), 1, 2) },
		"want two axes and one offset":                    func() { Diagonal(m(2, 2), 0, 0) },
		"Pinv: got f32[3], want a matrix, or several":     func() { linalg.Pinv(m(3)) },
		"Trace: got f32[3] and 0 offsets, want a matrix":  func() { linalg.Trace(m(3)) },
		"Trace: got f32[3,3] and 2 offsets":               func() { linalg.Trace(m(3, 3), 0, 1) },
		"CholeskySolve: got f32[2,3], want a square":      func() { linalg.CholeskySolve(m(2, 3), m(2)) },
		"CholeskySolve: got a matrix f32[2,2] and a right-hand side f32[3]": func() {
			linalg.CholeskySolve(m(2, 2), m(3))
		},
		"VectorNorm: got f32[2,0] and the ord -Inf, want one element or more along axis -1": func() {
			linalg.VectorNorm(m(2, 0), -1, math.Inf(-1))
		},
		"Lstsq: got f32[2,3,3], want one matrix": func() { linalg.Lstsq(m(2, 3, 3), m(3)) },
	} {
		require.ErrorContains(t, Try(f), want)
	}
	require.Equal(t, []int{0}, Diagonal(m(2, 3), 0, 1, 5).Dims())
	require.Equal(t, []int{0, 2}, linalg.VectorNorm(m(0, 2, 3), -1, 2).Dims())
	require.Equal(t, []float64{0, 0}, graphtest.Floats(t, linalg.VectorNorm(m(2, 0), -1, math.Inf(1))))
	for d, want := range map[DType][2][]float64{ // jax.numpy.linalg.matrix_power to 0 and 2
		Int32: {{1, 0, 0, 1}, {1, 2, 0, 1}}, Bool: {{1, 0, 0, 1}, {1, 1, 0, 1}},
	} {
		x := Of([][]int32{{1, 1}, {0, 1}}).Convert(d)
		for i, n := range []int{0, 2} {
			y := linalg.MatrixPower(x, n)
			require.Equal(t, d, y.DType())
			require.Equal(t, want[i], graphtest.Floats(t, y.Convert(Float32)))
		}
		require.Equal(t, Float32, linalg.MatrixPower(x, -1).DType())
	}
	// jax.scipy.linalg.toeplitz
	for _, c := range []struct{ got, want *Array }{
		{linalg.Toeplitz(Of([]complex64{1 + 1i, 2 + 2i})), Of([][]complex64{{1 + 1i, 2 - 2i}, {2 + 2i, 1 + 1i}})},
		{linalg.Toeplitz(Scalar(3)), Of([][]float32{{3}})},
		{linalg.Toeplitz(m(2), Scalar(3)), m(2, 1)},
		{linalg.Toeplitz(m(0)), m(0, 0)}, {linalg.Toeplitz(m(0), m(2)), m(0, 2)},
	} {
		graphtest.Same(t, c.want, c.got, graphtest.Tolerance{})
	}
	nan := graphtest.Floats(t, linalg.VectorNorm(Float32s([]float32{1, float32(math.NaN())}), 0, 2))
	require.True(t, math.IsNaN(nan[0]))
}
