package search

import "xlarun/graph"

// backwardKernel is backward on a CPU, in place. In: rows f32[nodes, 12 + 5 P]; reward, discount and value f32[];
// logits f32[A]; the numbers of settings f32[7]; noise, invalid and reused visits f32[A]; considered visits
// f32[simulations]. Out: the rows.
var backwardKernel = &graph.Kernel{Target: "xlarun_tree_backup", InPlace: true, Leading: true}

// backward writes the evaluated node, takes its value back to the root, and chooses the edge of the next simulation.
// Every node on the way counts the value and selects its best action again.
func (r rule) backward(rows *graph.Array, actions int, s Step) *graph.Array {
	in := []*graph.Array{rows, s.Reward, s.Discount, s.Value, s.Logits, r.numbers(), r.Noise, r.Invalid, r.ReusedVisits,
		r.ConsideredVisits}
	return graph.WithKernel(backwardKernel, func(in []*graph.Array) []*graph.Array {
		traced := rule{r.settings, rootInfo{in[6], in[7], in[8], in[9]}}
		step := Step{Reward: in[1], Discount: in[2], Value: in[3], Logits: in[4]}
		return []*graph.Array{traced.backwardByOps(in[0], actions, step)}
	}, in...)[0]
}

// backwardByOps is backward without the kernel.
func (r rule) backwardByOps(rows *graph.Array, actions int, s Step) *graph.Array {
	tree := Tree[graph.None]{Rows: rows, Actions: actions}
	root := tree.root()
	at := selection{index(root.field(leafNode)), index(root.field(leafAction)), index(root.field(nextNode))}
	rows, isNew := r.writeNode(tree, at, s)
	used := root.field(usedNodes).Add(isNew.Convert(graph.Float32))
	rows = r.propagate(rows, actions, at, s)
	return selectNext(rows, actions, used)
}

// writeNode writes the evaluated node and makes it its parent's child. It returns the rows, and whether the node is a
// new one, bool[].
func (r rule) writeNode(tree Tree[graph.None], at selection, s Step) (rows, isNew *graph.Array) {
	actions := tree.Actions
	parent := tree.row(at.Parent)
	first := parent.child(at.Action).Lt(0)
	hasRow := at.Next.Lt(tree.Rows.Dim(0))

	// A node at the largest depth is evaluated again: it keeps what is below it.
	old := tree.row(at.Next)
	node := newRow(map[int]*graph.Array{nodeValue: s.Value, rawValue: s.Value, rewardField: s.Reward,
		discountField: s.Discount, parentNode: at.Parent, parentAction: at.Action, depth: parent.field(depth).Add(1),
		leafNode: at.Next}, s.Logits)
	for _, k := range []int{childVisits, childQValues, childNodes} {
		node = node.withBlock(k, graph.Select(first, node.block(k), old.block(k)))
	}
	node = node.withField(nodeVisits, graph.Select(first, graph.Scalar(0), old.field(nodeVisits)).Add(1))
	node = r.selectLeaf(tree, node, at.Next)
	// A full tree has no row Next: the write is dropped.
	rows = graph.ScatterSet(tree.Rows, graph.Reshape(at.Next, 1), graph.ExpandDims(node.all, 0))

	isNew = first.And(hasRow)
	here := isNew.And(graph.Iota(actions).Eq(at.Action))
	parent = parent.withBlock(childNodes,
		graph.Select(here, at.Next.Convert(graph.Float32), parent.block(childNodes)))
	return graph.DynamicUpdateIndex(rows, parent.all, at.Parent, 0), isNew
}

// edge is where propagate is on its way to the root.
type edge struct {
	Rows         *graph.Array // f32[nodes, columns]
	Node, Action *graph.Array // i32[]: the node to update, and its action
	Return       *graph.Array // f32[]: return after that action
	Reward       *graph.Array // f32[]: of that action
	Discount     *graph.Array // f32[]: of the value after it
	Value        *graph.Array // f32[]: of the action's node
	Done         *graph.Array // bool[]
}

// propagate takes the value of an evaluated node back to the root, as mctx's backward does.
func (r rule) propagate(rows *graph.Array, actions int, at selection, s Step) *graph.Array {
	start := edge{rows, at.Parent, at.Action, s.Value, s.Reward, s.Discount, s.Value,
		graph.Full(graph.ShapeOf(graph.Bool), false)}
	return graph.While(func(e edge) *graph.Array { return e.Done.Not() }, func(e edge) edge {
		tree := Tree[graph.None]{Rows: e.Rows, Actions: actions}
		n := tree.row(e.Node)
		returned := e.Reward.Add(e.Discount.Mul(e.Return))
		visits := n.field(nodeVisits)
		mean := n.field(nodeValue).Mul(visits).Add(returned).Div(visits.Add(1))
		here := graph.Iota(actions).Eq(e.Action)
		qValue := e.Reward.Add(e.Discount.Mul(e.Value))
		n = n.withField(nodeValue, mean).withField(nodeVisits, visits.Add(1))
		n = n.withBlock(childVisits, n.block(childVisits).Add(here.Convert(graph.Float32)))
		n = n.withBlock(childQValues, graph.Select(here, qValue, n.block(childQValues)))
		n = r.selectLeaf(tree, n, e.Node)
		rows := graph.DynamicUpdateIndex(e.Rows, n.all, e.Node, 0)
		return edge{rows, index(n.field(parentNode)), index(n.field(parentAction)), returned, n.field(rewardField),
			n.field(discountField), mean, e.Node.Eq(0)}
	}, start).Rows
}

// selectLeaf writes into a node where the best line of play from it ends: in the node itself, if its best action has no
// child or the child is too deep; otherwise where the child's line ends.
func (r rule) selectLeaf(tree Tree[graph.None], n row, node *graph.Array) row {
	best := r.selectAction(n, node.Eq(0))
	child := index(n.child(best))
	goesOn := child.Ge(0).And(n.field(depth).Add(1).Lt(r.maxDepth))
	below := tree.row(child.Max(0))
	n = n.withField(leafNode, graph.Select(goesOn, below.field(leafNode), node.Convert(graph.Float32)))
	return n.withField(leafAction, graph.Select(goesOn, below.field(leafAction), best.Convert(graph.Float32)))
}

// selectNext writes into the root which row the next simulation evaluates, and how many rows are in use.
func selectNext(rows *graph.Array, actions int, used *graph.Array) *graph.Array {
	tree := Tree[graph.None]{Rows: rows, Actions: actions}
	root := tree.root()
	leaf := tree.row(index(root.field(leafNode)))
	child := leaf.child(index(root.field(leafAction)))
	// In a full tree used is the number of rows: a row that does not exist.
	root = root.withField(nextNode, graph.Select(child.Ge(0), child, used)).withField(usedNodes, used)
	zero := graph.Of(int32(0))
	return graph.DynamicUpdateSlice(rows, graph.ExpandDims(root.all, 0), []*graph.Array{zero, zero})
}
