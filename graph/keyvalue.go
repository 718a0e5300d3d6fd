package graph

import (
	"encoding/binary"
	"hash/fnv"
	"math/rand/v2"
	"slices"
)

// keyValue is the value of an array while keys are checked. What does not come from keys and whole numbers has no
// tensor: a digest stands for it, which is the same for equal values.
type keyValue struct {
	shape  Shape
	digest uint64
	exact  *Tensor
}

// Bounds of what is computed: elements of whole numbers, and of floats.
const (
	mostKeyElements = 1 << 16
	mostKeyFloats   = 1 << 8
)

func digestOf(parts ...uint64) uint64 {
	h := fnv.New64a()
	var b [8]byte
	for _, p := range parts {
		binary.LittleEndian.PutUint64(b[:], p)
		_, _ = h.Write(b[:])
	}
	return h.Sum64()
}

func exactKeyValue(t *Tensor) keyValue { return keyValue{t.Shape, digestOf(t.V...), t} }

// sample is the value; arbitrary numbers where there is only a digest.
func (v keyValue) sample() *Tensor {
	if v.exact != nil {
		return v.exact
	}
	r := rand.New(rand.NewPCG(v.digest, 0))
	t := newTensor(v.shape)
	for i := range t.V {
		switch d := v.shape.DType; {
		case d == Bool:
			t.SetB(i, r.IntN(2) == 1)
		case isFloat(d), isComplex(d):
			t.SetF(i, r.NormFloat64())
		default:
			t.SetI(i, int64(r.Uint64()))
		}
	}
	return t
}

// at is one slice of the value along an axis.
func (v keyValue) at(axis, i int) keyValue {
	s := v.shape.remove(axis)
	if v.exact == nil || v.shape.Size() == 0 {
		return keyValue{shape: s, digest: digestOf(v.digest, uint64(axis), uint64(i))}
	}
	inner := product(v.shape.Dims[axis+1:])
	t := newTensor(s)
	for k := range t.V {
		outer, in := k/inner, k%inner
		t.V[k] = v.exact.V[(outer*v.shape.Dims[axis]+i)*inner+in]
	}
	return exactKeyValue(t)
}

// keyFrame is one run of a body: the values of its arrays, computed when they are asked for.
type keyFrame struct {
	check  *keyCheck
	trial  int
	digest uint64    // says in which turns and runs it is; 0 outside of traced functions
	around *keyFrame // of the body around
	scope  *scope
	bound  map[*Array]func() keyValue // parameters
	values map[*Array]keyValue
}

func (f *keyFrame) bindAll(params []*Array, value func(i int) keyValue) {
	for i, p := range params {
		f.bound[p] = func() keyValue { return value(i) }
	}
}

// own are the parameters of a body that are not captured.
func (b *keyBody) own() []*Array { return b.graph.Params[len(b.captured):] }

// inside is the frame of a run of b, a body in that of f. The number tells runs in one frame apart.
func (f *keyFrame) inside(b *keyBody, run int) *keyFrame {
	in := &keyFrame{f.check, f.trial, digestOf(f.digest, uint64(run)), f, b.scope,
		map[*Array]func() keyValue{}, map[*Array]keyValue{}}
	in.bindAll(b.graph.Params[:len(b.captured)], func(i int) keyValue { return f.value(b.captured[i]) })
	return in
}

// calling is the frame of a body that is called.
func (f *keyFrame) calling(b *keyBody, run int) *keyFrame {
	in := f.inside(b, run)
	in.bindAll(b.own()[:len(b.args)], func(i int) keyValue { return f.value(b.args[i]) })
	return in
}

// lane is the frame of the first lane.
func (f *keyFrame) lane(b *keyBody) *keyFrame {
	in := f.inside(b, 0)
	in.bindAll(b.own(), func(i int) keyValue {
		v := f.value(b.args[i])
		if b.axes[i] >= 0 {
			v = v.at(b.axes[i], 0)
		}
		return v
	})
	return in
}

// turn is the frame of a turn of a loop. A reversed loop takes its slices in order, too: it is the same for keys.
func (f *keyFrame) turn(b *keyBody, turn int) *keyFrame {
	in := f.inside(b, turn)
	var before *keyFrame
	if turn > 0 {
		before = f.turn(b.next, turn-1)
	}
	in.bindAll(b.own(), func(i int) keyValue {
		switch {
		case i >= b.carry:
			return f.value(b.args[i]).at(0, turn)
		case before == nil:
			return f.value(b.args[i])
		}
		return before.value(b.next.graph.Results[i])
	})
	return in
}

// value computes an array. Ops come before numbers that are known: a clone has those of its original.
func (f *keyFrame) value(a *Array) keyValue {
	home := f
	for g := f; g != nil; g = g.around {
		if v, known := g.values[a]; known {
			return v
		}
		if bound := g.bound[a]; bound != nil {
			v := bound()
			g.values[a] = v
			return v
		}
		if (g.around == nil && a.scope == nil) || (a.scope != nil && g.scope == a.scope) {
			home = g
		}
	}
	if a.node == nil {
		home.values[a] = f.leaf(a)
	} else {
		result := home.results(a.node)
		for i, o := range a.node.Outs {
			if o.node == a.node {
				home.values[o] = result(i)
			}
		}
	}
	return home.values[a]
}

