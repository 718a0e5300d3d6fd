package search

import "xlarun/graph"

// Tree is the search tree of one game. A node is a row of Rows, the root the first one; a node that is new takes the next free
// row, so that a child's row comes behind its parent's. Everything in rows is float32, whole numbers too: they are exact up to
// 2^24. A row has the node's numbers, then five blocks with a number for each of the A actions, padded to P, a multiple of 8:
//
//	column     what
//	0          visits: how often simulations evaluated the node or passed it
//	1, 2       value: the mean of what was found from here on, its own evaluation included; and that evaluation by itself
//	3, 4       reward of the action that led here, discount of the value from here
//	5, 6, 7    the parent's row, the action that led here, depth (of the root: 0)
//	8, 9       row and action in which the best line of play from here ends
//	10, 11     of the root: the row for what that action leads to (the child's, where there is one; the number of rows, where
//	           there is no room), and how many rows are taken
//	12 + k P   block k, f32[P]: logits, their softmax, visits, values (reward + discount x value), the child's row (-1: none)
//
// xlabridge/treesearch.c has the same layout. Under graph.VMap all arrays have the games' axis in front.
type Tree[E any] struct {
	Rows      *graph.Array // f32[nodes, 12 + 5 P]
	Embedding E            // the model's state in each node: its leaves, with an axis of [nodes] in front
	Actions   int          // A
}

// Columns of a row.
const (
	visitsAt = iota
	valueAt
	rawAt
	rewardAt
	discountAt
	parentAt
	actionAt
	depthAt
	leafAt
	leafActionAt
	slotAt
	usedAt
	heads
)

// Blocks of a row.
const (
	logitsBlock = iota
	priorBlock
	countsBlock
	valuesBlock
	childrenBlock
	blocks
)

// lanesOfBlock is what blocks are padded to a multiple of: the numbers of a vector register.
const lanesOfBlock = 8

func padded(actions int) int { return (actions + lanesOfBlock - 1) / lanesOfBlock * lanesOfBlock }

// width is the number of columns of a row.
func width(actions int) int { return heads + blocks*padded(actions) }

// row reads a node's row, f32[columns].
type row struct {
	all     *graph.Array
	actions int
}

func (r row) head(column int) *graph.Array { return graph.Index(r.all, column) }

func (r row) block(k int) *graph.Array {
	from := heads + k*padded(r.actions)
	return graph.SliceAxis(r.all, 0, from, from+r.actions)
}

// withHead is the row with a number replaced.
func (r row) withHead(column int, x any) row {
	return row{graph.Select(graph.Eq(graph.Iota(r.all.Size()), column), x, r.all), r.actions}
}

// withBlock is the row with a block replaced. Logits are padded by -Inf, children by -1, the others by 0.
func (r row) withBlock(k int, x *graph.Array) row {
	from, p := heads+k*padded(r.actions), padded(r.actions)
	return row{graph.Concatenate(0, graph.SliceAxis(r.all, 0, 0, from), pad(k, x), graph.SliceAxis(r.all, 0, from+p, r.all.Size())), r.actions}
}

func pad(k int, x *graph.Array) *graph.Array {
	fill := map[int]float64{logitsBlock: minusInf, childrenBlock: -1}[k]
	return graph.Pad(x, fill, []int{0}, []int{padded(x.Size()) - x.Size()})
}

// newRow makes the row of a node that has no children yet.
func newRow(head map[int]*graph.Array, logits *graph.Array) row {
	numbers := make([]*graph.Array, heads)
	for i := range numbers {
		numbers[i] = graph.Scalar(0)
		if x := head[i]; x != nil {
			numbers[i] = graph.Convert(x, graph.Float32)
		}
	}
	none := graph.ZerosLike(logits)
	all := []*graph.Array{graph.Stack(numbers, 0), pad(logitsBlock, logits), pad(priorBlock, graph.Softmax(logits, 0)),
		pad(countsBlock, none), pad(valuesBlock, none), pad(childrenBlock, graph.Sub(none, 1))}
	return row{graph.Concatenate(0, all...), logits.Size()}
}

// row reads the row of a node, an int32 scalar.
func (t Tree[E]) row(node *graph.Array) row {
	return row{graph.DynamicIndex(t.Rows, node, 0), t.Actions}
}

func (t Tree[E]) root() row { return row{graph.Index(t.Rows, 0), t.Actions} }

// column is one number of all nodes, f32[nodes].
func (t Tree[E]) column(k int) *graph.Array {
	return graph.Squeeze(graph.SliceAxis(t.Rows, 1, k, k+1), 1)
}

// blockOf is one block of all nodes, f32[nodes, A].
func (t Tree[E]) blockOf(k int) *graph.Array {
	from := heads + k*padded(t.Actions)
	return graph.SliceAxis(t.Rows, 1, from, from+t.Actions)
}

// Nodes is the number of nodes that the tree has, an int32 scalar; rows behind them mean nothing.
func (t Tree[E]) Nodes() *graph.Array { return whole(t.root().head(usedAt)) }

// Visits are how often each node was visited, i32[nodes].
func (t Tree[E]) Visits() *graph.Array { return whole(t.column(visitsAt)) }

// Values are what each node was found to be worth to the player who moves there, f32[nodes].
func (t Tree[E]) Values() *graph.Array { return t.column(valueAt) }

// Parents are the rows of the nodes' parents, i32[nodes], the root's 0.
func (t Tree[E]) Parents() *graph.Array { return whole(t.column(parentAt)) }

// ActionsFrom are the actions that led to each node from its parent, i32[nodes].
func (t Tree[E]) ActionsFrom() *graph.Array { return whole(t.column(actionAt)) }

// ChildVisits are how often each action was tried in each node, i32[nodes, A].
func (t Tree[E]) ChildVisits() *graph.Array { return whole(t.blockOf(countsBlock)) }

// ChildValues are what each action was found to be worth in each node, reward + discount x value, f32[nodes, A]; 0 where it was not tried.
func (t Tree[E]) ChildValues() *graph.Array { return t.blockOf(valuesBlock) }

// Children are the rows of the nodes' children, i32[nodes, A]; -1 where there is none.
func (t Tree[E]) Children() *graph.Array { return whole(t.blockOf(childrenBlock)) }

// Logits are those of the policy in each node, f32[nodes, A]; the root's with noise and mask.
func (t Tree[E]) Logits() *graph.Array { return t.blockOf(logitsBlock) }

// RootVisits are how often each action was tried at the root, i32[A].
func (t Tree[E]) RootVisits() *graph.Array { return whole(t.root().block(countsBlock)) }

// RootValue is what the root was found to be worth, a float32 scalar.
func (t Tree[E]) RootValue() *graph.Array { return t.root().head(valueAt) }

func whole(x *graph.Array) *graph.Array { return graph.Convert(x, graph.Int32) }
