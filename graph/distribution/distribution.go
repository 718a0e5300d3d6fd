// Package distribution has probability distributions as values: structs of parameters, which are trees, so that they
// pass through graph.VMap, Scan and gradients like any other value. A policy returns one, the environment's step
// samples it, and the loss asks it for the logarithm of the probability of what was sampled.
//
//	d := distribution.NewNormal(mean, std)
//	action := d.Sample(key)
//	loss := graph.Neg(graph.Sum(graph.Mul(advantage, d.LogProb(action))))
//
// Parameters of several elements are as many independent distributions: LogProb, Entropy and KL have one number for
// each; sum them over the axes that are one action. Draws are those of jax.random for the same key. Gradients go
// through the draws of continuous distributions (reparameterisation); draws of discrete ones have none.
package distribution

import (
	"math"

	"xlarun/graph"
	"xlarun/graph/random"
)

// Distribution is what all of this package can do. Every type has KL(other) besides, the Kullback-Leibler divergence
// from another of its own type.
type Distribution interface {
	// Sample draws the given dims of independent values: the result has them in front of the distribution's own.
	Sample(key random.Key, dims ...int) *graph.Array
	// LogProb is the logarithm of the probability, or of the density, of x, whose axes broadcast with the parameters';
	// -Inf where x is impossible, NaN where it is NaN.
	LogProb(x *graph.Array) *graph.Array
	// Entropy is minus the expected LogProb of a draw.
	Entropy() *graph.Array
}

var halfLog2Pi = math.Log(2*math.Pi) / 2

// parameters reads parameters, Go numbers or arrays, as float arrays of one shape. Numbers alone are float32.
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

// drawn is the shape of draws: dims, then the parameter's.
func drawn(parameter *graph.Array, dims []int) graph.Shape {
	return graph.ShapeOf(parameter.DType(), append(append([]int{}, dims...), parameter.Dims()...)...)
}

// within is y where ok holds, else -Inf, but NaN where x is.
func within(ok, x, y *graph.Array) *graph.Array {
	return graph.Select(ok.Or(x.IsNaN()), y, math.Inf(-1))
}

// value gives x the parameters' dtype.
func value(op string, x, parameter *graph.Array) *graph.Array {
	if x == nil {
		graph.Throw(op, "got a nil value")
	}
	return x.Convert(parameter.DType())
}
