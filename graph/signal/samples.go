package signal

import (
	"math"

	"xlarun/graph"
)

// Trapezoid is the integral of samples y along an axis by the trapezoidal rule. The distance between samples is a
// number or an array that broadcasts to the distances, one fewer than the samples.
func Trapezoid(y *graph.Array, distance any, axis int) *graph.Array {
	axis = graph.Arguments.Axis("Trapezoid", axis, y.Rank())
	n := y.Shape().Dims[axis]
	if n == 0 {
		graph.Throw("Trapezoid", "axis %d of %s is empty", axis, y.Shape())
	}
	y = graph.Arguments.Float(y)
	middle := graph.Mul(.5, graph.SliceAxis(y, axis, 1, n).Add(graph.SliceAxis(y, axis, 0, n-1)))
	return middle.Mul(distance).Sum(axis)
}

// Gradient is the derivative of samples x along an axis by differences: central ones inside, one-sided ones at the
// ends. The distance between samples is a number. It is numpy.gradient.
func Gradient(x *graph.Array, distance float64, axis int) *graph.Array {
	axis = graph.Arguments.Axis("Gradient", axis, x.Rank())
	n := x.Shape().Dims[axis]
	if n < 2 {
		graph.Throw("Gradient", "axis %d of %s has %d samples, want at least 2", axis, x.Shape(), n)
	}
	if distance == 0 || math.IsNaN(distance) {
		graph.Throw("Gradient", "got the distance %v, want a number other than 0", distance)
	}
	x = graph.Arguments.Float(x)
	step := graph.Diff(x, axis)
	ends := []*graph.Array{graph.SliceAxis(step, axis, 0, 1), graph.SliceAxis(step, axis, n-2, n-1)}
	if n > 2 {
		inside := graph.Mul(.5, graph.SliceAxis(x, axis, 2, n).Sub(graph.SliceAxis(x, axis, 0, n-2)))
		ends = []*graph.Array{ends[0], inside, ends[1]}
	}
	return graph.Concatenate(axis, ends...).Div(distance)
}
