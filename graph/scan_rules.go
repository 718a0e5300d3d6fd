package graph

import "slices"

// The rules of Scan for VMap, derivatives and dead results.

func batchScan(b *batching, n *Node, in []*Array, dims []int) ([]*Array, []int) {
	a := n.Attrs.(scanAttrs)
	mapped := splitScanParts(a, batchedFlags(dims))
	// Which parts of the carry differ between lanes: grow the set until the body keeps it.
	var body *Graph
	var out scanResults[bool]
	for {
		force := scanResults[bool]{mapped.carry, make([]bool, len(n.Outs)-a.Carry)}
		var flags []bool
		body, flags = b.closed(n.Bodies[0], mapped.concat(), force.concat())
		out = splitScanResults(a, flags)
		if slices.Equal(out.carry, mapped.carry) {
			break
		}
		mapped.carry = out.carry
	}
	xs, xDims := splitScanParts(a, n.Inputs).xs, splitScanParts(a, dims).xs
	whole := scanParts[bool]{mapped.consts, mapped.carry, make([]bool, len(xs))}
	args := splitScanParts(a, b.prepare(n, in, dims, whole.concat()))
	for i, x := range xs { // axis 0 stays the time; the lanes' axis is placed among the others
		if mapped.xs[i] {
			args.xs[i] = b.moveTo(args.xs[i], xDims[i], 1+b.place(x.Rank()-1))
		}
	}
	outs := apply(n.Op, a, args.concat(), body)
	outDims := splitScanResults(a, b.laneDims(n.Outs, out.concat()))
	for i, y := range n.Outs[a.Carry:] {
		if out.ys[i] {
			outDims.ys[i] = 1 + b.place(y.Rank()-1)
		}
	}
	return outs, outDims.concat()
}

func jvpScan(n *Node, in, t []*Array) (outs, tangents []*Array) {
	a := n.Attrs.(scanAttrs)
	active := splitScanParts(a, notNil(t))
	// Which parts of the carry get a tangent: grow the set until the body keeps it.
	var body *Graph
	var out scanResults[bool]
	for {
		force := scanResults[bool]{active.carry, make([]bool, len(n.Outs)-a.Carry)}
		var flags []bool
		body, flags = jvpGraph(n.Bodies[0], active.concat(), force.concat())
		out = splitScanResults(a, flags)
		if slices.Equal(out.carry, active.carry) {
			break
		}
		active.carry = out.carry
	}
	// The body takes all parameters and then all tangents. A scan wants each part with its tangents after it, and so
	// for the results.
	tangentScan := scanAttrs{Consts: count(active.consts), Carry: count(active.carry)}
	params, paramTangents := cut(body.Params, len(in))
	results, resultTangents := cut(body.Results, len(n.Outs))
	body = &Graph{
		Params: map2ScanParts(splitScanParts(a, params), splitScanParts(tangentScan, paramTangents), concat2).concat(),
		Nodes:  body.Nodes,
		Results: map2ScanResults(splitScanResults(a, results), splitScanResults(tangentScan, resultTangents),
			concat2).concat(),
	}
	primals, dot := splitScanParts(a, in), splitScanParts(a, t)
	args := map2ScanParts(primals, scanParts[*Array]{
		consts: choose(dot.consts, active.consts),
		carry:  instantiate(dot.carry, primals.carry, active.carry),
		xs:     choose(dot.xs, active.xs),
	}, concat2)
	b := sizedScan(a, args)
	all := splitScanResults(b, apply(n.Op, b, args.concat(), body))
	carry, carryTangents := cut(all.carry, len(out.carry))
	ys, yTangents := cut(all.ys, len(out.ys))
	outs = scanResults[*Array]{carry, ys}.concat()
	return outs, map2ScanResults(scanResults[*Array]{carryTangents, yTangents}, out, spread).concat()
}

func unknownScan(n *Node, unknown []bool) []bool {
	a := n.Attrs.(scanAttrs)
	out, _ := unknownLoop(n.Bodies[0], unknown, a.Consts, a.Carry)
	return out
}

