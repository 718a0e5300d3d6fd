package search

import "xlarun/graph"

// backwardKernel is backward on a CPU, in place. In: rows f32[nodes, 12 + 5 P]; reward, discount and value f32[];
// logits f32[A]; the numbers of settings f32[7]; noise, invalid and reused visits f32[A]; considered visits
// f32[simulations]. Out: the rows.
var backwardKernel = &graph.Kernel{Target: "xlarun_tree_backup", InPlace: true, Leading: true}

// backward writes the evaluated node and updates the nodes up to the root, as mctx's backward does. Each of these nodes
// selects its best action again. Then it selects the edge of the next simulation. rows and the result are f32[nodes,
// columns].
func (r rule) backward(rows *graph.Array, actions int, s Step) *graph.Array {
	if r.decisions > 0 { // the kernel knows no chance
		return r.backwardByOps(rows, actions, s)
	}
	in := []*graph.Array{rows, s.Reward, s.Discount, s.Value, s.PriorLogits, r.numbers(), r.Noise, r.Invalid,
		r.ReusedVisits, r.ConsideredVisits}
	return graph.WithKernel(backwardKernel, func(in []*graph.Array) []*graph.Array {
		traced := rule{settings: r.settings, rootInfo: rootInfo{in[6], in[7], in[8], in[9]}}
		step := Step{Reward: in[1], Discount: in[2], Value: in[3], PriorLogits: in[4]}
		return []*graph.Array{traced.backwardByOps(in[0], actions, step)}
	}, in...)[0]
}

// backwardByOps is backward without the kernel.
func (r rule) backwardByOps(rows *graph.Array, actions int, s Step) *graph.Array {
	tree := Tree[graph.None]{Rows: rows, Actions: actions}
	// Once stores the rows that are read after the tree is written, so that a GPU writes the tree in place. A row that
	// is read again would make it copy the tree.
	root := row{graph.Once(tree.root().all), actions}
	edge := selection{index(root.field(leafNode)), index(root.field(leafAction)), index(root.field(nextNode))}
	rows, isNew := r.writeNode(tree, edge, s)
	used := root.field(usedNodes).Add(isNew.Convert(graph.Float32))
	rows = r.propagate(rows, actions, edge, s)
	return selectNext(rows, actions, used)
}

// writeNode writes the evaluated node into the tree, as a child of its parent. It returns the rows, f32[nodes,
// columns], and whether the node is new, bool[].
func (r rule) writeNode(tree Tree[graph.None], edge selection, s Step) (rows, isNew *graph.Array) {
	actions := tree.Actions
	parent := row{graph.Once(tree.row(edge.Parent).all), actions}
	first := parent.child(edge.Action).Lt(0)
	hasRow := edge.Next.Lt(tree.Rows.Dim(0))

	// A node at the largest depth is evaluated again: it keeps its children.
	old := tree.row(edge.Next)
	children := map[int]*graph.Array{}
	for _, k := range []int{childVisits, childQValues, childNodes} {
		children[k] = graph.Select(first, withoutChildren(s.PriorLogits)[k], old.block(k))
	}
	visits := graph.Select(first, graph.Scalar(0), old.field(nodeVisits)).Add(1)
	node := newRow(map[int]*graph.Array{nodeVisits: visits, nodeValue: s.Value, rawValue: s.Value,
		rewardField: s.Reward, discountField: s.Discount, parentNode: edge.Parent, parentAction: edge.Action,
		depth: parent.field(depth).Add(1), leafNode: edge.Next}, children, s.PriorLogits)
	node = r.selectLeaf(tree, node, edge.Next)
	// A full tree has no row Next: the write is dropped.
	rows = graph.ScatterSet(tree.Rows, edge.Next.Reshape(1), node.all.ExpandDims(0))

	isNew = first.And(hasRow)
	here := isNew.And(graph.Iota(actions).Eq(edge.Action))
	parent = parent.withBlock(childNodes,
		graph.Select(here, edge.Next.Convert(graph.Float32), parent.block(childNodes)))
	return graph.DynamicUpdateIndex(rows, parent.all, edge.Parent, 0), isNew
}

