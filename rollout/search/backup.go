package search

import "xlarun/graph"

// backupKernel is backup on a CPU: rows f32[nodes, 12 + 5 P], reward, discount and value f32[], logits f32[A], the numbers of
// settings f32[7], noise, closed and before f32[A], considered f32[simulations] in, the rows out, in place.
var backupKernel = &graph.Kernel{Target: "xlarun_tree_backup", InPlace: true, Leading: true}

// Step is what a model says of an action: float32 scalars, and logits f32[A].
type Step struct {
	// Reward is for the player who moved, Discount what the value after it is worth to that player: -1 where the other
	// one moves next, 0 where the game is over.
	Reward, Discount *graph.Array
	// Logits are the policy's in the next state (-Inf, or a low number, for what is illegal), Value that state's for the player
	// who moves there.
	Logits, Value *graph.Array
}

// backup takes the step that the root's pending action came to into the tree: the node is written, what is on the way from it to
// the root counts it, and chooses anew.
func (r rule) backup(rows *graph.Array, actions int, s Step) *graph.Array {
	in := []*graph.Array{rows, s.Reward, s.Discount, s.Value, s.Logits, r.numbers(), r.Noise, r.Closed, r.Before, r.Considered}
	return graph.WithKernel(backupKernel, func(in []*graph.Array) []*graph.Array {
		bound := rule{r.settings, arrays{in[6], in[7], in[8], in[9]}}
		return []*graph.Array{bound.backupByOps(in[0], actions, Step{Reward: in[1], Discount: in[2], Value: in[3], Logits: in[4]})}
	}, in...)[0]
}

// climb is where backup is on its way to the root, and what it brings there.
type climb struct {
	Rows         *graph.Array
	Node, Action *graph.Array // int32: the node to count, and its action
	Return       *graph.Array // what was found from behind that action on
	Reward       *graph.Array // of that action, and the discount behind it
	Discount     *graph.Array
	Value        *graph.Array // of the action's node
	Done         *graph.Array
}

func (r rule) backupByOps(rows *graph.Array, actions int, s Step) *graph.Array {
	nodes := rows.Dim(0)
	tree := Tree[graph.None]{Rows: rows, Actions: actions}
	root := tree.root()
	parent, action, slot := whole(root.head(leafAt)), whole(root.head(leafActionAt)), whole(root.head(slotAt))
	at := tree.row(parent)
	child := graph.Select(graph.Eq(graph.Iota(actions), action), at.block(childrenBlock), minusInf)
	fresh := graph.Lt(graph.ReduceMax(child), 0)
	kept := graph.Lt(slot, nodes)

	// The node: as new, or evaluated again with what it has below it.
	old := tree.row(slot)
	head := map[int]*graph.Array{valueAt: s.Value, rawAt: s.Value, rewardAt: s.Reward, discountAt: s.Discount, parentAt: parent,
		actionAt: action, depthAt: graph.Add(at.head(depthAt), 1), leafAt: slot}
	node := newRow(head, s.Logits)
	for _, k := range []int{countsBlock, valuesBlock, childrenBlock} {
		node = node.withBlock(k, graph.Select(fresh, node.block(k), old.block(k)))
	}
	node = node.withHead(visitsAt, graph.Add(graph.Select(fresh, graph.Scalar(0), old.head(visitsAt)), 1))
	node = r.lead(tree, node, slot)
	rows = graph.ScatterSet(rows, graph.Reshape(slot, 1), graph.ExpandDims(node.all, 0)) // dropped where there is no room
	// Its parent, and the number of rows.
	isNew := graph.And(fresh, kept)
	here := graph.And(isNew, graph.Eq(graph.Iota(actions), action))
	at = at.withBlock(childrenBlock, graph.Select(here, graph.Convert(slot, graph.Float32), at.block(childrenBlock)))
	rows = graph.DynamicUpdateIndex(rows, at.all, parent, 0)
	used := graph.Add(root.head(usedAt), graph.Convert(isNew, graph.Float32))

	start := climb{rows, parent, action, s.Value, s.Reward, s.Discount, s.Value, graph.Full(graph.ShapeOf(graph.Bool), false)}
	rows = graph.While(func(c climb) *graph.Array { return graph.Not(c.Done) }, func(c climb) climb {
		tree := Tree[graph.None]{Rows: c.Rows, Actions: actions}
		n := tree.row(c.Node)
		found := graph.Add(c.Reward, graph.Mul(c.Discount, c.Return))
		visits := n.head(visitsAt)
		mean := graph.Div(graph.Add(graph.Mul(n.head(valueAt), visits), found), graph.Add(visits, 1))
		here := graph.Eq(graph.Iota(actions), c.Action)
		n = n.withHead(valueAt, mean).withHead(visitsAt, graph.Add(visits, 1))
		n = n.withBlock(countsBlock, graph.Add(n.block(countsBlock), graph.Convert(here, graph.Float32)))
		n = n.withBlock(valuesBlock, graph.Select(here, graph.Add(c.Reward, graph.Mul(c.Discount, c.Value)), n.block(valuesBlock)))
		n = r.lead(tree, n, c.Node)
		rows := graph.DynamicUpdateIndex(c.Rows, n.all, c.Node, 0)
		return climb{rows, whole(n.head(parentAt)), whole(n.head(actionAt)), found, n.head(rewardAt), n.head(discountAt), mean, graph.Eq(c.Node, 0)}
	}, start).Rows
	return pending(rows, actions, used)
}

// lead writes where the best line of play from a node ends: in the node itself, where its best action has no child or may not be
// passed, else where it does from the child.
func (r rule) lead(tree Tree[graph.None], n row, node *graph.Array) row {
	best := r.choose(n, graph.Eq(node, 0))
	child := whole(graph.ReduceMax(graph.Select(graph.Eq(graph.Iota(n.actions), best), n.block(childrenBlock), minusInf)))
	further := graph.And(graph.Ge(child, 0), graph.Lt(graph.Add(n.head(depthAt), 1), r.maxDepth))
	below := tree.row(graph.Max(child, 0))
	n = n.withHead(leafAt, graph.Select(further, below.head(leafAt), graph.Convert(node, graph.Float32)))
	return n.withHead(leafActionAt, graph.Select(further, below.head(leafActionAt), graph.Convert(best, graph.Float32)))
}

// pending writes into the root's row for which row its best line of play is, and how many are taken.
func pending(rows *graph.Array, actions int, used *graph.Array) *graph.Array {
	tree := Tree[graph.None]{Rows: rows, Actions: actions}
	root := tree.root()
	leaf := tree.row(whole(root.head(leafAt)))
	here := graph.Eq(graph.Iota(actions), whole(root.head(leafActionAt)))
	child := graph.ReduceMax(graph.Select(here, leaf.block(childrenBlock), minusInf))
	// Where all rows are taken, used is the number of rows: a row that does not exist.
	root = root.withHead(slotAt, graph.Select(graph.Ge(child, 0), child, used)).withHead(usedAt, used)
	return graph.DynamicUpdateSlice(rows, graph.ExpandDims(root.all, 0), []*graph.Array{graph.Of(int32(0)), graph.Of(int32(0))})
}
