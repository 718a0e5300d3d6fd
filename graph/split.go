package graph

import (
	"reflect"
	"slices"

	"xlarun/graph/internal/attr"
)

// A state vector of three numbers, read by Index and made by Stack, is an axis of size three. Loops over it are too
// short for vector registers, and joining and cutting it costs more than the arithmetic. splitAxes keeps the elements
// of such an axis as separate arrays through elementwise ops, sums over the axis, and the carries of loops. Where an op
// needs the whole array, the pieces are joined. Values are the same.
//
// A backward walk finds the arrays that are better in pieces (wants). A forward walk makes the pieces (splitter.node).

// mostPieces is the longest axis that is split.
const mostPieces = 16

// splitAxes returns the graph with short axes in pieces, bodies included.
func (g *Graph) splitAxes() *Graph {
	out, _ := g.split(carried{}, nil, nil)
	return out
}

// axes holds the axis along which an array is wanted in pieces.
type axes map[*Array]int

// carried has the axes along which the carries of loops are split; see wants. A loop is asked once for each walk over
// what is around it.
type carried map[*Node][]int

// want records that a is wanted in pieces along axis, if the axis is short. The first call for an array counts.
func (w axes) want(a *Array, axis int) {
	if _, ok := w[a]; !ok && axis >= 0 && a.shape.Dims[axis] >= 2 && a.shape.Dims[axis] <= mostPieces {
		w[a] = axis
	}
}

// wants walks g backwards. results are the axes along which its results are wanted in pieces (nil: whole). A sum over
// an axis reads pieces if there are some, but is no reason for a loop to carry them; sums is whether it counts.
func (c carried) wants(g *Graph, results []int, sums bool) axes {
	w := make(axes, len(g.Nodes)/4)
	for i, axis := range results {
		w.want(g.Results[i], axis)
	}
	for _, n := range slices.Backward(g.Nodes) {
		w.node(c, n, sums)
	}
	return w
}

// node records what n wants of its inputs.
func (w axes) node(c carried, n *Node, sums bool) {
	if n.Op.Loop != nil {
		carry := c.loop(n)
		at := n.Op.Loop(n).at
		for i, axis := range carry {
			w.want(n.Inputs[at+i], axis)
		}
		return
	}
	switch a := n.Attrs.(type) {
	case sliceAttrs:
		axis := -1
		for i, d := range n.Inputs[0].Dims() {
			if a.Start[i] == 0 && a.Limit[i] == d && a.Stride[i] == 1 {
				continue
			}
			if axis >= 0 {
				return
			}
			axis = i
		}
		if axis >= 0 && n.Outs[0].Dims()[axis] == 1 {
			w.want(n.Inputs[0], axis)
		}
		return
	case reduceAttrs:
		if x := n.Inputs[0]; sums && pairwise[a.Kind] != nil && len(a.Axes) == 1 && ItemSize(x.DType()) != 2 {
			w.want(x, a.Axes[0])
		}
		return
	}
	if len(n.Outs) != 1 {
		return
	}
	axis, ok := w[n.Outs[0]]
	if !ok {
		return
	}
	switch a := n.Attrs.(type) {
	case permAttrs:
		w.want(n.Inputs[0], a.perm[axis])
	case broadcastAttrs:
		if i := slices.Index(a.Axes, axis); i >= 0 {
			w.want(n.Inputs[0], i)
		}
	case dimsAttrs:
		w.want(n.Inputs[0], sameAxis(n.Outs[0].Dims(), n.Inputs[0].Dims(), axis))
	default:
		if n.Elementwise() {
			for _, x := range n.Inputs {
				w.want(x, axis)
			}
		}
	}
}

