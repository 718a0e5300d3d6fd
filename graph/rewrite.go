package graph

import "slices"

// This is how a graph is rewritten node by node: for each node a rule says what it becomes. Op.Lower, in the op's
// block, is such a rule, and most passes of lowering are others.

// Uses reports whether the graph or a body of it has a node of one of the ops.
func (g *Graph) Uses(ops ...string) bool {
	return g.Any(func(n *Node) bool { return slices.Contains(ops, n.Op.Name) })
}

// Any reports whether f is true for a node of the graph or of its bodies.
func (g *Graph) Any(f func(*Node) bool) bool {
	return slices.ContainsFunc(g.Nodes, func(n *Node) bool {
		return f(n) || slices.ContainsFunc(n.Bodies, func(b *Graph) bool { return b.Any(f) })
	})
}

// LoweringRule returns a node's results, made by other ops in the graph that is being made, or nil if the node stays as
// it is. in are the node's inputs there.
type LoweringRule func(l *Cursor, n *Node, in []*Array) []*Array

// Cursor is where a rule stands in the graph that is being made. It is for lowering, and may change.
type Cursor struct {
	inLoops
	target  Target
	program *Graph // before it is rewritten
	rule    func(*Op) LoweringRule
	done    map[*Node]bool  // nodes that stay as they are, bodies included
	inside  map[*Graph]bool // whether nodes of a closed graph have to be looked at
	trace   *trace
}

// inLoops is where a cursor is in the loops of a program.
type inLoops struct {
	loop *Graph              // the body of the innermost loop around, before it is rewritten
	scan *Graph              // the body of the scan that is being lowered, if it is inside of loop
	rows map[cutKey][]*Array // what the scans around have cut; see rowsApart
}

// at calls f at another place.
func (l *Cursor) at(p inLoops, f func()) {
	around := l.inLoops
	l.inLoops = p
	f()
	l.inLoops = around
}

// Rewrite returns a graph in which nodes are replaced by what the rule of their op returns, until no rule returns
// anything; nil: there is no rule. Bodies are rewritten, too. A graph that no rule concerns is returned as it is.
func Rewrite(g *Graph, t Target, rule func(*Op) LoweringRule) *Graph {
	return (&Cursor{target: t, program: g, rule: rule, done: map[*Node]bool{}}).graph(g)
}

// Record returns the closed graph that f makes of new parameters. It is for lowering, and may change.
func Record(params []Shape, f func(l *Cursor, params []*Array) []*Array) *Graph {
	return closedGraph("Record", params, func(p []*Array) []*Array {
		defer positions()()
		return f(&Cursor{trace: currentTrace(), done: map[*Node]bool{}}, p)
	})
}

// Target is what the program is lowered for.
func (l *Cursor) Target() Target { return l.target }

// At gives the line of a node to what is recorded from now on.
func (l *Cursor) At(n *Node) { l.trace.pos = n.pos }

// Copy adds a copy of a node with other inputs and bodies, which stays as it is, and returns its results.
func (l *Cursor) Copy(n *Node, in []*Array, bodies []*Graph) []*Array {
	c := l.trace.cur.copyOf(n, in, bodies)
	l.done[c] = true
	return c.Outs
}

// Inline adds the nodes of a graph and returns its results for args.
func (l *Cursor) Inline(g *Graph, args []*Array) []*Array { return inline(g, args) }

// concerns reports whether a node has to be looked at.
func (l *Cursor) concerns(n *Node) bool {
	if l.done[n] {
		return false
	}
	return l.rule(n.Op) != nil || slices.ContainsFunc(n.Bodies, l.concernsAny)
}

// concernsAny reports whether a node of a closed graph has to be looked at.
func (l *Cursor) concernsAny(g *Graph) bool {
	is, known := l.inside[g]
	if !known {
		is = slices.ContainsFunc(g.Nodes, l.concerns)
		if l.inside == nil {
			l.inside = map[*Graph]bool{}
		}
		l.inside[g] = is
	}
	return is
}

