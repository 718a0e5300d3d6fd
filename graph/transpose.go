package graph

import "slices"

// Reverse mode: the linear part of a derivative, walked backwards.

// transpose turns cotangents of l's results (nil: zero) into cotangents of its unknown parameters (nil: zero), in the
// current scope.
func (l *linear) transpose(cts []*Array) []*Array {
	ct := map[*Array]*Array{}
	add := func(a, c *Array) {
		if c == nil || l.known[a] != nil {
			return
		}
		ct[a] = addTangents(ct[a], c)
	}
	for i, r := range l.results {
		add(r, cts[i])
	}
	defer positions()()
	t := currentTrace()
	for k := len(l.nodes) - 1; k >= 0; k-- {
		n := l.nodes[k]
		out := make([]*Array, len(n.Outs))
		any := false
		for i, o := range n.Outs {
			out[i] = ct[o]
			any = any || out[i] != nil
		}
		if !any {
			continue
		}
		if t != nil {
			t.pos = n.pos
		}
		in := make([]*Array, len(n.Inputs))
		lin := make([]bool, len(n.Inputs))
		for i, a := range n.Inputs {
			in[i] = l.known[a]
			lin[i] = in[i] == nil
		}
		for i, c := range transposeNode(n, in, lin, out) {
			if lin[i] {
				add(n.Inputs[i], c)
			}
		}
	}
	outs := make([]*Array, len(l.params))
	for i, p := range l.params {
		outs[i] = ct[p]
	}
	return outs
}

func transposeNode(n *Node, in []*Array, lin []bool, cts []*Array) []*Array {
	switch {
	case n.Op.Transpose != nil:
		return n.Op.Transpose(n, in, lin, cts)
	case n.Op.Split != nil: // it comes here with what it could not split
		throwAt(n.Where(), n.Op.Name, "%s", n.Op.NotLinear)
	}
	throwAt(n.Where(), n.Op.Name, "internal: %s stands in a linear program: %s", n.Op.Name, n.Op.NotLinear)
	return nil
}

// transposeGraph gives, for known parameters by value and nil for linear ones, the cotangents of the linear ones.
func transposeGraph(g *Graph, values, cts []*Array) []*Array {
	l := linearizeGraph(g, values)
	out := make([]*Array, len(g.Params))
	got := l.transpose(cts)
	for i, p := range l.params {
		out[slices.Index(g.Params, p)] = got[i]
	}
	return out
}

// selfTranspose is the Transpose rule of linear ops that are their own transpose.
func selfTranspose(n *Node, in []*Array, linear []bool, cts []*Array) []*Array {
	return apply(n.Op, n.Attrs, cts)
}
