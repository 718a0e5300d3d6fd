package genome

import "xlarun/graph"

// Ready is a genome as Prepare lays it out: all nodes but the inputs, in the order in which they are computed. The
// matrices have a row for each source, inputs first, and a column for each target.
type Ready struct {
	Weights     *graph.Array // f32[nodes, nodes-inputs]; 0 where there is no connection
	Connected   *graph.Array `tree:"optional"` // bool[nodes, nodes-inputs]; nil if all nodes add up
	Degree      *graph.Array `tree:"optional"` // f32[nodes-inputs]: number of connections; nil as Connected
	Bias        *graph.Array // f32[nodes-inputs], and so on
	Response    *graph.Array
	Activation  *graph.Array
	Aggregation *graph.Array
	Outputs     *graph.Array // i32[outputs]: places of the outputs among the columns
	Count       *graph.Array // i32[]: nodes that exist, which come first
}

// nodes returns the number of nodes of a genome except inputs, padding included. It is the genome's, so that a network
// also computes genomes that have outgrown its lists.
func (n *Network) nodes(g Genome) int { return g.Nodes.Number.Dim(0) - n.Inputs }

// nodes returns the number of nodes except inputs, padding included.
func (r Ready) nodes() int { return r.Bias.Dim(0) }

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
	row := graph.Select(c.From.Lt(n.Inputs), c.From, hidden)
	at := row.Mul(m).Add(graph.Take(place, c.To.Sub(n.Inputs).Max(0), 0))
	at = graph.Select(c.Enabled, at, int32(all*m))
	matrix := func(d graph.DType, values *graph.Array) *graph.Array {
		return graph.ScatterSet(graph.Zeros(graph.ShapeOf(d, all*m)), at, values).Reshape(all, m)
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
		r.Degree = r.Connected.Convert(graph.Float32).Sum(0)
	}
	return graph.Once(r)
}

// node returns the value of nodes, given their sums by fold.
func (n *Network) node(r Ready, sums []*graph.Array) *graph.Array {
	in := n.aggregate(r.Aggregation, sums, r.Degree)
	return n.activate(r.Activation, r.Bias.Add(r.Response.Mul(in)))
}

// terms folds the terms of some sources into the sums of all nodes. weights and connected are the sources' rows, and
// values are theirs.
func (n *Network) terms(sums []*graph.Array, weights, connected, values *graph.Array) []*graph.Array {
	next := make([]*graph.Array, len(sums))
	for i, name := range n.folds() {
		if name == "sum" && values.Rank() > 0 {
			next[i] = sums[i].Add(values.Dot(weights))
			continue
		}
		f := folds[name]
		next[i] = sums[i]
		add := func(weight, connected, value *graph.Array) {
			sum := f.add(next[i], weight.Mul(value))
			if connected != nil && name != "sum" {
				sum = graph.Select(connected, sum, next[i])
			}
			next[i] = sum
		}
		if values.Rank() == 0 {
			add(weights, connected, values)
			continue
		}
		type row struct {
			W, C, V *graph.Array
		}
		next[i], _ = graph.Scan(func(sum *graph.Array, r row) (*graph.Array, graph.None) {
			return graph.Select(r.C, f.add(sum, r.W.Mul(r.V)), sum), graph.None{}
		}, next[i], row{weights, connected, values})
	}
	return next
}

// start returns the sums of no terms, each f32[nodes].
func (n *Network) start(nodes int) (sums []*graph.Array) {
	for _, name := range n.folds() {
		sums = append(sums, graph.Full(graph.ShapeOf(graph.Float32, nodes), folds[name].start))
	}
	return sums
}
