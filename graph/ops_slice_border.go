package graph

import "slices"

const (
	// leastBordered is the least number of elements of an array whose border is stored, and leastBorderedRow the least
	// length of its last axis: along shorter ones, slices are no vectors.
	leastBordered    = 1 << 12
	leastBorderedRow = 32
	// borderReaders is the least number of slices that read such an array.
	borderReaders = 2
)

// lowerPad stores an array with a border that several slices read, as filters of images do, and what lies inside of it.
// XLA's older emitter asks for each element of a pad whether it lies inside, and computes it after that question, one
// element at a time: a sum of shifted arrays inside of another's pad took three times as long. Along one axis,
// concatenated zeros are copied by rows.
func lowerPad(l *Cursor, n *Node, in []*Array) []*Array {
	a, out, within := n.Attrs.(padAttrs), n.Outs[0], l.program
	switch {
	case l.scan != nil:
		within = l.scan
	case l.loop != nil:
		within = l.loop
	}
	if !l.target.HasKernels() || !l.target.IsCPU() || out.Size() < leastBordered || out.Dim(-1) < leastBorderedRow ||
		!slicesRead(within, out) {
		return nil
	}
	axis, axes := 0, 0
	for i := range a.low {
		if a.low[i] < 0 || a.high[i] < 0 || a.interior[i] != 0 {
			return nil
		}
		if a.low[i]+a.high[i] > 0 {
			axis, axes = i, axes+1
		}
	}
	x := Barrier(in[0])[0]
	if axes != 1 {
		return Barrier(apply1(n.Op, a, x, in[1]))
	}
	var all []*Array
	around := func(places int) {
		if places > 0 { // behind a barrier, as the compiler makes a pad of a constant beside another array
			dims := slices.Clone(x.Dims())
			dims[axis] = places
			all = append(all, Barrier(BroadcastTo(in[1], dims...))[0])
		}
	}
	around(a.low[axis])
	all = append(all, x)
	around(a.high[axis])
	return Barrier(Concatenate(axis, all...))
}

// slicesRead reports whether at least borderReaders slices of a program read an array, and nothing else.
func slicesRead(g *Graph, x *Array) bool {
	readers := 0
	for _, n := range g.Nodes {
		for _, in := range n.Inputs {
			if in == x {
				if n.Op.Name != "slice" {
					return false
				}
				readers++
			}
		}
	}
	return readers >= borderReaders
}
