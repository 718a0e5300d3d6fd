package genome

import "xlarun/graph"

// Ready is a genome as Prepare lays it out: all nodes but the inputs, in the order in which they are computed. The
// matrices have a row for each target, and a column for each source, inputs first.
type Ready struct {
	Weights     *graph.Array // f32[nodes-inputs, nodes]; 0 where there is no connection
	Connected   *graph.Array `tree:"optional"` // bool[nodes-inputs, nodes]; nil if all nodes add up
	Degree      *graph.Array `tree:"optional"` // f32[nodes-inputs]: number of connections; nil as Connected
	Bias        *graph.Array // f32[nodes-inputs], and so on
	Response    *graph.Array
	Activation  *graph.Array
	Aggregation *graph.Array
	Outputs     *graph.Array // i32[outputs]: places of the outputs among the rows
	Count       *graph.Array // i32[]: nodes that exist, which come first
}

// nodes returns the number of nodes of a genome except inputs, padding included. It is the genome's, so that a network
// also computes genomes that have outgrown its lists.
func (n *Network) nodes(g Genome) int { return g.Nodes.Number.Dim(0) - n.Inputs }

// Prepare lays a genome out: a feed-forward one in the order of Depths, so that each node comes after its sources.
func (n *Network) Prepare(g Genome) Ready {
	m := n.nodes(g)
	all := n.Inputs + m
	place := graph.Iota(m)
	if !n.Recurrent {
		place = n.order(g)
	}
	place = graph.Once(place)
	c := g.Connections
	// Where each connection stands in the matrices; those that are off stand nowhere.
	hidden := graph.Take(place, c.From.Sub(n.Inputs).Max(0), 0).Add(n.Inputs)
	column := graph.Select(c.From.Lt(n.Inputs), c.From, hidden)
	at := graph.Take(place, c.To.Sub(n.Inputs).Max(0), 0).Mul(all).Add(column)
	at = graph.Select(c.Enabled, at, int32(all*m))
	matrix := func(d graph.DType, values *graph.Array) *graph.Array {
		return graph.ScatterSet(graph.Zeros(graph.ShapeOf(d, all*m)), at, values).Reshape(m, all)
	}
	// moved puts a node's number in its place.
	moved := func(x *graph.Array) *graph.Array {
		x = graph.SliceAxis(x, 0, n.Inputs, all)
		if n.Recurrent {
			return x
		}
		return graph.ScatterSet(graph.ZerosLike(x), place, x)
	}
	r := Ready{Weights: matrix(graph.Float32, c.Weight), Bias: moved(g.Nodes.Bias), Response: moved(g.Nodes.Response),
		Activation: moved(g.Nodes.Activation), Aggregation: moved(g.Nodes.Aggregation),
		Outputs: graph.SliceAxis(place, 0, 0, n.Outputs), Count: g.Nodes.Count().Sub(n.Inputs)}
	if !n.onlySum() {
		r.Connected = matrix(graph.Bool, c.Enabled)
		r.Degree = r.Connected.Convert(graph.Float32).Sum(1)
	}
	return graph.Once(r)
}

// node returns the value of nodes, given their sums by fold.
func (n *Network) node(r Ready, sums []*graph.Array) *graph.Array {
	in := n.aggregate(r.Aggregation, sums, r.Degree)
	return n.activate(r.Activation, r.Bias.Add(r.Response.Mul(in)))
}

// sums folds the terms of nodes, given the rows of their connections, […, nodes], and the values of all nodes.
func (n *Network) sums(weights, connected, values *graph.Array) (sums []*graph.Array) {
	for _, name := range n.folds() {
		if name == "sum" {
			sums = append(sums, weights.Dot(values))
			continue
		}
		f := folds[name]
		sums = append(sums, f.reduce(graph.Select(connected, weights.Mul(values), f.start)))
	}
	return sums
}