// loop returns the axes along which the carry of a loop is split (-1: whole). A part of the carry is split if a
// body wants it so; its next value is then split too.
func (c carried) loop(n *Node) (carry []int) {
	if known, ok := c[n]; ok {
		return known
	}
	defer func() { c[n] = carry }()
	l := n.Op.Loop(n)
	step, consts := n.Bodies[l.step], l.consts[l.step]
	carry = slices.Repeat([]int{-1}, l.carry)
	for k, b := range n.Bodies {
		if k == l.step {
			continue
		}
		wants := c.wants(b, nil, false)
		for i := range carry {
			if axis, ok := wants[b.Params[l.consts[k]+i]]; ok && carry[i] < 0 {
				carry[i] = axis
			}
		}
	}
	for {
		body := c.wants(step, carry, false)
		grown := false
		for i := range carry {
			if axis, ok := body[step.Params[consts+i]]; ok && carry[i] < 0 {
				carry[i], grown = axis, true
			}
		}
		if !grown {
			return carry
		}
	}
}

// Elementwise reports whether n computes each element of its one result from the same element of its inputs.
func (n *Node) Elementwise() bool { return len(n.Outs) == 1 && n.Op.elementwise && len(n.Bodies) == 0 }

// pairwise are the ops that combine two elements of a reduction; init fills it, as functions call ops.
var pairwise map[string]func(x, y any) *Array

func init() {
	rule := reflect.ValueOf(batchElementwise).Pointer()
	for _, o := range Table {
		o.elementwise = reflect.ValueOf(o.Batch).Pointer() == rule
	}
	pairwise = map[string]func(x, y any) *Array{"sum": Add, "max": Max, "min": Min, "prod": Mul, "and": And, "or": Or}
}

// sameAxis returns which axis of the dims to is axis of the dims from after a reshape that only adds or drops axes of
// size one, or -1.
func sameAxis(from, to []int, axis int) int {
	place := func(dims []int) (wide []int) {
		for i, d := range dims {
			if d != 1 {
				wide = append(wide, i)
			}
		}
		return wide
	}
	f, t := place(from), place(to)
	i := slices.Index(f, axis)
	if i < 0 || !slices.Equal(attr.At(from, f), attr.At(to, t)) {
		return -1
	}
	return t[i]
}

// pieceList holds the slices of an array along an axis; the slices do not have that axis.
type pieceList struct {
	axis int
	of   []*Array
}

// splitter rewrites one graph into the open scope.
type splitter struct {
	wants axes
	carried
	whole map[*Array]*Array    // by arrays of the graph
	parts map[*Array]pieceList // likewise
}

// split rewrites g as a new graph. Parameters with an axis in params (-1 or nil: none) become one new parameter for
// each piece, and results with an axis in results one new result for each piece. whole are the numbers of the results
// that came whole and had to be cut.
func (g *Graph) split(c carried, params, results []int) (out *Graph, whole []int) {
	var shapes []Shape
	for i, p := range g.Params {
		if params != nil && params[i] >= 0 {
			shapes = append(shapes, slices.Repeat([]Shape{p.shape.remove(params[i])}, p.shape.Dims[params[i]])...)
		} else {
			shapes = append(shapes, p.shape)
		}
	}
	out = closedGraph("split", shapes, func(in []*Array) []*Array {
		s := &splitter{c.wants(g, results, true), c, make(map[*Array]*Array, len(g.Params)+len(g.Nodes)),
			map[*Array]pieceList{}}
		for i, p := range g.Params {
			if params != nil && params[i] >= 0 {
				k := p.shape.Dims[params[i]]
				s.parts[p] = pieceList{params[i], in[:k]}
				in = in[k:]
			} else {
				s.whole[p], in = in[0], in[1:]
			}
		}
		defer positions()()
		t := currentTrace()
		for _, n := range g.Nodes {
			t.pos = n.pos
			s.node(n)
		}
		var outs []*Array
		for i, r := range g.Results {
			if results == nil || results[i] < 0 {
				outs = append(outs, s.get(r))
				continue
			}
			if !s.isSplit(r, results[i]) {
				whole = append(whole, i)
			}
			outs = append(outs, s.pieces(r, results[i])...)
		}
		return outs
	})
	return out, whole
}

// get returns a as a whole.
func (s *splitter) get(a *Array) *Array {
	if x := s.whole[a]; x != nil {
		return x
	}
	p := s.parts[a]
	s.whole[a] = Stack(p.of, p.axis)
	return s.whole[a]
}

