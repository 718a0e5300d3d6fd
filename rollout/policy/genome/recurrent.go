package genome

import "xlarun/graph"

// Start returns the values of all nodes except inputs before the first step, zeros: f32[nodes-inputs].
func (n *Network) Start(r Ready) *graph.Array { return graph.Zeros(r.Bias.Shape()) }

// Step returns the values of a recurrent genome's nodes after a step, f32[nodes-inputs], outputs first. values are
// those before it.
func (n *Network) Step(r Ready, values, x *graph.Array) *graph.Array {
	before := graph.Concatenate(0, x, values)
	return graph.ForiLoop(0, r.Links.Rows, func(i, next *graph.Array) *graph.Array {
		return graph.DynamicUpdateIndex(next, n.value(r, i, before), i, 0)
	}, values)
}
