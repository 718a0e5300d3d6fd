package graph

import "slices"

// A short loop in each step of another one, such as the substeps of a spiking network in a step of its environment,
// costs an accelerator the launches of its kernels in each turn, a counter and copies of its state. Here its steps are
// written one after the other, without a loop. A product of all steps with the same matrix is one product with a stack
// of their vectors, if no vector depends on the product: so layers that feed each other run one after the other, each
// for all steps.

const (
	// mostUnrolledSteps is the most steps of a loop that is written out.
	mostUnrolledSteps = 16
	// mostUnrolledOps is the most operations that all steps of such a loop have.
	mostUnrolledOps = 1 << 10
)

// lowerUnrolled writes short scans in the step of a loop without a loop.
func lowerUnrolled(g *Graph, t Target) *Graph {
	return newLowering(g, t, func(o *Op) lowerRule {
		if o.Name == "scan" {
			return unrolledScan
		}
		return nil
	}).graph(g)
}

// unrolledScan is the scan without a loop; nil: it is long, or in no loop.
func unrolledScan(l *lowering, n *Node, in []*Array) []*Array {
	a, body := n.Attrs.(scanAttrs), n.Bodies[0]
	if l.loop == nil || a.length < 2 || a.length > mostUnrolledSteps || a.length*len(body.Nodes) > mostUnrolledOps ||
		body.any(func(n *Node) bool { return n.Op.Loop != nil }) {
		return nil
	}
	s := &unrolling{scan: a, body: body, args: splitScanParts(a, in), pos: &l.trace.pos, params: map[*Array]int{},
		values: map[valueKey]*Array{}, same: map[*Array]bool{}}
	for i, p := range body.Params {
		s.params[p] = i
	}
	var outs []*Array
	for i := range a.carry {
		outs = append(outs, s.carry(i, a.length))
	}
	for _, y := range body.Results[a.carry:] {
		steps := make([]*Array, a.length)
		for k := range steps {
			steps[k] = s.value(y, k)
		}
		if a.reverse {
			slices.Reverse(steps)
		}
		outs = append(outs, Stack(steps, 0))
	}
	return append([]*Array{}, outs...) // not nil, for a scan that only prints
}

// unrolling writes the steps of a scan, each array when it is asked for.
type unrolling struct {
	scan   scanAttrs
	body   *Graph
	args   scanParts[*Array]
	pos    *position
	params map[*Array]int // the body's parameters by number
	values map[valueKey]*Array
	same   map[*Array]bool // arrays of the body that are the same in all steps, as far as is known
}

// valueKey is an array of the body in a step.
type valueKey struct {
	of   *Array
	step int
}

// carry is carry i before a step.
func (s *unrolling) carry(i, step int) *Array {
	if step == 0 {
		return s.args.carry[i]
	}
	return s.value(s.body.Results[i], step-1)
}

// value is an array of the body in a step.
func (s *unrolling) value(x *Array, step int) *Array {
	if i, ok := s.params[x]; ok {
		consts, carry := s.scan.consts, s.scan.carry
		switch {
		case i < consts:
			return s.args.consts[i]
		case i < consts+carry:
			return s.carry(i-consts, step)
		}
		at := step
		if s.scan.reverse {
			at = s.scan.length - 1 - step
		}
		return s.args.xs[i-consts-carry].Index(at)
	}
	if s.steady(x) {
		step = 0
	}
	if v := s.values[valueKey{x, step}]; v != nil {
		return v
	}
	n := x.node
	if s.joined(n) {
		return s.values[valueKey{x, step}]
	}
	in := make([]*Array, len(n.Inputs))
	for i, a := range n.Inputs {
		in[i] = s.value(a, step)
	}
	*s.pos = n.pos
	for i, o := range apply(n.Op, n.Attrs, in, n.Bodies...) {
		s.values[valueKey{n.Outs[i], step}] = o
	}
	return s.values[valueKey{x, step}]
}

// steady reports whether an array is the same in all steps, because it depends on constants alone.
func (s *unrolling) steady(x *Array) bool {
	if i, ok := s.params[x]; ok {
		return i < s.scan.consts
	}
	same, ok := s.same[x]
	if !ok {
		same = !slices.ContainsFunc(x.node.Inputs, func(a *Array) bool { return !s.steady(a) })
		s.same[x] = same
	}
	return same
}

// joined writes a product of all steps at once, if one operand is the same in all of them and the other does not depend
// on the product.
func (s *unrolling) joined(n *Node) bool {
	a, ok := n.Attrs.(dotAttrs)
	if !ok || s.steady(n.Inputs[0]) == s.steady(n.Inputs[1]) {
		return false
	}
	matrix := 0
	if s.steady(n.Inputs[1]) {
		matrix = 1
	}
	vector := n.Inputs[1-matrix]
	if s.depends(vector, n, map[*Array]bool{}) {
		return false
	}
	steps := make([]*Array, s.scan.length)
	for k := range steps {
		steps[k] = s.value(vector, k)
	}
	in := []*Array{s.value(n.Inputs[0], 0), s.value(n.Inputs[1], 0)}
	in[1-matrix] = Stack(steps, 0)
	later := func(axes []int) []int { // behind the axis of the steps
		out := slices.Clone(axes)
		for i := range out {
			out[i]++
		}
		return out
	}
	// The axis of the steps is the first of those that only the vector has.
	left, _ := a.free(n.Inputs[0].Rank(), n.Inputs[1].Rank())
	axis := len(a.leftBatch)
	if matrix == 0 {
		a.rightBatch, a.rightContract, axis = later(a.rightBatch), later(a.rightContract), axis+len(left)
	} else {
		a.leftBatch, a.leftContract = later(a.leftBatch), later(a.leftContract)
	}
	*s.pos = n.pos
	all := apply(n.Op, a, in)[0]
	for k := range steps {
		first := SliceAxis(all, axis, k, k+1)
		s.values[valueKey{n.Outs[0], k}] = Reshape(first, n.Outs[0].Dims()...)
	}
	return true
}

// depends reports whether an array of the body is made of a node's results, in this step or an earlier one.
func (s *unrolling) depends(x *Array, n *Node, seen map[*Array]bool) bool {
	if seen[x] {
		return false
	}
	seen[x] = true
	if i, ok := s.params[x]; ok {
		i -= s.scan.consts
		return i >= 0 && i < s.scan.carry && s.depends(s.body.Results[i], n, seen)
	}
	return x.node == n || slices.ContainsFunc(x.node.Inputs, func(a *Array) bool { return s.depends(a, n, seen) })
}
