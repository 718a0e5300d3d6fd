package draw

import (
	"fmt"
	"math"
	"slices"

	"xlarun/graph"
)

// Scalars reads scalar leaves of a concrete state of type S, as float64s in the order of leaves. id names the
// environment in errors. Errors, which c keeps: a state of another type; a leaf that is nil, traced, not finite, or has
// axes (the state of a whole population). The result is then zeros: leaves is called with the zero S, too, to count
// them.
func Scalars[S any](c *Canvas, id string, state any, leaves func(S) []*graph.Array) []float64 {
	s := stateAs[S](c, id, state)
	var out []float64
	for _, a := range leaves(s) {
		out = append(out, c.numbers(id, s, a, nil)...)
	}
	return out
}

// Grid reads one leaf of the given dims (a board, a map of cells), row-major, with the errors of Scalars; bools are 0
// and 1.
func Grid[S any](c *Canvas, id string, state any, leaf func(S) *graph.Array, dims ...int) []float64 {
	s := stateAs[S](c, id, state)
	return c.numbers(id, s, leaf(s), dims)
}

func stateAs[S any](c *Canvas, id string, state any) S {
	s, ok := state.(S)
	if !ok {
		c.fail(fmt.Errorf("envs: cannot draw a %T as %s, want a %T: pass what Reset or Step of this environment gave",
			state, id, s))
	}
	return s
}

// numbers are those of a leaf with the given dims; zeros if there is an error.
func (c *Canvas) numbers(id string, state any, a *graph.Array, dims []int) []float64 {
	v, err := read(state, a, dims)
	if err != nil {
		c.fail(fmt.Errorf("envs: cannot draw %s: %w", id, err))
	}
	if c.err != nil {
		return make([]float64, graph.ShapeOf(graph.Float64, dims...).Size())
	}
	return v
}

func read(state any, a *graph.Array, dims []int) ([]float64, error) {
	if a == nil {
		return nil, fmt.Errorf("a field of its %T is nil", state)
	}
	if !slices.Equal(a.Dims(), dims) {
		want := "scalars"
		if len(dims) > 0 {
			want = graph.ShapeOf(a.DType(), dims...).String()
		}
		return nil, fmt.Errorf("its state has leaves of %s, want %s: take one member of the population and one step",
			a.Shape(), want)
	}
	v, err := graph.Floats(a)
	for _, x := range v {
		if math.IsNaN(x) || math.IsInf(x, 0) {
			return nil, fmt.Errorf("its state holds %v", x)
		}
	}
	return v, err
}
