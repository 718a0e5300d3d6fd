package genome

import "xlarun/graph"

// order returns the place of each node except inputs in the order of depths, i32[nodes-inputs]. Nodes of equal depth
// keep their order, and padding comes last.
func (n *Network) order(g Genome) *graph.Array {
	depth := n.Depths(g)
	m := n.nodes(g)
	exists := graph.SliceAxis(g.Nodes.Exist(), 0, n.Inputs, n.Inputs+m)
	depth = graph.Select(exists, depth, int32(m))
	return ranks(depth)
}

// ranks returns each element's place in ascending order, i32[n]; equal elements keep their order.
func ranks(x *graph.Array) *graph.Array {
	i := graph.Iota(x.Dim(0))
	mine, other := x.ExpandDims(0), x.ExpandDims(1)
	before := other.Lt(mine).Or(other.Eq(mine).And(i.ExpandDims(1).Lt(i.ExpandDims(0))))
	return before.Convert(graph.Int32).Sum(0)
}

// Depths returns the length of the longest path over connections that are on, from any node without sources among the
// hidden nodes and outputs, to each node except inputs: i32[nodes-inputs]. Nodes of a cycle have the number of nodes.
func (n *Network) Depths(g Genome) *graph.Array {
	m := n.nodes(g)
	c := g.Connections
	inner := c.Enabled.And(c.From.Ge(n.Inputs))
	at := graph.Select(inner, c.From.Sub(n.Inputs).Mul(m).Add(c.To.Sub(n.Inputs)), int32(m*m))
	connected := graph.ScatterSet(graph.Zeros(graph.ShapeOf(graph.Bool, m*m)), at, inner).Reshape(m, m)
	return graph.FixedPoint(func(depth *graph.Array) *graph.Array {
		return graph.ReduceMax(graph.Select(connected, depth.Add(1).Min(m).ExpandDims(1), 0), 0)
	}, graph.Zeros(graph.ShapeOf(graph.Int32, m)))
}

// FeedForward returns the outputs, f32[outputs], of a genome for inputs x, f32[inputs]. Nodes are computed in their
// order, each from the values of its sources.
func (n *Network) FeedForward(r Ready, x *graph.Array) *graph.Array {
	type loop struct {
		Values  *graph.Array // f32[nodes]
		Outputs *graph.Array // f32[outputs]
	}
	start := loop{graph.Concatenate(0, x, graph.ZerosLike(r.Bias)),
		graph.Zeros(graph.ShapeOf(graph.Float32, n.Outputs))}
	return graph.ForiLoop(0, r.Links.Rows, func(i *graph.Array, l loop) loop {
		value := graph.Once(n.value(r, i, l.Values))
		return loop{graph.DynamicUpdateIndex(l.Values, value, i.Add(n.Inputs), 0),
			graph.Select(r.Outputs.Eq(i), value, l.Outputs)}
	}, start).Outputs
}
