package strategy

import (
	"sync"

	"xlarun/graph"
	"xlarun/graph/random"
	"xlarun/rollout/policy/genome"
	"xlarun/rollout/population"
)

// conceived is a birth before its new node and connections have numbers, with what these depend on.
type conceived struct {
	Birth            births
	SplitNumber      *graph.Array // i32[]: number of the connection that is split; None: none
	FromNode, ToNode *graph.Array // i32[]: numbers of the nodes of a new connection; None: none
	Refused          *graph.Array // i32[]: mutations for which there is no room
}

// conceivedPacking lays what is conceived out as one array, so that devices exchange one.
var conceivedPacking = sync.OnceValue(func() *graph.Packing {
	zero := graph.Zeros(graph.ShapeOf(graph.Int32))
	return graph.NewPacking(conceived{population.At(firstBirths(1), zero), zero, zero, zero, zero},
		func(graph.Shape) graph.DType { return graph.Int32 })
})

// decide decides about the births of the next generation, and numbers their new nodes and connections.
func (e *NEAT) decide(s NEATState, next *NEATState, t tribes, all neatDraw, draws Draws[neatDraw], f *graph.Array) {
	of := t.table(f, e.unpack(all.Genome).Connections.Exist().Convert(graph.Int32).Sum(1))
	type child struct {
		Packed *graph.Array // i32[…]: conceived
		Reach  *graph.Array `tree:"optional"` // u32[nodes, words]
	}
	born := EachOf(draws, func(member *graph.Array) child {
		u := random.Uniform(population.At(all.Key, member), graph.ShapeOf(graph.Float32, 10), 0, 1)
		b := e.parents(member, t, of, u)
		g := e.genome(all.Genome, b.Parent)
		var reach *graph.Array
		if s.Reach != nil {
			reach = graph.Once(population.At(s.Reach, b.Parent))
		}
		x, reach := e.structure(b, g, reach, u)
		return child{conceivedPacking().Pack(x)[0], reach}
	})
	next.Reach = born.Reach
	x := conceivedPacking().Unpack([]*graph.Array{born.Packed}).(conceived)
	next.Refused = x.Refused.Sum()

	split, splits, link, links := innovations(x.SplitNumber, x.FromNode, x.ToNode)
	b := x.Birth
	b.Node, b.Halves = s.Nodes.Add(split), s.Innovations.Add(split.Mul(2))
	b.Link = s.Innovations.Add(splits.Mul(2)).Add(link)
	next.Births = packBirths(b)
	next.Nodes, next.Innovations = s.Nodes.Add(splits), s.Innovations.Add(splits.Mul(2)).Add(links)
}

// innovations numbers the different splits and links of a generation from 0 on, in ascending order, so that equal
// mutations have the same numbers. split and link are i32[population], and splits and links say how many there are.
// Members without a mutation have None there; their numbers mean nothing. One sort does it for both.
func innovations(splitNumber, from, to *graph.Array) (split, splits, link, links *graph.Array) {
	members := splitNumber.Dim(0)
	rows := graph.Iota(2 * members)
	first := graph.Concatenate(0, splitNumber, from)
	kind := graph.Select(first.Eq(genome.None), 2, graph.Select(rows.Lt(members), 0, 1))
	keys := []*graph.Array{kind, first, graph.Concatenate(0, splitNumber, to)}
	sorted := graph.SortKV(append(keys, rows), 0, len(keys))
	differs := rows.Eq(0)
	for _, k := range sorted[:len(keys)] {
		differs = differs.Or(k.Ne(graph.Roll(k, 1, 0)))
	}
	isNew := func(kind int) *graph.Array { return differs.And(sorted[0].Eq(kind)).Convert(graph.Int32) }
	splits, links = isNew(0).Sum(), isNew(1).Sum()
	number := graph.CumSum(differs.Convert(graph.Int32), 0).Sub(1)
	number = graph.ScatterSet(graph.ZerosLike(rows), sorted[len(keys)], number)
	split, link = graph.SliceAxis(number, 0, 0, members), graph.SliceAxis(number, 0, members, 2*members).Sub(splits)
	return split, splits, link, links
}

// table holds what parents looks up. One lookup reads a whole row.
type table struct {
	Species *graph.Array // i32[species, 4]: t.Starts, Size, t.Survivors, and where its children start
	Members *graph.Array // f32[population, 2]: fitness, and the number of connections
}

func (t tribes) table(f, counts *graph.Array) table {
	last := t.Ends.Dim(0) - 1
	first := graph.Concatenate(0, graph.Zeros(graph.ShapeOf(graph.Int32, 1)), graph.SliceAxis(t.Ends, 0, 0, last))
	return graph.Once(table{graph.Stack([]*graph.Array{t.Starts, t.Species.Size, t.Survivors, first}, 1),
		graph.Stack([]*graph.Array{f, counts.Convert(graph.Float32)}, 1)})
}

