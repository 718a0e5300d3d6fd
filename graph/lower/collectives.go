package lower

import (
	"slices"

	"xlarun/graph"
	"xlarun/graph/internal/attr"
)

// A collective waits for all devices, and takes as long for a few bytes as for thousands. Programs gather arrays one by
// one, such as the members' returns, their lengths and what a strategy needs of them. The compiler for GPUs joins those
// that do not wait for each other. The one for TPUs does not, so here they are joined.

// mostJoined is the most bytes of an array that is gathered together with others: those are copied once more.
const mostJoined = 1 << 20

var passCollectives = Pass{
	Name: "collectives", Doc: "make one all_gather of those that do not wait for each other", Keeps: Exact,
	For:   func(t graph.Target) bool { return t.Platform == "tpu" },
	After: []Order{{"ops", "what an op becomes may gather"}},
	Begin: func(*graph.Graph, graph.Target) Run { return joinGathers },
}

// joinGathers makes one all_gather of those that wait for equally many others, as far as their axes and dtypes are the
// same.
func joinGathers(g *graph.Graph) *graph.Graph {
	if !g.Any(joins) {
		return g
	}
	return graph.Record(graph.ShapesOf(g.Params), func(l *graph.Cursor, params []*graph.Array) []*graph.Array {
		return inlineJoined(l, g, params)
	})
}

// joins reports whether a node is an all_gather that may be joined with others.
func joins(n *graph.Node) bool {
	return n.Op.Name == "all_gather" && n.Attrs.(attr.Collective).Size > 1 && n.Inputs[0].Shape().Bytes() <= mostJoined
}

// inlineJoined adds a graph to the open scope, with its gathers joined, and returns its results for params. The nodes
// that wait for fewer gathers come first.
func inlineJoined(l *graph.Cursor, g *graph.Graph, params []*graph.Array) []*graph.Array {
	values := map[*graph.Array]*graph.Array{}
	for i, p := range g.Params {
		values[p] = params[i]
	}
	lookUp := func(arrays []*graph.Array) []*graph.Array {
		out := make([]*graph.Array, len(arrays))
		for i, a := range arrays {
			out[i] = values[a]
		}
		return out
	}
	for _, nodes := range roundsOf(g) {
		gathers, others := partition(nodes, joins)
		for _, n := range others {
			var bodies []*graph.Graph
			for _, b := range n.Bodies {
				bodies = append(bodies, joinGathers(b))
			}
			l.At(n)
			for i, o := range l.Copy(n, lookUp(n.Inputs), bodies) {
				values[n.Outs[i]] = o
			}
		}
		for len(gathers) > 0 {
			first := gathers[0]
			var joined []*graph.Node
			joined, gathers = partition(gathers, func(n *graph.Node) bool {
				return n.Attrs == first.Attrs && n.Inputs[0].DType() == first.Inputs[0].DType()
			})
			inputs := make([]*graph.Array, len(joined))
			for i, n := range joined {
				inputs[i] = values[n.Inputs[0]]
			}
			l.At(first)
			for i, o := range gatherJoined(first, inputs) {
				values[joined[i].Outs[0]] = o
			}
		}
	}
	return lookUp(g.Results)
}

// roundsOf returns the nodes of a graph by the number of gathers, one after the other, that they wait for.
func roundsOf(g *graph.Graph) (rounds [][]*graph.Node) {
	waits := map[*graph.Array]int{}
	for _, n := range g.Nodes {
		round := 0
		for _, in := range n.Inputs {
			round = max(round, waits[in])
		}
		for len(rounds) <= round {
			rounds = append(rounds, nil)
		}
		rounds[round] = append(rounds[round], n)
		if joins(n) {
			round++
		}
		for _, o := range n.Outs {
			waits[o] = round
		}
	}
	return rounds
}

// gatherJoined gathers arrays as parts of one vector, along the axis of a node.
func gatherJoined(n *graph.Node, in []*graph.Array) []*graph.Array {
	if len(in) == 1 {
		return n.Op.Call(n.Attrs, in)
	}
	parts := make([]*graph.Array, len(in))
	for i, x := range in {
		parts[i] = graph.Reshape(x, x.Size())
	}
	all := n.Op.Call(n.Attrs, []*graph.Array{graph.Concatenate(0, parts...)})[0]
	out, end := make([]*graph.Array, len(in)), 0
	for i, x := range in {
		begin := end
		end += x.Size()
		out[i] = graph.Reshape(graph.SliceAxis(all, 1, begin, end), slices.Concat(all.Dims()[:1], x.Dims())...)
	}
	return out
}

// partition returns the nodes for which a condition holds, and the others.
func partition(nodes []*graph.Node, holds func(*graph.Node) bool) (yes, no []*graph.Node) {
	for _, n := range nodes {
		if holds(n) {
			yes = append(yes, n)
		} else {
			no = append(no, n)
		}
	}
	return yes, no
}
