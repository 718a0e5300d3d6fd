package graph

import (
	"fmt"
	"strconv"
	"strings"
)

// emitter writes a Graph as a StableHLO module in MLIR's generic text form.
type emitter struct {
	w        *strings.Builder
	names    map[*Array]string
	next     int
	indent   string
	funcs    map[string]string // private functions by name
	order    []string
	gathered *value // the result of the last gather (lower_gathers.go); nil: there was none
}

// emitModule writes the module: a public @main over g's parameters. donated maps parameter to the result whose buffer
// it may become.
func emitModule(name string, g *Graph, donated map[int]int, replicas int) string {
	e := &emitter{w: new(strings.Builder), names: map[*Array]string{}, funcs: map[string]string{}}
	e.indent = "    "
	params := make([]string, len(g.Params))
	for i, p := range g.Params {
		e.names[p] = fmt.Sprintf("%%arg%d", i)
		params[i] = e.names[p] + ": " + mlirType(p.shape)
		if out, ok := donated[i]; ok {
			params[i] += fmt.Sprintf(" {tf.aliasing_output = %d : i32}", out)
		}
	}
	e.nodes(g)
	body := e.w.String()
	var m strings.Builder
	fmt.Fprintf(&m, "module @%s attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = %d : i32} {\n",
		mlirName(name), replicas)
	fmt.Fprintf(&m, "  func.func public @main(%s) -> (%s) {\n%s", strings.Join(params, ", "), types(g.Results), body)
	fmt.Fprintf(&m, "    \"func.return\"(%s) : (%s) -> ()\n  }\n", e.refs(g.Results), types(g.Results))
	for _, f := range e.order {
		m.WriteString(e.funcs[f])
	}
	m.WriteString("}\n")
	return m.String()
}

func mlirName(s string) string {
	return "xlarun_" + strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' {
			return r
		}
		return '_'
	}, s)
}

func mlirElem(d DType) string {
	switch d {
	case Bool:
		return "i1"
	case Uint8, Uint16, Uint32, Uint64:
		return "ui" + dtypeName(d)[1:]
	}
	return dtypeName(d)
}

func mlirType(s Shape) string {
	b := append(make([]byte, 0, 32), "tensor<"...)
	for _, d := range s.Dims {
		b = append(strconv.AppendInt(b, int64(d), 10), 'x')
	}
	return string(append(append(b, mlirElem(s.DType)...), '>'))
}

func types(arrays []*Array) string {
	parts := make([]string, len(arrays))
	for i, a := range arrays {
		parts[i] = mlirType(a.shape)
	}
	return strings.Join(parts, ", ")
}

