package strategy

import (
	"sync"

	"xlarun/graph"
	"xlarun/graph/random"
	"xlarun/rollout/policy/genome"
	"xlarun/rollout/population"
)

// births says how the members of a generation are born. Of one member: scalars.
type births struct {
	Parent *graph.Array // i32: place in NEATState.Genomes; the child has its genes
	Other  *graph.Array // i32: place of the other parent; Parent if there is none
	Copied *graph.Array // bool: the parent stays as it is
	Split  *graph.Array // i32: place of the connection that gets a node in its middle; -1: none
	Node   *graph.Array // i32: number of the node
	Halves *graph.Array // i32: number of the connection to the node; the one from it has the next number
	From   *graph.Array // i32: place of the source of a new connection; -1: none
	To     *graph.Array // i32: place of its target
	Link   *graph.Array // i32: its number
}

// birthPacking lays births out as one array.
var birthPacking = sync.OnceValue(func() *graph.Packing {
	return graph.NewPacking(population.At(firstBirths(1), graph.Zeros(graph.ShapeOf(graph.Int32))),
		func(graph.Shape) graph.DType { return graph.Int32 })
})

// packBirths returns births, leaves […], as one array, i32[…, fields].
func packBirths(b births) *graph.Array { return birthPacking().Pack(b)[0] }

func unpackBirths(packed *graph.Array) births {
	return birthPacking().Unpack([]*graph.Array{packed}).(births)
}

// firstBirths gives each member one parent, without new structure.
func firstBirths(members int) births {
	i := graph.Iota(members)
	none := graph.FullLike(i, int32(-1))
	return births{Parent: i, Other: i, Copied: graph.Zeros(graph.ShapeOf(graph.Bool, members)), Split: none, Node: none,
		Halves: none, From: none, To: none, Link: none}
}

// lots are uniform random numbers in [0, 1) that decide about one child.
type lots struct {
	Changes, Toggles, Toggled, Functions, Function, Activation, Aggregation *graph.Array // []
	NewActivation, NewAggregation, NewWeight                                *graph.Array // []
	Other                                                                   *graph.Array // [connections+nodes]
	Off                                                                     *graph.Array // [connections]
	Replaces, Moves                                                         *graph.Array // [connections+nodes]
	Averages                                                                *graph.Array // []
}

// draw draws a child's lots.
func (e *NEAT) draw(key random.Key) lots {
	c, genes := e.network.Connections, e.network.Connections+e.network.Nodes
	const scalars = 10
	u := random.Uniform(key, graph.ShapeOf(graph.Float32, scalars+3*genes+c+1), 0, 1)
	end := scalars
	next := func(n int) *graph.Array {
		end += n
		return graph.SliceAxis(u, 0, end-n, end)
	}
	return lots{u.Index(0), u.Index(1), u.Index(2), u.Index(3), u.Index(4), u.Index(5), u.Index(6), u.Index(7),
		u.Index(8), u.Index(9), next(genes), next(c), next(genes), next(genes), next(1).Squeeze(0)}
}

// choose returns a whole number below n, i32[], by a lot.
func choose(lot, n *graph.Array) *graph.Array {
	return lot.Mul(n.Convert(graph.Float32)).Floor().Convert(graph.Int32).Min(n.Sub(1)).Max(0)
}

// chosen returns the place of one of the true elements of mask, bool[n], by a lot; ok is false if there is none.
func chosen(lot, mask *graph.Array) (place, ok *graph.Array) {
	count := mask.Convert(graph.Int32).Sum()
	nth := choose(lot, count).Add(1)
	at := mask.And(graph.CumSum(mask, 0).Eq(nth))
	return at.Convert(graph.Int32).ArgMax(0), count.Gt(0)
}

// put returns x with a value in a place, i32[]; a place of -1 changes nothing.
func put(x, place *graph.Array, value any) *graph.Array {
	return graph.Select(graph.Iota(x.Dim(0)).Eq(place), value, x)
}

