package graph

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Derivatives and VMap of functions that JAX differentiates by fewer arguments, or whose loops stop by their values.
func init() {
	three := ShapeOf(Float32, 3)
	composed = append(composed,
		Case{Name: "GammaInc", Inputs: []Shape{three}, Lo: .5, Hi: 3,
			Fn: func(x []*Array) *Array { return GammaInc(1.5, x[0]) }},
		Case{Name: "Zeta", Inputs: []Shape{three, three}, Lo: 1.5, Hi: 3,
			Fn: func(x []*Array) *Array { return Zeta(x[0], x[1]) }},
		Case{Name: "BetaInc", Inputs: []Shape{three}, Lo: .2, Hi: .9, Tol: 1e-4,
			Fn: func(x []*Array) *Array { return BetaInc(.7, 2.5, x[0]) }},
		Case{Name: "Hypot", Inputs: []Shape{three, three}, Lo: -2, Hi: 2,
			Fn: func(x []*Array) *Array { return Hypot(x[0], x[1]) }},
		Case{Name: "Ndtri of Ndtr", Inputs: []Shape{three}, Lo: -2, Hi: 2,
			Fn: func(x []*Array) *Array { return Ndtri(Ndtr(x[0])) }},
		Case{Name: "Variance where", Inputs: []Shape{ShapeOf(Float32, 3, 4)}, Lo: -2, Hi: 2,
			Fn: func(x []*Array) *Array {
				return Reduction{Axes: []int{1}, KeepDims: true, Where: Gt(IotaAxis(ShapeOf(Int32, 3, 4), 1), 0),
					DDof: 1}.Variance(x[0])
			}},
	)
}

// JAX has no derivatives of the incomplete beta function by its concentrations: differences check ours.
func TestBetaIncByConcentrations(t *testing.T) {
	sum := func(a, b *Array) *Array { return Sum(BetaInc(a, b, Of([]float64{.2, .5, .9}))) }
	a, b := Of([]float64{.7, 2, 5}), Of([]float64{1.5, .4, 3})
	for k, got := range []*Array{Grad(func(a *Array) *Array { return sum(a, b) })(a),
		Grad(func(b *Array) *Array { return sum(a, b) })(b)} {
		slopes, err := Floats(got)
		require.NoError(t, err)
		for i, slope := range slopes {
			const h = 1e-5
			step := Mul(Convert(Eq(Iota(3), i), Float64), h)
			ends := make([]float64, 2)
			for side, sign := range []float64{1, -1} {
				p := []*Array{a, b}
				p[k] = Add(p[k], Mul(sign, step))
				ends[side], err = Float(sum(p[0], p[1]))
				require.NoError(t, err)
			}
			require.InDelta(t, (ends[0]-ends[1])/(2*h), slope, 1e-6) // the loop stops when the value stands still
		}
	}
}
