package graph

import "slices"

// The rules of Scan for derivatives and dead results.

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

func unknownScan(n *Node, unknown []bool) []bool {
	a := n.Attrs.(scanAttrs)
	out, _ := unknownLoop(n.Bodies[0], unknown, a.consts, a.carry)
	return out
}

// splitScan runs the part of a scan that is known and leaves a scan over the rest. What the two take and give of the
// scan's body (known values k, unknown ones u, in a derivative the tangents):
//
//	              constants   carry   slices of inputs         carry   slices of outputs
//	the scan      k  u        k  u    k  u                 ->  k  u    k  u
//	known part    k           k       k                    ->  k       k  residuals
//	rest          k' u           u    k' residuals  u      ->     u       u
//
// k' are those that the rest reads. Residuals are the values of the known part that it reads too: they are stacked along
// time, unless they are the same at every step, are scanned inputs already, or are cheap to make again (see residuals).
func splitScan(l *linear, n *Node, in []*Array, unknown []bool) {
	a := n.Attrs.(scanAttrs)
	outUnknown, carryUnknown := unknownLoop(n.Bodies[0], unknown, a.consts, a.carry)
	unknown = slices.Clone(unknown)
	copy(unknown[a.consts:], carryUnknown)
	s := &scanSplit{l: l, node: n, attrs: a, body: n.Bodies[0], in: in, inputs: l.inputs(n, in), unknown: unknown, outUnknown: outUnknown}
	s.hoist()
	s.runKnown()
	s.leaveRest()
}

// scanSplit is a scan on its way through splitScan.
type scanSplit struct {
	l          *linear
	node       *Node
	attrs      scanAttrs
	body       *Graph
	in, inputs []*Array // the scan's inputs: their values, nil where unknown; and what the rest takes for them
	unknown    []bool   // of the inputs, once the carry has gone round
	outUnknown []bool   // of the results

	rest    *linear  // the body's part that is unknown
	needed  []*Array // known values of the body that it reads
	again   []*Node  // the nodes that make some of them once more
	stacked []*Array // the residuals: those of the others that the known scan stacks
	stacks  []*Array // what it stacked
}

// hoist computes in front of the loop what depends on known constants only. It becomes further constants.
func (s *scanSplit) hoist() {
	at := s.attrs.consts
	body, moved := hoist(s.body, s.in[:at], s.unknown)
	for _, v := range moved {
		s.l.residual(v)
	}
	s.body = body
	s.in, s.inputs = slices.Insert(s.in, at, moved...), slices.Insert(s.inputs, at, moved...)
	s.unknown = slices.Insert(s.unknown, at, make([]bool, len(moved))...)
	s.attrs.consts += len(moved)
}

// carried tells whether the body's parameter i is part of the carry.
func (s *scanSplit) carried(i int) bool {
	return i >= s.attrs.consts && i < s.attrs.consts+s.attrs.carry
}

// runKnown runs the known part, in the scope that linearizes.
func (s *scanSplit) runKnown() {
	known := not(s.unknown)
	everyStep := map[*Array]bool{} // values that the rest has at each step without a stack
	for i, p := range s.body.Params {
		everyStep[p] = !s.carried(i)
	}
	output := map[*Array]int{} // body value -> the known part's result that stacks it
	g, captured := buildGraph(choose(shapesOf(s.body.Params), known), nil, func(p []*Array) []*Array {
		s.rest = linearizeGraph(s.body, spread(p, known))
		var outs []*Array
		for i, r := range s.body.Results {
			if s.outUnknown[i] {
				continue
			}
			if i >= s.attrs.carry {
				output[r] = len(outs)
			}
			outs = append(outs, s.rest.known[r])
		}
		s.needed = s.rest.needed(choose(s.body.Results, s.outUnknown))
		s.stacked, s.again = residuals(s.body, s.needed, func(v *Array) bool { return everyStep[v] })
		for _, v := range s.stacked {
			if _, ok := output[v]; !ok {
				output[v] = len(outs)
				outs = append(outs, s.rest.known[v])
			}
		}
		return outs
	})
	if len(captured) > 0 {
		throw("scan", "internal: the known part of a loop captured %d values", len(captured))
	}
	a := s.attrs
	a.consts, a.carry = count(known[:s.attrs.consts]), count(known[s.attrs.consts:s.attrs.consts+s.attrs.carry])
	outs := apply(s.node.Op, a, choose(s.in, known), g)
	s.l.found(s.node, s.outUnknown, outs)
	for _, v := range s.stacked {
		s.stacks = append(s.stacks, s.l.residual(outs[output[v]]))
	}
}

