package graph

import "xlarun/graph/internal/stablehlo"

// The library of kernels that XLA's CPU compiler hands reductions to drops NaN from maxima and minima, and the compiler
// hands it all whose combiner is the op maximum or minimum (those of float32 and float64, and minima of 16-bit floats).
// So the combiner of floats is a clamp whose other bound is an infinity. LLVM makes one maximum of it, in vectors and
// with NaN kept. The compiler's own code has one chain of maxima a row, and reads columns one number at a time. So
// large arrays are cut along the reduced axis first, and the parts are combined element by element.

const (
	// leastExtremes is the least number of elements that are cut into parts.
	leastExtremes = 1 << 15
	// extremeParts is the number of parts of one cut.
	extremeParts = 8
	// leastExtremeRow is the least length of the rows that a cut leaves, which are read in vectors.
	leastExtremeRow = 16
)

// lowerReduce is the Lower rule of reduce.
func lowerReduce(l *Cursor, n *Node, in []*Array) []*Array {
	a, x := n.Attrs.(reduceAttrs), in[0]
	if !l.target.IsCPU() || a.NaN != keepNaN || !isFloat(x.DType()) || a.Kind != "max" && a.Kind != "min" ||
		len(a.Axes) == 0 || x.Size() == 0 {
		return nil
	}
	a.NaN = clampNaN
	if x.Size() < leastExtremes {
		return []*Array{apply1(n.Op, a, x)}
	}
	if axis := a.Axes[0]; len(a.Axes) > 1 {
		rest := mapInts(a.Axes[1:], func(i int) int { return i - 1 })
		return []*Array{reduce(a.Kind, reduce(a.Kind, x, []int{axis}), rest)}
	}
	combine := Max
	if a.Kind == "min" {
		combine = Min
	}
	axis, length, outer, inner := a.Axes[0], x.Dim(a.Axes[0]), 1, 1
	for i, d := range x.Dims() {
		switch {
		case i < axis:
			outer *= d
		case i > axis:
			inner *= d
		}
	}
	x = Reshape(x, outer, length, inner)
	if inner == 1 {
		if length >= extremeParts*leastExtremeRow {
			x = cutExtreme(x, combine)
		}
	} else if inner >= leastExtremeRow {
		for x.Dim(1) > 1 {
			if x.node != nil {
				x = Barrier(x)[0]
			}
			x = cutExtreme(x, combine)
		}
	}
	a.Axes = []int{1}
	return []*Array{Reshape(apply1(n.Op, a, x), n.Outs[0].Dims()...)}
}

// cutExtreme combines the parts of an array along axis 1. What is left over is combined with the first row.
func cutExtreme(x *Array, combine func(x, y any) *Array) *Array {
	outer, length, inner := x.Dim(0), x.Dim(1), x.Dim(2)
	parts := min(extremeParts, length)
	rows := (length + parts - 1) / parts
	// The last part begins earlier if the length is no multiple: an element may be combined twice.
	var out *Array
	for i := range parts {
		start := min(i*rows, length-rows)
		part := Slice(x, []int{0, start, 0}, []int{outer, start + rows, inner})
		if out == nil {
			out = part
		} else {
			out = combine(out, part)
		}
	}
	return out
}

// clampedCombiner is a region over two scalars of a dtype, their maximum or minimum, as a clamp.
func (e *emitter) clampedCombiner(kind string, d DType) string {
	scalar := stablehlo.Type(d)
	sign := 1
	if kind == "min" {
		sign = -1
	}
	bound := e.constant(extreme(sign)(d))
	return e.Region([]string{scalar, scalar}, func(args []string) {
		bounds := args[1] + ", " + args[0] + ", " + bound
		if kind == "min" {
			bounds = bound + ", " + args[0] + ", " + args[1]
		}
		three := scalar + ", " + scalar + ", " + scalar
		e.Return("stablehlo.return", e.Op("stablehlo.clamp", bounds, "", three, scalar), scalar)
	})
}