// pieces returns a's pieces along axis.
func (s *splitter) pieces(a *Array, axis int) []*Array {
	if p, ok := s.parts[a]; ok && p.axis == axis {
		return p.of
	}
	out := make([]*Array, a.shape.Dims[axis])
	if n := a.node; len(out) == 1 && n != nil && n.Op.Name == "reshape" &&
		n.Inputs[0].shape.Equal(a.shape.remove(axis)) {
		return []*Array{s.get(n.Inputs[0])}
	}
	if n := a.node; n != nil && n.Op.Name == "broadcast_in_dim" {
		b := n.Attrs.(broadcastAttrs)
		if i := slices.Index(b.Axes, axis); i < 0 || n.Inputs[0].Dims()[i] == 1 { // all pieces are the same
			x, to := s.get(n.Inputs[0]), slices.Clone(b.Axes)
			if i >= 0 {
				x, to = Squeeze(x, i), slices.Delete(to, i, i+1)
			}
			return slices.Repeat([]*Array{BroadcastInDim(x, dropAxes(b.Dims, []int{axis}), mapInts(to, without(axis)))},
				len(out))
		}
	}
	for i := range out {
		out[i] = index(s.get(a), axis, i)
	}
	return out
}

// without returns the number that another axis has after axis d is removed.
func without(d int) func(axis int) int {
	return func(axis int) int {
		if axis > d {
			return axis - 1
		}
		return axis
	}
}

// isSplit reports whether a is in pieces along axis.
func (s *splitter) isSplit(a *Array, axis int) bool {
	p, ok := s.parts[a]
	return ok && p.axis == axis
}

// node makes n's results, in pieces if they are wanted so and no cut is needed.
func (s *splitter) node(n *Node) {
	if n.Op.Loop != nil {
		s.loop(n)
		return
	}
	if len(n.Outs) == 1 {
		if s.cut(n) {
			return
		}
		if axis, ok := s.wants[n.Outs[0]]; ok {
			if of := s.splitNode(n, axis); of != nil {
				s.parts[n.Outs[0]] = pieceList{axis, of}
				return
			}
		}
	}
	bodies := make([]*Graph, len(n.Bodies))
	for i, b := range n.Bodies {
		bodies[i], _ = b.split(s.carried, nil, nil)
	}
	s.put(n, apply(n.Op, n.Attrs, each(n.Inputs, s.get), bodies...))
}

func (s *splitter) put(n *Node, outs []*Array) {
	for i, o := range outs {
		s.whole[n.Outs[i]] = o
	}
}

// cut makes the result of a node that takes some pieces of an array, or their sum. It reports whether n is one.
func (s *splitter) cut(n *Node) bool {
	if len(n.Inputs) != 1 {
		return false
	}
	x := n.Inputs[0]
	p, ok := s.parts[x]
	if !ok {
		return false
	}
	switch a := n.Attrs.(type) {
	case sliceAttrs:
		for i, d := range x.Dims() {
			if i != p.axis && (a.Start[i] != 0 || a.Limit[i] != d || a.Stride[i] != 1) {
				return false
			}
		}
		var of []*Array
		for i := a.Start[p.axis]; i < a.Limit[p.axis]; i += a.Stride[p.axis] {
			of = append(of, p.of[i])
		}
		if len(of) == 0 {
			return false
		}
		s.parts[n.Outs[0]] = pieceList{p.axis, of}
	case dimsAttrs:
		if len(p.of) != 1 || !slices.Equal(p.of[0].Dims(), n.Outs[0].Dims()) {
			return false
		}
		s.whole[n.Outs[0]] = p.of[0]
	case reduceAttrs:
		f := pairwise[a.Kind]
		if f == nil || len(a.Axes) != 1 || a.Axes[0] != p.axis || ItemSize(x.DType()) == 2 {
			return false
		}
		sum := p.of[0]
		for _, y := range p.of[1:] {
			sum = f(sum, y)
		}
		s.whole[n.Outs[0]] = sum
	default:
		return false
	}
	return true
}

