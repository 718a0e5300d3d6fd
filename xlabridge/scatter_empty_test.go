package xlabridge

import (
	"fmt"
	"testing"

	"xlarun/graph"
)

// TestScatterOfNothing is graph's test of that name, compiled.
func TestScatterOfNothing(t *testing.T) {
	client := open(t, Options{Devices: 1})
	var calls []sample
	for _, dims := range [][3][]int{{{0, 3}, {2}, {2, 3}}, {{3, 0}, {2}, {2, 0}}, {{3, 2}, {0}, {0, 2}}} {
		for name, f := range map[string]func(x, i, u *graph.Array, mode ...graph.IndexMode) *graph.Array{
			"add": graph.ScatterAdd, "set": graph.ScatterSet, "mul": graph.ScatterMul} {
			x, u := graph.Ones(graph.ShapeOf(graph.Float32, dims[0]...)), graph.ShapeOf(graph.Float32, dims[2]...)
			gradient := graph.Grad(func(x *graph.Array) *graph.Array {
				i := graph.Zeros(graph.ShapeOf(graph.Int32, dims[1]...))
				return graph.Sum(f(x, i, graph.Ones(u)))
			})
			calls = append(calls, sample{fmt.Sprint(name, dims),
				func(in []*array) []*array { return []*array{gradient(in[0])} }, []*array{x}})
		}
	}
	for i, got := range together(t, client, calls) {
		closeArrays(t, calls[i].in[0], got[0], 0, calls[i].name)
	}
}
