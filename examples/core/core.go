// Package core is package graph in small: seven ops on float32, recording, vmap, derivatives and StableHLO. Names are
// those of package graph. docs/explanation/core.md walks through it.
package core

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
)

// Shape is the sizes of an array's axes.
type Shape []int

// Size is the number of elements.
func (s Shape) Size() int {
	n := 1
	for _, d := range s {
		n *= d
	}
	return n
}

// Array is a value of a function that is being traced. It has a shape and no elements.
type Array struct {
	shape Shape
	scope *scope // the function that it belongs to
}

// Node is a call of an op.
type Node struct {
	Op     *Op
	Attrs  any // what the op needs in addition to arrays
	Inputs []*Array
	Out    *Array
}

// Graph is a function: the inputs of each node are parameters or results of nodes before it.
type Graph struct {
	Params []*Array
	Nodes  []*Node
	Result *Array
}

// Op is all that is known of an op, side by side. A transform asks the op of each node for its rule.
type Op struct {
	Name string // in StableHLO
	// Shape returns the result's shape.
	Shape func(attrs any, in []Shape) Shape
	// Batch is the rule of vmap: the result for inputs that all have one more axis in front.
	Batch func(n *Node, in []*Array) *Array
	// JVP returns the result's tangent for the inputs' tangents, in which it is linear. A nil tangent is zero.
	JVP func(n *Node, in, tangents []*Array) *Array
	// Transpose returns the inputs' cotangents for the result's. The op is linear in the inputs that are nil.
	Transpose func(n *Node, in []*Array, ct *Array) []*Array
	// Emit returns the op's attributes in StableHLO, with braces; "": none.
	Emit func(n *Node) string
	// Eval is the reference: the plainest code that is right.
	Eval func(n *Node, in [][]float32) []float32
}

// axis is the attribute of ops that remove or add an axis of a size.
type axis struct{ at, size int }

// The table of ops.
var constantOp, addOp, mulOp, sinOp, cosOp, sumOp, broadcastOp *Op

func init() { // not where they are declared: rules call ops
	constantOp = &Op{Name: "constant",
		Shape: func(attrs any, _ []Shape) Shape { // a vector, or of one number a scalar
			n := len(attrs.([]float32))
			return Shape{n}[:min(1, n-1)]
		},
		Emit: func(n *Node) string {
			var bits []string
			for _, x := range n.Attrs.([]float32) {
				bits = append(bits, fmt.Sprintf("0x%08X", math.Float32bits(x)))
			}
			text := list(bits)
			if len(bits) > 1 {
				text = "[" + text + "]"
			}
			return fmt.Sprintf(" {value = dense<%s> : %s}", text, n.Out.shape)
		},
		Eval: func(n *Node, _ [][]float32) []float32 { return n.Attrs.([]float32) },
	}
	addOp = elementwise("add", func(x []float32) float32 { return x[0] + x[1] })
	addOp.JVP = func(_ *Node, _, t []*Array) *Array { return addTangents(t[0], t[1]) }
	addOp.Transpose = func(_ *Node, _ []*Array, ct *Array) []*Array { return []*Array{ct, ct} }

	mulOp = elementwise("multiply", func(x []float32) float32 { return x[0] * x[1] })
	mulOp.JVP = func(_ *Node, in, t []*Array) *Array { return addTangents(scaled(t[0], in[1]), scaled(t[1], in[0])) }
	mulOp.Transpose = func(_ *Node, in []*Array, ct *Array) []*Array {
		return []*Array{scaled(ct, in[1]), scaled(ct, in[0])}
	}

	sinOp = elementwise("sine", func(x []float32) float32 { return float32(math.Sin(float64(x[0]))) })
	sinOp.JVP = func(_ *Node, in, t []*Array) *Array { return Mul(t[0], Cos(in[0])) }
	cosOp = elementwise("cosine", func(x []float32) float32 { return float32(math.Cos(float64(x[0]))) })

	sumOp = &Op{Name: "reduce",
		Shape: func(attrs any, in []Shape) Shape {
			at := attrs.(axis).at
			return slices.Delete(slices.Clone(in[0]), at, at+1)
		},
		Batch:     batchAxis,
		JVP:       func(n *Node, _, t []*Array) *Array { return n.again(t) },
		Transpose: func(n *Node, _ []*Array, ct *Array) []*Array { return []*Array{apply(broadcastOp, n.Attrs, ct)} },
		Emit:      func(n *Node) string { return fmt.Sprintf(" {dimensions = array<i64: %d>}", n.Attrs.(axis).at) },
		Eval: func(n *Node, in [][]float32) []float32 {
			sums, out := make([]float64, n.Out.shape.Size()), make([]float32, n.Out.shape.Size())
			for i, x := range in[0] {
				sums[n.without(n.Inputs[0].shape, i)] += float64(x)
			}
			for i, x := range sums {
				out[i] = float32(x)
			}
			return out
		},
	}
	broadcastOp = &Op{Name: "broadcast_in_dim",
		Shape: func(attrs any, in []Shape) Shape {
			return slices.Insert(slices.Clone(in[0]), attrs.(axis).at, attrs.(axis).size)
		},
		Batch:     batchAxis,
		JVP:       func(n *Node, _, t []*Array) *Array { return n.again(t) },
		Transpose: func(n *Node, _ []*Array, ct *Array) []*Array { return []*Array{apply(sumOp, n.Attrs, ct)} },
		Emit: func(n *Node) string {
			var kept []int
			for i := range n.Out.shape {
				if i != n.Attrs.(axis).at {
					kept = append(kept, i)
				}
			}
			return " {broadcast_dimensions = array<i64" + strings.TrimSuffix(": "+list(kept), ": ") + ">}"
		},
		Eval: func(n *Node, in [][]float32) []float32 {
			out := make([]float32, n.Out.shape.Size())
			for i := range out {
				out[i] = in[0][n.without(n.Out.shape, i)]
			}
			return out
		},
	}
}