// splitNode returns the pieces of n's result along axis, or nil if they would have to be cut.
func (s *splitter) splitNode(n *Node, axis int) []*Array {
	out := n.Outs[0]
	switch a := n.Attrs.(type) {
	case axisAttrs:
		if n.Op.Name != "concatenate" || a.Axis != axis {
			return nil
		}
		var of []*Array
		for _, x := range n.Inputs {
			of = append(of, s.pieces(x, axis)...)
		}
		return of
	case permAttrs:
		if from := a.perm[axis]; s.isSplit(n.Inputs[0], from) {
			perm := mapInts(dropAxes(a.perm, []int{axis}), without(from))
			return each(s.parts[n.Inputs[0]].of, func(x *Array) *Array { return Transpose(x, perm...) })
		}
	case broadcastAttrs:
		i := slices.Index(a.Axes, axis)
		if i >= 0 && n.Inputs[0].Dims()[i] != 1 && s.isSplit(n.Inputs[0], i) {
			to := mapInts(dropAxes(a.Axes, []int{i}), without(axis))
			dims := dropAxes(a.Dims, []int{axis})
			return each(s.parts[n.Inputs[0]].of, func(x *Array) *Array { return BroadcastInDim(x, dims, to) })
		}
	case dimsAttrs:
		if n.Op.Name != "reshape" {
			return nil
		}
		if from := sameAxis(out.Dims(), n.Inputs[0].Dims(), axis); from >= 0 && s.isSplit(n.Inputs[0], from) {
			dims := dropAxes(out.Dims(), []int{axis})
			return each(s.parts[n.Inputs[0]].of, func(x *Array) *Array { return Reshape(x, dims...) })
		}
	default:
		if !n.Elementwise() || !slices.ContainsFunc(n.Inputs, func(x *Array) bool { return s.isSplit(x, axis) }) {
			return nil
		}
		in := make([][]*Array, len(n.Inputs))
		for i, x := range n.Inputs {
			in[i] = s.pieces(x, axis)
		}
		of := make([]*Array, out.shape.Dims[axis])
		for k := range of {
			args := make([]*Array, len(in))
			for i := range in {
				args[i] = in[i][k]
			}
			of[k] = apply1(n.Op, n.Attrs, args...)
		}
		return of
	}
	return nil
}

// each applies f to every array.
func each(in []*Array, f func(x *Array) *Array) []*Array {
	out := make([]*Array, len(in))
	for i, x := range in {
		out[i] = f(x)
	}
	return out
}

// loop makes a loop. A part of its carry that is wanted in pieces, and whose next value comes in pieces, becomes
// several parts.
func (s *splitter) loop(n *Node) {
	l := n.Op.Loop(n)
	carry := slices.Clone(s.carried.loop(n))
	none := func(k int) []int { return slices.Repeat([]int{-1}, k) }
	split := func(k int) (*Graph, []int) {
		b := n.Bodies[k]
		params := slices.Concat(none(l.consts[k]), carry, none(len(b.Params)-l.consts[k]-l.carry))
		if k != l.step {
			return b.split(s.carried, params, nil)
		}
		return b.split(s.carried, params, slices.Concat(carry, none(len(b.Results)-l.carry)))
	}
	step, whole := split(l.step)
	for len(whole) > 0 {
		for _, i := range whole {
			carry[i] = -1
		}
		step, whole = split(l.step)
	}
	bodies := make([]*Graph, len(n.Bodies))
	for k := range bodies {
		if bodies[k] = step; k != l.step {
			bodies[k], _ = split(k)
		}
	}
	var in []*Array
	for i, x := range n.Inputs {
		if k := i - l.at; k >= 0 && k < len(carry) && carry[k] >= 0 {
			in = append(in, s.pieces(x, carry[k])...)
		} else {
			in = append(in, s.get(x))
		}
	}
	pieces := 0
	for i, axis := range carry {
		if axis >= 0 {
			pieces += n.Outs[i].Dims()[axis]
		} else {
			pieces++
		}
	}
	results := apply(n.Op, l.resized(pieces), in, bodies...)
	for i, o := range n.Outs {
		if i < len(carry) && carry[i] >= 0 {
			k := o.Dims()[carry[i]]
			s.parts[o] = pieceList{carry[i], results[:k]}
			results = results[k:]
		} else {
			s.whole[o], results = results[0], results[1:]
		}
	}
}
