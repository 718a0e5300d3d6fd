package graph

import (
	"fmt"
	"math"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/third_party/oracles"
)

// moreLinalg are functions over factorisations, by their names in third_party/oracles/jax_more_linalg.py.
var moreLinalg = map[string]func(numbers []float64, x []*Array) *Array{
	"pinv":         func(_ []float64, x []*Array) *Array { return Pinv(x[0]) },
	"matrix_rank":  func(_ []float64, x []*Array) *Array { return MatrixRank(x[0]) },
	"cond":         func(_ []float64, x []*Array) *Array { return ConditionNumber(x[0]) },
	"matrix_power": func(n []float64, x []*Array) *Array { return MatrixPower(x[0], int(n[0])) },
	"multi_dot":    func(_ []float64, x []*Array) *Array { return MultiDot(x...) },
	"cross":        func(_ []float64, x []*Array) *Array { return Cross(x[0], x[1]) },
	"vector_norm":  func(n []float64, x []*Array) *Array { return VectorNorm(x[0], int(n[0]), n[1]) },
	"trace":        func(n []float64, x []*Array) *Array { return MatrixTrace(x[0], int(n[0])) },
	"diagonal":     func(n []float64, x []*Array) *Array { return Diagonal(x[0], -2, -1, int(n[0])) },
	"diag":         func(n []float64, x []*Array) *Array { return Diag(x[0], int(n[0])) },
	"cholesky": func(_ []float64, x []*Array) *Array {
		square := MatMul(x[0], MatrixTranspose(x[0]))
		return Cholesky(Add(square, Eye(Float32, x[0].Dim(-1))))
	},
	"inv":     func(_ []float64, x []*Array) *Array { return Inverse(x[0]) },
	"det":     func(_ []float64, x []*Array) *Array { return Det(x[0]) },
	"slogdet": func(_ []float64, x []*Array) *Array { return LogDet(x[0]) },
	"solve":   func(_ []float64, x []*Array) *Array { return Solve(x[0], x[1]) },
	"svdvals": func(_ []float64, x []*Array) *Array { _, s, _ := SVD(x[0]); return s },
	"norm": func(n []float64, x []*Array) *Array {
		return MatrixNorm(x[0], map[float64]NormKind{1: ColumnSum, 2: Spectral}[n[0]])
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
	require.NoError(t, oracles.Read("testdata/jax_more_linalg.json", &doc))
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
			nearJAX(t, c.Output, f(inputs), 2e-4)
			if c.Gradient == nil {
				return
			}
			nearJAX(t, *c.Gradient, Grad(func(x *Array) *Array {
				return weighted(f(append([]*Array{x}, inputs[1:]...)))
			})(inputs[0]), 2e-4)
		})
	}
	for name := range moreLinalg {
		require.True(t, seen[name], name)
	}
}

// nearJAX compares an array with one of JAX: the shape, and each element within tolerance (1 + |element|).
func nearJAX(t *testing.T, want oracles.Array, got *Array, tolerance float64) {
	t.Helper()
	require.Equal(t, append([]int{}, want.Shape...), append([]int{}, got.Dims()...))
	numbers, err := Floats(got)
	require.NoError(t, err)
	for j, x := range want.Floats() {
		require.InDelta(t, x, numbers[j], tolerance*(1+math.Abs(x)), "element %d", j)
	}
}

// weighted is sum(x * cos(0, 1, 2, …)), whose gradients the scripts in third_party/oracles write.
func weighted(x *Array) *Array {
	return Sum(Mul(x, Reshape(Cos(Convert(Iota(x.Size()), Float32)), x.Dims()...)))
}

// Empty, bad and not finite operands.
func TestMoreLinalgEdges(t *testing.T) {
	m := func(dims ...int) *Array { return Ones(ShapeOf(Float32, dims...)) }
	for want, f := range map[string]func(){
		"MatrixPower: got f32[2,3], want a square matrix": func() { MatrixPower(m(2, 3), 2) },
		"MultiDot: got 1 arrays":                          func() { MultiDot(m(2, 2)) },
		"as array 1, want a matrix":                       func() { MultiDot(m(2, 2), m(2), m(2, 2)) },
		"want vectors of 2 or 3":                          func() { Cross(m(4), m(4)) },
		"got the ord NaN":                                 func() { VectorNorm(m(3), 0, math.NaN()) },
		"got 2 offsets, want one or none":                 func() { Diag(m(3), 1, 2) },
		"want two axes and one offset":                    func() { Diagonal(m(2, 2), 0, 0) },
		"Pinv: got f32[3], want a matrix, or several":     func() { Pinv(m(3)) },
		"Lstsq: got f32[2,3,3], want one matrix":          func() { Lstsq(m(2, 3, 3), m(3)) },
	} {
		require.ErrorContains(t, Try(f), want)
	}
	require.Equal(t, []int{0}, Diagonal(m(2, 3), 0, 1, 5).Dims())
	require.Equal(t, []int{0, 2}, VectorNorm(m(0, 2, 3), -1, 2).Dims())
	nan, err := Floats(VectorNorm(Float32s([]float32{1, float32(math.NaN())}), 0, 2))
	require.NoError(t, err)
	require.True(t, math.IsNaN(nan[0]))
}