// splitScan runs the known part of a scan and leaves a scan over the rest. The table shows what the two take and return
// of the scan's body. k are known values, u unknown ones (in a derivative: the tangents).
//
//	              constants   carry   slices of inputs         carry   slices of outputs
//	the scan      k  u        k  u    k  u                 ->  k  u    k  u
//	known part    k           k       k                    ->  k       k  residuals
//	rest          k' u           u    k' residuals  u      ->     u       u
//
// k' are the known values that the rest reads. Residuals are the other values of the known part that it reads. They are
// stacked along time, unless they are the same at every step, are scanned inputs already, or are cheap to compute again
// (see residuals).
func splitScan(l *linear, n *Node, in []*Array, unknown []bool) {
	a := n.Attrs.(scanAttrs)
	outUnknown, carryUnknown := unknownLoop(n.Bodies[0], unknown, a.Consts, a.Carry)
	s := &scanSplit{l: l, node: n, attrs: a, body: n.Bodies[0], in: splitScanParts(a, in),
		inputs: splitScanParts(a, l.inputs(n, in)), unknown: splitScanParts(a, unknown),
		outUnknown: splitScanResults(a, outUnknown)}
	s.unknown.carry = carryUnknown
	s.hoist()
	s.runKnown()
	s.leaveRest()
}

// scanSplit is the state of splitScan.
type scanSplit struct {
	l          *linear
	node       *Node
	attrs      scanAttrs
	body       *Graph
	in         scanParts[*Array] // the values of the scan's inputs, nil where unknown
	inputs     scanParts[*Array] // what the rest takes for them
	unknown    scanParts[bool]   // of the inputs, once the carry has gone round
	outUnknown scanResults[bool]

	rest    *linear  // the unknown part of the body
	needed  []*Array // known values of the body that it reads
	again   []*Node  // the nodes that compute some of them once more
	stacked []*Array // the others, which the known scan stacks: the residuals
	stacks  []*Array // their stacks
}

// params returns the body's parameters.
func (s *scanSplit) params() scanParts[*Array] { return splitScanParts(s.attrs, s.body.Params) }

// unknownResults returns the body's results that are unknown.
func (s *scanSplit) unknownResults() []*Array { return choose(s.body.Results, s.outUnknown.concat()) }

// hoist computes before the loop what depends on known constants only. The values become further constants.
func (s *scanSplit) hoist() {
	body, moved := hoist(s.body, s.params(), s.in.consts)
	for _, v := range moved {
		s.l.residual(v)
	}
	s.body = body
	s.in.consts = slices.Concat(s.in.consts, moved)
	s.inputs.consts = slices.Concat(s.inputs.consts, moved)
	s.unknown.consts = slices.Concat(s.unknown.consts, make([]bool, len(moved)))
	s.attrs = sizedScan(s.attrs, s.in)
}

