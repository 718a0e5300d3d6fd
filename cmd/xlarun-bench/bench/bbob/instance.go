// Package bbob holds the 24 noiseless functions of black-box optimization benchmarking (Hansen, Finck, Ros and Auger,
// "Real-parameter black-box optimization benchmarking 2009: noiseless functions definitions", INRIA RR-6829, 2009) with
// the formulas of evosax 0.3.2, the program that runs a strategy on all of them, and the tests that compare runs.
package bbob

import (
	"math"

	"xlarun/graph"
	"xlarun/graph/linalg"
	"xlarun/graph/random"
)

// Instance is the random part of a function: its optimum, rotations and peaks.
type Instance struct {
	Optimum           *graph.Array // f32[d], uniform in [-4, 4)
	R, Q              *graph.Array // f32[d, d]: rotations
	Peaks101, Peaks21 Peaks        // of Gallagher's functions
}

// Peaks are m bells; the first is the highest and lies at the optimum.
type Peaks struct {
	Height *graph.Array // f32[m]: 10, then from 1.1 to 9.1
	Axes   *graph.Array // f32[m, d]: how steep it is along each axis
	Place  *graph.Array // f32[m, d]; the first's is not used
	// Shrink is the factor of the optimum at which the first lies.
	Shrink *graph.Array // f32[]
}

// NewInstance draws an instance of d dimensions as evosax's MetaBBOBProblem.sample_params does from the same key. Only
// the first peak depends on the key.
func NewInstance(key random.Key, d int) Instance {
	parts, turns := random.SplitN(key, 5), random.SplitN(key, 2)
	return Instance{
		Optimum: random.Uniform(parts[2], graph.ShapeOf(graph.Float32, d), -4, 4),
		R:       rotation(turns[0], d), Q: rotation(turns[1], d),
		Peaks101: newPeaks(101, d, 1000, 5, 1), Peaks21: newPeaks(21, d, 1e6, 4.9, 3.92/4),
	}
}

// For returns the instance for a function: Rosenbrock's optimum must lie in [-3, 3].
func (in Instance) For(f Function) Instance {
	if f.Name == "rosenbrock" {
		in.Optimum = mul(float32(.75), in.Optimum)
	}
	return in
}

// turned is R·(x - optimum).
func (in Instance) turned(x *graph.Array) *graph.Array { return graph.Dot(in.R, sub(x, in.Optimum)) }

// rotation draws a matrix uniformly among the rotations: the factor Q of normal numbers with the signs that make it
// unique.
func rotation(key random.Key, d int) *graph.Array {
	q, r := linalg.QR(random.Normal(key, graph.ShapeOf(graph.Float32, d, d)))
	q = mul(q, graph.ExpandDims(graph.Sign(graph.Diagonal(r, 0, 1)), 0))
	first := graph.Eq(graph.ExpandDims(graph.Iota(d), 1), 0)
	return mul(q, graph.Select(first, linalg.Det(q), float32(1)))
}

// newPeaks draws m peaks with keys of their own.
func newPeaks(m, d int, firstCondition, most, shrink float64) Peaks {
	// evosax folds an element of Q in, a number between -1 and 1, of which 0 is left as a whole number.
	k := random.FoldIn(random.New(0), 0)
	k, order := splitOff(k)
	k, axes := splitOff(k)
	_, places := splitOff(k)
	height := make([]float32, m)
	conditions := make([]float32, m-1)
	for i := range height {
		height[i] = 10
		if i > 0 {
			height[i] = float32(1.1 + 8*float64(i-1)/float64(m-2))
			conditions[i-1] = float32(math.Pow(1000, 2*float64(i-1)/float64(m-2)))
		}
	}
	condition := graph.Concatenate(0, graph.Float32s([]float32{float32(firstCondition)}),
		random.PermutationOf(order, graph.Float32s(conditions), 0))
	steep := graph.VMap2(func(condition *graph.Array, key random.Key) *graph.Array {
		diagonal := div(graph.Pow(condition, ramp(d, func(t float64) float64 { return t / 2 })),
			graph.Pow(condition, float32(.25)))
		return random.ChoiceOf(key, diagonal, 0, random.WithoutReplacement(), random.Weights(graph.OnesLike(diagonal)),
			random.Draws(d))
	})(condition, random.Split(axes, m))
	return Peaks{graph.Float32s(height), steep, random.Uniform(places, graph.ShapeOf(graph.Float32, m, d), -most, most),
		graph.Scalar(shrink)}
}

// splitOff is JAX's usual pair: the key to go on with, and one to use.
func splitOff(key random.Key) (next, use random.Key) { return random.Split2(key) }

// turned are R·(the peaks' places), f32[m, d].
func (p Peaks) turned(in Instance) *graph.Array {
	first := graph.Eq(graph.ExpandDims(graph.Iota(p.Place.Dim(0)), 1), 0)
	place := graph.Select(first, graph.ExpandDims(mul(p.Shrink, in.Optimum), 0), p.Place)
	return graph.Dot(place, graph.MatrixTranspose(in.R))
}
