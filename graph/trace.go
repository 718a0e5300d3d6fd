package graph

import (
	"cmp"
	"slices"
	"sync"
	"sync/atomic"
)

// trace is one recording of a user's function, from the outermost call on. Functions traced inside of it (a scan's
// body, a function under vmap) open scopes within.
type trace struct {
	goroutine uint64 // the one that records
	cur       *scope
	unset     int      // arrays that are left unset so far; see the op unset
	pos       position // where set, transforms give this position to the nodes they make
	made
}

// made hands out the nodes and arrays of a trace, from allocations of many: one for each took a quarter of the time of
// tracing.
type made struct {
	nodes  []Node
	arrays []Array
	lists  []*Array
}

// chunk is the number of elements of such an allocation.
const chunk = 64

// take cuts n elements off a list, which is made anew where it is too short.
func take[T any](from *[]T, n int) []T {
	if n > len(*from) {
		*from = make([]T, max(n, chunk))
	}
	out := (*from)[:n:n]
	*from = (*from)[n:]
	return out
}

// list is a list of n arrays.
func (m *made) list(n int) []*Array { return take(&m.lists, n) }

// node returns a node with room for inputs and results, which it does not have yet.
func (m *made) node(op *Op, attrs any, pos position, inputs, outs int) *Node {
	n := &take(&m.nodes, 1)[0]
	n.Op, n.Attrs, n.pos, n.Inputs, n.Outs = op, attrs, pos, m.list(inputs), m.list(outs)
	return n
}

// array returns a result of a node.
func (m *made) array(shape Shape, n *Node, index int, s *scope) *Array {
	a := &take(&m.arrays, 1)[0]
	a.shape, a.node, a.index, a.scope = shape, n, index, s
	return a
}

// scope collects the nodes of one function. When the function returns it is closed into a Graph.
type scope struct {
	trace    *trace
	parent   *scope
	pos      position // of the call that opened it
	params   []*Array
	nodes    []*Node
	closed   atomic.Bool
	diff     bool              // what is recorded here will be differentiated
	axes     []*axis           // the named axes that this scope adds
	imported map[*Array]*Array // lazy and small concrete arrays brought into this scope
	keys     *keyBody          // where keys are checked
}

// axis is a named axis: of a vmap, or of the devices that run the program.
type axis struct {
	name            string
	size            int
	stride, devices int // for an axis of devices: see collectiveAttrs
}

// traces holds the open trace of each goroutine. A function is traced by one goroutine from start to end, and an op
// call finds its trace through its inputs; only functions that open a scope have to ask which trace is open here,
// because their inputs may all be concrete while their body captures traced values.
var traces sync.Map // goroutineID -> *trace

// scopeOf finds the scope that an op over these inputs belongs to: the innermost open one of their trace.
func scopeOf(op string, inputs []*Array) *scope {
	for _, a := range inputs {
		if a.scope != nil {
			t := a.scope.trace
			for _, b := range inputs {
				oneGoroutine(op, b)
				if b.scope != nil && (b.scope.closed.Load() || b.scope.trace != t) {
					throw(op, "a traced %s is used outside of the function that made it: return it from that "+
						"function (as carry, output or result) instead of keeping it in a variable", b.shape)
				}
			}
			return t.cur
		}
	}
	return nil
}

// oneGoroutine refuses an array of a function that another goroutine is tracing.
func oneGoroutine(op string, a *Array) {
	if a != nil && a.scope != nil && !a.scope.closed.Load() && a.scope.trace.goroutine != goroutineID() {
		throw(op, "a traced %s belongs to a function that another goroutine traces, and a function is traced by one "+
			"goroutine: call everything that uses its arrays (ops, VMap, Scan, Grad) in that goroutine, not in a go "+
			"statement", a.shape)
	}
}

// use makes a usable inside s: values of enclosing scopes and large concrete arrays as they are (closing the scope
// captures them), lazy and small concrete ones as nodes of s.
func (s *scope) use(a *Array) *Array { return s.useAt(a, s.trace.pos) }

// useAt is use with the position of the constants that it makes. Those of a lazy array have its position.
func (s *scope) useAt(a *Array, pos position) *Array {
	if a.scope != nil {
		return a
	}
	if got := s.imported[a]; got != nil {
		return got
	}
	a.mu.Lock()
	data := a.data
	a.mu.Unlock()
	var out *Array
	switch {
	case data != nil && a.Size() > smallConstant && a.node == nil:
		return a
	case data != nil && a.Size() <= smallConstant:
		b, err := data.HostBytes()
		if err != nil {
			throw("use", "cannot read a captured %s: %v", a.shape, err)
		}
		n := s.trace.node(constantOp, constantAttrs{a.shape, string(b)}, pos, 0, 1)
		if n.pos == unknown {
			n.pos = capture()
		}
		out = s.trace.array(a.shape, n, 0, s)
		n.Outs[0] = out
		s.nodes = append(s.nodes, n)
	case a.node != nil:
		n := s.trace.node(a.node.Op, a.node.Attrs, a.node.pos, len(a.node.Inputs), len(a.node.Outs))
		n.Bodies = a.node.Bodies
		for i, x := range a.node.Inputs {
			n.Inputs[i] = s.useAt(x, cmp.Or(pos, a.node.pos))
		}
		for i, o := range a.node.Outs {
			n.Outs[i] = s.trace.array(o.shape, n, i, s)
			s.remember(o, n.Outs[i])
		}
		s.nodes = append(s.nodes, n)
		return n.Outs[a.index]
	default:
		throw("use", "an abstract %s has no value: it can only stand for an argument of the function being traced",
			a.shape)
	}
	s.remember(a, out)
	return out
}

