package graph

// XLA's CPU compiler makes a loop over the window of each element, one element after the other. The maximum of a
// rectangle is the maximum along one axis of the maxima along the other, and so is the sum. So windows that slide by
// one are taken axis by axis, as elementwise maxima or sums of shifted arrays, in vectors: windows of 5 x 5 take eight
// maxima an element instead of 24. A barrier between the axes keeps the compiler from computing the maxima along the
// first one again for each along the second. A window of many elements is made of two smaller ones, which may overlap
// for maxima.

// mostShifts is the longest window that is one maximum or sum of shifted arrays.
const mostShifts = 5

const (
	// leastWindows is the least number of windows that are combined of shifted arrays.
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
	rough := a.kind == "sum" && isFloat(out.DType) && ItemSize(out.DType) < 4 // its order counts
	if !slides || rough || out.DType == Bool || isComplex(out.DType) ||
		!l.target.paysKernel(out.Size(), leastWindows) || !l.target.paysKernel(out.Dims[out.Rank()-1], leastSlide) {
		return nil
	}
	s := slider{overlap: a.kind != "sum"}
	switch a.kind {
	case "max":
		s.combine = func(x, y *Array) *Array { return Max(x, y) }
	case "min":
		s.combine = func(x, y *Array) *Array { return Min(x, y) }
	case "sum":
		s.combine = func(x, y *Array) *Array { return Add(x, y) }
	default:
		return nil
	}
	x := padWindow(in[0], reduceKinds[a.kind].start(out.DType).Array(), a.geometry)
	for axis, size := range a.window {
		if size == 1 {
			continue
		}
		x = Barrier(x)[0]
		s.axis, s.step = axis, a.geometry.windowDilation[axis]
		x = s.slide(x, size)
	}
	return []*Array{x}
}

// slider combines the elements of windows along an axis, which are step apart.
type slider struct {
	combine    func(x, y *Array) *Array
	overlap    bool // an element may count twice
	axis, step int
}

// slide combines each element with the size-1 elements after it.
func (s slider) slide(x *Array, size int) *Array {
	length := x.Dim(s.axis) - (size-1)*s.step
	shifted := func(x *Array, by int) *Array { return SliceAxis(x, s.axis, by*s.step, by*s.step+length) }
	if size <= mostShifts {
		all := shifted(x, 0)
		for k := 1; k < size; k++ {
			all = s.combine(all, shifted(x, k))
		}
		return all
	}
	if s.overlap {
		half := (size + 1) / 2
		x = Barrier(s.slide(x, half))[0]
		return s.combine(shifted(x, 0), shifted(x, size-half))
	}
	half := Barrier(s.slide(x, size/2))[0]
	all := s.combine(shifted(half, 0), shifted(half, size/2))
	if size%2 == 0 {
		return all
	}
	return s.combine(all, shifted(x, size-1))
}
