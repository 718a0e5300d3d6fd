package graph

import (
	"encoding/binary"
	"hash/fnv"
	"math/rand/v2"
	"reflect"
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

// tensor is the value; arbitrary numbers where there is only a digest.
func (v keyValue) tensor() *Tensor {
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
			t.SetF(i, r.Float64())
		default:
			t.SetI(i, int64(r.Uint64()))
		}
	}
	return t
}

// at is one slice of the value along an axis.
func (v keyValue) at(axis, i int) keyValue {
	s := v.shape.remove(axis)
	if v.exact == nil {
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
	trial  int
	around *keyFrame // of the body around
	scope  *scope
	bound  map[*Array]func() keyValue // parameters
	values map[*Array]keyValue
}

func newKeyFrame(around *keyFrame, s *scope, trial int) *keyFrame {
	return &keyFrame{trial, around, s, map[*Array]func() keyValue{}, map[*Array]keyValue{}}
}

func (f *keyFrame) bindAll(params []*Array, value func(i int) keyValue) {
	for i, p := range params {
		f.bound[p] = func() keyValue { return value(i) }
	}
}

// own are the parameters of a body that are not captured.
func (b *keyBody) own() []*Array { return b.graph.Params[len(b.captured):] }

// inside is a frame of b, a body in that of f.
func (f *keyFrame) inside(b *keyBody) *keyFrame {
	in := newKeyFrame(f, b.scope, f.trial)
	in.bindAll(b.graph.Params[:len(b.captured)], func(i int) keyValue { return f.value(b.captured[i]) })
	return in
}

// calling is the frame of a body that is called.
func (f *keyFrame) calling(b *keyBody) *keyFrame {
	in := f.inside(b)
	in.bindAll(b.own()[:len(b.args)], func(i int) keyValue { return f.value(b.args[i]) })
	return in
}

// lane is the frame of the first lane; nil: there is none.
func (f *keyFrame) lane(b *keyBody) *keyFrame {
	in := f.inside(b)
	for i, axis := range b.axes {
		if axis >= 0 && b.args[i].Dim(axis) == 0 {
			return nil
		}
	}
	in.bindAll(b.own(), func(i int) keyValue {
		if v := f.value(b.args[i]); b.axes[i] < 0 {
			return v
		} else {
			return v.at(b.axes[i], 0)
		}
	})
	return in
}

// turn is the frame of a turn of a loop.
func (f *keyFrame) turn(b *keyBody, turn int) *keyFrame {
	in := f.inside(b)
	var before *keyFrame
	if turn > 0 {
		before = f.turn(b.step, turn-1)
	}
	in.bindAll(b.own(), func(i int) keyValue {
		switch {
		case i >= b.carry:
			return f.value(b.args[i]).at(0, b.row(turn, b.args[i].Dim(0)))
		case before == nil:
			return f.value(b.args[i])
		}
		return before.value(b.step.graph.Results[i])
	})
	return in
}

// row is the slice that a turn gets of n.
func (b *keyBody) row(turn, n int) int {
	if b.reverse {
		return n - 1 - turn
	}
	return turn
}

// value computes an array.
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
		if g.around == nil && a.scope == nil || a.scope != nil && g.scope == a.scope {
			home = g
		}
	}
	a.mu.Lock()
	data := a.data
	a.mu.Unlock()
	if a.node == nil || data != nil && a.Size() <= mostKeyElements {
		home.values[a] = f.leaf(a, data)
	} else {
		home.compute(a.node)
	}
	return home.values[a]
}

// leaf is the value of an array that no op makes; that of a parameter is arbitrary.
func (f *keyFrame) leaf(a *Array, data Data) keyValue {
	if data != nil && a.Size() <= mostKeyElements {
		if t, err := ToTensor(a); err == nil {
			return exactKeyValue(t)
		}
	}
	return keyValue{shape: a.shape, digest: digestOf(addressOf(a), uint64(f.trial))}
}

