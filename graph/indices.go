package graph

import (
	"math"
	"slices"
)

// Indices may have any integer dtype. A narrow one need not hold the size of the axis, to which indices are compared
// and up to which they are moved, so that narrow indices are widened first.

// IndexArray returns indices, integers of any shape, in a dtype that holds the sizes of axes: int32 instead of a
// narrower one. It is for authors of functions that read indices; errors name the function.
func IndexArray(function string, indices *Array) *Array {
	if !isInt(indices.DType()) {
		throw(function, "indices are %s, want integers", indices.shape)
	}
	return widen(indices, Int32)
}

// widen converts an array whose elements take fewer bytes than those of d to d.
func widen(x *Array, d DType) *Array {
	if ItemSize(x.DType()) < ItemSize(d) {
		return Convert(x, d)
	}
	return x
}

// startIndices converts the start indices of a block to one dtype that holds all of them: int32, or int64 where one of
// them may be larger. It is a signed one, since XLA takes a constant start index of an unsigned dtype for a signed
// number.
func startIndices(start []*Array) []*Array {
	d := Int32
	for _, s := range start {
		if ItemSize(s.DType()) == 8 || s.DType() == Uint32 {
			d = Int64
		}
	}
	out := slices.Clone(start)
	for i, s := range out {
		if !isInt(s.DType()) {
			return start // the op refuses it
		}
		if s.DType() == Uint64 {
			s = Min(s, math.MaxInt64) // larger ones would become negative
		}
		out[i] = Convert(s, d)
	}
	return out
}

// startAlong returns the start indices of a block that begins at i along an axis, and at 0 along all others.
func startAlong(axis int, i *Array, rank int) []*Array {
	start := make([]*Array, rank)
	for k := range start {
		start[k] = Scalar(0, Int32)
	}
	start[axis] = i
	return start
}
