package graph

import "slices"

// This is how a graph is rewritten node by node: for each node a rule says what it becomes. Op.Lower, in the op's
// block, is such a rule, and most passes of lowering are others.

// Uses reports whether the graph or a body of it has a node of one of the ops.
func (g *Graph) Uses(ops ...string) bool {
	return g.any(func(n *Node) bool { return slices.Contains(ops, n.Op.Name) })
}

// any reports whether f is true for a node of the graph or of its bodies.
func (g *Graph) any(f func(*Node) bool) bool {
	return slices.ContainsFunc(g.Nodes, func(n *Node) bool {
		return f(n) || slices.ContainsFunc(n.Bodies, func(b *Graph) bool { return b.any(f) })
	})
}

// lowerRule returns a node's results, made by other ops in the open scope, or nil if the node stays as it is.
type lowerRule func(l *lowering, n *Node, in []*Array) []*Array

// lowering is a pass that rewrites nodes one by one.
type lowering struct {
	target  Target
	program *Graph // before the pass
	rule    func(*Op) lowerRule
	done    map[*Node]bool      // nodes whose rule returned nil and whose bodies are rewritten
	loop    *Graph              // the body of the innermost loop around, before the pass
	scan    *Graph              // the body of the scan that is being lowered, if it is inside of loop
	cut     map[cutKey][]*Array // constants of the scans around; see rowsApart
	trace   *trace
	unset   int   // see the op unset
	huge    *bool // whether the program has products that are too large for tiles; nil: not computed yet
}

func newLowering(g *Graph, t Target, rule func(*Op) lowerRule) *lowering {
	return &lowering{target: t, program: g, rule: rule, done: map[*Node]bool{}}
}

// lowerNamed returns a graph with a rule applied to the nodes of the named ops.
func lowerNamed(g *Graph, t Target, rule lowerRule, names ...string) *Graph {
	return newLowering(g, t, func(o *Op) lowerRule {
		if slices.Contains(names, o.Name) {
			return rule
		}
		return nil
	}).graph(g)
}

// concerns reports whether a node has to be looked at.
func (l *lowering) concerns(n *Node) bool {
	if l.done[n] {
		return false
	}
	return l.rule(n.Op) != nil || slices.ContainsFunc(n.Bodies, func(g *Graph) bool {
		return slices.ContainsFunc(g.Nodes, l.concerns)
	})
}

// graph rewrites a closed graph.
func (l *lowering) graph(g *Graph) *Graph {
	if !slices.ContainsFunc(g.Nodes, l.concerns) {
		return g
	}
	return closedGraph("Lower", shapesOf(g.Params), func(p []*Array) []*Array {
		if l.trace == nil {
			l.trace = currentTrace()
			defer positions()()
		}
		return l.inline(g, p)
	})
}

// inline adds the rewritten nodes of g to the open scope and returns g's results for args.
func (l *lowering) inline(g *Graph, args []*Array) []*Array {
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
func (l *lowering) node(n *Node, in []*Array) []*Array {
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
	bodies, concerns := slices.Clone(n.Bodies), l.concerns(n)
	if concerns {
		outside, scan := l.loop, l.scan
		if n.Op.Loop != nil {
			l.loop, l.scan = n.Bodies[n.Op.Loop(n).step], nil
		}
		for i, b := range n.Bodies {
			bodies[i] = l.graph(b)
		}
		l.loop, l.scan = outside, scan
	}
	c := s.copyOf(n, in, bodies)
	if concerns {
		l.done[c] = true
	}
	return c.Outs
}

// copyOf adds a copy of a node with other inputs and bodies.
func (s *scope) copyOf(n *Node, in []*Array, bodies []*Graph) *Node {
	c := &Node{Op: n.Op, Attrs: n.Attrs, Inputs: in, Outs: make([]*Array, len(n.Outs)), Bodies: bodies, pos: n.pos}
	for i, o := range n.Outs {
		c.Outs[i] = &Array{shape: o.shape, node: c, index: i, scope: s}
	}
	s.nodes = append(s.nodes, c)
	return c
}

// again rewrites what a rule made, which are the scope's nodes from a place on, and returns its results rewritten.
func (l *lowering) again(s *scope, from int, results []*Array) []*Array {
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
func lowerBody(l *lowering, n *Node, in []*Array) []*Array { return l.inline(n.Bodies[0], in) }

// lowerMatrices is the Lower rule of a factorisation that is a program over single matrices, in the arrays' last two
// axes.
func lowerMatrices(l *lowering, in []*Array, f func(in []*Array) []*Array) []*Array {
	g := closedGraph("Lower", shapesOf(in), func(p []*Array) []*Array { return eachMatrix(in[0].Rank()-2, p, f) })
	return l.inline(g.Simplify(), in)
}
