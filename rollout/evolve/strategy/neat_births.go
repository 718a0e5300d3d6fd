package strategy

import (
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
	Reach            *graph.Array `tree:"optional"` // u32[nodes, words]: of the child
}

// decide decides about the births of the next generation, and numbers their new nodes and connections.
func (e *NEAT) decide(s NEATState, next *NEATState, t tribes, all neatDraw, draws population.Draws, f *graph.Array) {
	counts := graph.Once(e.unpack(all.Genome).Connections.Exist().Convert(graph.Int32).Sum(1))
	born := population.EachOf(draws, func(member *graph.Array) conceived {
		u := random.Uniform(population.At(all.Key, member), graph.ShapeOf(graph.Float32, 10), 0, 1)
		b := e.parents(member, t, u, counts, f)
		g := e.genome(all.Genome, b.Parent)
		var reach *graph.Array
		if s.Reach != nil {
			reach = graph.Once(population.At(s.Reach, b.Parent))
		}
		return e.structure(b, g, reach, u)
	})
	next.Reach = born.Reach
	next.Refused = born.Refused.Sum()

	// Equal mutations of one generation have the same numbers.
	split, splits := distinct(born.SplitNumber)
	link, links := distinct(born.FromNode, born.ToNode)
	b := born.Birth
	b.Node, b.Halves = s.Nodes.Add(split), s.Innovations.Add(split.Mul(2))
	b.Link = s.Innovations.Add(splits.Mul(2)).Add(link)
	next.Births = packBirths(b)
	next.Nodes, next.Innovations = s.Nodes.Add(splits), s.Innovations.Add(splits.Mul(2)).Add(links)
}

// distinct numbers different keys in ascending order: i32[population], and how many there are. Members of key None do
// not count; their numbers mean nothing.
func distinct(keys ...*graph.Array) (number, count *graph.Array) {
	members := graph.Iota(keys[0].Dim(0))
	sorted := graph.SortKV(append(keys, members), 0, len(keys))
	differs := members.Eq(0)
	for _, k := range sorted[:len(keys)] {
		differs = differs.Or(k.Ne(graph.Roll(k, 1, 0)))
	}
	first := differs.And(sorted[0].Lt(genome.None)).Convert(graph.Int32)
	number = graph.ScatterSet(graph.ZerosLike(members), sorted[len(keys)], graph.CumSum(first, 0).Sub(1))
	return number, first.Sum()
}

// parents chooses the parents of a member by its place in the next generation.
func (e *NEAT) parents(member *graph.Array, t tribes, u, counts, f *graph.Array) births {
	last := e.MaxSpecies - 1
	species := graph.SearchSorted(t.Ends, member.ExpandDims(0), true).Squeeze(0).Min(last)
	at := func(a, i *graph.Array) *graph.Array { return graph.DynamicIndex(a, i, 0) }
	first := graph.Select(species.Gt(0), at(t.Ends, species.Sub(1).Max(0)), 0)
	rank := member.Sub(first) // among the children of the species
	single := func(a *graph.Array) *graph.Array { return a.Convert(graph.Float32) }
	size := at(t.Species.Size, species)
	copied := single(rank).Lt(e.Elites.Array()).And(single(size).Gt(e.EliteSize.Array())).And(rank.Lt(size))
	parent := func(species, lot *graph.Array) *graph.Array {
		return at(t.Order, at(t.Starts, species).Add(choose(lot, at(t.Survivors, species))))
	}
	one := parent(species, u.Index(0))
	foreign := choose(u.Index(1), t.Exist.Convert(graph.Int32).Sum())
	mate := graph.Select(u.Index(2).Lt(e.InterspeciesRate.Array()), foreign, species)
	two := graph.Select(u.Index(3).Lt(e.CrossoverRate.Array()), parent(mate, u.Index(4)), one)

	// The better one, of equal ones the smaller, then the earlier one.
	f1, f2, c1, c2 := at(f, one), at(f, two), at(counts, one), at(counts, two)
	tie := f1.Eq(f2).And(c2.Lt(c1).Or(c2.Eq(c1).And(two.Lt(one))))
	swap := f2.Gt(f1).Or(tie)
	champion := at(t.Order, at(t.Starts, species).Add(rank.Min(size.Sub(1))))
	return births{Copied: copied, Parent: graph.Select(copied, champion, graph.Select(swap, two, one)),
		Other: graph.Select(copied, champion, graph.Select(swap, one, two))}
}

// structure chooses a birth's new node and connection. g is the parent whose structure the child has.
func (e *NEAT) structure(b births, g genome.Genome, reach, u *graph.Array) conceived {
	c, n := g.Connections, e.network
	connections, nodes := c.Count(), g.Nodes.Count()
	at := func(a, i *graph.Array) *graph.Array { return graph.DynamicIndex(a, i, 0) }
	number := func(condition, of, i *graph.Array) *graph.Array {
		return graph.Select(condition, at(of, i), int32(genome.None))
	}
	grows := b.Copied.Not()

	place, ok := chosen(u.Index(5), c.Enabled)
	wanted := grows.And(ok).And(u.Index(6).Lt(e.NodeRate.Array()))
	splits := wanted.And(nodes.Lt(n.Nodes)).And(connections.Add(2).Le(n.Connections))
	refused := wanted.And(splits.Not()).Convert(graph.Int32)
	x := conceived{Birth: b, SplitNumber: number(splits, c.Number, place)}
	x.Birth.Split = graph.Select(splits, place, -1)

	// The target is any node but an input, the source any node that is not connected to it.
	target := choose(u.Index(7), nodes.Sub(n.Inputs)).Add(n.Inputs)
	fromAt := graph.Select(c.Exist().And(c.To.Eq(target)), c.From, int32(n.Nodes))
	connected := graph.ScatterSet(graph.Zeros(graph.ShapeOf(graph.Bool, n.Nodes)), fromAt, c.Exist())
	open := g.Nodes.Exist().And(connected.Not())
	if reach != nil {
		open = open.And(genome.Descendants(reach, target).Not()).And(graph.Iota(n.Nodes).Ne(target))
	}
	source, ok := chosen(u.Index(8), open)
	wanted = grows.And(ok).And(u.Index(9).Lt(e.ConnectionRate.Array()))
	room := connections.Add(graph.Select(splits, 3, 1)).Le(n.Connections)
	links := wanted.And(room)
	x.Refused = refused.Add(wanted.And(room.Not()).Convert(graph.Int32))
	x.Birth.From, x.Birth.To = graph.Select(links, source, -1), graph.Select(links, target, -1)
	x.FromNode, x.ToNode = number(links, g.Nodes.Number, source), number(links, g.Nodes.Number, target)

	none := graph.FullLike(place, int32(-1))
	x.Birth.Node, x.Birth.Halves, x.Birth.Link = none, none, none
	if reach != nil {
		node := graph.Select(splits, nodes, -1)
		reach = genome.Connect(reach, node, at(c.To, place))
		reach = genome.Connect(reach, graph.Select(splits, at(c.From, place), -1), node)
		x.Reach = genome.Connect(reach, x.Birth.From, x.Birth.To)
	}
	return x
}
