package search

import "xlarun/graph"

// Tree is the search tree of one game. Each node is a row of Rows; row 0 is the root. A new node takes the next free
// row, so a child's row comes after its parent's. Rows are float32; whole numbers are exact up to 2^24.
//
// A row starts with the node's fields, one column each. The names on the right are mctx's:
//
//	0   visits by simulations, the node's own evaluation included     node_visits
//	1   value: mean of the returns from the node on                   node_values
//	2   value by the network                                          raw_values
//	3   reward of the action from the parent                          children_rewards, of the parent
//	4   discount of the value                                         children_discounts, of the parent
//	5   row of the parent                                             parents
//	6   action from the parent                                        action_from_parent
//	7   depth; the root has 0
//	8   row where the best line of play from the node ends
//	9   action with which that line ends
//	10  row of that action's child; -1 for none. The root then has a free row, or the number of rows of a full tree
//	11  root only: rows in use
//
// Blocks with one number per action follow. A is the number of actions and P is A padded to a multiple of 8. Block k
// starts at column 12 + k P:
//
//	0   prior logits; padded by -Inf                                  children_prior_logits
//	1   prior probabilities: their softmax
//	2   visits of the actions                                         children_visits
//	3   Q-values, reward + discount x value; 0 for untried actions    qvalues
//	4   rows of the children; -1 for none, and as padding             children_index
//
// xlabridge/kernels/treesearch.c has the same layout. Under graph.VMap all arrays have the games' axis in front.
type Tree[E any] struct {
	Rows      *graph.Array // f32[nodes, 12 + 5 P]
	Embedding E            // leaves [nodes, ...]: the model's state in each node
	Actions   int          // A
}

// Fields of a row; see Tree.
const (
	nodeVisits = iota
	nodeValue
	rawValue
	rewardField
	discountField
	parentNode
	parentAction
	depth
	leafNode
	leafAction
	nextNode
	usedNodes
	fields // their number
)

// Blocks of a row.
const (
	priorLogits = iota
	priorProbs
	childVisits
	childQValues
	childNodes
	blocks // their number
)

// blockLanes is the multiple to which blocks are padded: the float32 numbers of a vector register.
const blockLanes = 8

func padded(actions int) int { return (actions + blockLanes - 1) / blockLanes * blockLanes }

// columns returns the number of columns of a row.
func columns(actions int) int { return fields + blocks*padded(actions) }

// row is one node, f32[columns].
type row struct {
	all     *graph.Array
	actions int
}

// field returns one field, f32[].
func (r row) field(column int) *graph.Array { return r.all.Index(column) }

// block returns one block without its padding, f32[A].
func (r row) block(k int) *graph.Array {
	from := fields + k*padded(r.actions)
	return graph.SliceAxis(r.all, 0, from, from+r.actions)
}

// part returns a row that has some of the actions, from up to to.
func (r row) part(from, to int) row {
	all := []*graph.Array{graph.SliceAxis(r.all, 0, 0, fields)}
	for k := range blocks {
		fill := map[int]float64{priorLogits: minusInf, childNodes: -1}[k]
		all = append(all, pad(graph.SliceAxis(r.block(k), 0, from, to), fill))
	}
	return row{graph.Concatenate(0, all...), to - from}
}

// column returns the column of an action, i32[], in a block.
func (r row) column(k int, action *graph.Array) *graph.Array {
	return action.Add(fields + k*padded(r.actions))
}

// withField returns the row with one column replaced.
func (r row) withField(column, x any) row {
	return row{graph.Select(graph.Iota(r.all.Size()).Eq(column), x, r.all), r.actions}
}

// increment returns the row with one column larger by 1.
func (r row) increment(column any) row { return r.withField(column, r.all.Add(1)) }

// withChildrenOf returns the row with the visits, Q-values and children of another one, and with further fields of it,
// if a condition, bool[], holds.
func (r row) withChildrenOf(other row, condition *graph.Array, further ...int) row {
	column := graph.Iota(r.all.Size())
	kept := column.Ge(fields + childVisits*padded(r.actions))
	for _, field := range further {
		kept = kept.Or(column.Eq(field))
	}
	return row{graph.Select(condition.And(kept), other.all, r.all), r.actions}
}