// leaveRest leaves a scan over the rest of the body.
func (s *scanSplit) leaveRest() {
	read := map[*Array]bool{}
	for _, v := range s.needed {
		read[v] = true
	}
	for _, n := range s.again {
		for _, v := range n.Inputs {
			read[v] = true
		}
	}
	var consts, carry, slicesOf group
	for i, p := range s.body.Params {
		switch {
		case !s.unknown[i] && !read[p]:
		case i < s.attrs.consts:
			consts.add(p, s.inputs[i])
		case !s.carried(i):
			slicesOf.add(p, s.inputs[i])
		case s.unknown[i]:
			carry.add(p, s.inputs[i])
		}
	}
	for i, v := range s.stacked {
		slicesOf.add(v, s.stacks[i])
	}
	values := slices.Concat(consts.values, carry.values, slicesOf.values)
	g, _ := buildGraph(shapesOf(values), nil, func(p []*Array) []*Array {
		known := map[*Array]*Array{}
		for i, v := range values {
			known[v] = p[i]
		}
		replay(s.again, known)
		params := make([]*Array, len(s.rest.params))
		for i, q := range s.rest.params {
			params[i] = known[q]
		}
		return s.rest.eval(params, known, choose(s.body.Results, s.outUnknown))
	})
	a := s.attrs
	a.consts, a.carry = len(consts.inputs), len(carry.inputs)
	s.l.nodes = append(s.l.nodes, &Node{Op: s.node.Op, Attrs: a, Inputs: slices.Concat(consts.inputs, carry.inputs, slicesOf.inputs),
		Outs: choose(s.node.Outs, s.outUnknown), Bodies: []*Graph{g}, pos: s.node.pos})
}

// group is one kind of a scan's inputs: values of its body, and what the scan takes for them.
type group struct{ values, inputs []*Array }

func (g *group) add(value, input *Array) {
	g.values, g.inputs = append(g.values, value), append(g.inputs, input)
}

// hoist moves the nodes of a scan's body that depend on known constants only in front of the loop. The new body takes
// the moved values that it needs as further constants, behind the others.
func hoist(body *Graph, consts []*Array, unknown []bool) (*Graph, []*Array) {
	invariant := map[*Array]*Array{}
	for i, v := range consts {
		if !unknown[i] {
			invariant[body.Params[i]] = v
		}
	}
	var rest, moved []*Node
	for _, n := range body.Nodes {
		ok := !n.Op.effect && len(n.Bodies) == 0 && !isAxisOp(n)
		args := make([]*Array, len(n.Inputs))
		for i, x := range n.Inputs {
			args[i] = invariant[x]
			ok = ok && args[i] != nil
		}
		if !ok {
			rest = append(rest, n)
			continue
		}
		for i, o := range apply(n.Op, n.Attrs, args) {
			invariant[n.Outs[i]] = o
		}
		moved = append(moved, n)
	}
	needed := map[*Array]bool{}
	for _, n := range rest {
		for _, x := range n.Inputs {
			needed[x] = true
		}
	}
	for _, r := range body.Results {
		needed[r] = true
	}
	// What only repeats something smaller is made in the loop all the same: it melts into what uses it.
	var repeated []*Node
	for i := len(moved) - 1; i >= 0; i-- {
		n := moved[i]
		if name := n.Op.Name; !needed[n.Outs[0]] || name != "broadcast_in_dim" && name != "constant" && name != "iota" {
			continue
		}
		needed[n.Outs[0]] = false
		for _, x := range n.Inputs {
			needed[x] = true
		}
		repeated = append(repeated, n)
	}
	slices.Reverse(repeated)
	rest = append(repeated, rest...)
	var params, values []*Array
	for _, n := range moved {
		for _, o := range n.Outs {
			if needed[o] {
				params, values = append(params, o), append(values, invariant[o])
			}
		}
	}
	k := len(consts)
	return &Graph{Params: slices.Concat(body.Params[:k], params, body.Params[k:]), Nodes: rest, Results: body.Results}, values
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

func pruneScan(n *Node, live []bool) *Node {
	a := n.Attrs.(scanAttrs)
	live = slices.Clone(live)
	body, used := growCarry(n.Bodies[0], live, a.consts, a.carry)
	keep := slices.Concat(used[:a.consts], live[:a.carry], used[a.consts+a.carry:])
	body = &Graph{Params: choose(body.Params, keep), Nodes: body.Nodes, Results: body.Results}
	b := a
	b.consts, b.carry = count(keep[:a.consts]), count(live[:a.carry])
	return &Node{Op: n.Op, Attrs: b, Inputs: choose(n.Inputs, keep), Outs: choose(n.Outs, live), Bodies: []*Graph{body}, pos: n.pos}
}
