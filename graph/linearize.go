package graph

import (
	"maps"
	"slices"
)

// linear is the part of a graph that depends on its unknown parameters; the other values have been computed. If the
// graph is a derivative, the nodes are linear in the unknown parameters.
type linear struct {
	params  []*Array          // the unknown parameters
	nodes   []*Node           // in order
	results []*Array          // all results of the graph, known ones too
	known   map[*Array]*Array // graph value -> its value in the scope that linearized it (a residual)
}

// unknownOuts returns which results of a node depend on unknown inputs.
func unknownOuts(n *Node, unknown []bool) []bool {
	switch {
	case !slices.Contains(unknown, true):
		return make([]bool, len(n.Outs))
	case n.Op.Unknown != nil:
		return n.Op.Unknown(n, unknown)
	}
	return slices.Repeat([]bool{true}, len(n.Outs))
}

func unknownResults(g *Graph, unknown []bool) []bool {
	set := make(map[*Array]bool, len(g.Params))
	for i, p := range g.Params {
		set[p] = unknown[i]
	}
	for _, n := range g.Nodes {
		in := make([]bool, len(n.Inputs))
		for i, a := range n.Inputs {
			in[i] = set[a]
		}
		for i, u := range unknownOuts(n, in) {
			set[n.Outs[i]] = u
		}
	}
	out := make([]bool, len(g.Results))
	for i, r := range g.Results {
		out[i] = set[r]
	}
	return out
}

// linearizeGraph computes, in the current scope, everything in g that does not depend on the parameters whose value is
// nil, and returns the rest.
func linearizeGraph(g *Graph, values []*Array) *linear {
	l := &linear{results: g.Results, known: make(map[*Array]*Array, len(g.Nodes))}
	for i, p := range g.Params {
		if values[i] == nil {
			l.params = append(l.params, p)
		} else {
			l.known[p] = values[i]
		}
	}
	replay(g.Nodes, l.known, func(n *Node, in []*Array) []*Array {
		unknown := not(notNil(in))
		switch {
		case !slices.Contains(unknown, true):
			return again(n, in)
		case n.Op.Split != nil:
			n.Op.Split(l, n, in, unknown)
		default:
			l.nodes = append(l.nodes, n)
		}
		return nil
	})
	return l
}

// residual makes a value of the linearizing scope usable as an input of l's nodes.
func (l *linear) residual(v *Array) *Array {
	l.known[v] = v
	return v
}

// recordKnown records the values of a node's known results, with which outs begins, and returns the rest of outs.
func (l *linear) recordKnown(n *Node, unknown []bool, outs []*Array) []*Array {
	for i, o := range n.Outs {
		if !unknown[i] {
			l.known[o], outs = outs[0], outs[1:]
		}
	}
	return outs
}

// needed lists the known values that the unknown nodes and the given results read, each once, in order.
func (l *linear) needed(results []*Array) []*Array {
	var out []*Array
	seen := map[*Array]bool{}
	add := func(a *Array) {
		if l.known[a] != nil && !seen[a] {
			seen[a] = true
			out = append(out, a)
		}
	}
	for _, n := range l.nodes {
		for _, a := range n.Inputs {
			add(a)
		}
	}
	for _, r := range results {
		add(r)
	}
	return out
}

// inputs returns the inputs of the rest of a node: residuals for known inputs, the graph's own values for the others.
func (l *linear) inputs(n *Node, in []*Array) []*Array {
	out := make([]*Array, len(in))
	for i, v := range in {
		out[i] = n.Inputs[i]
		if v != nil {
			out[i] = l.residual(v)
		}
	}
	return out
}

// eval applies the unknown part in the current scope to values for the unknown parameters; known gives the residuals.
func (l *linear) eval(params []*Array, known map[*Array]*Array, results []*Array) []*Array {
	values := maps.Clone(known)
	for i, p := range l.params {
		values[p] = params[i]
	}
	replay(l.nodes, values, again)
	return lookUp(values, results)
}

// isAxisOp reports whether a node depends on a lane or device axis, and so must stay where it is.
func isAxisOp(n *Node) bool {
	_, ok := n.Attrs.(interface{ AxisName() string })
	return ok
}