// pad pads a block from f32[A] to f32[P].
func pad(x *graph.Array, value float64) *graph.Array {
	return graph.Pad(x, value, []int{0}, []int{padded(x.Size()) - x.Size()})
}

// newRow returns the row of a node without children. numbers are fields; those without a number are 0.
func newRow(numbers map[int]*graph.Array, logits *graph.Array) row {
	all := make([]*graph.Array, fields)
	for i := range all {
		all[i] = graph.Scalar(0)
		if x := numbers[i]; x != nil {
			all[i] = x.Convert(graph.Float32)
		}
	}
	p := padded(logits.Size())
	none := graph.Zeros(graph.ShapeOf(graph.Float32, (childNodes-childVisits)*p)) // no visits, no Q-values
	childless := graph.Full(graph.ShapeOf(graph.Float32, (blocks-childNodes)*p), -1)
	return row{graph.Concatenate(0, graph.Stack(all, 0), pad(logits, minusInf), pad(graph.Softmax(logits, 0), 0),
		none, childless), logits.Size()}
}

// child returns the row number of an action's child, f32[]; -1 for none. action is i32[].
func (r row) child(action *graph.Array) *graph.Array {
	return graph.Select(graph.Iota(r.actions).Eq(action), r.block(childNodes), minusInf).ReduceMax()
}

// row returns the row of a node, i32[].
func (t Tree[E]) row(node *graph.Array) row {
	return row{graph.DynamicIndex(t.Rows, node, 0), t.Actions}
}

func (t Tree[E]) root() row { return row{t.Rows.Index(0), t.Actions} }

// field returns one field of all nodes, f32[nodes].
func (t Tree[E]) field(column int) *graph.Array {
	return graph.SliceAxis(t.Rows, 1, column, column+1).Squeeze(1)
}

// block returns one block of all nodes, f32[nodes, A].
func (t Tree[E]) block(k int) *graph.Array {
	from := fields + k*padded(t.Actions)
	return graph.SliceAxis(t.Rows, 1, from, from+t.Actions)
}

// Nodes returns the number of nodes, i32[]; later rows are not used.
func (t Tree[E]) Nodes() *graph.Array { return index(t.root().field(usedNodes)) }

// Visits returns the visits of each node, i32[nodes]; mctx's node_visits.
func (t Tree[E]) Visits() *graph.Array { return index(t.field(nodeVisits)) }

// Values returns the value of each node for the player who moves there, f32[nodes]; mctx's node_values.
func (t Tree[E]) Values() *graph.Array { return t.field(nodeValue) }

// Parents returns the rows of the nodes' parents, i32[nodes]; the root has 0. mctx's parents.
func (t Tree[E]) Parents() *graph.Array { return index(t.field(parentNode)) }

// ActionsFrom returns the actions from the nodes' parents, i32[nodes]; mctx's action_from_parent.
func (t Tree[E]) ActionsFrom() *graph.Array { return index(t.field(parentAction)) }

// ChildVisits returns the visits of each action in each node, i32[nodes, A]; mctx's children_visits.
func (t Tree[E]) ChildVisits() *graph.Array { return index(t.block(childVisits)) }

// ChildValues returns the Q-values, reward + discount x value, f32[nodes, A]; 0 for untried actions. mctx's qvalues.
func (t Tree[E]) ChildValues() *graph.Array { return t.block(childQValues) }

// Children returns the rows of the nodes' children, i32[nodes, A]; -1 for none. mctx's children_index.
func (t Tree[E]) Children() *graph.Array { return index(t.block(childNodes)) }

// Logits returns the prior logits in each node, f32[nodes, A], the root's with noise and mask; mctx's
// children_prior_logits.
func (t Tree[E]) Logits() *graph.Array { return t.block(priorLogits) }

// RootVisits returns the visits of the root's actions, i32[A].
func (t Tree[E]) RootVisits() *graph.Array { return index(t.root().block(childVisits)) }

// RootValue returns the value of the root, f32[].
func (t Tree[E]) RootValue() *graph.Array { return t.root().field(nodeValue) }

// index converts whole numbers of rows to int32.
func index(x *graph.Array) *graph.Array { return x.Convert(graph.Int32) }