// elementwise makes an op whose inputs and result have one shape.
func elementwise(name string, f func(x []float32) float32) *Op {
	return &Op{Name: name,
		Shape: func(_ any, in []Shape) Shape { return in[0] },
		Batch: (*Node).again,
		Emit:  func(*Node) string { return "" },
		Eval: func(n *Node, in [][]float32) []float32 {
			out, x := make([]float32, n.Out.shape.Size()), make([]float32, len(in))
			for i := range out {
				for j := range in {
					x[j] = in[j][i]
				}
				out[i] = f(x)
			}
			return out
		},
	}
}

// batchAxis is the rule of vmap of ops with an axis: it is one place further.
func batchAxis(n *Node, in []*Array) *Array {
	a := n.Attrs.(axis)
	return apply(n.Op, axis{a.at + 1, a.size}, in...)
}

// without returns the place of element i of a shape in the array that lacks the node's axis.
func (n *Node) without(s Shape, i int) int {
	inner := s[n.Attrs.(axis).at+1:].Size()
	return i/(inner*n.Attrs.(axis).size)*inner + i%inner
}

// addTangents is a + b where nil stands for zero.
func addTangents(a, b *Array) *Array {
	if a == nil || b == nil {
		return cmp.Or(a, b)
	}
	return Add(a, b)
}

// scaled is t * s, or nil if one of them is nil.
func scaled(t, s *Array) *Array {
	if t == nil || s == nil {
		return nil
	}
	return Mul(t, s)
}

// The functions that users call. Sum adds along axis 0; Broadcast makes n copies along a new axis 0.

func Constant(x ...float32) *Array     { return apply(constantOp, x) }
func Add(x, y *Array) *Array           { return apply(addOp, nil, x, y) }
func Mul(x, y *Array) *Array           { return apply(mulOp, nil, x, y) }
func Sin(x *Array) *Array              { return apply(sinOp, nil, x) }
func Cos(x *Array) *Array              { return apply(cosOp, nil, x) }
func Sum(x *Array) *Array              { return apply(sumOp, axis{0, x.shape[0]}, x) }
func Broadcast(x *Array, n int) *Array { return apply(broadcastOp, axis{0, n}, x) }

// scope is a function that is being traced.
type scope struct {
	parent *scope
	nodes  []*Node
}

// current is the innermost open scope. Package graph has one for each goroutine.
var current *scope

// apply records a call of an op.
func apply(op *Op, attrs any, in ...*Array) *Array {
	out := &Array{op.Shape(attrs, shapesOf(in)), current}
	current.nodes = append(current.nodes, &Node{op, attrs, in, out})
	return out
}

// shapesOf lists the shapes of arrays.
func shapesOf(arrays []*Array) (shapes []Shape) {
	for _, a := range arrays {
		shapes = append(shapes, a.shape)
	}
	return shapes
}

// again records the same call with other inputs.
func (n *Node) again(in []*Array) *Array { return apply(n.Op, n.Attrs, in...) }

// buildGraph records f, a function of arrays with these shapes. The graph is closed: values of enclosing functions that
// f uses become further parameters, and are returned.
func buildGraph(f func(params []*Array) *Array, shapes ...Shape) (g *Graph, captured []*Array) {
	s := &scope{parent: current}
	current = s
	defer func() { current = s.parent }()
	g = &Graph{}
	for _, shape := range shapes {
		g.Params = append(g.Params, &Array{shape, s})
	}
	g.Result = f(g.Params)
	inside := map[*Array]*Array{}
	closed := func(a *Array) *Array {
		if a.scope == s {
			return a
		}
		if inside[a] == nil {
			inside[a] = &Array{a.shape, s}
			g.Params, captured = append(g.Params, inside[a]), append(captured, a)
		}
		return inside[a]
	}
	for _, n := range s.nodes {
		for i, a := range n.Inputs {
			n.Inputs[i] = closed(a)
		}
	}
	g.Result = closed(g.Result)
	used := map[*Array]bool{g.Result: true} // what no result needs is dropped
	for _, n := range slices.Backward(s.nodes) {
		if used[n.Out] {
			g.Nodes = append(g.Nodes, n)
			for _, a := range n.Inputs {
				used[a] = true
			}
		}
	}
	slices.Reverse(g.Nodes)
	return g, captured
}

