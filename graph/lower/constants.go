package lower

import (
	"slices"

	"xlarun/graph"
)

// The compilers for accelerators make a kernel of what depends on no input but only on the numbers of an array's
// elements: the condition of a select that changes one column, or the places from which bits are read. It runs in each
// iteration of a loop. Here small arrays of whole numbers and conditions of that kind become constants.

// mostConstant is the most elements of an array that becomes a constant.
const mostConstant = 1 << 12

var passConstants = Pass{
	Name: "constants", Keeps: Exact,
	Doc:   "write small arrays of whole numbers and conditions that depend on no input as constants",
	For:   graph.Target.Accelerator,
	After: []Order{{"ops", "what an op becomes may compare the numbers of elements"}},
	Begin: func(_ *graph.Graph, t graph.Target) Run { return byNode(t, constantValues{}.result, computedBefore...) },
}

// computedBefore are the ops whose results become constants.
var computedBefore = []string{"compare", "and", "or", "not", "add", "sub", "mul", "min", "max", "select", "shift_left",
	"shift_right_logical"}

// constantValues are the values of arrays that were asked for; nil: the array may depend on an input.
type constantValues map[*graph.Array]*graph.Tensor

// result is an op's result as a constant, or nil if it is large or may depend on an input.
func (known constantValues) result(_ *graph.Cursor, n *graph.Node, _ []*graph.Array) []*graph.Array {
	if x := n.Outs[0]; x.Size() > mostConstant || x.Rank() == 0 || x.DType() != graph.Bool && !x.DType().IsInt() {
		return nil
	}
	if v := known.of(n.Outs[0]); v != nil {
		return []*graph.Array{v.Constant()}
	}
	return nil
}

// of returns the value of an array that is computed from constants and numbers of elements alone. For others it returns
// nil.
func (known constantValues) of(x *graph.Array) *graph.Tensor {
	v, ok := known[x]
	if !ok {
		v = known.compute(x)
		known[x] = v
	}
	return v
}

func (known constantValues) compute(x *graph.Array) *graph.Tensor {
	n := x.Node()
	if n == nil || x.Size() > mostConstant {
		return nil
	}
	exact := x.DType() == graph.Bool || x.DType().IsInt()
	if !slices.Contains([]string{"constant", "iota", "broadcast_in_dim", "convert", "reshape"}, n.Op.Name) &&
		!(exact && slices.Contains(computedBefore, n.Op.Name)) {
		return nil
	}
	in := make([]*graph.Tensor, len(n.Inputs))
	for i, a := range n.Inputs {
		if in[i] = known.of(a); in[i] == nil {
			return nil
		}
	}
	return n.Op.Eval(n, in)[slices.Index(n.Outs, x)]
}
