package graph

import (
	"fmt"
	"strings"

	"xlarun/graph/internal/stablehlo"
)

// emitter writes a Graph as a StableHLO module. The text is stablehlo.Writer's part; the emitter knows which SSA name
// each array has.
type emitter struct {
	*stablehlo.Writer
	names    map[*Array]string
	gathered *value // the result of the last gather (lower/gathers.go); nil: there was none
}

// StableHLO writes a lowered graph as a module in MLIR text: a public @main over its parameters. donated maps a
// parameter to the result whose buffer it may become.
func (g *Graph) StableHLO(name string, donated map[int]int, replicas int) string {
	e := &emitter{Writer: stablehlo.NewWriter(), names: map[*Array]string{}}
	params := make([]string, len(g.Params))
	for i, p := range g.Params {
		e.names[p] = fmt.Sprintf("%%arg%d", i)
		params[i] = e.names[p] + ": " + mlirType(p.shape)
		if out, ok := donated[i]; ok {
			params[i] += fmt.Sprintf(" {tf.aliasing_output = %d : i32}", out)
		}
	}
	e.nodes(g)
	e.Return("func.return", e.refs(g.Results), types(g.Results))
	return e.Module(name, replicas, strings.Join(params, ", "), types(g.Results))
}

//go:noinline
func mlirType(s Shape) string { return stablehlo.Type(s.DType, s.Dims...) }

func types(arrays []*Array) string {
	return joined(arrays, func(a *Array) string { return mlirType(a.shape) })
}

func (e *emitter) refs(arrays []*Array) string { return joined(arrays, e.ref) }

func joined(arrays []*Array, text func(*Array) string) string {
	if len(arrays) == 1 {
		return text(arrays[0])
	}
	parts := make([]string, len(arrays))
	for i, a := range arrays {
		parts[i] = text(a)
	}
	return strings.Join(parts, ", ")
}

func (e *emitter) ref(a *Array) string {
	s, ok := e.names[a]
	if !ok {
		throw("emit", "internal: a %s has no name", a.shape)
	}
	return s
}

func (e *emitter) nodes(g *Graph) {
	for _, n := range g.Nodes {
		if n.Op.Emit == nil {
			throw("emit", "internal: %s has to be lowered before it is written", n.Op.Name)
		}
		if len(n.Bodies) > 0 && hasRendezvous(n) {
			e.afterGather(n, func() { n.Op.Emit(e, n) })
			continue
		}
		n.Op.Emit(e, n)
	}
}

// bind names n's results, as one result group if there are several, and returns the text left of "=".
func (e *emitter) bind(outs []*Array) string {
	if len(outs) == 0 {
		return ""
	}
	base := e.Fresh()
	if len(outs) == 1 {
		e.names[outs[0]] = base
		return base
	}
	for i, o := range outs {
		e.names[o] = fmt.Sprintf("%s#%d", base, i)
	}
	return fmt.Sprintf("%s:%d", base, len(outs))
}

// generic writes n as one op in generic form; regions and attrs come ready-made (attrs without braces).
func (e *emitter) generic(n *Node, op, attrs string, regions ...string) {
	e.raw(n.Outs, op, n.Inputs, attrs, regions...)
}

func (e *emitter) raw(outs []*Array, op string, in []*Array, attrs string, regions ...string) {
	refs := e.refs(in)
	e.Ops(e.bind(outs), op, refs, attrs, types(in), types(outs), regions...)
}

// region writes a body whose parameters are block arguments. The first len(outer) parameters stand for outer values,
// which MLIR regions may use as they are. The lines in first stand in front of the body's ops.
func (e *emitter) region(g *Graph, outer []*Array, first ...string) string {
	for i, a := range outer {
		e.names[g.Params[i]] = e.ref(a)
	}
	// The next region may be another branch, which does not see this one's gathers.
	gathered := e.gathered
	defer func() { e.gathered = gathered }()
	params := g.Params[len(outer):]
	argTypes := make([]string, len(params))
	for i, p := range params {
		argTypes[i] = mlirType(p.shape)
	}
	return e.Region(argTypes, func(args []string) {
		for i, p := range params {
			e.names[p] = args[i]
		}
		for _, line := range first {
			e.Print(line)
		}
		e.nodes(g)
		e.Return("stablehlo.return", e.refs(g.Results), types(g.Results))
	})
}

// literal writes a tensor as a constant of the text.
func literal(t *Tensor) string { return stablehlo.Dense(t.Shape.DType, t.Shape.Dims, t.bytes()) }

// constant writes a scalar or array of known elements and returns its name.
func (e *emitter) constant(t *Tensor) string { return e.Constant(literal(t), mlirType(t.Shape)) }

// splat writes an array of a shape whose elements are all x, a float, and returns its name.
func (e *emitter) splat(s Shape, x float64) string {
	c := newTensor(Shape{DType: s.DType})
	c.SetF(0, x)
	return e.Op("stablehlo.broadcast_in_dim", e.constant(c), "broadcast_dimensions = array<i64>", mlirType(c.Shape),
		mlirType(s))
}

// hlo is the Emit rule of ops that map to one StableHLO op without attributes.
func hlo(op string) func(*emitter, *Node) { return func(e *emitter, n *Node) { e.generic(n, op, "") } }
