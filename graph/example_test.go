package graph_test

import (
	"fmt"

	"xlarun/graph"
)

// A function of arrays runs in Go when its arrays have values. Under a transform it is traced.
func Example() {
	square := func(x *graph.Array) *graph.Array { return x.Mul(x) }
	fmt.Println(square(graph.Scalar(3)), graph.Grad(square)(graph.Scalar(3)))
	// Output: f32[] 9 f32[] 6
}

// The function is written for one member, and VMap applies it to a population.
func ExampleVMap() {
	norm := func(x *graph.Array) *graph.Array { return x.Square().Sum().Sqrt() }
	points := graph.Of([][]float32{{3, 4}, {6, 8}})
	fmt.Println(graph.VMap(norm)(points))
	// Output: f32[2] {5 10}
}

// Scan carries a value through a loop and stacks the outputs of its steps.
func ExampleScan() {
	last, sums := graph.Scan(func(sum, x *graph.Array) (*graph.Array, *graph.Array) {
		sum = sum.Add(x)
		return sum, sum
	}, graph.Scalar(0), graph.Of([]float32{1, 2, 3}))
	fmt.Println(last, sums)
	// Output: f32[] 6 f32[3] {1 3 6}
}

// Gradients are trees of the same type as the parameters.
func ExampleGrad() {
	type line struct{ Slope, Offset *graph.Array }
	loss := func(l line) *graph.Array { return l.Slope.Mul(2).Add(l.Offset).Sub(5).Square() }
	slope := graph.Grad(loss)(line{graph.Scalar(1), graph.Scalar(1)})
	fmt.Println(slope.Slope, slope.Offset)
	// Output: f32[] -8 f32[] -4
}

// Go's own if and index know no number that is computed in a trace: SelectTree, Select and DynamicIndex do.
func ExampleSelectTree() {
	type ball struct{ Height, Speed *graph.Array }
	heights := graph.Linspace(-1, 2, 4).Square()
	top := graph.DynamicIndex(heights, heights.ArgMax(0), 0)
	b := graph.SelectTree(top.Gt(3), ball{top, graph.Scalar(0)}, ball{graph.Scalar(0), top})
	fmt.Println(b.Height, graph.Stack([]*graph.Array{graph.Select(b.Speed.Eq(0), 1., 2.), graph.Iota(4).Mean()}, 0))
	// Output: f32[] 4 f32[2] {1 1.5}
}
