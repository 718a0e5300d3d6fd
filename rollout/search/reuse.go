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
	nodes, used := t.Rows.Dim(0), t.Nodes()
	number := graph.Iota(nodes)
	child := index(t.root().child(action))
	exists := child.Ge(0)
	child = child.Max(0)
	// Each node jumps to an ancestor, twice as far each time, until it is at the child or at the root.
	ancestor := graph.Select(number.Eq(child), number, t.Parents())
	for range bits.Len(uint(nodes)) {
		ancestor = graph.Take(ancestor, ancestor, 0)
	}
	kept := exists.And(ancestor.Eq(child).And(number.Lt(used)))
	newNumber := graph.CumSum(index(kept), 0).Sub(1)
	oldNumber := graph.ScatterSet(graph.Zeros(graph.ShapeOf(graph.Int32, nodes)), graph.Select(kept, newNumber, nodes),
		number)
	renumber := func(rows *graph.Array) *graph.Array { // f32, -1 stays
		return graph.Select(rows.Lt(0), rows, graph.Take(newNumber, index(rows), 0).Convert(graph.Float32))
	}

	old := Tree[E]{Rows: graph.Take(t.Rows, oldNumber, 0), Actions: t.Actions}
	all := graph.SliceAxis(old.Rows, 1, 0, fields)
	set := func(column int, x *graph.Array) {
		columns := graph.IotaAxis(graph.ShapeOf(graph.Int32, all.Dims()...), 1)
		all = graph.Select(columns.Eq(column), x.ExpandDims(1), all)
	}
	children := renumber(old.block(childNodes))
	set(parentNode, renumber(old.field(parentNode)).Max(0))
	set(depth, old.field(depth).Sub(1))
	// Depths are one less: a line of play that ended at the largest depth is now one action longer.
	leaf, last := index(renumber(old.field(leafNode))), old.field(leafAction)
	next := graph.TakeAlongAxis(graph.Take(children, leaf, 0), index(last).ExpandDims(1), 1).Squeeze(1)
	ends := next.Lt(0)
	below := index(next).Max(0)
	set(leafNode, graph.Select(ends, leaf, graph.Take(leaf, below, 0)).Convert(graph.Float32))
	set(leafAction, graph.Select(ends, last, graph.Take(last, below, 0)))
	count := index(kept).Sum()
	set(usedNodes, count.Convert(graph.Float32).BroadcastTo(nodes))

	p := padded(t.Actions)
	rows := graph.Concatenate(1, all, graph.SliceAxis(old.Rows, 1, fields, fields+childNodes*p),
		graph.Pad(children, -1, []int{0, 0}, []int{0, p - t.Actions}))
	embedding := graph.MapTree(func(a *graph.Array) *graph.Array { return graph.Take(a, oldNumber, 0) }, t.Embedding)
	share := count.Convert(graph.Float32).Div(used.Convert(graph.Float32))
	return Reused[E]{Tree: Tree[E]{Rows: rows, Embedding: embedding, Actions: t.Actions}, Share: share}
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

// graft returns the root of a search that reuses the tree, and the number of rows in use, f32[]. The root keeps its
// children. Logits and evaluation come from fresh.
func (r Reused[E]) graft(fresh row) (root row, used *graph.Array) {
	kept, old := r.kept(), r.Tree.root()
	root = fresh
	for _, k := range []int{childVisits, childQValues, childNodes} {
		root = root.withBlock(k, graph.Select(kept, old.block(k), fresh.block(k)))
	}
	for _, column := range []int{nodeVisits, nodeValue} {
		root = root.withField(column, graph.Select(kept, old.field(column), fresh.field(column)))
	}
	return root, graph.Select(kept, old.field(usedNodes), graph.Scalar(1))
}