func (s *scope) remember(a, imported *Array) {
	if s.imported == nil {
		s.imported = map[*Array]*Array{}
	}
	s.imported[a] = imported
}

// axis looks a named axis up, innermost first; nil if there is none.
func (s *scope) axis(name string) *axis {
	for ; s != nil; s = s.parent {
		for _, a := range s.axes {
			if a.name == name {
				return a
			}
		}
	}
	return nil
}

// isDifferentiated reports whether a derivative will be taken of what s records.
func (s *scope) isDifferentiated() bool {
	for ; s != nil; s = s.parent {
		if s.diff {
			return true
		}
	}
	return false
}

// buildGraph records f over new parameters as a closed Graph. What f takes from outside becomes leading parameters;
// captured are the outer arrays to pass for them.
func buildGraph(params []Shape, axes []*axis, f func(params []*Array) []*Array) (g *Graph, captured []*Array) {
	t := currentTrace()
	if t == nil {
		id := goroutineID()
		t = &trace{goroutine: id}
		traces.Store(id, t)
		defer traces.Delete(id)
	}
	s := &scope{trace: t, parent: t.cur, axes: axes, pos: t.pos}
	if s.pos == unknown {
		s.pos = capture()
	}
	t.cur = s
	defer func() {
		s.closed.Store(true)
		t.cur = s.parent
	}()
	for _, sh := range params {
		s.params = append(s.params, &Array{shape: sh, scope: s})
	}
	results := slices.Clone(f(s.params))
	for i, r := range results {
		if r == nil {
			throw("trace", "result %d of the traced function is a nil *Array", i)
		}
		oneGoroutine("trace", r)
		if r.scope != nil && (r.scope.closed.Load() || r.scope.trace != t) {
			throwAt(r.where(), "trace", "the traced %s that is made here is result %d of the function around, but "+
				"belongs to a function within it that has already returned (a branch, "+
				"a loop's body, a mapped one): return it from that function instead of keeping it in a variable or map",
				r.shape, i)
		}
		results[i] = s.use(r)
	}
	g, captured = s.toGraph(results)
	if s.keys != nil {
		s.keys.graph, s.keys.captured = g, captured
	}
	return g, captured
}

// closedGraph is buildGraph for a function that takes nothing from outside.
func closedGraph(name string, params []Shape, f func(params []*Array) []*Array) *Graph {
	g, captured := buildGraph(params, nil, f)
	if len(captured) > 0 {
		throw(name, "internal: a graph that must be closed takes %d values from outside", len(captured))
	}
	return g
}

// toGraph turns the scope into a Graph.
func (s *scope) toGraph(results []*Array) (*Graph, []*Array) {
	var captured, inner []*Array
	known := map[*Array]*Array{}
	local := func(a *Array) *Array {
		if a.scope == s {
			return a
		}
		if p := known[a]; p != nil {
			return p
		}
		p := &Array{shape: a.shape, scope: s}
		known[a] = p
		captured, inner = append(captured, a), append(inner, p)
		return p
	}
	for _, n := range s.nodes {
		for i, a := range n.Inputs {
			n.Inputs[i] = local(a)
		}
	}
	for i, r := range results {
		results[i] = local(r)
	}
	g := &Graph{Params: append(inner, s.params...), Nodes: s.nodes, Results: results}
	return g, captured
}

// inline applies g to args in the current scope and returns its results.
func inline(g *Graph, args []*Array) []*Array { return rewrite(g, args, again) }

// rewrite walks g in order and returns its results with each node replaced by f, which gets the values that earlier
// calls returned. What f makes gets the node's position, so that errors and dumps still name the user's line.
func rewrite(g *Graph, args []*Array, f func(n *Node, in []*Array) []*Array) []*Array {
	values := make(map[*Array]*Array, 2*len(g.Nodes)+len(args))
	for i, p := range g.Params {
		values[p] = args[i]
	}
	replay(g.Nodes, values, f)
	return lookUp(values, g.Results)
}

// replay calls f for each of the nodes with the values of its inputs (nil: there is none), and stores what f returns as
// the values of its results.
func replay(nodes []*Node, values map[*Array]*Array, f func(n *Node, in []*Array) []*Array) {
	defer positions()()
	t := currentTrace()
	for _, n := range nodes {
		if t != nil {
			t.pos = n.pos
		}
		for i, o := range f(n, lookUp(values, n.Inputs)) {
			values[n.Outs[i]] = o
		}
	}
}

// again applies a node's op to other inputs.
func again(n *Node, in []*Array) []*Array { return apply(n.Op, n.Attrs, in, n.Bodies...) }

// lookUp lists the values of arrays.
func lookUp(values map[*Array]*Array, arrays []*Array) []*Array {
	out := make([]*Array, len(arrays))
	for i, a := range arrays {
		out[i] = values[a]
	}
	return out
}

// currentTrace is the trace that is open on this goroutine, or nil.
func currentTrace() *trace {
	if v, ok := traces.Load(goroutineID()); ok {
		return v.(*trace)
	}
	return nil
}

// positions saves the trace's position override and returns the function that restores it.
func positions() func() {
	t := currentTrace()
	if t == nil {
		return func() {}
	}
	old := t.pos
	return func() { t.pos = old }
}