// leaf is the value of an array that no op makes; that of a parameter is arbitrary.
func (f *keyFrame) leaf(a *Array) keyValue {
	if a.Concrete() && a.Size() <= mostKeyElements {
		if t, err := ToTensor(a); err == nil {
			return exactKeyValue(t)
		}
	}
	return keyValue{shape: a.shape, digest: digestOf(numberOf(f.check, a), uint64(f.trial))}
}

// results computes a node.
func (f *keyFrame) results(n *Node) func(i int) keyValue {
	call := func(g *Graph, args []*Array) func(i int) keyValue {
		in := f.calling(&keyBody{graph: g, args: args}, 0)
		return func(i int) keyValue { return in.value(g.Results[i]) }
	}
	switch name := n.Op.Name; {
	case name == "stop_gradient" && n.Attrs.(stopAttrs).clone > 0:
		from := f.value(n.Inputs[0]).digest
		v := keyValue{n.Outs[0].shape, digestOf(from, uint64(n.Attrs.(stopAttrs).clone), f.digest), nil}
		return func(int) keyValue { return exactKeyValue(v.sample()) }
	case name == "optimization_barrier", name == "stop_gradient":
		return func(i int) keyValue { return f.value(n.Inputs[i]) }
	case name == "switch":
		branch := int(f.value(n.Inputs[0]).sample().I(0))
		return call(n.Bodies[min(max(branch, 0), len(n.Bodies)-1)], n.Inputs[1:])
	case name == "scan":
		a := n.Attrs.(scanAttrs)
		args := splitScanParts(a, n.Inputs)
		return f.loop(n, &keyBody{graph: n.Bodies[0], captured: args.consts, args: slices.Concat(args.carry, args.xs),
			carry: a.carry, turns: min(a.length, 2)})
	case name == "while":
		args := splitWhileParts(n.Attrs.(whileAttrs), n.Inputs)
		return f.loop(n, &keyBody{graph: n.Bodies[1], captured: args.body, args: args.carry, carry: len(args.carry),
			turns: 2})
	case n.Op.Run != nil && len(n.Bodies) > 0: // ops that are their first body
		return call(n.Bodies[0], n.Inputs)
	}
	in := make([]keyValue, len(n.Inputs))
	for i, a := range n.Inputs {
		in[i] = f.value(a)
	}
	if n.computedForKeys() {
		tensors := make([]*Tensor, len(in))
		for i, v := range in {
			tensors[i] = v.sample()
		}
		if n.readsInside(tensors) {
			outs := n.eval(tensors, new(interpreter))
			return func(i int) keyValue { return exactKeyValue(outs[i]) }
		}
	}
	parts := []uint64{numberOf(f.check, n), uint64(f.trial)}
	if !n.Op.distinct { // a copy of the node in another function gives the same
		h := fnv.New64a()
		_, _ = h.Write(appendAttrs([]byte(n.Op.Name), n.Attrs))
		parts[0] = h.Sum64()
		for _, b := range n.Bodies {
			parts = append(parts, numberOf(f.check, b))
		}
	}
	for _, v := range in {
		parts = append(parts, v.digest)
	}
	return func(i int) keyValue {
		return keyValue{shape: n.Outs[i].shape, digest: digestOf(append(slices.Clone(parts), uint64(i))...)}
	}
}

// loop takes the turns of a loop. Of what it stacks it gives the rows of these.
func (f *keyFrame) loop(n *Node, b *keyBody) func(i int) keyValue {
	b.next = b
	var turns []*keyFrame
	for turn := range b.turns {
		turns = append(turns, f.turn(b, turn))
	}
	return func(i int) keyValue {
		if i < b.carry {
			if len(turns) == 0 {
				return f.value(b.args[i])
			}
			return turns[len(turns)-1].value(b.graph.Results[i])
		}
		digests := []uint64{numberOf(f.check, n), uint64(i), uint64(f.trial)}
		rows := make([]*Tensor, len(turns))
		for k, t := range turns {
			row := t.value(b.graph.Results[i])
			digests, rows[k] = append(digests, row.digest), row.exact
		}
		v := keyValue{shape: n.Outs[i].shape, digest: digestOf(digests...)}
		if v.shape.Size() > mostKeyElements || slices.Contains(rows, nil) {
			return v
		}
		stacked := v.sample()
		for k, row := range rows {
			copy(stacked.V[k*len(row.V):], row.V)
		}
		return exactKeyValue(stacked)
	}
}

// computedForKeys reports whether the reference computes a node while keys are checked.
func (n *Node) computedForKeys() bool {
	if _, collective := n.Attrs.(interface{ axisName() string }); collective || n.Op.Eval == nil || n.Op.distinct {
		return false
	}
	size := 0
	for _, a := range slices.Concat(n.Inputs, n.Outs) {
		size += a.Size()
		if isComplex(a.DType()) || (isFloat(a.DType()) && a.Size() > mostKeyFloats) {
			return false
		}
	}
	return size <= mostKeyElements
}

// readsInside reports whether a node finds what it looks up. What lies outside, such as the row of a turn that does not
// take place, would be moved to the last row: a key that others have, too.
func (n *Node) readsInside(in []*Tensor) bool {
	most := func(int) int { return slices.Max(in[0].Shape.Dims) - 1 }
	switch n.Op.Name {
	case "dynamic_slice":
		most = func(input int) int {
			return in[0].Shape.Dims[input-1] - n.Attrs.(sizesAttrs).sizes[input-1]
		}
	case "gather":
	default:
		return true
	}
	for i, t := range in[1:] {
		for k := range t.V {
			if t.I(k) < 0 || t.I(k) > int64(most(i+1)) {
				return false
			}
		}
	}
	return true
}
