package tasks

import (
	"fmt"

	"xlarun/envs"
	"xlarun/graph"
)

// State is the state of a task.
type State struct {
	Time       *graph.Array // i32[]: steps played
	Descriptor *graph.Array // f32[2]: of the last action; the middle of the bounds before the first step
}

// Params has the length of an episode, i32[], which is 1.
type Params struct {
	MaxSteps *graph.Array `min:"1" max:"1"`
}

// mostElements bounds the number of elements of an action.
const mostElements = 1 << 16

// size is the number of elements of a task's action.
type size struct {
	name string // of the size
	n    int
}

// Sizes is the trait.
func (s size) Sizes() []envs.Size { return []envs.Size{{Name: s.name, Value: s.n, Wants: s.wants()}} }

func (s size) wants() string { return fmt.Sprintf("a whole number from 2 to %d", mostElements) }

// resized returns the size with another value. Errors: an unknown name, a value out of range.
func (s size) resized(name string, value int) (size, error) {
	if name != s.name || value < 2 || value > mostElements {
		return s, fmt.Errorf("got %s = %d, want %s = %s", name, value, s.name, s.wants())
	}
	return size{s.name, value}, nil
}

// action returns the space of actions, without bounds: Arm clips its action, Rastrigin takes any.
func (s size) action() envs.Box {
	return envs.Box{Low: []float64{-envs.Unbounded}, High: []float64{envs.Unbounded}, Dims: []int{s.n},
		DType: graph.Float32}
}

// DefaultParams are one step.
func (size) DefaultParams() Params { return Params{MaxSteps: envs.Steps(1)} }

// nothing is the observation, f32[1].
func nothing() *graph.Array { return graph.Zeros(graph.ShapeOf(graph.Float32, 1)) }
