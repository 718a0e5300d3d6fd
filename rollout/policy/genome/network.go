package genome

import "xlarun/graph"

// Ready is a genome as Prepare lays it out: all nodes but the inputs, in the order in which they are computed. The
// matrices have a row for each target, and a column for each source, inputs first.
type Ready struct {
	Weights     *graph.Array   // f32[nodes-inputs, nodes]; 0 where there is no connection
	Links       graph.Sparsity // where there are connections; its rows are the nodes that exist
	Connected   *graph.Array   `tree:"optional"` // bool[nodes-inputs, nodes]; nil if all nodes add up
	Degree      *graph.Array   `tree:"optional"` // f32[nodes-inputs]: number of connections; nil as Connected
	Bias        *graph.Array   // f32[nodes-inputs], and so on
	Response    *graph.Array
	Activation  *graph.Array
	Aggregation *graph.Array
	Outputs     *graph.Array // i32[outputs]: places of the outputs among the rows
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
		Outputs: graph.SliceAxis(place, 0, 0, n.Outputs)}
	connected := r.Weights.Ne(0.) // a connection of weight 0 adds nothing
	if !n.onlySum() {
		connected = matrix(graph.Bool, c.Enabled)
		r.Connected = connected
		r.Degree = r.Connected.Convert(graph.Float32).Sum(1)
	}
	r.Links = graph.SparsityOf(connected, g.Nodes.Count().Sub(n.Inputs))
	return graph.Once(r)
}

// value returns the value of a node, given its row, i32[], and the values of all nodes, f32[nodes].
func (n *Network) value(r Ready, row, values *graph.Array) *graph.Array {
	at := func(a, i *graph.Array) *graph.Array {
		if a == nil {
			return nil
		}
		return graph.DynamicIndex(a, i, 0)
	}
	weights, connected := graph.Flatten1D(r.Weights), r.Connected
	if connected != nil {
		connected = graph.Flatten1D(connected)
	}
	names := n.folds()
	start := make([]*graph.Array, len(names))
	for i, name := range names {
		start[i] = graph.Scalar(folds[name].start)
	}
	sums := graph.FoldRow(r.Links, row, start, func(sums []*graph.Array, place, source *graph.Array) []*graph.Array {
		w := at(weights, place)
		is := w.Ne(0)
		if connected != nil {
			is = at(connected, place)
		}
		term, next := w.Mul(at(values, source)), make([]*graph.Array, len(names))
		for i, name := range names {
			next[i] = graph.Select(is, folds[name].add(sums[i], term), sums[i])
		}
		return next
	})
	in := n.aggregate(at(r.Aggregation, row), sums, at(r.Degree, row))
	return n.activate(at(r.Activation, row), at(r.Bias, row).Add(at(r.Response, row).Mul(in)))
}