// runKnown runs the known part, in the scope that linearizes.
func (s *scanSplit) runKnown() {
	params, results := s.params(), splitScanResults(s.attrs, s.body.Results)
	known, outKnown := mapScanParts(s.unknown, not), mapScanResults(s.outUnknown, not)
	everyStep := map[*Array]bool{} // values that the rest has at each step without a stack
	for _, p := range slices.Concat(params.consts, params.xs) {
		everyStep[p] = true
	}
	output := map[*Array]int{} // body value -> the known part's result that stacks it
	body := closedGraph("scan", ShapesOf(choose(params.concat(), known.concat())), func(p []*Array) []*Array {
		s.rest = linearizeGraph(s.body, spread(p, known.concat()))
		var outs []*Array
		for _, r := range choose(results.carry, outKnown.carry) {
			outs = append(outs, s.rest.known[r])
		}
		for _, r := range choose(results.ys, outKnown.ys) {
			output[r] = len(outs)
			outs = append(outs, s.rest.known[r])
		}
		s.needed = s.rest.needed(s.unknownResults())
		s.stacked, s.again = residuals(s.body, s.needed, func(v *Array) bool { return everyStep[v] })
		for _, v := range s.stacked {
			if _, ok := output[v]; !ok {
				output[v] = len(outs)
				outs = append(outs, s.rest.known[v])
			}
		}
		return outs
	})
	args := map2ScanParts(s.in, known, choose)
	outs := apply(s.node.Op, sizedScan(s.attrs, args), args.concat(), body)
	s.l.recordKnown(s.node, s.outUnknown.concat(), outs)
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
	params, taken := s.params(), s.unknown // a known part of the carry is read from a stack
	taken.consts, taken.xs = slices.Clone(taken.consts), slices.Clone(taken.xs)
	for i, p := range params.consts {
		taken.consts[i] = taken.consts[i] || read[p]
	}
	for i, p := range params.xs {
		taken.xs[i] = taken.xs[i] || read[p]
	}
	values, inputs := map2ScanParts(params, taken, choose), map2ScanParts(s.inputs, taken, choose)
	values.xs, inputs.xs = append(values.xs, s.stacked...), append(inputs.xs, s.stacks...)
	body := closedGraph("scan", ShapesOf(values.concat()), func(p []*Array) []*Array {
		known := map[*Array]*Array{}
		for i, v := range values.concat() {
			known[v] = p[i]
		}
		replay(s.again, known, again)
		return s.rest.eval(lookUp(known, s.rest.params), known, s.unknownResults())
	})
	s.l.nodes = append(s.l.nodes, &Node{Op: s.node.Op, Attrs: sizedScan(s.attrs, inputs), Inputs: inputs.concat(),
		Outs: choose(s.node.Outs, s.outUnknown.concat()), Bodies: []*Graph{body}, pos: s.node.pos})
}

// hoist computes, in the current scope, the nodes of a scan's body that depend only on constants with a value (those
// without are nil). The new body takes the values that it needs as further constants, after the others.
func hoist(body *Graph, params scanParts[*Array], consts []*Array) (rest *Graph, moved []*Array) {
	invariant := map[*Array]*Array{}
	for i, v := range consts {
		if v != nil {
			invariant[params.consts[i]] = v
		}
	}
	var inside, outside []*Node
	for _, n := range body.Nodes {
		args := lookUp(invariant, n.Inputs)
		if n.Op.Effect || len(n.Bodies) > 0 || isAxisOp(n) || slices.Contains(args, nil) {
			inside = append(inside, n)
			continue
		}
		for i, o := range apply(n.Op, n.Attrs, args) {
			invariant[n.Outs[i]] = o
		}
		outside = append(outside, n)
	}
	needed := map[*Array]bool{}
	for _, n := range inside {
		for _, x := range n.Inputs {
			needed[x] = true
		}
	}
	for _, r := range body.Results {
		needed[r] = true
	}
	// A compiler fuses what only repeats a smaller value with what uses it, so that is computed in the loop again.
	var repeated []*Node
	for _, n := range slices.Backward(outside) {
		if !needed[n.Outs[0]] || !slices.Contains(repeatingOps, n.Op.Name) {
			continue
		}
		needed[n.Outs[0]] = false
		for _, x := range n.Inputs {
			needed[x] = true
		}
		repeated = append(repeated, n)
	}
	slices.Reverse(repeated)
	for _, n := range outside {
		for _, o := range n.Outs {
			if needed[o] {
				params.consts, moved = append(params.consts, o), append(moved, invariant[o])
			}
		}
	}
	return &Graph{Params: params.concat(), Nodes: append(repeated, inside...), Results: body.Results}, moved
}

// repeatingOps are the ops whose elements cost nothing to compute again.
var repeatingOps = []string{"broadcast_in_dim", "constant", "iota"}

