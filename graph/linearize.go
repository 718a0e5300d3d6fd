package graph

import "slices"

// linear is what remains of a graph when the values that do not depend on its unknown parameters have been computed:
// nodes over unknown values, which are linear in the unknown parameters if the graph is a derivative.
type linear struct {
	params  []*Array          // the unknown parameters
	nodes   []*Node           // in order
	results []*Array          // all results of the graph, known ones too
	known   map[*Array]*Array // graph value -> its value in the scope that linearized it (a residual)
}

// unknownOuts tells which results of a node depend on unknown inputs.
func unknownOuts(n *Node, unknown []bool) []bool {
	if !slices.Contains(unknown, true) {
		return make([]bool, len(n.Outs))
	}
	switch n.Op.Name {
	case "scan":
		a := n.Attrs.(scanAttrs)
		out, _ := unknownScan(n.Bodies[0], unknown, a.consts, a.carry)
		return out
	case "while":
		a := n.Attrs.(whileAttrs)
		nc := a.condConsts + a.bodyConsts
		out, carry := unknownScan(n.Bodies[1], unknown[a.condConsts:], a.bodyConsts, len(n.Outs))
		if unknownResults(n.Bodies[0], append(slices.Clone(unknown[:a.condConsts]), carry...))[0] {
			return slices.Repeat([]bool{true}, len(unknown)-nc)
		}
		return out
	case "switch":
		out := slices.Repeat([]bool{unknown[0]}, len(n.Outs))
		for _, g := range n.Bodies {
			for i, u := range unknownResults(g, unknown[1:]) {
				out[i] = out[i] || u
			}
		}
		return out
	}
	return slices.Repeat([]bool{true}, len(n.Outs))
}

// unknownScan finds which results of a loop body depend on unknown inputs once the carry has gone round until nothing
// changes, and which parts of the carry those make unknown.
func unknownScan(body *Graph, unknown []bool, consts, carry int) (out, carryUnknown []bool) {
	unknown = slices.Clone(unknown)
	for {
		out = unknownResults(body, unknown)
		grown := false
		for i := range carry {
			if out[i] && !unknown[consts+i] {
				unknown[consts+i], grown = true, true
			}
			out[i] = out[i] || unknown[consts+i]
		}
		if !grown {
			return out, unknown[consts : consts+carry]
		}
	}
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
	defer positions()()
	t := currentTrace()
	for _, n := range g.Nodes {
		in := make([]*Array, len(n.Inputs))
		unknown := make([]bool, len(n.Inputs))
		for i, a := range n.Inputs {
			in[i] = l.known[a]
			unknown[i] = in[i] == nil
		}
		if t != nil {
			t.pos = n.pos
		}
		if !slices.Contains(unknown, true) {
			for i, o := range apply(n.Op, n.Attrs, in, n.Bodies...) {
				l.known[n.Outs[i]] = o
			}
			continue
		}
		switch n.Op.Name {
		case "scan":
			l.splitScan(n, in, unknown)
		case "switch":
			l.splitSwitch(n, in, unknown)
		case "while":
			l.splitWhile(n, in, unknown)
		default:
			l.nodes = append(l.nodes, n)
		}
	}
	return l
}

// residual makes a value of the linearizing scope usable as an input of l's nodes.
func (l *linear) residual(v *Array) *Array {
	l.known[v] = v
	return v
}

// needed lists the known values that the unknown nodes and the given results take, each once, in order.
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

// inputs are what a node that is being split takes: residuals for known inputs, the graph's own values for the others.
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
	env := make(map[*Array]*Array, len(l.nodes))
	for i, p := range l.params {
		env[p] = params[i]
	}
	get := func(a *Array) *Array {
		if v := env[a]; v != nil {
			return v
		}
		return known[a]
	}
	defer positions()()
	t := currentTrace()
	for _, n := range l.nodes {
		in := make([]*Array, len(n.Inputs))
		for i, a := range n.Inputs {
			in[i] = get(a)
		}
		if t != nil {
			t.pos = n.pos
		}
		for i, o := range apply(n.Op, n.Attrs, in, n.Bodies...) {
			env[n.Outs[i]] = o
		}
	}
	out := make([]*Array, len(results))
	for i, r := range results {
		out[i] = get(r)
	}
	return out
}

