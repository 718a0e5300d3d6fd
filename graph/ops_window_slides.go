package graph

// XLA's CPU compiler makes a loop over the window of each element, one element after the other. The maximum of a
// rectangle is the maximum along one axis of the maxima along the other. So windows that slide by one are taken axis by
// axis, as elementwise maxima of shifted arrays, in vectors: windows of 5 x 5 take eight maxima an element instead of
// 24. A barrier between the axes keeps the compiler from computing the maxima along the first one again for each along
// the second. A window of many elements is made of two smaller ones that overlap.

// mostShifts is the longest window that is one maximum of shifted arrays.
const mostShifts = 5

const (
	// leastWindows is the least number of windows that are maxima of shifted arrays.
	leastWindows = 1 << 10
	// leastSlide is the least length of the result's last axis. LLVM writes out shorter loops, and then makes no
	// vectors of maxima.
	leastSlide = 32
)

// lowerWindow is the Lower rule of reduce_window, for CPUs.
func lowerWindow(l *Cursor, n *Node, in []*Array) []*Array {
	a, out := n.Attrs.(windowAttrs), n.Outs[0].shape
	slides := false
	for i, size := range a.window {
		slides = slides || size > 1
		if a.geometry.strides[i] > 1 || a.geometry.baseDilation[i] > 1 {
			return nil
		}
	}
	if !slides || out.DType == Bool || isComplex(out.DType) || !l.target.paysKernel(out.Size(), leastWindows) ||
		!l.target.paysKernel(out.Dims[out.Rank()-1], leastSlide) {
		return nil
	}
	var extreme func(x, y *Array) *Array
	switch a.kind {
	case "max":
		extreme = func(x, y *Array) *Array { return Max(x, y) }
	case "min":
		extreme = func(x, y *Array) *Array { return Min(x, y) }
	default:
		return nil // sums depend on their order
	}
	x := padWindow(in[0], reduceKinds[a.kind].start(out.DType).Array(), a.geometry)
	for axis, size := range a.window {
		if size == 1 {
			continue
		}
		x = Barrier(x)[0]
		x = slide(x, axis, size, a.geometry.windowDilation[axis], extreme)
	}
	return []*Array{x}
}

// slide combines each element with the size-1 elements after it along an axis, which are step apart. An element may
// count twice.
func slide(x *Array, axis, size, step int, combine func(x, y *Array) *Array) *Array {
	shifted := func(x *Array, by, length int) *Array { return SliceAxis(x, axis, by*step, by*step+length) }
	if size > mostShifts {
		half := (size + 1) / 2
		x = Barrier(slide(x, axis, half, step, combine))[0]
		length := x.Dim(axis) - (size-half)*step
		return combine(shifted(x, 0, length), shifted(x, size-half, length))
	}
	length := x.Dim(axis) - (size-1)*step
	all := shifted(x, 0, length)
	for k := 1; k < size; k++ {
		all = combine(all, shifted(x, k, length))
	}
	return all
}
