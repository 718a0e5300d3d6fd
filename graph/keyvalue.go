package graph

import (
	"encoding/binary"
	"hash/fnv"
	"math/rand/v2"
	"slices"
)

// keyValue is the value of an array while keys are checked: its elements where they follow from numbers that are known,
// and in any case a digest of how it is computed. Values of one digest are equal. Of others nothing is said.
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

// symbol is a value that is not known. What may be keys gets words that its digest decides, so that what is made of
// them is computed, too.
func symbol(s Shape, digest ...uint64) keyValue {
	v := keyValue{shape: s, digest: digestOf(digest...)}
	if s.DType != Uint32 || s.Rank() == 0 || s.Dims[s.Rank()-1] != 2 || s.Size() > mostKeyElements {
		return v
	}
	r, t := rand.New(rand.NewPCG(v.digest, 0)), newTensor(s)
	for i := range t.V {
		t.SetI(i, int64(r.Uint32()))
	}
	return exactKeyValue(t)
}

// at is one slice of the value along an axis.
func (v keyValue) at(axis, i int) keyValue {
	s := v.shape.remove(axis)
	if v.exact == nil || v.shape.Size() == 0 {
		return symbol(s, v.digest, uint64(axis), uint64(i))
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
	digest uint64    // says in which iterations and runs it is; 0 outside of traced functions
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
	in := &keyFrame{f.check, digestOf(f.digest, uint64(run)), f, b.scope,
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

// trip is the frame of an iteration of a loop. A reversed loop takes its slices in order, too: it is the same for keys.
func (f *keyFrame) trip(b *keyBody, trip int) *keyFrame {
	in := f.inside(b, trip)
	var before *keyFrame
	if trip > 0 {
		before = f.trip(b.next, trip-1)
	}
	in.bindAll(b.own(), func(i int) keyValue {
		switch {
		case i >= b.carry:
			return f.value(b.args[i]).at(0, trip)
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

// leaf is the value of an array that no op makes; that of a parameter is not known.
func (f *keyFrame) leaf(a *Array) keyValue {
	if a.Concrete() && a.Size() <= mostKeyElements {
		if t, err := ToTensor(a); err == nil {
			return exactKeyValue(t)
		}
	}
	return symbol(a.shape, numberOf(f.check, a))
}

// results computes a node.
func (f *keyFrame) results(n *Node) func(i int) keyValue {
	call := func(g *Graph, args []*Array) func(i int) keyValue {
		in := f.calling(&keyBody{graph: g, args: args}, 0)
		return func(i int) keyValue { return in.value(g.Results[i]) }
	}
	in := make([]keyValue, len(n.Inputs))
	tensors, exact := make([]*Tensor, len(in)), true
	for i, a := range n.Inputs {
		in[i] = f.value(a)
		tensors[i] = in[i].exact
		exact = exact && tensors[i] != nil
	}
	switch name := n.Op.Name; {
	case name == "stop_gradient" && n.Attrs.(stopAttrs).clone > 0:
		return func(i int) keyValue {
			return symbol(n.Outs[i].shape, in[0].digest, uint64(n.Attrs.(stopAttrs).clone), f.digest)
		}
	case name == "optimization_barrier", name == "stop_gradient":
		return func(i int) keyValue { return in[i] }
	case name == "switch" && in[0].exact != nil:
		branch := min(max(int(in[0].exact.I(0)), 0), len(n.Bodies)-1)
		return call(n.Bodies[branch], n.Inputs[1:])
	case name != "switch" && n.Op.Loop == nil && n.Op.Run != nil && len(n.Bodies) > 0:
		return call(n.Bodies[0], n.Inputs) // an op that is its first body
	case exact && n.computedForKeys() && n.readsInside(tensors):
		outs := n.eval(tensors, new(interpreter))
		return func(i int) keyValue { return exactKeyValue(outs[i]) }
	}
	parts := []uint64{numberOf(f.check, n)}
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
		if n.Op.Loop != nil { // what a loop hands on stays as it is
			l := n.Op.Loop(n)
			body := n.Bodies[l.step]
			if i < l.carry && body.Results[i] == body.Params[l.consts[l.step]+i] {
				return in[l.at+i]
			}
		}
		return symbol(n.Outs[i].shape, append(slices.Clone(parts), uint64(i))...)
	}
}

// computedForKeys reports whether the reference computes a node while keys are checked.
func (n *Node) computedForKeys() bool {
	if _, collective := n.Attrs.(interface{ AxisName() string }); collective || n.Op.Eval == nil || n.Op.distinct ||
		len(n.Bodies) > 0 {
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

// readsInside reports whether a node finds what it looks up. What lies outside, such as the row of an iteration that
// does not take place, would be moved to the last row: a key that others have, too.
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