// parents chooses the parents of a member by its place in the next generation.
func (e *NEAT) parents(member *graph.Array, t tribes, of table, u *graph.Array) births {
	last := e.MaxSpecies - 1
	species := graph.SearchSorted(t.Ends, member.ExpandDims(0), true).Squeeze(0).Min(last)
	at := func(a, i *graph.Array) *graph.Array { return graph.DynamicIndex(a, i, 0) }
	own := at(of.Species, species)
	start, size := own.Index(0), own.Index(1)
	rank := member.Sub(own.Index(3)) // among the children of the species
	single := func(a *graph.Array) *graph.Array { return a.Convert(graph.Float32) }
	copied := single(rank).Lt(e.Elites.Array()).And(single(size).Gt(e.EliteSize.Array())).And(rank.Lt(size))
	parent := func(of, lot *graph.Array) *graph.Array {
		return at(t.Order, of.Index(0).Add(choose(lot, of.Index(2))))
	}
	one := parent(own, u.Index(0))
	foreign := choose(u.Index(1), t.Exist.Convert(graph.Int32).Sum())
	mate := graph.Select(u.Index(2).Lt(e.InterspeciesRate.Array()), foreign, species)
	two := graph.Select(u.Index(3).Lt(e.CrossoverRate.Array()), parent(at(of.Species, mate), u.Index(4)), one)

	// The better one, of equal ones the smaller, then the earlier one.
	of1, of2 := at(of.Members, one), at(of.Members, two)
	f1, f2, c1, c2 := of1.Index(0), of2.Index(0), of1.Index(1), of2.Index(1)
	tie := f1.Eq(f2).And(c2.Lt(c1).Or(c2.Eq(c1).And(two.Lt(one))))
	swap := f2.Gt(f1).Or(tie)
	champion := at(t.Order, start.Add(rank.Min(size.Sub(1))))
	return births{Copied: copied, Parent: graph.Select(copied, champion, graph.Select(swap, two, one)),
		Other: graph.Select(copied, champion, graph.Select(swap, one, two))}
}

// structure chooses a birth's new node and connection, and returns the child's Reach. g and reach are of the parent
// whose structure the child has.
func (e *NEAT) structure(b births, g genome.Genome, reach, u *graph.Array) (conceived, *graph.Array) {
	c, n := g.Connections, e.network
	connections, nodes := c.Count(), g.Nodes.Count()
	at := func(a, i *graph.Array) *graph.Array { return graph.DynamicIndex(a, i, 0) }
	number := func(of, i *graph.Array) *graph.Array {
		return graph.Select(i.Ge(0), at(of, i.Max(0)), int32(genome.None))
	}
	grows := b.Copied.Not()

	place, ok := chosen(u.Index(5), c.Enabled)
	wanted := grows.And(ok).And(u.Index(6).Lt(e.NodeRate.Array()))
	splits := wanted.And(nodes.Lt(n.Nodes)).And(connections.Add(2).Le(n.Connections))
	refused := wanted.And(splits.Not()).Convert(graph.Int32)
	b.Split = graph.Once(graph.Select(splits, place, -1))

	// The target is any node but an input, the source any node that is not connected to it.
	target := graph.Once(choose(u.Index(7), nodes.Sub(n.Inputs)).Add(n.Inputs))
	fromAt := graph.Select(c.Exist().And(c.To.Eq(target)), c.From, int32(n.Nodes))
	connected := graph.ScatterSet(graph.Zeros(graph.ShapeOf(graph.Bool, n.Nodes)), fromAt, c.Exist())
	open := g.Nodes.Exist().And(connected.Not())
	if reach != nil {
		open = open.And(genome.Descendants(reach, target).Not()).And(graph.Iota(n.Nodes).Ne(target))
	}
	source, ok := chosen(u.Index(8), open)
	wanted = grows.And(ok).And(u.Index(9).Lt(e.ConnectionRate.Array()))
	room := connections.Add(graph.Select(b.Split.Ge(0), 3, 1)).Le(n.Connections)
	links := wanted.And(room)
	refused = refused.Add(wanted.And(room.Not()).Convert(graph.Int32))
	b.From = graph.Once(graph.Select(links, source, -1))
	b.To = graph.Select(b.From.Ge(0), target, -1)

	none := graph.FullLike(place, int32(-1))
	b.Node, b.Halves, b.Link = none, none, none
	x := conceived{b, number(c.Number, b.Split), number(g.Nodes.Number, b.From), number(g.Nodes.Number, b.To), refused}
	if reach == nil {
		return x, nil
	}
	node := graph.Select(b.Split.Ge(0), nodes, -1)
	half := func(end *graph.Array) *graph.Array {
		return graph.Select(b.Split.Ge(0), at(end, b.Split.Max(0)), -1)
	}
	return x, genome.Connect(reach, graph.Stack([]*graph.Array{node, half(c.From), b.From}, 0),
		graph.Stack([]*graph.Array{half(c.To), node, b.To}, 0))
}