// splitScan runs the part of a scan that is known and leaves a scan over the rest. Values that the rest needs from a
// step of the known part are stacked along time, unless they are the same at every step, are scanned inputs already, or
// are cheap to make again (see residuals).
func (l *linear) splitScan(n *Node, in []*Array, unknown []bool) {
	a := n.Attrs.(scanAttrs)
	body := n.Bodies[0]
	outUnknown, carryUnknown := unknownScan(body, unknown, a.consts, a.carry)
	unknown = slices.Clone(unknown)
	copy(unknown[a.consts:], carryUnknown)

	// What depends on known constants only is computed once, in front of the loop.
	inputs := l.inputs(n, in)
	var moved []*Array
	body, moved = hoist(body, in[:a.consts], unknown)
	for _, v := range moved {
		l.residual(v)
	}
	in, inputs = slices.Insert(in, a.consts, moved...), slices.Insert(inputs, a.consts, moved...)
	unknown = slices.Insert(unknown, a.consts, make([]bool, len(moved))...)
	a.consts += len(moved)
	nc, nk := a.consts, a.carry

	// The known scan; inner is the body's linear part, in terms of the body's values.
	var inner *linear
	var needed []*Array  // body values that the linear part takes
	var stacked []*Array // those of them that the known scan stacks
	var again []*Node    // nodes that make the others of them once more
	ys := map[*Array]int{}
	kind := map[*Array]int{}
	for i, p := range body.Params {
		kind[p] = i
	}
	knownParams := choose(shapesOf(body.Params), not(unknown))
	kg, captured := buildGraph(knownParams, nil, func(p []*Array) []*Array {
		inner = linearizeGraph(body, spread(p, not(unknown)))
		var outs []*Array
		for i, r := range body.Results {
			if !outUnknown[i] {
				if i >= nk {
					ys[r] = len(outs)
				}
				outs = append(outs, inner.known[r])
			}
		}
		needed = inner.needed(choose(body.Results, outUnknown))
		stacked, again = residuals(body, needed, func(v *Array) bool {
			i, isParam := kind[v]
			return isParam && (i < nc || i >= nc+nk)
		})
		for _, v := range stacked {
			if _, isOutput := ys[v]; !isOutput {
				ys[v] = len(outs)
				outs = append(outs, inner.known[v])
			}
		}
		return outs
	})
	if len(captured) > 0 {
		throw("scan", "internal: the known part of a loop captured %d values", len(captured))
	}
	kc, kk := count(not(unknown[:nc])), count(not(unknown[nc:nc+nk]))
	ka := a
	ka.consts, ka.carry = kc, kk
	knownOuts := apply(op("scan"), ka, choose(in, not(unknown)), kg)
	k := 0
	for i := range body.Results {
		if !outUnknown[i] {
			l.known[n.Outs[i]] = knownOuts[k]
			k++
		}
	}

	// The scan that is left: residual constants, unknown constants | unknown carry | residual inputs, stacked
	// residuals, unknown inputs.
	var constIn, carryIn, xsIn, constVals, carryVals, xsVals []*Array
	taken := map[*Array]bool{}
	for _, v := range needed {
		taken[v] = true
	}
	for _, n := range again {
		for _, v := range n.Inputs {
			taken[v] = true
		}
	}
	for i, p := range body.Params {
		if !unknown[i] && !taken[p] {
			continue
		}
		v := inputs[i]
		switch {
		case i < nc:
			constIn, constVals = append(constIn, v), append(constVals, p)
		case i < nc+nk:
			if unknown[i] {
				carryIn, carryVals = append(carryIn, v), append(carryVals, p)
			}
		default:
			xsIn, xsVals = append(xsIn, v), append(xsVals, p)
		}
	}
	for _, v := range stacked {
		xsIn, xsVals = append(xsIn, l.residual(knownOuts[ys[v]])), append(xsVals, v)
	}
	steps := shapesOf(slices.Concat(constVals, carryVals, xsVals))
	vals := slices.Concat(constVals, carryVals, xsVals)
	lg, _ := buildGraph(steps, nil, func(p []*Array) []*Array {
		known := map[*Array]*Array{}
		for i, v := range vals {
			known[v] = p[i]
		}
		replay(again, known)
		unknownParams := make([]*Array, len(inner.params))
		for i, q := range inner.params {
			unknownParams[i] = known[q]
		}
		return inner.eval(unknownParams, known, choose(body.Results, outUnknown))
	})
	la := a
	la.consts, la.carry = len(constIn), len(carryIn)
	l.nodes = append(l.nodes, &Node{Op: op("scan"), Attrs: la, Inputs: slices.Concat(constIn, carryIn, xsIn),
		Outs: choose(n.Outs, outUnknown), Bodies: []*Graph{lg}, pos: n.pos})
}

