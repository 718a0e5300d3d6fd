package graphtest_test

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	. "xlarun/graph"
	"xlarun/graph/graphtest"
	"xlarun/graph/linalg"
	"xlarun/third_party/oracles"
)

// Gradients at matrices whose singular values tie or vanish are those of differences where the function is smooth, and
// finite elsewhere; JAX's are NaN or wrong at some of them. Where JAX's agree with the differences, ours are JAX's.
func TestLinalgTiesAgainstJAX(t *testing.T) {
	side := func(x *Array) *Array { return Sin(Add(Convert(Iota(x.Dim(0)), x.DType()), 1)) }
	functions := map[string]func(x *Array) *Array{
		"det":             linalg.Det,
		"nuclear":         func(x *Array) *Array { return linalg.MatrixNorm(x, linalg.Nuclear) },
		"spectral":        func(x *Array) *Array { return linalg.MatrixNorm(x, linalg.Spectral) },
		"singular values": func(x *Array) *Array { _, s, _ := linalg.SVD(x); return s },
		"eigenvalues":     func(x *Array) *Array { w, _ := linalg.Eigh(x); return w },
		"pinv":            func(x *Array) *Array { return linalg.Pinv(x) },
		"lstsq":           func(x *Array) *Array { return linalg.Lstsq(x, side(x)).X },
		"expm":            linalg.Expm,
		"power":           func(x *Array) *Array { return linalg.MatrixPower(x, 3) },
	}
	var doc struct {
		Cases []struct {
			Op, Kind                                       string
			Input, Value, Cotangent, Gradient, Differences oracles.Array
		}
	}
	require.NoError(t, oracles.Read("../testdata/jax_linalg_ties.json.gz", &doc))
	better := map[string]int{}
	for _, c := range doc.Cases {
		name := fmt.Sprint(c.Op, " of ", c.Kind, c.Input.Shape)
		var value, gradient []float64
		require.NoError(t, Try(func() {
			f, x := functions[c.Op], Float64s(c.Input.Floats(), c.Input.Shape...)
			var err error
			value = graphtest.Floats(t, f(x))
			gradient, err = Floats(Grad(func(x *Array) *Array {
				return Sum(Mul(f(x), Float64s(c.Cotangent.Floats(), c.Cotangent.Shape...)))
			})(x))
			require.NoError(t, err)
		}), name)
		if c.Op == "expm" && c.Kind == "huge" {
			for i := range value {
				require.True(t, math.IsNaN(value[i]) && math.IsNaN(c.Value.Floats()[i]), name)
			}
			continue
		}
		largest := func(v []float64) (size float64) {
			for _, x := range v {
				if !math.IsNaN(x) {
					size = max(size, math.Abs(x))
				}
			}
			return size
		}
		scale := largest(c.Value.Floats())
		if c.Op == "det" { // of rounding errors, if x is singular
			scale = max(scale, math.Pow(largest(c.Input.Floats()), float64(c.Input.Shape[0])))
		}
		require.InDeltaSlice(t, c.Value.Floats(), value, 1e-12*scale, name)
		want, theirs := c.Differences.Floats(), c.Gradient.Floats()
		near := max(1e-4*largest(want), 1e-9)
		agrees := !slices.ContainsFunc(want, math.IsNaN)
		for i, g := range gradient {
			require.False(t, math.IsNaN(g) || math.IsInf(g, 0), name)
			if !math.IsNaN(want[i]) {
				require.InDelta(t, want[i], g, near, name)
			}
			agrees = agrees && math.Abs(theirs[i]-want[i]) <= near
		}
		if agrees {
			require.InDeltaSlice(t, theirs, gradient, 1e-8*largest(theirs)+1e-13*scale+1e-80, name)
		} else if !slices.ContainsFunc(want, math.IsNaN) {
			better[c.Op]++
		}
	}
	require.Positive(t, better["det"], "where JAX's gradients are not those of differences")
	require.Positive(t, better["lstsq"], "where JAX's gradients are not those of differences")
}

// All pivots of a shift matrix are 0, and its rank is n - 1: one cofactor is 1 or -1, the others are 0.
func TestDetOfShift(t *testing.T) {
	for n := 4; n <= 10; n++ {
		error32 := max(3e-6, 1.1*math.Exp2(-100/float64(n)))
		for dtype, delta := range map[DType]float64{Float32: error32, Float64: 1e-14} {
			for _, unit := range []float64{1, 1e-4, 1e4} {
				want := make([]float64, n*n)
				want[(n-1)*n] = float64(1 - 2*((n-1)%2))
				x := Mul(Convert(Eq(Sub(Iota(n), ExpandDims(Iota(n), 1)), 1), dtype), unit)
				got := graphtest.Floats(t, Grad(linalg.Det)(x))
				for i := range got {
					got[i] /= math.Pow(unit, float64(n-1))
				}
				require.InDeltaSlice(t, want, got, delta, "%v of size %d, times %v", dtype, n, unit)
			}
		}
	}
}
