package genome

import "xlarun/graph"

// Reach says which nodes of a genome lie on paths from which, as bits: u32[nodes, words]. Bit j of row i is set if a
// path leads from node i to node j over any connections, also those that are off. Connections from a node to one from
// which it is reached would close a cycle.

const bits = 32

// Words returns the number of words in a row of Reach for a number of nodes.
func Words(nodes int) int { return (nodes + bits - 1) / bits }

// bit returns the row with only bit j, i32[], set; no bit for -1.
func bit(j *graph.Array, words int) *graph.Array {
	word := graph.Iota(words)
	at := word.Eq(graph.Quo(j, bits)).And(j.Ge(0))
	one := graph.ShiftLeft(uint32(1), j.Max(0).Rem(bits).Convert(graph.Uint32))
	return graph.Select(at, one, uint32(0))
}

// Reached reports which nodes have bit j of their row, bool[nodes].
func Reached(reach, j *graph.Array) *graph.Array {
	return graph.Any(reach.And(bit(j, reach.Dim(1))).Ne(uint32(0)), 1)
}

// Descendants returns the nodes that are reached from node i, bool[nodes].
func Descendants(reach, i *graph.Array) *graph.Array {
	n := reach.Dim(0)
	row := graph.DynamicIndex(reach, i, 0)
	node := graph.Iota(n)
	word := graph.Take(row, graph.Quo(node, bits), 0)
	return graph.ShiftRightLogical(word, node.Rem(bits).Convert(graph.Uint32)).And(uint32(1)).Ne(uint32(0))
}

// FirstReach returns the Reach of a genome in which all connections begin at inputs and end at outputs.
func FirstReach(g Genome, inputs int) *graph.Array {
	n := g.Nodes.Number.Dim(0)
	words := Words(n)
	c := g.Connections
	exist := graph.Select(c.Exist(), c.From.Mul(n).Add(c.To), int32(n*n))
	set := graph.ScatterSet(graph.Zeros(graph.ShapeOf(graph.Uint32, n*n)), exist,
		graph.OnesLike(exist).Convert(graph.Uint32))
	padded := graph.Pad(set.Reshape(n, n), uint32(0), []int{0, 0}, []int{0, words*bits - n}).Reshape(n, words, bits)
	place := graph.ShiftLeft(uint32(1), graph.Iota(bits).Convert(graph.Uint32))
	return padded.Mul(place).Sum(2)
}

// Connect returns Reach with connections from nodes to others, i32[connections], one after the other; nothing changes
// for from = -1.
func Connect(reach, from, to *graph.Array) *graph.Array {
	words := reach.Dim(1)
	return graph.ForiLoop(0, from.Dim(0), func(i, reach *graph.Array) *graph.Array {
		a, b := graph.DynamicIndex(from, i, 0), graph.DynamicIndex(to, i, 0)
		above := Reached(reach, a).Or(graph.Iota(reach.Dim(0)).Eq(a)).And(a.Ge(0))
		row := graph.DynamicIndex(reach, b.Max(0), 0).Or(bit(b, words))
		return graph.Select(above.ExpandDims(1), reach.Or(row), reach)
	}, reach)
}