// breed makes a member of the next generation.
func (e *NEAT) breed(key random.Key, s NEATState, member *graph.Array) genome.Genome {
	b, l := unpackBirths(graph.Once(graph.DynamicIndex(s.Births, member, 0))), e.draw(key)
	parent := e.genome(s.Genomes, b.Parent)
	child := e.cross(parent, e.genome(s.Genomes, b.Other), b.Other.Ne(b.Parent), l)
	child = e.moveWeights(child, l, s.Generation.Eq(0))
	child = e.changeFunctions(child, l)
	child = e.toggle(child, l)
	return graph.SelectTree(b.Copied, parent, e.grow(child, b, l))
}

// match returns the place of each number in another ascending list, and whether it is there.
func match(numbers, other *graph.Array) (place, found *graph.Array) {
	place = graph.SearchSorted(other, numbers, false).Min(other.Dim(0) - 1)
	return place, graph.Take(other, place, 0).Eq(numbers).And(numbers.Lt(genome.None))
}

// cross returns a child of two parents, or a copy of the first if there is no other: genes of the same number come from
// either one, others from the first, which is the better one. Common weights and biases may be the means of both, as
// the function mate_multipoint_avg of Stanley's program makes them.
func (e *NEAT) cross(first, other genome.Genome, both *graph.Array, l lots) genome.Genome {
	c, n := e.network.Connections, e.network.Nodes
	pick := graph.SliceAxis(l.Other, 0, 0, c).Lt(.5).And(both)
	place, found := match(first.Connections.Number, other.Connections.Number)
	averages := both.And(l.Averages.Lt(e.AverageRate.Array()))
	either := func(a, b, isOther, common *graph.Array) *graph.Array {
		return graph.Select(averages.And(common), a.Mul(.5).Add(b.Mul(.5)), graph.Select(isOther, b, a))
	}
	child := first
	child.Connections.Weight = either(first.Connections.Weight, graph.Take(other.Connections.Weight, place, 0),
		pick.And(found), found)
	off := first.Connections.Enabled.Not().Or(found.And(graph.Take(other.Connections.Enabled, place, 0).Not()))
	on := off.Not().Or(l.Off.Ge(e.DisableRate.Array())).And(first.Connections.Exist())
	child.Connections.Enabled = graph.Select(both, on, first.Connections.Enabled)

	place, found = match(first.Nodes.Number, other.Nodes.Number)
	take := graph.SliceAxis(l.Other, 0, c, c+n).Lt(.5).And(both).And(found)
	from := func(a, b *graph.Array) *graph.Array { return graph.Select(take, graph.Take(b, place, 0), a) }
	child.Nodes.Bias = either(first.Nodes.Bias, graph.Take(other.Nodes.Bias, place, 0), take, found)
	child.Nodes.Response = from(first.Nodes.Response, other.Nodes.Response)
	child.Nodes.Activation = from(first.Nodes.Activation, other.Nodes.Activation)
	child.Nodes.Aggregation = from(first.Nodes.Aggregation, other.Nodes.Aggregation)
	return child
}

// moveWeights moves or replaces the weights and biases; all are new in the first generation.
func (e *NEAT) moveWeights(g genome.Genome, l lots, fresh *graph.Array) genome.Genome {
	c := e.network.Connections
	changes := l.Changes.Lt(e.WeightRate.Array()).Or(fresh)
	within := l.Moves.Mul(2).Sub(1) // in [-1, 1)
	isNew := l.Replaces.Lt(e.ReplaceRate.Array()).Or(fresh)
	change := func(x, exists *graph.Array, from, to int) *graph.Array {
		part := func(a *graph.Array) *graph.Array { return graph.SliceAxis(a, 0, from, to) }
		moved := x.Add(part(within).Mul(e.Power.Array())).Clamp(e.Limit.Array().Neg(), e.Limit.Array())
		moved = graph.Select(part(isNew), part(within).Mul(e.Range.Array()), moved)
		return graph.Select(exists.And(changes), moved, x)
	}
	g.Connections.Weight = change(g.Connections.Weight, g.Connections.Exist(), 0, c)
	g.Nodes.Bias = change(g.Nodes.Bias, g.Nodes.Exist().And(graph.Iota(e.network.Nodes).Ge(e.network.Inputs)), c,
		c+e.network.Nodes)
	return g
}

