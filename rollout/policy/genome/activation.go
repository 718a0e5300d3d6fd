package genome

import (
	"slices"

	"xlarun/graph"
)

// function is an activation: one number of a node's input.
type function struct {
	name string
	of   func(x *graph.Array) *graph.Array
}

// activations are the functions that nodes can have, those of NEAT and of CPPNs (Stanley, "Compositional pattern
// producing networks", 2007).
var activations = []function{
	{"tanh", (*graph.Array).Tanh},
	{"sigmoid", sigmoid(1)},
	// The steepened sigmoid of Stanley and Miikkulainen (2002).
	{"steep", sigmoid(4.9)},
	{"relu", func(x *graph.Array) *graph.Array { return x.Max(0.) }},
	{"identity", func(x *graph.Array) *graph.Array { return x }},
	{"sin", (*graph.Array).Sin},
	{"cos", (*graph.Array).Cos},
	{"gauss", func(x *graph.Array) *graph.Array { return x.Square().Neg().Exp() }},
	{"abs", (*graph.Array).Abs},
	{"square", (*graph.Array).Square},
	{"clamped", func(x *graph.Array) *graph.Array { return graph.Clamp(-1., x, 1.) }},
	{"hat", func(x *graph.Array) *graph.Array { return graph.Sub(1., x.Abs()).Max(0.) }},
}

func sigmoid(slope float32) func(x *graph.Array) *graph.Array {
	return func(x *graph.Array) *graph.Array { return graph.Logistic(x.Mul(slope)) }
}

// ActivationNames lists the activations.
func ActivationNames() (names []string) {
	for _, f := range activations {
		names = append(names, f.name)
	}
	return names
}

// activation returns an activation by name.
func activation(name string) function {
	i := slices.IndexFunc(activations, func(f function) bool { return f.name == name })
	if i < 0 {
		graph.Throw("genome", "got the activation %q, want one of %v", name, ActivationNames())
	}
	return activations[i]
}

// activate applies to each element of x the activation with the place in `which`, an array of the same shape.
func (n *Network) activate(which, x *graph.Array) *graph.Array {
	y := activation(n.Activations[0]).of(x)
	for i := 1; i < len(n.Activations); i++ {
		y = graph.Select(which.Eq(i), activation(n.Activations[i]).of(x), y)
	}
	return y
}
