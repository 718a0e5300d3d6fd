package graphtest

import (
	"fmt"
	"slices"

	"xlarun/graph"
	"xlarun/graph/special"
)

// Composed returns sample calls of functions that are made of ops: tests that are derived from the cases of the op
// table run for them, too.
func Composed() []graph.Case {
	return slices.Concat(associativeScans(), loops(), segments(), specialFunctions())
}

// arrays are the inputs of a call.
type arrays = []*graph.Array

// sample is a call of f with inputs between two numbers.
func sample(name string, lo, hi float64, f func(x arrays) *graph.Array, inputs ...graph.Shape) graph.Case {
	return graph.Case{Name: name, Inputs: inputs, Lo: lo, Hi: hi, Fn: f}
}

func floats(dims ...int) graph.Shape { return graph.ShapeOf(graph.Float32, dims...) }

// affineStep is y = A x + B: steps of a linear recurrence combine to such steps.
type affineStep struct{ A, B *graph.Array }

func (f affineStep) then(g affineStep) affineStep {
	return affineStep{g.A.Mul(f.A), g.A.Mul(f.B).Add(g.B)}
}

func associativeScans() (all []graph.Case) {
	for _, n := range []int{1, 2, 5, 8} {
		all = append(all, sample(fmt.Sprint("linear recurrence ", n), -1, 1, func(x arrays) *graph.Array {
			return graph.AssociativeScan(affineStep.then, affineStep{x[0], x[1]}).B
		}, floats(n, 2), floats(n, 2)))
	}
	return append(all, sample("products of matrices", -1, 1, func(x arrays) *graph.Array {
		return graph.AssociativeScan(graph.Dot, x[0])
	}, floats(6, 2, 2)), sample("reversed", -1, 1, func(x arrays) *graph.Array {
		return graph.AssociativeScan(graph.Dot, x[0], graph.Reversed())
	}, floats(5, 2, 2)))
}

func loops() []graph.Case {
	pow := func(x *graph.Array) func(i, c *graph.Array) *graph.Array {
		return func(i, c *graph.Array) *graph.Array {
			return graph.Add(graph.Mul(c, x), graph.Mul(graph.Convert(i, x.DType()), .1))
		}
	}
	halve := func(x *graph.Array, most int) *graph.Array {
		type carry struct{ X, N *graph.Array }
		large := func(c carry) *graph.Array { return graph.Gt(graph.Abs(c.X), 1) }
		return graph.WhileBounded(large, func(c carry) carry {
			return carry{graph.Mul(graph.Sin(c.X), graph.Mul(x, .5)), graph.Add(c.N, 1)}
		}, carry{graph.Mul(x, 3), graph.Scalar(0, graph.Int32)}, most).X
	}
	computed := sample("for, computed bounds", -1, 4, func(x arrays) *graph.Array {
		return graph.ForiLoop(1, graph.Convert(x[1], graph.Int64), pow(x[0]), x[0])
	}, floats(), graph.ShapeOf(graph.Int32))
	computed.Rough = true
	return []graph.Case{
		sample("for", -1, 1, func(x arrays) *graph.Array { return graph.ForiLoop(-1, 4, pow(x[0]), x[0]) }, floats(2)),
		sample("for, unrolled", -1, 1, func(x arrays) *graph.Array {
			return graph.ForiLoop(0, graph.Of(5), pow(x[0]), x[0], graph.Unroll(2))
		}, floats()),
		computed,
		sample("bounded while", 1.2, 2, func(x arrays) *graph.Array { return halve(x[0], 10) }, floats()),
		sample("bounded while, bound met", 1.2, 2, func(x arrays) *graph.Array {
			return graph.WhileBounded(func(c *graph.Array) *graph.Array { return graph.Lt(c, 1e6) },
				func(c *graph.Array) *graph.Array { return graph.Mul(c, x[1]) }, x[0], 5)
		}, floats(), floats()),
		sample("bounded while, no iterations", 1.2, 2, func(x arrays) *graph.Array { return halve(x[0], 0) }, floats()),
	}
}

func segments() (all []graph.Case) {
	for _, s := range []struct {
		name string
		f    func(x, ids *graph.Array, segments int) *graph.Array
	}{{"sum", graph.SegmentSum}, {"max", graph.SegmentMax}, {"min", graph.SegmentMin}, {"prod", graph.SegmentProd}} {
		all = append(all, sample("segment "+s.name, -1, 4, func(x arrays) *graph.Array {
			y := s.f(x[0], x[1], 3)
			return graph.Select(graph.IsFinite(y), y, 0) // an empty segment's start has no differences
		}, floats(6, 2), graph.ShapeOf(graph.Int32, 6)), sample("segment "+s.name+" of a table", -2, 2,
			func(x arrays) *graph.Array {
				return s.f(x[0], graph.Of([][]int32{{1, 0, 1}, {1, 9, 0}}), 2)
			}, floats(2, 3)))
	}
	return all
}

// specialFunctions are functions that JAX differentiates by fewer arguments, or whose loops stop by their values.
func specialFunctions() []graph.Case {
	betaInc := sample("BetaInc", .2, .9, func(x arrays) *graph.Array {
		return special.BetaInc(.7, 2.5, x[0])
	}, floats(3))
	betaInc.Tol = 1e-4
	return []graph.Case{
		sample("GammaInc", .5, 3, func(x arrays) *graph.Array { return special.GammaInc(1.5, x[0]) }, floats(3)),
		sample("Zeta", 1.5, 3, func(x arrays) *graph.Array { return special.Zeta(x[0], x[1]) }, floats(3), floats(3)),
		betaInc,
		sample("Hypot", -2, 2, func(x arrays) *graph.Array { return graph.Hypot(x[0], x[1]) }, floats(3), floats(3)),
		sample("Ndtri of Ndtr", -2, 2, func(x arrays) *graph.Array {
			return special.Ndtri(special.Ndtr(x[0]))
		}, floats(3)),
		sample("Variance where", -2, 2, func(x arrays) *graph.Array {
			columns := graph.IotaAxis(graph.ShapeOf(graph.Int32, 3, 4), 1)
			return graph.Reduction{Axes: []int{1}, KeepDims: true, Where: graph.Gt(columns, 0), DDof: 1}.Variance(x[0])
		}, floats(3, 4)),
	}
}
