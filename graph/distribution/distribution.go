// Package distribution has probability distributions. A distribution is a struct of parameters, a tree that passes
// through graph.VMap, Scan and gradients like any other value. A policy returns a distribution, the rollout samples an
// action, and the loss uses its log probability.
//
//	d := distribution.NewNormal(mean, std)
//	action := d.Sample(key)
//	loss := advantage.Mul(d.LogProb(action)).Sum().Neg()
//
// Parameters with several elements are independent distributions: LogProb, Entropy and KL have one number for each.
// Sum them over the axes of an action. Samples equal jax.random's for the same key. Gradients go through the samples of
// continuous distributions (reparameterisation), not through the samples of discrete ones.
//
// Log-probabilities, entropies and divergences in half precision are computed in float32 and rounded once; those of
// Mixture, Independent, Transformed and Divergence add up rounded ones of their parts. Methods state their largest
// errors as functions of package graph do: an error of n ULP is one of n units in the last place for arguments that
// differ by n of theirs. Where none is stated none is tested.
package distribution

import (
	"math"

	"xlarun/graph"
	"xlarun/graph/random"
)

// Distribution is the interface of all distributions in this package. Each type also has KL(other), the
// Kullback-Leibler divergence from another distribution of the same type.
type Distribution interface {
	// Sample draws independent values: the result has the given dims before the distribution's dims.
	Sample(key random.Key, dims ...int) *graph.Array
	// LogProb is the logarithm of the probability, or of the density, of x, whose axes broadcast with the parameters';
	// -Inf where x is impossible, NaN where it is NaN. It is of the wider float type of the two.
	LogProb(x *graph.Array) *graph.Array
	// Entropy is minus the expected LogProb of a draw.
	Entropy() *graph.Array
}

var halfLog2Pi = math.Log(2*math.Pi) / 2

// parameters converts parameters, Go numbers or arrays, to float arrays of one shape; float32 if all are numbers.
func parameters(op string, values ...any) []*graph.Array {
	var like *graph.Array
	for _, v := range values {
		a, ok := v.(*graph.Array)
		if !ok {
			continue
		}
		if a == nil {
			graph.Throw(op, "got a nil *Array as a parameter")
		}
		if !a.DType().IsFloat() {
			a = a.Convert(graph.Float32)
		}
		if like == nil {
			like = a
		} else {
			like = like.Add(a)
		}
	}
	if like == nil {
		like = graph.Scalar(0)
	}
	dims := like.Dims()
	out := make([]*graph.Array, len(values))
	for i, v := range values {
		a, ok := v.(*graph.Array)
		if !ok {
			a = graph.OnesLike(like).Mul(v)
		}
		out[i] = a.Convert(like.DType()).BroadcastTo(dims...)
	}
	return out
}

// drawShape is the shape of draws: dims, then the parameter's.
func drawShape(parameter *graph.Array, dims []int) graph.Shape {
	return graph.ShapeOf(parameter.DType(), append(append([]int{}, dims...), parameter.Dims()...)...)
}

// onSupport is y where ok holds, else -Inf, but NaN where x is.
func onSupport(ok, x, y *graph.Array) *graph.Array {
	return graph.Select(ok.Or(x.IsNaN()), y, math.Inf(-1))
}

// promoted gives a distribution and x one dtype: that of the parameters or, where x is a float of another one, that of
// their sum.
func promoted[D any](op string, d D, x *graph.Array) (D, *graph.Array) {
	if x == nil {
		graph.Throw(op, "got a nil value")
	}
	dtype := graph.Leaves(d)[0].DType()
	if x.DType().IsFloat() && x.DType() != dtype {
		dtype = graph.Promote(dtype, x.DType())
	}
	return graph.MapTree(func(a *graph.Array) *graph.Array { return a.Convert(dtype) }, d), x.Convert(dtype)
}

// inFloat32 is f of a distribution, or a tree of them, and x, nil if it takes none: half precision is computed in
// float32 and rounded once.
func inFloat32[D any](d D, x *graph.Array, f func(d D, x *graph.Array) *graph.Array) *graph.Array {
	dtype := graph.Leaves(d)[0].DType()
	if graph.ItemSize(dtype) != 2 {
		return f(d, x)
	}
	wide := func(a *graph.Array) *graph.Array { return a.Convert(graph.Float32) }
	if x != nil {
		x = wide(x)
	}
	return f(graph.MapTree(wide, d), x).Convert(dtype)
}

// leastNormal is the smallest normal number of x's dtype, float32 or float64.
func leastNormal(x *graph.Array) float64 {
	if x.DType() == graph.Float64 {
		return 0x1p-1022
	}
	return 0x1p-126
}