// changeFunctions gives one hidden node a new activation and aggregation.
func (e *NEAT) changeFunctions(g genome.Genome, l lots) genome.Genome {
	if e.network.Hidden == 1 && len(e.network.Aggregations) == 1 {
		return g
	}
	hidden := g.Nodes.Exist().And(graph.Iota(e.network.Nodes).Ge(e.network.Inputs + e.network.Outputs))
	place, ok := chosen(l.Function, hidden)
	place = graph.Select(ok.And(l.Functions.Lt(e.FunctionRate.Array())), place, -1)
	g.Nodes.Activation = put(g.Nodes.Activation, place, e.oneOf(l.Activation, e.network.Hidden))
	g.Nodes.Aggregation = put(g.Nodes.Aggregation, place, e.oneOf(l.Aggregation, len(e.network.Aggregations)))
	return g
}

func (e *NEAT) oneOf(lot *graph.Array, n int) *graph.Array {
	return choose(lot, graph.Full(graph.ShapeOf(graph.Int32), int32(n)))
}

// toggle switches one connection on or off.
func (e *NEAT) toggle(g genome.Genome, l lots) genome.Genome {
	place, ok := chosen(l.Toggled, g.Connections.Exist())
	toggled := ok.And(l.Toggles.Lt(e.ToggleRate.Array())).And(graph.Iota(e.network.Connections).Eq(place))
	g.Connections.Enabled = g.Connections.Enabled.Ne(toggled)
	return g
}

// grow adds the node and the connection of a birth. The connection to a new node has the weight 1, and the one from it
// that of the connection that it splits, which is off.
func (e *NEAT) grow(g genome.Genome, b births, l lots) genome.Genome {
	c := &g.Connections
	splits := b.Split.Ge(0)
	where := func(condition, place *graph.Array) *graph.Array { return graph.Select(condition, place, -1) }
	at := func(x *graph.Array) *graph.Array { return graph.DynamicIndex(x, b.Split.Max(0), 0) }
	from, to, weight := at(c.From), at(c.To), at(c.Weight)

	n := g.Nodes.Count()
	node := where(splits, n)
	g.Nodes = genome.Nodes{Number: put(g.Nodes.Number, node, b.Node), Bias: put(g.Nodes.Bias, node, 0.),
		Response: put(g.Nodes.Response, node, 1.), Activation: put(g.Nodes.Activation, node,
			e.oneOf(l.NewActivation, e.network.Hidden)),
		Aggregation: put(g.Nodes.Aggregation, node, e.oneOf(l.NewAggregation, len(e.network.Aggregations)))}

	count := c.Count()
	c.Enabled = put(c.Enabled, b.Split, false)
	add := func(place, number, from, to *graph.Array, weight any) {
		*c = genome.Connections{Number: put(c.Number, place, number), From: put(c.From, place, from),
			To: put(c.To, place, to), Weight: put(c.Weight, place, weight), Enabled: put(c.Enabled, place, true)}
	}
	add(where(splits, count), b.Halves, from, n, 1.)
	add(where(splits, count.Add(1)), b.Halves.Add(1), n, to, weight)
	last := count.Add(graph.Select(splits, 2, 0))
	add(where(b.From.Ge(0), last), b.Link, b.From, b.To,
		l.NewWeight.Mul(2).Sub(1).Mul(e.Range.Array()))
	return g
}
