package graph_test

import (
	"xlarun/graph"
	"xlarun/graph/special"
)

// Derivatives and VMap of functions that JAX differentiates by fewer arguments, or whose loops stop by their values.
func init() {
	three := graph.ShapeOf(graph.Float32, 3)
	graph.AddComposed(
		graph.Case{Name: "GammaInc", Inputs: []graph.Shape{three}, Lo: .5, Hi: 3,
			Fn: func(x []*graph.Array) *graph.Array { return special.GammaInc(1.5, x[0]) }},
		graph.Case{Name: "Zeta", Inputs: []graph.Shape{three, three}, Lo: 1.5, Hi: 3,
			Fn: func(x []*graph.Array) *graph.Array { return special.Zeta(x[0], x[1]) }},
		graph.Case{Name: "BetaInc", Inputs: []graph.Shape{three}, Lo: .2, Hi: .9, Tol: 1e-4,
			Fn: func(x []*graph.Array) *graph.Array { return special.BetaInc(.7, 2.5, x[0]) }},
		graph.Case{Name: "Hypot", Inputs: []graph.Shape{three, three}, Lo: -2, Hi: 2,
			Fn: func(x []*graph.Array) *graph.Array { return graph.Hypot(x[0], x[1]) }},
		graph.Case{Name: "Ndtri of Ndtr", Inputs: []graph.Shape{three}, Lo: -2, Hi: 2,
			Fn: func(x []*graph.Array) *graph.Array { return special.Ndtri(special.Ndtr(x[0])) }},
		graph.Case{Name: "Variance where", Inputs: []graph.Shape{graph.ShapeOf(graph.Float32, 3, 4)}, Lo: -2, Hi: 2,
			Fn: func(x []*graph.Array) *graph.Array {
				return graph.Reduction{Axes: []int{1}, KeepDims: true,
					Where: graph.Gt(graph.IotaAxis(graph.ShapeOf(graph.Int32, 3, 4), 1), 0),
					DDof:  1}.Variance(x[0])
			}},
	)
}