// graph rewrites a closed graph.
func (l *Cursor) graph(g *Graph) *Graph {
	if !l.concernsAny(g) {
		return g
	}
	return closedGraph("Lower", ShapesOf(g.Params), func(p []*Array) []*Array {
		if l.trace == nil {
			l.trace = currentTrace()
			defer positions()()
			unset := l.trace.unset
			l.trace.unset = 0
			defer func() { l.trace.unset = unset }()
		}
		return l.inline(g, p)
	})
}

// inline adds the rewritten nodes of g to the open scope and returns g's results for args.
func (l *Cursor) inline(g *Graph, args []*Array) []*Array {
	env := make(map[*Array]*Array, 2*len(g.Nodes)+len(args))
	for i, p := range g.Params {
		env[p] = args[i]
	}
	for _, n := range g.Nodes {
		l.trace.pos = n.pos
		for i, o := range l.node(n, lookUp(env, n.Inputs)) {
			env[n.Outs[i]] = o
		}
	}
	return lookUp(env, g.Results)
}

// node adds a rewritten node over the inputs in to the open scope and returns its results.
func (l *Cursor) node(n *Node, in []*Array) []*Array {
	s := l.trace.cur
	before := len(s.nodes)
	if rule := l.rule(n.Op); rule != nil && !l.done[n] {
		if outs := rule(l, n, in); outs != nil {
			results := make([]*Array, len(outs))
			for i, o := range outs {
				results[i] = s.use(o) // what was made of nothing is lazy
			}
			return l.again(s, before, results)
		}
		s.nodes = s.nodes[:before]
	}
	if !l.concerns(n) {
		return s.copyOf(n, in, slices.Clone(n.Bodies)).Outs
	}
	p := l.inLoops
	if n.Op.Loop != nil {
		p.loop, p.scan = n.Bodies[n.Op.Loop(n).step], nil
	}
	bodies := make([]*Graph, len(n.Bodies))
	l.at(p, func() {
		for i, b := range n.Bodies {
			bodies[i] = l.graph(b)
		}
	})
	return l.Copy(n, in, bodies)
}

// copyOf adds a copy of a node with other inputs and bodies.
func (s *scope) copyOf(n *Node, in []*Array, bodies []*Graph) *Node {
	c := s.trace.node(n.Op, n.Attrs, n.pos, 0, len(n.Outs))
	c.Inputs, c.Bodies = in, bodies
	for i, o := range n.Outs {
		c.Outs[i] = s.trace.array(o.shape, c, i, s)
	}
	s.nodes = append(s.nodes, c)
	return c
}

// again rewrites what a rule made, which are the scope's nodes from a place on, and returns its results rewritten.
func (l *Cursor) again(s *scope, from int, results []*Array) []*Array {
	made := slices.Clone(s.nodes[from:])
	s.nodes = s.nodes[:from]
	moved := map[*Array]*Array{}
	for _, n := range made {
		for i, a := range n.Inputs {
			n.Inputs[i] = orSelf(moved, a)
		}
		if !l.concerns(n) {
			s.nodes = append(s.nodes, n)
			continue
		}
		for i, o := range l.node(n, n.Inputs) {
			moved[n.Outs[i]] = o
		}
	}
	for lazy, a := range s.imported {
		s.imported[lazy] = orSelf(moved, a)
	}
	out := make([]*Array, len(results))
	for i, r := range results {
		out[i] = orSelf(moved, r)
	}
	return out
}

// lowerBody is the Lower rule of ops that matter to derivatives only: they are their first body.
func lowerBody(l *Cursor, n *Node, in []*Array) []*Array { return l.inline(n.Bodies[0], in) }

// lowerMatrices is the Lower rule of a factorisation that is a program over single matrices, in the arrays' last two
// axes.
func lowerMatrices(l *Cursor, in []*Array, f func(in []*Array) []*Array) []*Array {
	g := closedGraph("Lower", ShapesOf(in), func(p []*Array) []*Array { return eachMatrix(in[0].Rank()-2, p, f) })
	return l.inline(g.Simplify(), in)
}