// compute finds the results of a node.
func (f *keyFrame) compute(n *Node) {
	each := func(value func(i int) keyValue) {
		for i, o := range n.Outs {
			if o.node == n {
				f.values[o] = value(i)
			}
		}
	}
	switch name := n.Op.Name; {
	case name == "stop_gradient" && n.Attrs.(stopAttrs).clone > 0:
		from := f.value(n.Inputs[0]).digest
		each(func(int) keyValue {
			v := keyValue{n.Outs[0].shape, digestOf(from, uint64(n.Attrs.(stopAttrs).clone), addressOf(f)), nil}
			return exactKeyValue(v.tensor())
		})
		return
	case name == "optimization_barrier", name == "stop_gradient":
		each(func(i int) keyValue { return f.value(n.Inputs[i]) })
		return
	case name == "switch":
		branch := int(f.value(n.Inputs[0]).tensor().I(0))
		b := keyBodyOf(n.Bodies[min(max(branch, 0), len(n.Bodies)-1)], n.Inputs[1:])
		in := f.calling(b)
		each(func(i int) keyValue { return in.value(b.graph.Results[i]) })
		return
	case name == "scan":
		f.computeScan(n, each)
		return
	case name == "while":
		a := n.Attrs.(whileAttrs)
		args := splitWhileParts(a, n.Inputs)
		b := keyBodyOf(n.Bodies[1], args.carry)
		b.captured, b.carry, b.step = args.body, len(args.carry), b
		last := f.turn(b, 1)
		each(func(i int) keyValue { return last.value(b.graph.Results[i]) })
		return
	case n.Op.Run != nil && len(n.Bodies) > 0: // ops that are their first body
		b := keyBodyOf(n.Bodies[0], n.Inputs)
		in := f.calling(b)
		each(func(i int) keyValue { return in.value(b.graph.Results[i]) })
		return
	}
	in := make([]keyValue, len(n.Inputs))
	for i, a := range n.Inputs {
		in[i] = f.value(a)
	}
	if n.computedForKeys() {
		tensors := make([]*Tensor, len(in))
		for i, v := range in {
			tensors[i] = v.tensor()
		}
		if n.readsInside(tensors) {
			outs := n.eval(tensors, new(interpreter))
			each(func(i int) keyValue { return exactKeyValue(outs[i]) })
			return
		}
	}
	parts := []uint64{addressOf(n), uint64(f.trial)}
	if !n.Op.distinct && !n.Op.effect { // a copy of the node in another function gives the same
		h := fnv.New64a()
		_, _ = h.Write(appendAttrs([]byte(n.Op.Name), n.Attrs))
		parts[0] = h.Sum64()
		for _, b := range n.Bodies {
			parts = append(parts, addressOf(b))
		}
	}
	for _, v := range in {
		parts = append(parts, v.digest)
	}
	each(func(i int) keyValue {
		return keyValue{shape: n.Outs[i].shape, digest: digestOf(append(slices.Clone(parts), uint64(i))...)}
	})
}

// keyBodyOf is a body of a node as a function of all its parameters.
func keyBodyOf(g *Graph, args []*Array) *keyBody {
	b := &keyBody{graph: g, args: args}
	for _, n := range g.Nodes {
		for _, o := range n.Outs {
			b.scope = o.scope
		}
	}
	return b
}

// computeScan takes two turns, or as many as there are. Of what it stacks it gives the rows of these.
func (f *keyFrame) computeScan(n *Node, each func(value func(i int) keyValue)) {
	a := n.Attrs.(scanAttrs)
	args := splitScanParts(a, n.Inputs)
	b := keyBodyOf(n.Bodies[0], slices.Concat(args.carry, args.xs))
	b.captured, b.carry, b.reverse, b.step = args.consts, a.carry, a.reverse, b
	var turns []*keyFrame
	for i := range min(a.length, 2) {
		turns = append(turns, f.turn(b, i))
	}
	each(func(i int) keyValue {
		if i < a.carry {
			if len(turns) == 0 {
				return f.value(args.carry[i])
			}
			return turns[len(turns)-1].value(b.graph.Results[i])
		}
		s := n.Outs[i].shape
		digests := []uint64{addressOf(n), uint64(i), uint64(f.trial)}
		rows := make([]*Tensor, len(turns))
		for k, t := range turns {
			row := t.value(b.graph.Results[i])
			digests, rows[k] = append(digests, row.digest), row.exact
		}
		v := keyValue{shape: s, digest: digestOf(digests...)}
		if s.Size() > mostKeyElements || slices.Contains(rows, nil) {
			return v
		}
		v.exact = v.tensor()
		for k, row := range rows {
			copy(v.exact.V[b.row(k, a.length)*len(row.V):], row.V)
		}
		return exactKeyValue(v.exact)
	})
}

// computedForKeys reports whether the reference computes a node while keys are checked.
func (n *Node) computedForKeys() bool {
	if n.Op.Eval == nil || n.Op.effect || n.Op.distinct {
		return false
	}
	if _, collective := n.Attrs.(interface{ axisName() string }); collective {
		return false
	}
	size := 0
	for _, a := range slices.Concat(n.Inputs, n.Outs) {
		size += a.Size()
		if isComplex(a.DType()) || isFloat(a.DType()) && a.Size() > mostKeyFloats {
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

// addressOf stands for what p points to.
func addressOf(p any) uint64 { return uint64(reflect.ValueOf(p).Pointer()) }