// transposeScan runs the transposed body from the last step to the first. The cotangents of the carry flow back, those
// of linear scanned inputs come out step by step, and those of linear constants add up:
//
//	               constants   carry                  slices of inputs      carry                  slices of outputs
//	the scan       k  l        l                      k  l              ->  l                      l
//	the transpose  k           ct carry, ct l consts  k  ct outputs     ->  ct carry, ct l consts  ct l inputs
//
// k are known values, l linear ones, ct their cotangents.
func transposeScan(n *Node, in []*Array, lin []bool, cts []*Array) []*Array {
	a := n.Attrs.(scanAttrs)
	ct := splitScanResults(a, cts)
	t := &scanTransposition{attrs: a, body: n.Bodies[0], params: splitScanParts(a, n.Bodies[0].Params),
		linear: splitScanParts(a, lin), hasCt: notNil(ct.ys), sums: newLoopSum()}
	t.known = mapScanParts(t.linear, not)
	values := map2ScanParts(splitScanParts(a, in), t.known, choose)
	ctCarry := orZerosLike(ct.carry, n.Outs[:a.Carry])
	ctConsts := orZerosLike(make([]*Array, count(t.linear.consts)), choose(t.params.consts, t.linear.consts))
	t.args = scanParts[*Array]{
		consts: values.consts,
		carry:  slices.Concat(ctCarry, ctConsts),
		xs:     slices.Concat(values.xs, choose(ct.ys, t.hasCt)),
	}
	reverse := sizedScan(a, t.args)
	reverse.Reverse, reverse.Name = !a.Reverse, ""

	shapes := mapScanParts(t.args, ShapesOf)
	for i, x := range shapes.xs {
		shapes.xs[i] = x.remove(0)
	}
	body := closedGraph("scan", shapes.concat(), func(p []*Array) []*Array {
		return t.step(splitScanParts(reverse, p)).concat()
	})
	outs := splitScanResults(reverse, apply(n.Op, reverse, t.args.concat(), body))
	dCarry, dConsts := cut(outs.carry, a.Carry)
	dXs, stacks := cut(outs.ys, count(t.linear.xs))
	t.sums.finish(stacks, dConsts)
	return scanParts[*Array]{spread(dConsts, t.linear.consts), dCarry, spread(dXs, t.linear.xs)}.concat()
}

// scanTransposition is the state of transposeScan.
type scanTransposition struct {
	attrs         scanAttrs // of the scan that is transposed, as are the body and its parameters
	body          *Graph
	params        scanParts[*Array]
	linear, known scanParts[bool]
	hasCt         []bool            // the slices of outputs that have a cotangent
	args          scanParts[*Array] // what the transpose takes
	sums          *loopSum
}

// step is the body of the transpose: a step's cotangents of the results become those of the linear parameters.
func (t *scanTransposition) step(p scanParts[*Array]) (r scanResults[*Array]) {
	t.sums.start(p.xs, t.args.xs)
	ctCarry, sumConsts := cut(p.carry, t.attrs.Carry)
	xs, ctYs := cut(p.xs, count(t.known.xs))
	d := splitScanParts(t.attrs, transposeGraph(t.body, scanParts[*Array]{
		consts: spread(p.consts, t.known.consts),
		carry:  make([]*Array, t.attrs.Carry),
		xs:     spread(xs, t.known.xs),
	}.concat(), scanResults[*Array]{ctCarry, spread(ctYs, t.hasCt)}.concat()))
	r.carry = orZerosLike(d.carry, t.params.carry)
	for i, c := range choose(d.consts, t.linear.consts) {
		if t.sums.postpone(i, c) {
			c = nil
		}
		r.carry = append(r.carry, addTangents(sumConsts[i], c))
	}
	r.ys = append(instantiate(d.xs, t.params.xs, t.linear.xs), t.sums.stack...)
	return r
}

func pruneScan(p pruned, n *Node, live []bool) *Node {
	a := n.Attrs.(scanAttrs)
	live = slices.Clone(live)
	body, used := growCarry(p, n.Bodies[0], live, a.Consts, a.Carry)
	keep := splitScanParts(a, used)
	keep.carry = splitScanResults(a, live).carry
	params := map2ScanParts(splitScanParts(a, body.Params), keep, choose)
	inputs := map2ScanParts(splitScanParts(a, n.Inputs), keep, choose)
	body = &Graph{Params: params.concat(), Nodes: body.Nodes, Results: body.Results}
	return &Node{Op: n.Op, Attrs: sizedScan(a, inputs), Inputs: inputs.concat(), Outs: choose(n.Outs, live),
		Bodies: []*Graph{body}, pos: n.pos}
}
