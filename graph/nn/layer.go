// Package nn holds layers, initializers, activations and losses. They work on one example, without a batch axis;
// graph.VMap adds the batch axis.
//
// A layer is a struct, a plain tree: its leaves are the parameters (*graph.Array), its other exported fields are
// static. A network is any struct, slice or map of layers and a function that applies them:
//
//	type Net struct{ Hidden, Out nn.Dense }
//
//	func NewNet(key random.Key) Net {
//		k1, k2 := random.Split2(key)
//		return Net{nn.NewDense(k1, 784, 128), nn.NewDense(k2, 128, 10)}
//	}
//
//	func (n Net) Apply(x *graph.Array) *graph.Array { return n.Out.Apply(nn.Relu(n.Hidden.Apply(x))) }
//
// Constructors draw the parameters from a key and may be traced, so that a population is graph.VMap(NewNet)(keys).
// Formulas, defaults and draws follow flax.linen and jax.nn, and numbers agree with them unless a comment says
// otherwise. Errors (shapes that do not fit, unknown options) are thrown as *graph.Error, as in package graph.
package nn

import (
	"xlarun/graph"
	"xlarun/graph/precision"
)

// Layer maps one array to another.
type Layer interface {
	Apply(x *graph.Array) *graph.Array
}

// Sequential applies its layers in order: Dense, Conv, Pool, LayerNorm, Activation, Flatten, or your own.
type Sequential []Layer

// Apply feeds x through the layers.
func (s Sequential) Apply(x *graph.Array) *graph.Array {
	for i, l := range s {
		if l == nil {
			graph.Throw("nn.Sequential", "layer %d is nil: fill it before use", i)
		}
		x = l.Apply(x)
	}
	return x
}

// Flatten reshapes its input to one axis, row-major.
type Flatten struct{}

// Apply maps x of any dims to [size].
func (Flatten) Apply(x *graph.Array) *graph.Array { return graph.Flatten1D(x) }

// affine is x·w + b in the policy's types, over the last axis of x; b may be nil.
func affine(op string, p precision.Policy, x, w, b *graph.Array) *graph.Array {
	wantLast(op, "x", x, w.Dim(0))
	y := toCompute(p, x).Dot(toCompute(p, w))
	if b != nil {
		y = y.Add(toCompute(p, b))
	}
	return y
}

// wantLast refuses an array whose last axis is not of size n.
func wantLast(op, name string, x *graph.Array, n int) {
	if x == nil {
		graph.Throw(op, "%s is nil, want […, %d]", name, n)
	}
	if x.Rank() == 0 || x.Dim(-1) != n {
		graph.Throw(op, "%s is %s, want […, %d]", name, x.Shape(), n)
	}
}

// wantSize refuses sizes below 1.
func wantSize(op, name string, n int) {
	if n < 1 {
		graph.Throw(op, "got %s = %d, want at least 1", name, n)
	}
}

// atLeastFloat32 converts half precision and integers to float32, for sums and exponentials.
func atLeastFloat32(x *graph.Array) *graph.Array {
	if d := x.DType(); d == graph.Float32 || d == graph.Float64 {
		return x
	}
	return x.Convert(graph.Float32)
}
