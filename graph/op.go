package graph

import (
	"fmt"
	"slices"
)

// Op is one entry of the op table: everything that is known about an op, side by side. A test walks the table and
// fails on a hole.
type Op struct {
	Name string
	// Shape infers the results' shapes from the inputs' and the attributes, and refuses what does not fit.
	Shape func(c *call) []Shape
	// Batch is the vmap rule: the results for inputs that carry one more axis, in[i]'s at dims[i] (unbatched: -1).
	Batch func(b *batching, n *Node, in []*Array, dims []int) (outs []*Array, outDims []int)
	// JVP gives the results' tangents for the inputs' tangents (nil: zero). Linear in the tangents.
	JVP func(n *Node, in, out, tangents []*Array) []*Array
	// Transpose gives the cotangents of those inputs that linear marks, from the results' cotangents (nil: zero).
	Transpose func(n *Node, in []*Array, linear []bool, cts []*Array) []*Array
	// Derivative gives the results with their tangents, instead of JVP, where they come out of the bodies together.
	Derivative func(n *Node, in, tangents []*Array) (outs, outTangents []*Array)
	// NotDifferentiable says why there is no JVP.
	NotDifferentiable string
	// NotLinear says why there is no Transpose.
	NotLinear string
	// Unknown returns which results depend on the inputs that unknown marks (at least one); nil: all.
	Unknown func(n *Node, unknown []bool) []bool
	// Split computes the part of n that does not depend on the inputs that unknown marks, and adds a node for the rest
	// to l; nil: n itself is added. in are the values of the other inputs.
	Split func(l *linear, n *Node, in []*Array, unknown []bool)
	// Prune returns n without the results that live does not mark, and without what only they need; nil: n keeps all.
	Prune func(p pruned, n *Node, live []bool) *Node
	// Loop describes a node as a loop over a carry; nil: the op is no loop. Carries are split (split.go), and work in
	// loops counts more (lower/facts.go).
	Loop func(n *Node) loopForm
	// Lower makes the results from other ops if the target does not take the op; nil: every target takes it.
	Lower LoweringRule
	// Emit writes the op's StableHLO. An op that is always lowered has none.
	Emit func(e *emitter, n *Node)
	// WritesParts reports that XLA's CPU compiler writes the result part by part, into an array that is too large to be
	// copied for each part. Write does the same by a call of a kernel; nil: no kernel can. See the pass writes.
	WritesParts func(n *Node, t Target) bool
	Write       LoweringRule
	// WriteSeconds is the least time of a loop's step from which the call that Write makes in it pays.
	WriteSeconds func(n *Node) float64
	// Apart reports that XLA's CPU compiler cannot compute a node inside of a loop that is one function, or computes it
	// slowly there. See the pass loops.
	Apart func(n *Node) bool
	// Eval is the reference: the dumbest correct code.
	Eval func(n *Node, in []*Tensor) []*Tensor
	// Run is Eval for ops that run their bodies, by the interpreter that runs them.
	Run func(n *Node, in []*Tensor, r *interpreter) []*Tensor
	// ByRows reports that the op works on rows of elements: it looks up by index, orders, factorises, transforms or
	// calls a kernel. With batch last, the elements of a row lie apart in memory.
	ByRows bool
	// Cost is the work of a node, see Graph.Cost.
	Cost costRule
	// Complex reports that the op takes complex numbers, or gives them. An op with one of the next two fields does too.
	Complex bool
	// ComplexKinds are the kinds of an op that take complex numbers, where the op has kinds.
	ComplexKinds []string
	// EvalComplex is Eval for complex numbers; nil: Eval takes them.
	EvalComplex func(n *Node, in []*Tensor) []*Tensor
	// Cases are sample calls from which tests are derived.
	Cases func() []Case

	// Effect reports that nodes are not to be merged or dropped.
	Effect   bool
	distinct bool // not to be merged
	// elementwise: Batch is batchElementwise. It is set for all ops at once.
	elementwise bool
}

// loopForm describes how a loop passes its carry on: inputs[at:at+carry] is the carry before the first step, and the
// results begin with the carry after the last.
type loopForm struct {
	at, carry int
	// consts is, for each body, the number of its parameters before the carry.
	consts []int
	// step is the number of the body whose results begin with the next carry.
	step int
	// resized returns the node's attributes for a carry of another number of arrays.
	resized func(carry int) any
}

// Table holds every op by name. Functions that turn a function into a rule for it are not inlined: for each call of
// what they were given, the compiler would search the initialization of the whole table.
var Table = map[string]*Op{}

func register(op *Op) *Op {
	if Table[op.Name] != nil {
		panic("graph: op registered twice: " + op.Name)
	}
	Table[op.Name] = op
	return op
}