// backwardState is the carry of propagate's loop from a node to the root.
type backwardState struct {
	Rows         *graph.Array // f32[nodes, columns]
	Node, Action *graph.Array // i32[]: the node to update, and its action
	Return       *graph.Array // f32[]: return after that action
	Reward       *graph.Array // f32[]: of that action
	Discount     *graph.Array // f32[]: of the value after that action
	Value        *graph.Array // f32[]: of the action's child
	Done         *graph.Array // bool[]
}

// propagate adds the value of an evaluated node to all nodes up to the root.
func (r rule) propagate(rows *graph.Array, actions int, edge selection, s Step) *graph.Array {
	start := backwardState{rows, edge.Parent, edge.Action, s.Value, s.Reward, s.Discount, s.Value,
		graph.Full(graph.ShapeOf(graph.Bool), false)}
	return graph.While(func(s backwardState) *graph.Array { return s.Done.Not() }, func(s backwardState) backwardState {
		tree := Tree[graph.None]{Rows: s.Rows, Actions: actions}
		n := tree.row(s.Node)
		leafValue := s.Reward.Add(s.Discount.Mul(s.Return))
		visits := n.field(nodeVisits)
		mean := n.field(nodeValue).Mul(visits).Add(leafValue).Div(visits.Add(1))
		here := graph.Iota(actions).Eq(s.Action)
		qValue := s.Reward.Add(s.Discount.Mul(s.Value))
		// The old numbers are read from the row before its changes, not from the changed row: so the compiler fuses the
		// changes.
		before := n
		n = n.withField(nodeValue, mean).withField(nodeVisits, visits.Add(1))
		n = n.withBlock(childVisits, before.block(childVisits).Add(here.Convert(graph.Float32)))
		n = n.withBlock(childQValues, graph.Select(here, qValue, before.block(childQValues)))
		n = r.selectLeaf(tree, n, s.Node)
		rows := graph.DynamicUpdateIndex(s.Rows, n.all, s.Node, 0)
		return backwardState{rows, index(before.field(parentNode)), index(before.field(parentAction)), leafValue,
			before.field(rewardField), before.field(discountField), mean, s.Node.Eq(0)}
	}, start).Rows
}

// selectLeaf writes into a node, i32[], the end of the best line of play from it. If its best action has no child, or
// the child is too deep, the line ends in the node. Otherwise it ends where the child's line ends.
func (r rule) selectLeaf(tree Tree[graph.None], n row, node *graph.Array) row {
	best := r.selectAction(n, node.Eq(0))
	child := index(n.child(best))
	goesOn := child.Ge(0).And(n.field(depth).Add(1).Lt(r.maxDepth))
	below := tree.row(child.Max(0))
	n = n.withField(leafNode, graph.Select(goesOn, below.field(leafNode), node.Convert(graph.Float32)))
	return n.withField(leafAction, graph.Select(goesOn, below.field(leafAction), best.Convert(graph.Float32)))
}

// selectNext writes into the root the row that the next simulation evaluates, and the number of rows in use, f32[].
func selectNext(rows *graph.Array, actions int, used *graph.Array) *graph.Array {
	tree := Tree[graph.None]{Rows: rows, Actions: actions}
	root := tree.root()
	leaf := tree.row(index(root.field(leafNode)))
	child := leaf.child(index(root.field(leafAction)))
	// In a full tree, used is the number of rows, and no row has this number.
	root = root.withField(nextNode, graph.Select(child.Ge(0), child, used)).withField(usedNodes, used)
	zero := graph.Of(int32(0))
	return graph.DynamicUpdateSlice(rows, root.all.ExpandDims(0), []*graph.Array{zero, zero})
}