// replay applies nodes in the current scope to values and adds their results to them.
func replay(nodes []*Node, values map[*Array]*Array) {
	defer positions()()
	t := currentTrace()
	for _, n := range nodes {
		in := make([]*Array, len(n.Inputs))
		for i, a := range n.Inputs {
			in[i] = values[a]
		}
		if t != nil {
			t.pos = n.pos
		}
		for i, o := range apply(n.Op, n.Attrs, in) {
			values[n.Outs[i]] = o
		}
	}
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

// isAxisOp tells whether a node depends on a lane or device axis, and so must stay where it is.
func isAxisOp(n *Node) bool {
	_, ok := n.Attrs.(interface{ axisName() string })
	return ok
}

// splitSwitch runs the known part of each branch and leaves a switch over the rest. The branches share slots for the
// values that their rests need.
func (l *linear) splitSwitch(n *Node, in []*Array, unknown []bool) {
	if unknown[0] {
		throw("switch", "internal: the index of a switch depends on a tangent")
	}
	outUnknown := unknownOuts(n, unknown)
	u := unknown[1:]
	inner := make([]*linear, len(n.Bodies))
	residuals := make([][]*Array, len(n.Bodies)) // per branch: values other than parameters
	slot := make([][]int, len(n.Bodies))
	known := make([]*Graph, len(n.Bodies))
	var slots []Shape
	knownShapes := choose(shapesOf(n.Bodies[0].Params), not(u))
	// First find the residuals of each branch, then build all branches with every slot filled.
	for pass := range 2 {
		for b, g := range n.Bodies {
			known[b], _ = buildGraph(knownShapes, nil, func(p []*Array) []*Array {
				x := linearizeGraph(g, spread(p, not(u)))
				var outs []*Array
				for i, r := range g.Results {
					if !outUnknown[i] {
						outs = append(outs, x.known[r])
					}
				}
				isParam := map[*Array]bool{}
				for _, q := range g.Params {
					isParam[q] = true
				}
				var res []*Array
				for _, v := range x.needed(choose(g.Results, outUnknown)) {
					if !isParam[v] {
						res = append(res, v)
					}
				}
				inner[b], residuals[b] = x, res
				if pass == 0 {
					slot[b], slots = fitSlots(res, slots)
					return outs
				}
				filled := make([]*Array, len(slots))
				for i, v := range res {
					filled[slot[b][i]] = x.known[v]
				}
				for i, s := range slots {
					if filled[i] == nil {
						filled[i] = Zeros(s)
					}
				}
				return append(outs, filled...)
			})
		}
	}
	knownIn := append([]*Array{in[0]}, choose(in[1:], not(u))...)
	outs := apply(op("switch"), nil, knownIn, known...)
	k := 0
	for i := range n.Outs {
		if !outUnknown[i] {
			l.known[n.Outs[i]] = outs[k]
			k++
		}
	}
	inputs := l.inputs(n, in)
	for _, s := range outs[k:] {
		inputs = append(inputs, l.residual(s))
	}
	bodies := make([]*Graph, len(n.Bodies))
	for b, g := range n.Bodies {
		bodies[b], _ = buildGraph(shapesOf(inputs[1:]), nil, func(p []*Array) []*Array {
			vals := map[*Array]*Array{}
			for i, q := range g.Params {
				vals[q] = p[i]
			}
			for i, v := range residuals[b] {
				vals[v] = p[len(g.Params)+slot[b][i]]
			}
			params := make([]*Array, len(inner[b].params))
			for i, q := range inner[b].params {
				params[i] = vals[q]
			}
			return inner[b].eval(params, vals, choose(g.Results, outUnknown))
		})
	}
	l.nodes = append(l.nodes, &Node{Op: op("switch"), Inputs: inputs, Outs: choose(n.Outs, outUnknown), Bodies: bodies, pos: n.pos})
}

// fitSlots gives each value a slot of its shape, no two the same one, and adds slots where they run out.
func fitSlots(values []*Array, slots []Shape) (slot []int, all []Shape) {
	taken := make([]bool, len(slots))
	for _, v := range values {
		k := 0
		for k < len(slots) && (taken[k] || !slots[k].Equal(v.shape)) {
			k++
		}
		if k == len(slots) {
			slots, taken = append(slots, v.shape), append(taken, false)
		}
		taken[k] = true
		slot = append(slot, k)
	}
	return slot, slots
}

// splitWhile runs the known part of a while loop. The rest runs the whole loop again, forward only.
func (l *linear) splitWhile(n *Node, in []*Array, unknown []bool) {
	a := n.Attrs.(whileAttrs)
	outUnknown := unknownOuts(n, unknown)
	nc := a.condConsts + a.bodyConsts
	u := slices.Concat(unknown[:nc], outUnknown)
	if !slices.Contains(outUnknown, false) {
		l.nodes = append(l.nodes, n)
		return
	}
	knownPart := func(g *Graph, unknown []bool, results []bool) *Graph {
		kg, _ := buildGraph(choose(shapesOf(g.Params), not(unknown)), nil, func(p []*Array) []*Array {
			x := linearizeGraph(g, spread(p, not(unknown)))
			var outs []*Array
			for i, r := range g.Results {
				if !results[i] {
					outs = append(outs, x.known[r])
				}
			}
			return outs
		})
		return kg
	}
	cond := knownPart(n.Bodies[0], slices.Concat(unknown[:a.condConsts], outUnknown), []bool{false})
	body := knownPart(n.Bodies[1], u[a.condConsts:], outUnknown)
	ka := whileAttrs{count(not(unknown[:a.condConsts])), count(not(unknown[a.condConsts:nc])), a.name}
	outs := apply(op("while"), ka, choose(in, not(u)), cond, body)
	k := 0
	for i := range n.Outs {
		if !outUnknown[i] {
			l.known[n.Outs[i]] = outs[k]
			k++
		}
	}
	whole := &Node{Op: n.Op, Attrs: n.Attrs, Inputs: l.inputs(n, in), Bodies: n.Bodies, pos: n.pos}
	whole.Outs = make([]*Array, len(n.Outs))
	for i, o := range n.Outs {
		whole.Outs[i] = &Array{shape: o.shape}
		if outUnknown[i] {
			whole.Outs[i] = o
		}
	}
	l.nodes = append(l.nodes, whole)
}
