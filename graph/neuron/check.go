package neuron

import (
	"math"

	"xlarun/graph"
)

// Constant is a constant of a model or a synapse, and its lower bound.
type Constant struct {
	Name  string
	Value *graph.Array
	Least float64
	Open  bool // it must be above Least
}

func positive(name string, v *graph.Array) Constant    { return Constant{name, v, 0, true} }
func atLeastZero(name string, v *graph.Array) Constant { return Constant{name, v, 0, false} }
func finite(name string, v *graph.Array) Constant      { return Constant{name, v, math.Inf(-1), true} }

// check throws if a concrete constant is out of range. It does not check traced constants.
func check(op string, constants []Constant) {
	for _, c := range constants {
		if c.Value == nil {
			graph.Throw(op, "the constant %s is nil: fill it, or start from the model's New function", c.Name)
		}
		for i, v := range concreteValues(c.Value) {
			if !(v > c.Least || !c.Open && v == c.Least) || math.IsInf(v, 0) {
				wants := "a number"
				switch {
				case c.Least == 0 && c.Open:
					wants = "a number above 0"
				case c.Least == 0:
					wants = "a number at least 0"
				}
				graph.Throw(op, "the constant %s of unit %d is %v, want %s", c.Name, i, v, wants)
			}
		}
	}
}

// concreteValues is the values of a concrete array; nil for a traced one.
func concreteValues(a *graph.Array) []float64 {
	if a.IsTraced() {
		return nil
	}
	v, err := graph.Floats(a)
	if err != nil {
		return nil // abstract: only a shape
	}
	return v
}