func (e *emitter) refs(arrays []*Array) string {
	parts := make([]string, len(arrays))
	for i, a := range arrays {
		parts[i] = e.ref(a)
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

// fresh is a new SSA name.
func (e *emitter) fresh() string {
	e.next++
	return "%" + strconv.Itoa(e.next)
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

// bind names n's results, as one result group where there are several, and returns the text left of "=".
func (e *emitter) bind(outs []*Array) string {
	base := e.fresh()
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

// generic0 writes n as an op without operands.
func (e *emitter) generic0(n *Node, op, attrs string) { e.raw(n.Outs, op, nil, attrs) }

func (e *emitter) raw(outs []*Array, op string, in []*Array, attrs string, regions ...string) {
	refs, ins := e.refs(in), types(in)
	if len(outs) > 0 {
		e.write(e.indent, e.bind(outs), ` = "`)
	} else {
		e.write(e.indent, `"`)
	}
	e.write(op, `"(`, refs, ")")
	if len(regions) > 0 {
		e.write(" (", strings.Join(regions, ", "), ")")
	}
	if attrs != "" {
		e.write(" {", attrs, "}")
	}
	e.write(" : (", ins, ") -> (", types(outs), ")\n")
}

// write is Fprint for strings: programs have thousands of lines.
func (e *emitter) write(parts ...string) {
	for _, p := range parts {
		e.w.WriteString(p)
	}
}

// line writes one free-form op with a single result of the given type and returns its name.
func (e *emitter) line(op, args, attrs, in, out string) string {
	name := e.fresh()
	if attrs != "" {
		attrs = " {" + attrs + "}"
	}
	e.write(e.indent, name, ` = "`, op, `"(`, args, ")", attrs, " : (", in, ") -> ", out, "\n")
	return name
}

// region writes a body whose parameters are block arguments, from the capture on: the first len(outer) parameters
// stand for outer values, which MLIR regions may use as they are. The lines in first stand in front of the body's ops.
func (e *emitter) region(g *Graph, outer []*Array, ret string, first ...string) string {
	for i, a := range outer {
		e.names[g.Params[i]] = e.ref(a)
	}
	// The next region may be another branch, which does not see this one's gathers.
	gathered := e.gathered
	defer func() { e.gathered = gathered }()
	args := g.Params[len(outer):]
	header := "{\n"
	if len(args) > 0 {
		parts := make([]string, len(args))
		for i, p := range args {
			e.names[p] = e.fresh()
			parts[i] = e.names[p] + ": " + mlirType(p.shape)
		}
		header = "{\n" + e.indent + "^bb0(" + strings.Join(parts, ", ") + "):\n"
	}
	return header + e.block(func() {
		for _, line := range first {
			e.write(e.indent, line, "\n")
		}
		e.nodes(g)
		fmt.Fprintf(e.w, "%s%q(%s) : (%s) -> ()\n", e.indent, ret, e.refs(g.Results), types(g.Results))
	}) + e.indent + "}"
}

// block collects what f writes, one level deeper.
func (e *emitter) block(f func()) string {
	w, indent := e.w, e.indent
	e.w, e.indent = new(strings.Builder), indent+"  "
	f()
	text := e.w.String()
	e.w, e.indent = w, indent
	return text
}

// combiner writes a region over two scalars (or 2k for k operands) with one op, for reductions and scatters.
func (e *emitter) combiner(op string, d DType) string {
	t := mlirType(Shape{DType: d})
	return e.scalarRegion([]string{t, t}, func(args []string) ([]string, []string) {
		return []string{e.line(op, args[0]+", "+args[1], "", t+", "+t, t)}, []string{t}
	})
}

func (e *emitter) scalarRegion(argTypes []string, f func(args []string) (results, resultTypes []string)) string {
	names := make([]string, len(argTypes))
	parts := make([]string, len(argTypes))
	for i, t := range argTypes {
		names[i] = e.fresh()
		parts[i] = names[i] + ": " + t
	}
	return "{\n" + e.indent + "^bb0(" + strings.Join(parts, ", ") + "):\n" + e.block(func() {
		r, t := f(names)
		fmt.Fprintf(e.w, "%s\"stablehlo.return\"(%s) : (%s) -> ()\n", e.indent, strings.Join(r, ", "),
			strings.Join(t, ", "))
	}) + e.indent + "}"
}

// hlo is the Emit rule of ops that map to one StableHLO op without attributes.
func hlo(op string) func(*emitter, *Node) {
	return func(e *emitter, n *Node) { e.generic(n, op, "") }
}

func i64s(v []int) string {
	if len(v) == 0 {
		return "array<i64>"
	}
	return "array<i64: " + joinInts(v, ", ") + ">"
}

func bools(v []bool) string {
	if len(v) == 0 {
		return "array<i1>"
	}
	parts := make([]string, len(v))
	for i, x := range v {
		parts[i] = fmt.Sprint(x)
	}
	return "array<i1: " + strings.Join(parts, ", ") + ">"
}

// pairs writes [[lo, hi], …] as the two-column tensor that padding attributes take.
func pairs(v [][2]int) string {
	if len(v) == 0 {
		return "dense<> : tensor<0x2xi64>"
	}
	parts := make([]string, len(v))
	for i, p := range v {
		parts[i] = fmt.Sprintf("[%d, %d]", p[0], p[1])
	}
	return fmt.Sprintf("dense<[%s]> : tensor<%dx2xi64>", strings.Join(parts, ", "), len(v))
}
