package search

import (
	"math/bits"

	"xlarun/graph"
)

// Reused is the part of a tree below the action that was played. The search of the next move starts with it.
type Reused[E any] struct {
	Tree Tree[E]
	// Share, f32[], is the share of the old tree's nodes in Tree: 0 if the action has no node, or after Drop.
	Share *graph.Array
}

// Reroot returns the tree whose root is the child of the root's action, i32[]. The nodes below it move to the front, in
// their old order.
func Reroot[E any](t Tree[E], action *graph.Array) Reused[E] {
	kept := t.below(index(t.root().child(action)))
	newNumber, oldNumber := compacted(kept)
	renumber := func(rows *graph.Array) *graph.Array { // f32, -1 stays
		return graph.Select(rows.Lt(0), rows, graph.Take(newNumber, index(rows), 0).Convert(graph.Float32))
	}
	moved := func(a *graph.Array) *graph.Array { return graph.Take(a, oldNumber, 0) }
	old := Tree[E]{Rows: moved(t.Rows), Actions: t.Actions}
	children := renumber(old.block(childNodes))
	leaf, last, next := longerLines(index(children), index(renumber(old.field(leafNode))), old.field(leafAction))
	count := index(kept).Sum().Convert(graph.Float32)

	numbers := graph.SliceAxis(old.Rows, 1, 0, fields)
	set := func(column int, x *graph.Array) {
		columns := graph.IotaAxis(graph.ShapeOf(graph.Int32, numbers.Dims()...), 1)
		numbers = graph.Select(columns.Eq(column), x.ExpandDims(1), numbers)
	}
	set(parentNode, renumber(old.field(parentNode)).Max(0))
	set(depth, old.field(depth).Sub(1))
	set(leafNode, leaf.Convert(graph.Float32))
	set(leafAction, last)
	set(nextNode, next.Convert(graph.Float32))
	set(usedNodes, count.BroadcastTo(kept.Size()))

	p := padded(t.Actions)
	rows := graph.Concatenate(1, numbers, graph.SliceAxis(old.Rows, 1, fields, fields+childNodes*p),
		graph.Pad(children, -1, []int{0, 0}, []int{0, p - t.Actions}))
	return Reused[E]{
		Tree:  Tree[E]{Rows: rows, Embedding: graph.MapTree(moved, t.Embedding), Actions: t.Actions},
		Share: count.Div(t.Nodes().Convert(graph.Float32)),
	}
}

// below reports which nodes are a node, i32[], or have it as an ancestor, bool[nodes]. The node may be -1: then none.
func (t Tree[E]) below(node *graph.Array) *graph.Array {
	nodes := t.Rows.Dim(0)
	number := graph.Iota(nodes)
	top := node.Max(0)
	// Each node jumps to an ancestor, twice as far each time, until it is at the top or at the root.
	ancestor := graph.Select(number.Eq(top), number, t.Parents())
	for range bits.Len(uint(nodes)) {
		ancestor = graph.Take(ancestor, ancestor, 0)
	}
	return node.Ge(0).And(ancestor.Eq(top).And(number.Lt(t.Nodes())))
}

// compacted numbers the rows that are kept, bool[n], in their old order. newNumber, i32[n], has the new number of an
// old row that is kept; oldNumber, i32[n], the old number of a new row, 0 after the last one.
func compacted(kept *graph.Array) (newNumber, oldNumber *graph.Array) {
	n := kept.Size()
	newNumber = graph.CumSum(index(kept), 0).Sub(1)
	place := graph.Select(kept, newNumber, n) // n is outside: what is not kept is not written
	return newNumber, graph.ScatterSet(graph.Zeros(graph.ShapeOf(graph.Int32, n)), place, graph.Iota(n))
}

// longerLines returns where the best lines of play end, in a tree whose depths are one less: a line that ended at the
// largest depth is now one action longer. leaf, i32[nodes], and last, f32[nodes], are the fields leafNode and
// leafAction; children, i32[nodes, A], the children's rows. next, i32[nodes], is the field nextNode.
func longerLines(children, leaf, last *graph.Array) (newLeaf, newLast, next *graph.Array) {
	after := func(leaf, last *graph.Array) *graph.Array {
		return graph.TakeAlongAxis(graph.Take(children, leaf, 0), index(last).ExpandDims(1), 1).Squeeze(1)
	}
	next = after(leaf, last)
	ends, below := next.Lt(0), next.Max(0)
	newLeaf = graph.Select(ends, leaf, graph.Take(leaf, below, 0))
	newLast = graph.Select(ends, last, graph.Take(last, below, 0))
	return newLeaf, newLast, after(newLeaf, newLast)
}

// Drop drops the tree if over, bool[], is true: if a new game begins.
func (r Reused[E]) Drop(over *graph.Array) Reused[E] {
	r.Share = graph.Select(over, graph.Scalar(0), r.Share)
	return r
}

// kept reports whether there is a tree to reuse, bool[].
func (r Reused[E]) kept() *graph.Array { return r.Share.Gt(0) }

// rootVisits returns the visits of the root's actions, f32[A].
func (r Reused[E]) rootVisits() *graph.Array {
	visits := r.Tree.root().block(childVisits)
	return graph.Select(r.kept(), visits, graph.ZerosLike(visits))
}

// check throws an error if the tree has other rows than the search.
func (r Reused[E]) check(want graph.Shape) {
	if !r.Tree.Rows.Shape().Equal(want) {
		graph.Throw("search", "the tree to reuse is %s, want %s: searches that reuse each other's trees have the "+
			"same number of nodes", r.Tree.Rows.Shape(), want)
	}
}

// graft returns the root of a search that reuses the tree, and the number of rows in use, i32[]. The root keeps its
// children. Logits and evaluation come from fresh.
func (r Reused[E]) graft(fresh row) (root row, used *graph.Array) {
	kept, old := r.kept(), r.Tree.root()
	return fresh.withChildrenOf(old, kept, nodeVisits, nodeValue),
		graph.Select(kept, index(old.field(usedNodes)), int32(1))
}
