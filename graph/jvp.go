package graph

import "slices"

// Forward mode: a graph is applied to values and their tangents (nil: zero). Control flow is differentiated body by
// body; every other op by its own rule.

// jvp applies g in the current scope to primals with tangents.
func jvp(g *Graph, primals, tangents []*Array) (outs, outTangents []*Array) {
	dot := make(map[*Array]*Array, len(g.Nodes))
	for i, p := range g.Params {
		if tangents[i] != nil && isFloat(p.DType()) {
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
			if ts[i] != nil && isFloat(o.DType()) {
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
	switch n.Op.Name {
	case "scan":
		return jvpScan(n, in, t)
	case "while":
		return jvpWhile(n, in, t)
	case "switch":
		return jvpSwitch(n, in, t)
	case "custom_jvp":
		return jvpCustomJvp(n, in, t)
	case "custom_vjp":
		return jvpCustomVjp(n, in, t)
	case "checkpoint":
		return jvpCheckpoint(n, in, t)
	}
	outs = apply(n.Op, n.Attrs, in, n.Bodies...)
	if !slices.ContainsFunc(outs, func(o *Array) bool { return isFloat(o.DType()) }) {
		return outs, make([]*Array, len(outs)) // a discrete result does not change with its inputs
	}
	if n.Op.JVP == nil {
		throwAt(n.Where(), n.Op.Name, "it has no derivative: %s; wrap its input in StopGradient if it should count as constant", n.Op.NotDifferentiable)
	}
	return outs, n.Op.JVP(n, in, outs, t)
}

// jvpGraph is g's derivative as a closed graph: parameters are g's, then a tangent for each that active marks; results
// are g's, then a tangent for each that force or the derivative itself makes active.
func jvpGraph(g *Graph, active, force []bool) (d *Graph, out []bool) {
	params := shapesOf(g.Params)
	for i, p := range g.Params {
		if active[i] {
			params = append(params, p.shape)
		}
	}
	out = make([]bool, len(g.Results))
	d, captured := buildGraph(params, nil, func(p []*Array) []*Array {
		outs, ts := jvp(g, p[:len(g.Params)], spread(p[len(g.Params):], active))
		for i, t := range ts {
			out[i] = t != nil || force != nil && force[i]
			if !out[i] {
				continue
			}
			if t == nil {
				t = ZerosLike(g.Results[i])
			}
			outs = append(outs, t)
		}
		return outs
	})
	if len(captured) > 0 {
		throw("Jvp", "internal: the derivative of a closed body captured %d values", len(captured))
	}
	return d, out
}

// spread puts values at the places that flags mark, nil elsewhere.
func spread(values []*Array, flags []bool) []*Array {
	out := make([]*Array, len(flags))
	k := 0
	for i, f := range flags {
		if f {
			out[i] = values[k]
			k++
		}
	}
	return out
}

// choose lists the entries that flags mark.
func choose[T any](values []T, flags []bool) []T {
	var out []T
	for i, f := range flags {
		if f {
			out = append(out, values[i])
		}
	}
	return out
}

func notNil(t []*Array) []bool {
	out := make([]bool, len(t))
	for i, x := range t {
		out[i] = x != nil
	}
	return out
}

func not(flags []bool) []bool {
	out := make([]bool, len(flags))
	for i, f := range flags {
		out[i] = !f
	}
	return out
}

// instantiate lists the tangents that flags mark, with zeros for nil.
func instantiate(t, like []*Array, flags []bool) []*Array {
	var out []*Array
	for i, f := range flags {
		switch {
		case !f:
		case t[i] == nil:
			out = append(out, ZerosLike(like[i]))
		default:
			out = append(out, t[i])
		}
	}
	return out
}

func jvpScan(n *Node, in, t []*Array) (outs, tangents []*Array) {
	a := n.Attrs.(scanAttrs)
	nc, nk := a.consts, a.carry
	active := notNil(t)
	body := n.Bodies[0]
	// Which parts of the carry get a tangent: grow the set until the body keeps it.
	var d *Graph
	var out []bool
	for {
		force := append(slices.Clone(active[nc:nc+nk]), make([]bool, len(n.Outs)-nk)...)
		d, out = jvpGraph(body, active, force)
		if slices.Equal(out[:nk], active[nc:nc+nk]) {
			break
		}
		copy(active[nc:nc+nk], out[:nk])
	}
	// d's parameters are (consts, carry, xs, their tangents); a scan wants each kind with its tangents beside it.
	consts, carry, xs := active[:nc], active[nc:nc+nk], active[nc+nk:]
	d = reorder(d, scanOrder(nc, nk, len(xs), count(consts), count(carry), count(xs)), scanOrder(0, nk, len(out)-nk, 0, count(out[:nk]), count(out[nk:])))
	args := slices.Concat(in[:nc], choose(t[:nc], consts), in[nc:nc+nk], instantiate(t[nc:nc+nk], in[nc:nc+nk], carry), in[nc+nk:], choose(t[nc+nk:], xs))
	b := a
	b.consts, b.carry = nc+count(consts), nk+count(carry)
	all := apply(n.Op, b, args, d)
	ys := all[b.carry:]
	ny := len(out) - nk
	outs = slices.Concat(all[:nk], ys[:ny])
	tangents = slices.Concat(spread(all[nk:b.carry], out[:nk]), spread(ys[ny:], out[nk:]))
	return outs, tangents
}

func count(flags []bool) int {
	n := 0
	for _, f := range flags {
		if f {
			n++
		}
	}
	return n
}

// scanOrder gives the permutation from (a, b, c, a', b', c') to (a, a', b, b', c, c').
func scanOrder(a, b, c, ta, tb, tc int) []int {
	n := a + b + c
	return slices.Concat(rangeInts(0, a), rangeInts(n, n+ta), rangeInts(a, a+b), rangeInts(n+ta, n+ta+tb), rangeInts(a+b, n), rangeInts(n+ta+tb, n+ta+tb+tc))
}

func reorder(g *Graph, params, results []int) *Graph {
	p := make([]*Array, len(params))
	for i, k := range params {
		p[i] = g.Params[k]
	}
	r := make([]*Array, len(results))
	for i, k := range results {
		r[i] = g.Results[k]
	}
	return &Graph{Params: p, Nodes: g.Nodes, Results: r}
}

func jvpWhile(n *Node, in, t []*Array) (outs, tangents []*Array) {
	a := n.Attrs.(whileAttrs)
	condConsts, bodyConsts, init := a.split(in)
	_, bodyT, initT := a.split(t)
	active := append(notNil(bodyT), notNil(initT)...)
	nb, nk := a.bodyConsts, len(init)
	var d *Graph
	for {
		var out []bool
		d, out = jvpGraph(n.Bodies[1], active, active[nb:])
		if slices.Equal(out, active[nb:]) {
			break
		}
		copy(active[nb:], out)
	}
	carry := active[nb:]
	d = reorder(d, scanOrder(nb, nk, 0, count(active[:nb]), count(carry), 0), rangeInts(0, nk+count(carry)))
	cond := n.Bodies[0]
	params := slices.Clone(cond.Params)
	for i, c := range carry {
		if c {
			params = append(params, &Array{shape: init[i].shape})
		}
	}
	cond = &Graph{Params: params, Nodes: cond.Nodes, Results: cond.Results}
	b := whileAttrs{a.condConsts, nb + count(active[:nb]), a.name}
	args := slices.Concat(condConsts, bodyConsts, choose(bodyT, active[:nb]), init, instantiate(initT, init, carry))
	all := apply(n.Op, b, args, cond, d)
	return all[:nk], spread(all[nk:], carry)
}

func jvpSwitch(n *Node, in, t []*Array) (outs, tangents []*Array) {
	active := notNil(t[1:])
	out := make([]bool, len(n.Outs))
	bodies := make([]*Graph, len(n.Bodies))
	for range 2 { // once to learn which results have a tangent in some branch, once to give them one in all
		for i, g := range n.Bodies {
			var o []bool
			bodies[i], o = jvpGraph(g, active, out)
			for j := range o {
				out[j] = out[j] || o[j]
			}
		}
	}
	all := apply(n.Op, nil, slices.Concat(in, choose(t[1:], active)), bodies...)
	return all[:len(out)], spread(all[len(out):], out)
}