// op looks an op up. Functions name their op instead of referring to a variable, because rules call functions and
// functions call ops: a variable would be initialized in a circle.
func op(name string) *Op {
	if o := Table[name]; o != nil {
		return o
	}
	panic("graph: no op " + name)
}

// call is what a Shape rule sees.
type call struct {
	op     *Op
	attrs  any
	in     []Shape
	inputs []*Array
	bodies []*Graph
}

//go:noinline
func (c *call) fail(format string, args ...any) {
	throw(c.op.Name, format, args...)
}

// Node is one op call.
type Node struct {
	Op     *Op
	Attrs  any // the op's own attribute struct; printable with %v, never changed
	Inputs []*Array
	Outs   []*Array
	Bodies []*Graph // closed sub-programs of control-flow ops
	pos    position
}

// Where is the user's source line that made the node.
func (n *Node) Where() string { return n.pos.String() }

// Node is the call that an array is a result of; nil: it is a parameter, or has data.
func (a *Array) Node() *Node { return a.node }

// Like makes a node at the same line that calls an op for results of some shapes. Its inputs are to be set.
func (n *Node) Like(op *Op, attrs any, results []Shape, bodies ...*Graph) *Node {
	c := &Node{Op: op, Attrs: attrs, Outs: make([]*Array, len(results)), Bodies: bodies, pos: n.pos}
	for i, s := range results {
		c.Outs[i] = &Array{shape: s, node: c, index: i}
	}
	return c
}

// smallConstant is the number of elements up to which a concrete array met inside a trace is written into the
// program; larger ones become captured inputs, so that the program does not depend on their values.
const smallConstant = 64

// maxLazyDepth bounds the chain of lazy nodes outside of traces: host loops over arrays stay flat in memory.
const maxLazyDepth = 512

// wantArrays refuses inputs that are nil.
func wantArrays(op string, inputs ...*Array) {
	for i, a := range inputs {
		if a == nil {
			throw(op, "input %d is a nil *Array", i)
		}
	}
}

// Call calls the op: what apply does, for lowering.
func (o *Op) Call(attrs any, inputs []*Array, bodies ...*Graph) []*Array {
	return apply(o, attrs, inputs, bodies...)
}

// apply calls an op: infers shapes and adds the node to the trace that the inputs belong to.
func apply(op *Op, attrs any, inputs []*Array, bodies ...*Graph) []*Array {
	wantArrays(op.Name, inputs...)
	in := ShapesOf(inputs)
	refuseComplex(op, attrs, in)
	shapes := op.Shape(&call{op: op, attrs: attrs, in: in, inputs: inputs, bodies: bodies})
	var n *Node
	s := scopeOf(op.Name, inputs)
	depth := 0
	if s != nil {
		n = s.trace.node(op, attrs, s.trace.pos, len(inputs), len(shapes))
		n.Bodies = bodies
		for i, a := range inputs {
			n.Inputs[i] = s.use(a)
		}
		s.nodes = append(s.nodes, n)
	} else {
		n = &Node{Op: op, Attrs: attrs, Inputs: inputs, Bodies: bodies, Outs: make([]*Array, len(shapes))}
		if t := currentTrace(); t != nil {
			n.pos = t.pos
		}
		for _, a := range inputs {
			if a.node == nil && a.data == nil {
				throw(op.Name, "input %s is abstract: it has a shape but no value", a.shape)
			}
			if a.depth >= maxLazyDepth {
				a.force(map[*Array]*Tensor{})
			} else {
				depth = max(depth, a.depth+1)
			}
		}
	}
	if n.pos == unknown {
		n.pos = capture()
	}
	refuseComplex(op, attrs, shapes)
	for i, sh := range shapes {
		if slices.ContainsFunc(sh.Dims, func(d int) bool { return d < 0 }) {
			throw(op.Name, "got the size %v; want sizes of at least 0", sh.Dims)
		}
		if _, known := shortNames[sh.DType]; !known {
			throw(op.Name, "got the dtype %s, want one of %v", sh.DType, DTypes)
		}
		if !sh.countable() {
			panic(&Error{Where: userLine(), Op: op.Name, Msg: fmt.Sprintf("the result would be %s, whose bytes no "+
				"int64 counts: want smaller sizes", sh), TooLarge: true})
		}
		if s != nil {
			n.Outs[i] = s.trace.array(sh, n, i, s)
		} else {
			n.Outs[i] = &Array{shape: sh, node: n, index: i, depth: depth}
		}
	}
	return n.Outs
}

//go:noinline
func apply1(op *Op, attrs any, inputs ...*Array) *Array { return apply(op, attrs, inputs)[0] }

func alwaysApart(*Node) bool { return true }