// Trace records a function of one array.
func Trace(f func(*Array) *Array, shape Shape) *Graph {
	g, _ := buildGraph(func(p []*Array) *Array { return f(p[0]) }, shape)
	return g
}

// Run computes a graph by the reference.
func (g *Graph) Run(inputs ...[]float32) []float32 {
	value := values(g.Params, inputs)
	for _, n := range g.Nodes {
		value[n.Out] = n.Op.Eval(n, lookUp(value, n.Inputs))
	}
	return value[g.Result]
}

// replay runs rule over nodes in their order, and stores what it returns.
func replay(nodes []*Node, value map[*Array]*Array, rule func(n *Node, in []*Array) *Array) {
	for _, n := range nodes {
		value[n.Out] = rule(n, lookUp(value, n.Inputs))
	}
}

// values gives each array its value.
func values[V any](arrays []*Array, v []V) map[*Array]V {
	value := map[*Array]V{}
	for i, a := range arrays {
		value[a] = v[i]
	}
	return value
}

// lookUp lists the values of arrays.
func lookUp[V any](value map[*Array]V, arrays []*Array) (out []V) {
	for _, a := range arrays {
		out = append(out, value[a])
	}
	return out
}

// VMap turns a function of one member into a function of a population: argument and result have one more axis in front.
func VMap(f func(*Array) *Array) func(*Array) *Array {
	return func(x *Array) *Array {
		g, captured := buildGraph(func(p []*Array) *Array { return f(p[0]) }, x.shape[1:])
		return batch(g, x.shape[0], append([]*Array{x}, captured...))
	}
}

// batch applies g to inputs, of which some have one more axis, of a size. Each node is applied to all members at once.
func batch(g *Graph, size int, in []*Array) *Array {
	value := values(g.Params, in)
	replay(g.Nodes, value, func(n *Node, in []*Array) *Array {
		mapped := make([]bool, len(in))
		for i, a := range in {
			mapped[i] = len(a.shape) > len(n.Inputs[i].shape)
		}
		if !slices.Contains(mapped, true) {
			return n.again(in)
		}
		for i, a := range in {
			if !mapped[i] {
				in[i] = Broadcast(a, size)
			}
		}
		return n.Op.Batch(n, in)
	})
	if len(value[g.Result].shape) == len(g.Result.shape) { // equal for all members
		return Broadcast(value[g.Result], size)
	}
	return value[g.Result]
}

// jvp applies g to values and their tangents, and returns the result's tangent.
func jvp(g *Graph, primals, tangents []*Array) *Array {
	dot := values(g.Params, tangents)
	replay(g.Nodes, values(g.Params, primals), func(n *Node, in []*Array) *Array {
		out := n.again(in)
		if t := lookUp(dot, n.Inputs); slices.ContainsFunc(t, func(a *Array) bool { return a != nil }) {
			dot[n.Out] = n.Op.JVP(n, in, t)
		}
		return out
	})
	return dot[g.Result]
}

// linear is the part of a derivative that depends on the tangent. All other values are known.
type linear struct {
	param, result *Array
	nodes         []*Node
	known         map[*Array]*Array
}

// linearizeGraph computes what in g does not depend on the parameter whose value is nil, and returns the rest.
func linearizeGraph(g *Graph, in []*Array) *linear {
	l := &linear{param: g.Params[slices.Index(in, nil)], result: g.Result, known: values(g.Params, in)}
	replay(g.Nodes, l.known, func(n *Node, in []*Array) *Array {
		if slices.Contains(in, nil) {
			l.nodes = append(l.nodes, n)
			return nil
		}
		return n.again(in)
	})
	return l
}

// transpose turns the cotangent of the result into that of the parameter, backwards through the nodes.
func (l *linear) transpose(result *Array) *Array {
	ct := map[*Array]*Array{l.result: result}
	for _, n := range slices.Backward(l.nodes) {
		in := lookUp(l.known, n.Inputs)
		for i, c := range n.Op.Transpose(n, in, ct[n.Out]) {
			if in[i] == nil {
				ct[n.Inputs[i]] = addTangents(ct[n.Inputs[i]], c)
			}
		}
	}
	return ct[l.param]
}

// Grad returns the gradient of a function whose result is one number.
func Grad(f func(*Array) *Array) func(*Array) *Array {
	return func(x *Array) *Array {
		g, captured := buildGraph(func(p []*Array) *Array { return f(p[0]) }, x.shape)
		derivative, _ := buildGraph(func(p []*Array) *Array { // of the tangent, then of g's parameters
			return jvp(g, p[1:], append([]*Array{p[0]}, make([]*Array, len(captured))...))
		}, append([]Shape{x.shape}, shapesOf(g.Params)...)...)
		return linearizeGraph(derivative, append([]*Array{nil, x}, captured...)).transpose(Constant(1))
	}
}
