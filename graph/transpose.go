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
	switch n.Op.Name {
	case "scan":
		return transposeScan(n, in, lin, cts)
	case "switch":
		return transposeSwitch(n, in, lin, cts)
	case "checkpoint":
		return transposeCheckpoint(n, in, lin, cts)
	case "custom_lin":
		return transposeCustomLin(n, in, lin, cts)
	}
	if n.Op.Transpose == nil {
		if n.Op.NotLinear == "" || n.Op.Name == "while" {
			throwAt(n.Where(), n.Op.Name, "%s", n.Op.NotLinear)
		}
		throwAt(n.Where(), n.Op.Name, "internal: %s stands in a linear program: %s", n.Op.Name, n.Op.NotLinear)
	}
	return n.Op.Transpose(n, in, lin, cts)
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

// transposeScan runs the transposed body from the last step to the first: cotangents of the carry flow back, those of
// scanned inputs come out step by step, those of linear constants add up.
func transposeScan(n *Node, in []*Array, lin []bool, cts []*Array) []*Array {
	a := n.Attrs.(scanAttrs)
	nc, nk := a.consts, a.carry
	body := n.Bodies[0]
	lc, lx := lin[:nc], lin[nc+nk:]
	constIn := choose(in[:nc], not(lc))
	xsIn := choose(in[nc+nk:], not(lx))
	ctCarry := make([]*Array, nk)
	for i := range nk {
		ctCarry[i] = orZeros(cts[i], n.Outs[i].shape)
	}
	var ctConst []*Array
	for i, f := range lc {
		if f {
			ctConst = append(ctConst, Zeros(n.Inputs[i].shape))
		}
	}
	hasCt := notNil(cts[nk:])
	ctYs := choose(cts[nk:], hasCt)
	rev := scanAttrs{consts: len(constIn), carry: nk + len(ctConst), length: a.length, reverse: !a.reverse, unroll: a.unroll}
	step := func(arrays []*Array) []Shape {
		var out []Shape
		for _, x := range arrays {
			out = append(out, x.shape.remove(0))
		}
		return out
	}
	shapes := slices.Concat(shapesOf(constIn), shapesOf(ctCarry), shapesOf(ctConst), step(xsIn), step(ctYs))
	sums := &loopSum{given: map[*Array]*Array{}, whole: map[*Array]*Array{}}
	after := make([]func() *Array, len(ctConst)) // for constants whose cotangents are summed behind the loop
	g, captured := buildGraph(shapes, nil, func(p []*Array) []*Array {
		c, rest := p[:len(constIn)], p[len(constIn):]
		dk, rest := rest[:nk], rest[nk:]
		dc, rest := rest[:len(ctConst)], rest[len(ctConst):]
		x, dy := rest[:len(xsIn)], rest[len(xsIn):]
		sums.scope = currentTrace().cur
		for i, outer := range slices.Concat(xsIn, ctYs) {
			sums.given[rest[i]] = outer
			sums.limit += rest[i].shape.Bytes()
		}
		values := slices.Concat(spread(c, not(lc)), make([]*Array, nk), spread(x, not(lx)))
		d := transposeGraph(body, values, slices.Concat(dk, spread(dy, hasCt)))
		var outs []*Array
		for i := range nk {
			outs = append(outs, orZeros(d[nc+i], body.Params[nc+i].shape))
		}
		for i, q := range choose(d[:nc], lc) {
			if q != nil {
				after[i] = sums.plan(q)
			}
			if after[i] != nil {
				q = nil
			}
			outs = append(outs, addTangents(dc[i], q))
		}
		for i, f := range lx {
			if f {
				outs = append(outs, orZeros(d[nc+nk+i], body.Params[nc+nk+i].shape))
			}
		}
		return append(outs, sums.stack...)
	})
	if len(captured) > 0 {
		throw("scan", "internal: the transpose of a loop body captured %d values", len(captured))
	}
	outs := apply(op("scan"), rev, slices.Concat(constIn, ctCarry, ctConst, xsIn, ctYs), g)
	stacks := outs[len(outs)-len(sums.stack):]
	for i, x := range sums.stack {
		sums.whole[x] = stacks[i]
	}
	dConst := outs[nk:rev.carry:rev.carry]
	for i, f := range after {
		if f != nil {
			dConst[i] = f()
		}
	}
	return slices.Concat(spread(dConst, lc), outs[:nk], spread(outs[rev.carry:len(outs)-len(stacks)], lx))
}

func orZeros(a *Array, s Shape) *Array {
	if a == nil {
		return Zeros(s)
	}
	return a
}

// transposeSwitch switches over the transposed branches.
func transposeSwitch(n *Node, in []*Array, lin []bool, cts []*Array) []*Array {
	lo := lin[1:]
	known := choose(in[1:], not(lo))
	hasCt := notNil(cts)
	ct := choose(cts, hasCt)
	bodies := make([]*Graph, len(n.Bodies))
	for b, body := range n.Bodies {
		bodies[b], _ = buildGraph(slices.Concat(shapesOf(known), shapesOf(ct)), nil, func(p []*Array) []*Array {
			d := transposeGraph(body, spread(p[:len(known)], not(lo)), spread(p[len(known):], hasCt))
			var outs []*Array
			for i, f := range lo {
				if f {
					outs = append(outs, orZeros(d[i], body.Params[i].shape))
				}
			}
			return outs
		})
	}
	outs := apply(op("switch"), nil, slices.Concat(in[:1], known, ct), bodies...)
	return append([]*Array{nil}, spread(outs, lo)...)
}
