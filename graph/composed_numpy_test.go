package graph_test

import (
	. "xlarun/graph"
	"xlarun/graph/special"
)

// Derivatives and VMap of functions that JAX differentiates by fewer arguments, or whose loops stop by their values.
func init() {
	three := ShapeOf(Float32, 3)
	AddComposed(
		Case{Name: "GammaInc", Inputs: []Shape{three}, Lo: .5, Hi: 3,
			Fn: func(x []*Array) *Array { return special.GammaInc(1.5, x[0]) }},
		Case{Name: "Zeta", Inputs: []Shape{three, three}, Lo: 1.5, Hi: 3,
			Fn: func(x []*Array) *Array { return special.Zeta(x[0], x[1]) }},
		Case{Name: "BetaInc", Inputs: []Shape{three}, Lo: .2, Hi: .9, Tol: 1e-4,
			Fn: func(x []*Array) *Array { return special.BetaInc(.7, 2.5, x[0]) }},
		Case{Name: "Hypot", Inputs: []Shape{three, three}, Lo: -2, Hi: 2,
			Fn: func(x []*Array) *Array { return Hypot(x[0], x[1]) }},
		Case{Name: "Ndtri of Ndtr", Inputs: []Shape{three}, Lo: -2, Hi: 2,
			Fn: func(x []*Array) *Array { return special.Ndtri(special.Ndtr(x[0])) }},
		Case{Name: "Variance where", Inputs: []Shape{ShapeOf(Float32, 3, 4)}, Lo: -2, Hi: 2,
			Fn: func(x []*Array) *Array {
				return Reduction{Axes: []int{1}, KeepDims: true,
					Where: Gt(IotaAxis(ShapeOf(Int32, 3, 4), 1), 0),
					DDof:  1}.Variance(x[0])
			}},
	)
}
