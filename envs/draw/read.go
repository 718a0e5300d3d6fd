package draw

import (
	"fmt"
	"math"
	"slices"

	"xlarun/graph"
)

// Scalars reads scalar leaves of a concrete state of type S, as float64s in the order of leaves. id names the
// environment in errors. Errors: a state of another type; a leaf that is nil, traced, not finite, or has axes (the
// state of a whole population).
func Scalars[S any](id string, state any, leaves func(S) []*graph.Array) ([]float64, error) {
	s, err := stateAs[S](id, state)
	if err != nil {
		return nil, err
	}
	var out []float64
	for _, a := range leaves(s) {
		v, err := numbers(id, s, a, nil)
		if err != nil {
			return nil, err
		}
		out = append(out, v[0])
	}
	return out, nil
}

// Grid reads one leaf of the given dims (a board, a map of cells), row-major, with the errors of Scalars; bools are 0
// and 1.
func Grid[S any](id string, state any, leaf func(S) *graph.Array, dims ...int) ([]float64, error) {
	s, err := stateAs[S](id, state)
	if err != nil {
		return nil, err
	}
	return numbers(id, s, leaf(s), dims)
}

func stateAs[S any](id string, state any) (s S, err error) {
	s, ok := state.(S)
	if !ok {
		return s, fmt.Errorf(
			"envs: cannot draw a %T as %s, want a %T: pass what Reset or Step of this environment gave", state, id, s)
	}
	return s, nil
}

func numbers(id string, state any, a *graph.Array, dims []int) ([]float64, error) {
	if a == nil {
		return nil, fmt.Errorf("envs: cannot draw %s: a field of its %T is nil", id, state)
	}
	if !slices.Equal(a.Dims(), dims) {
		want := "scalars"
		if len(dims) > 0 {
			want = graph.ShapeOf(a.DType(), dims...).String()
		}
		return nil, fmt.Errorf("envs: cannot draw %s: its state has leaves of %s, want %s: take one member of the "+
			"population and one step", id, a.Shape(), want)
	}
	v, err := graph.Floats(a)
	if err != nil {
		return nil, fmt.Errorf("envs: cannot draw %s: %w", id, err)
	}
	for _, x := range v {
		if math.IsNaN(x) || math.IsInf(x, 0) {
			return nil, fmt.Errorf("envs: cannot draw %s: its state holds %v", id, x)
		}
	}
	return v, nil
}
