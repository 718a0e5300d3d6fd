package genome

import "xlarun/graph"

// Capacity returns the lengths of a genome's lists, padding included.
func (g Genome) Capacity() (nodes, connections int) {
	return last(g.Nodes.Number), last(g.Connections.Number)
}

func last(a *graph.Array) int { return a.Dim(a.Rank() - 1) }

// Wider returns genomes with the network's capacity, given genomes with no more, leaves
// […, nodes] and […, connections]. They are the same networks.
func (n *Network) Wider(g Genome) Genome {
	nodes := func(a *graph.Array, value any) *graph.Array { return widen(a, value, n.Nodes) }
	connections := func(a *graph.Array, value any) *graph.Array { return widen(a, value, n.Connections) }
	return Genome{
		Nodes{Number: nodes(g.Nodes.Number, int32(None)), Bias: nodes(g.Nodes.Bias, 0.),
			Response: nodes(g.Nodes.Response, 1.), Activation: nodes(g.Nodes.Activation, 0),
			Aggregation: nodes(g.Nodes.Aggregation, 0)},
		Connections{Number: connections(g.Connections.Number, int32(None)), From: connections(g.Connections.From, 0),
			To:     connections(g.Connections.To, int32(n.Inputs)),
			Weight: connections(g.Connections.Weight, 0.), Enabled: connections(g.Connections.Enabled, false)},
	}
}

// WiderReach returns the Reach of the genomes that Wider returns, u32[…, nodes, words].
func (n *Network) WiderReach(reach *graph.Array) *graph.Array {
	axes := reach.Rank()
	after := make([]int, axes)
	after[axes-2], after[axes-1] = n.Nodes-reach.Dim(axes-2), Words(n.Nodes)-reach.Dim(axes-1)
	return graph.Pad(reach, uint32(0), make([]int, axes), after)
}

// widen appends a value to the last axis of a, up to a length.
func widen(a *graph.Array, value any, length int) *graph.Array {
	after := make([]int, a.Rank())
	after[a.Rank()-1] = length - last(a)
	return graph.Pad(a, value, make([]int, a.Rank()), after)
}
