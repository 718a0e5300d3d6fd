package search

import (
	"math/bits"

	"xlarun/graph"
)

// Reused is what of a tree is below an action that was played: the tree of the next move's search, to go on from.
type Reused[E any] struct {
	Tree Tree[E]
	// Share is the part of the tree's nodes that is kept, a float32 scalar: 0 where the action has no node, or another player
	// than the search expected began a new game (Drop).
	Share *graph.Array
}

// Reroot makes the node that an action leads to the root: what is below it is moved to the front, in the order in which it was made.
func Reroot[E any](t Tree[E], action *graph.Array) Reused[E] {
	nodes, used := t.Rows.Dim(0), t.Nodes()
	at := graph.Iota(nodes)
	child := whole(graph.ReduceMax(graph.Select(graph.Eq(graph.Iota(t.Actions), action), t.root().block(childrenBlock), minusInf)))
	there := graph.Ge(child, 0)
	child = graph.Max(child, 0)
	// Every node jumps to its ancestors, twice as far each time, until it stands at the child or at the root.
	ancestor := graph.Select(graph.Eq(at, child), at, t.Parents())
	for range bits.Len(uint(nodes)) {
		ancestor = graph.Take(ancestor, ancestor, 0)
	}
	kept := graph.And(there, graph.And(graph.Eq(ancestor, child), graph.Lt(at, used)))
	place := graph.Sub(graph.CumSum(whole(kept), 0), 1)
	from := graph.ScatterSet(graph.Zeros(graph.ShapeOf(graph.Int32, nodes)), graph.Select(kept, place, nodes), at)
	moved := func(rows *graph.Array) *graph.Array { // numbers of rows, f32, as they are now; -1 stays
		return graph.Select(graph.Lt(rows, 0), rows, graph.Convert(graph.Take(place, whole(rows), 0), graph.Float32))
	}

	old := Tree[E]{Rows: graph.Take(t.Rows, from, 0), Actions: t.Actions}
	numbers := graph.SliceAxis(old.Rows, 1, 0, heads)
	column := func(k int, x *graph.Array) {
		numbers = graph.Select(graph.Eq(graph.IotaAxis(graph.ShapeOf(graph.Int32, numbers.Dims()...), 1), k), graph.ExpandDims(x, 1), numbers)
	}
	children := moved(old.blockOf(childrenBlock))
	column(parentAt, graph.Max(moved(old.column(parentAt)), 0))
	column(depthAt, graph.Sub(old.column(depthAt), 1))
	// A line of play that ended because it might not go deeper now goes one action further.
	leaf, ending := whole(moved(old.column(leafAt))), old.column(leafActionAt)
	next := graph.Squeeze(graph.TakeAlongAxis(graph.Take(children, leaf, 0), graph.ExpandDims(whole(ending), 1), 1), 1)
	ends := graph.Lt(next, 0)
	below := graph.Max(whole(next), 0)
	column(leafAt, graph.Convert(graph.Select(ends, leaf, graph.Take(leaf, below, 0)), graph.Float32))
	column(leafActionAt, graph.Select(ends, ending, graph.Take(ending, below, 0)))
	count := graph.Sum(whole(kept))
	column(usedAt, graph.BroadcastTo(graph.Convert(count, graph.Float32), nodes))

	p := padded(t.Actions)
	last := heads + childrenBlock*p
	rows := graph.Concatenate(1, numbers, graph.SliceAxis(old.Rows, 1, heads, last),
		graph.Pad(children, -1, []int{0, 0}, []int{0, p - t.Actions}))
	embedding := graph.MapTree(func(a *graph.Array) *graph.Array { return graph.Take(a, from, 0) }, t.Embedding)
	share := graph.Div(graph.Convert(count, graph.Float32), graph.Convert(used, graph.Float32))
	return Reused[E]{Tree: Tree[E]{Rows: rows, Embedding: embedding, Actions: t.Actions}, Share: share}
}

// Drop forgets the tree where over, a bool scalar, holds: a new game began.
func (r Reused[E]) Drop(over *graph.Array) Reused[E] {
	r.Share = graph.Select(over, graph.Scalar(0), r.Share)
	return r
}

// kept tells whether there is anything to go on from.
func (r Reused[E]) kept() *graph.Array { return graph.Gt(r.Share, 0) }

// counts are the visits of the root's actions, f32[A].
func (r Reused[E]) counts() *graph.Array {
	counts := r.Tree.root().block(countsBlock)
	return graph.Select(r.kept(), counts, graph.ZerosLike(counts))
}

// start puts the tree in the place of an empty one: the root keeps what is below it and gets logits and evaluation of its own.
func (r Reused[E]) start(empty *graph.Array, first row, stored []*graph.Array, pack packs[E]) (rows *graph.Array, root row, used *graph.Array, embedding []*graph.Array) {
	if !r.Tree.Rows.Shape().Equal(empty.Shape()) {
		graph.Throw("search", "the tree to go on from is %s, want %s: searches that reuse each other's trees have the same number of nodes", r.Tree.Rows.Shape(), empty.Shape())
	}
	kept := r.kept()
	old := r.Tree.root()
	root = first
	for _, k := range []int{countsBlock, valuesBlock, childrenBlock} {
		root = root.withBlock(k, graph.Select(kept, old.block(k), first.block(k)))
	}
	for _, k := range []int{visitsAt, valueAt} {
		root = root.withHead(k, graph.Select(kept, old.head(k), first.head(k)))
	}
	return r.Tree.Rows, root, graph.Select(kept, old.head(usedAt), graph.Scalar(1)), pack.packAll(r.Tree.Embedding)
}
