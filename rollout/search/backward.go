package search

import "xlarun/graph"

// backwardKernel is backward on a CPU, in place. In: rows f32[nodes, 12 + 5 P]; the edge's parent, action, next and
// used i32[]; reward, discount and value f32[]; logits f32[A]; the numbers of settings f32[7]; noise, invalid and
// reused visits f32[A]; considered visits f32[]. Out: the rows.
var backwardKernel = &graph.Kernel{Target: "xlarun_tree_backup", InPlace: true, Leading: true}

// backward writes the evaluated node and updates the nodes up to the root, as mctx's backward does. Each of these nodes
// selects its best action again. Then it selects the edge of the next simulation. rows and the result are f32[nodes,
// columns].
func (r rule) backward(rows *graph.Array, actions int, edge selection, s Step) *graph.Array {
	if r.decisions > 0 { // the kernel knows no chance
		return r.backwardByOps(rows, actions, edge, s)
	}
	in := []*graph.Array{rows, edge.Parent, edge.Action, edge.Next, edge.Used, s.Reward, s.Discount, s.Value,
		s.PriorLogits, r.numbers(), r.Noise, r.Invalid, r.ReusedVisits, r.considered}
	return graph.WithKernel(backwardKernel, func(in []*graph.Array) []*graph.Array {
		traced := rule{settings: r.settings, considered: in[13],
			rootInfo: rootInfo{Noise: in[10], Invalid: in[11], ReusedVisits: in[12]}}
		edge := selection{Parent: in[1], Action: in[2], Next: in[3], Used: in[4]}
		step := Step{Reward: in[5], Discount: in[6], Value: in[7], PriorLogits: in[8]}
		return []*graph.Array{traced.backwardByOps(in[0], actions, edge, step)}
	}, in...)[0]
}

// backwardByOps is backward without the kernel.
func (r rule) backwardByOps(rows *graph.Array, actions int, edge selection, s Step) *graph.Array {
	node := evaluated(Tree[graph.None]{Rows: rows, Actions: actions}, edge, s)
	return r.propagate(rows, edge, node, s.Value)
}

// evaluated returns the row of the evaluated node, a child of its parent.
func evaluated(tree Tree[graph.None], edge selection, s Step) row {
	node := newRow(map[int]*graph.Array{nodeValue: s.Value, rawValue: s.Value, rewardField: s.Reward,
		discountField: s.Discount, parentNode: edge.Parent, parentAction: edge.Action,
		depth: tree.row(edge.Parent).field(depth).Add(1)}, s.PriorLogits)
	// A node at the largest depth is evaluated again: it keeps its visits and its children.
	node = node.withChildrenOf(tree.row(edge.Next), edge.Next.Lt(edge.Used), nodeVisits)
	return node.increment(nodeVisits)
}

// backwardState is the carry of propagate's loop from the evaluated node to the root.
type backwardState struct {
	Rows   *graph.Array // f32[nodes, columns]
	Node   *graph.Array // i32[]; -1 after the root
	Row    *graph.Array // f32[columns]: the node's row after this visit
	Return *graph.Array // f32[]: from the node on
}

// propagate writes an evaluated node and adds its value, f32[], to all nodes up to the root.
func (r rule) propagate(rows *graph.Array, edge selection, evaluated row, value *graph.Array) *graph.Array {
	capacity := rows.Dim(0)
	// A new node takes the first free row. A full tree has none.
	used := edge.Used.Max(edge.Next.Add(1)).Min(capacity)
	start := backwardState{rows, edge.Next, evaluated.all, value}
	return graph.While(func(s backwardState) *graph.Array { return s.Node.Ge(0) }, func(s backwardState) backwardState {
		tree, n := Tree[graph.None]{Rows: s.Rows, Actions: evaluated.actions}, row{s.Row, evaluated.actions}
		parent := index(n.field(parentNode))
		value := n.field(rewardField).Add(n.field(discountField).Mul(s.Return))
		above := tree.row(parent).visited(n, graph.Select(s.Node.Lt(capacity), s.Node, -1), value)
		n = r.selectLeaf(tree, n, s.Node, used)
		// A full tree has no row for a new node: the write is dropped.
		written := graph.ScatterSet(s.Rows, s.Node.Reshape(1), n.all.ExpandDims(0))
		return backwardState{written, graph.Select(s.Node.Eq(0), -1, parent), above.all, value}
	}, start).Rows
}

// visited returns the row of a node after a visit of its child, which is a node, i32[]; -1: one without a row. value,
// f32[], is the return from the parent on.
func (r row) visited(child row, node, value *graph.Array) row {
	visits := r.field(nodeVisits)
	mean := r.field(nodeValue).Mul(visits).Add(value).Div(visits.Add(1))
	qValue := child.field(rewardField).Add(child.field(discountField).Mul(child.field(nodeValue)))
	action := index(child.field(parentAction))
	return r.withField(nodeValue, mean).increment(nodeVisits).increment(r.column(childVisits, action)).
		withField(r.column(childQValues, action), qValue).
		withField(r.column(childNodes, action), node.Convert(graph.Float32))
}

// selectLeaf writes into a node, i32[], the end of the best line of play from it. If its best action has no child, or
// the child is too deep, the line ends in the node. Otherwise it ends where the child's line ends. The root also gets
// the number of rows in use, i32[], and the row that the next simulation evaluates.
func (r rule) selectLeaf(tree Tree[graph.None], n row, node, used *graph.Array) row {
	atRoot := node.Eq(0)
	best := r.selectAction(n, atRoot)
	child := n.child(best)
	goesOn := child.Ge(0).And(n.field(depth).Add(1).Lt(r.maxDepth))
	below := tree.row(index(child).Max(0))
	next := graph.Select(goesOn, below.field(nextNode), child)
	// In a full tree, used is the number of rows, and no row has this number.
	next = graph.Select(atRoot.And(next.Lt(0)), used.Convert(graph.Float32), next)
	return n.withField(leafNode, graph.Select(goesOn, below.field(leafNode), node.Convert(graph.Float32))).
		withField(leafAction, graph.Select(goesOn, below.field(leafAction), best.Convert(graph.Float32))).
		withField(nextNode, next).withField(usedNodes, graph.Select(atRoot, used.Convert(graph.Float32), 0))
}
