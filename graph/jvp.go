package graph

import "slices"

// Forward mode: a graph is applied to values and their tangents (nil: zero). Control flow is differentiated body by
// body; every other op by its own rule.

// jvp applies g in the current scope to primals with tangents.
func jvp(g *Graph, primals, tangents []*Array) (outs, outTangents []*Array) {
	dot := make(map[*Array]*Array, len(g.Nodes))
	for i, p := range g.Params {
		if tangents[i] != nil && isInexact(p.DType()) {
			dot[p] = tangents[i]
		}
	}
	outs = rewrite(g, primals, func(n *Node, in []*Array) []*Array {
		t := make([]*Array, len(in))
		active := false
		for i, a := range n.Inputs {
			t[i] = dot[a]
			active = active || t[i] != nil
		}
		if !active {
			return apply(n.Op, n.Attrs, in, n.Bodies...)
		}
		outs, ts := jvpNode(n, in, t)
		for i, o := range n.Outs {
			if ts[i] != nil && isInexact(o.DType()) {
				dot[o] = ts[i]
			}
		}
		return outs
	})
	for _, r := range g.Results {
		outTangents = append(outTangents, dot[r])
	}
	return outs, outTangents
}

func jvpNode(n *Node, in, t []*Array) (outs, tangents []*Array) {
	if n.Op.Derivative != nil {
		return n.Op.Derivative(n, in, t)
	}
	outs = apply(n.Op, n.Attrs, in, n.Bodies...)
	if !slices.ContainsFunc(outs, func(o *Array) bool { return isInexact(o.DType()) }) {
		return outs, make([]*Array, len(outs)) // a discrete result does not change with its inputs
	}
	if n.Op.JVP == nil {
		throwAt(n.Where(), n.Op.Name, "it has no derivative: %s; wrap its input in StopGradient if it should count "+
			"as constant", n.Op.NotDifferentiable)
	}
	return outs, n.Op.JVP(n, in, outs, t)
}

// jvpGraph is g's derivative as a closed graph: parameters are g's, then a tangent for each that active marks; results
// are g's, then a tangent for each that force or the derivative itself makes active.
func jvpGraph(g *Graph, active, force []bool) (d *Graph, out []bool) {
	params := ShapesOf(g.Params)
	for i, p := range g.Params {
		if active[i] {
			params = append(params, p.shape)
		}
	}
	out = make([]bool, len(g.Results))
	d = closedGraph("Jvp", params, func(p []*Array) []*Array {
		outs, ts := jvp(g, p[:len(g.Params)], spread(p[len(g.Params):], active))
		for i, t := range ts {
			out[i] = t != nil || force != nil && force[i]
			if !out[i] {
				continue
			}
			outs = append(outs, orZeros(t, g.Results[i].shape))
		}
		return outs
	})
	return d, out
}

// linearJVP is the JVP rule of ops that are linear in all inputs together: the op itself, of the tangents.
func linearJVP(n *Node, in, out, t []*Array) []*Array {
	return apply(n.Op, n.Attrs, orZerosLike(t, in))
}
