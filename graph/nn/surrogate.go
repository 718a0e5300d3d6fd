package nn

import (
	"maps"
	"math"
	"slices"

	"xlarun/graph"
)

// Surrogate replaces the derivative of a spike, which is zero wherever it exists (Neftci et al., "Surrogate gradient
// learning in spiking neural networks", 2019).
type Surrogate struct {
	Kind  string  // one of Surrogates; "" is "fast-sigmoid"
	Slope float64 // k in the formulas of surrogates; 0 is the kind's default
}

// surrogate is a kind: its default slope, and the derivative at a distance v from the threshold for a slope k.
type surrogate struct {
	slope      float64
	derivative func(v *graph.Array, k float64) *graph.Array
}

// surrogates are as in Spyx 1.0 (spyx.axn), slopes included.
var surrogates = map[string]surrogate{
	// 1/(1 + k|v|)²: Zenke and Ganguli, "SuperSpike", 2018.
	"fast-sigmoid": {25, func(v *graph.Array, k float64) *graph.Array {
		return graph.Add(1, v.Abs().Mul(k)).Square().Reciprocal()
	}},
	// 1/(π(1 + (πkv)²)): Fang et al., "Incorporating learnable membrane time constant", 2021.
	"arctan": {2, func(v *graph.Array, k float64) *graph.Array {
		return graph.Div(1/math.Pi, graph.Add(1, v.Mul(k*math.Pi).Square()))
	}},
	// max(0, 1 - k|v|): Esser et al., "Convolutional networks for fast, energy-efficient neuromorphic computing", 2016.
	"triangular": {2, func(v *graph.Array, k float64) *graph.Array {
		return graph.Max(0, graph.Sub(1, v.Abs().Mul(k)))
	}},
	// k/2 where |v| <= 1/k, else 0.
	"boxcar": {1, func(v *graph.Array, k float64) *graph.Array {
		return graph.Select(v.Abs().Le(1/k), graph.FullLike(v, k/2), 0)
	}},
	// k everywhere: Bengio et al., "Estimating or propagating gradients through stochastic neurons", 2013.
	"straight-through": {1, func(v *graph.Array, k float64) *graph.Array { return graph.FullLike(v, k) }},
}

// Surrogates lists the kinds.
func Surrogates() []string { return slices.Sorted(maps.Keys(surrogates)) }

// Spike is 1 where v > 0, else 0, in v's shape and type. v is the potential minus the threshold: a potential at the
// threshold does not spike, nor does NaN. The derivative is the surrogate's.
func (s Surrogate) Spike(v *graph.Array) *graph.Array {
	derivative := s.derivative()
	spike := func(v *graph.Array) *graph.Array { return v.Gt(0).Convert(v.DType()) }
	return graph.CustomJvp(spike, func(v, t *graph.Array) (out, tangent *graph.Array) {
		return spike(v), t.Mul(derivative(v))
	})(v)
}

// derivative is the surrogate derivative as a function of v.
func (s Surrogate) derivative() func(v *graph.Array) *graph.Array {
	kind, k := s.Kind, s.Slope
	if kind == "" {
		kind = "fast-sigmoid"
	}
	f, ok := surrogates[kind]
	if !ok {
		graph.Throw("nn.Surrogate", "got the kind %q, want one of %v", kind, Surrogates())
	}
	switch {
	case k == 0:
		k = f.slope
	case !(k > 0) || math.IsInf(k, 0):
		graph.Throw("nn.Surrogate", "got the slope %v, want a number above 0, or 0 for %q's own, %v", k, kind, f.slope)
	}
	return func(v *graph.Array) *graph.Array { return f.derivative(v, k) }
}
