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
// continuous distributions (reparameterization), not through the samples of discrete ones.
//
// Log-probabilities, entropies and divergences in half precision are computed in float32 and rounded once. Methods
// state their largest errors as functions of package graph do: an error of n ULP is one of n units in the last place
// for arguments that differ by n of theirs. Where none is stated none is tested.
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
	d, x = promotedParts(op, d, x)
	return d, x.Convert(floatOf(d))
}

// promotedParts is promoted for what is made of other distributions. Integers stay: the parts' type need not hold them.
func promotedParts[D any](op string, d D, x *graph.Array) (D, *graph.Array) {
	if x == nil {
		graph.Throw(op, "got a nil value")
	}
	if !x.DType().IsFloat() {
		return d, x
	}
	dtype := floatOf(d)
	if x.DType() != dtype {
		dtype = graph.Promote(dtype, x.DType())
	}
	return converted(d, dtype), x.Convert(dtype)
}

// floatOf is the float type of a distribution's parameters: that of the first.
func floatOf(d any) graph.DType {
	for _, a := range graph.Leaves(d) {
		if a.DType().IsFloat() {
			return a.DType()
		}
	}
	return graph.Float32
}

// converted is a distribution with its floats in a type.
func converted[D any](d D, dtype graph.DType) D {
	return graph.MapTree(func(a *graph.Array) *graph.Array {
		if a.DType().IsFloat() {
			return a.Convert(dtype)
		}
		return a
	}, d)
}

// inFloat32 is f of a distribution, or a tree of them, and x, nil if it takes none: half precision is computed in
// float32 and rounded once.
func inFloat32[D any](d D, x *graph.Array, f func(d D, x *graph.Array) *graph.Array) *graph.Array {
	dtype := floatOf(d)
	if graph.ItemSize(dtype) != 2 {
		return f(d, x)
	}
	if x != nil && x.DType().IsFloat() {
		x = x.Convert(graph.Float32)
	}
	return f(converted(d, graph.Float32), x).Convert(dtype)
}
