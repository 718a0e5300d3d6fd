package graph

import "slices"

// Segment functions reduce groups of rows: ids gives for each row of x the number of its segment, from 0 to segments-1,
// in any order and repeated as often as wanted. Rows whose number is out of range are dropped, negative ones too.
//
// ids is an integer array whose dims are the leading ones of x (most often one axis); the result has segments rows in
// their place.

// SegmentSum adds up the rows of each segment; an empty segment is 0, bools are counted as int32.
func SegmentSum(x, ids *Array, segments int) *Array {
	if x.DType() == Bool {
		x = Convert(x, Int32)
	}
	return segmentReduce("SegmentSum", "sum", x, ids, segments)
}

// SegmentMax is the largest row of each segment, element by element; an empty segment is the smallest value of the
// dtype (-Inf for floats). Derivatives are shared between equal rows.
func SegmentMax(x, ids *Array, segments int) *Array {
	return segmentReduce("SegmentMax", "max", x, ids, segments)
}

// SegmentMin is the smallest row of each segment, element by element; an empty segment is the largest value of the
// dtype (+Inf for floats). Derivatives are shared between equal rows.
func SegmentMin(x, ids *Array, segments int) *Array {
	return segmentReduce("SegmentMin", "min", x, ids, segments)
}

// segmentRows is a tree of a segment function's operands, for its custom derivative.
type segmentRows struct{ X, IDs *Array }

// SegmentProd multiplies the rows of each segment; an empty segment is 1. Derivatives are right for zeros too: each row
// takes the product of the others.
func SegmentProd(x, ids *Array, segments int) *Array {
	product := func(r segmentRows) *Array { return segmentReduce("SegmentProd", "prod", r.X, r.IDs, segments) }
	if !isFloat(x.DType()) {
		return product(segmentRows{x, ids})
	}
	return CustomJvp(product, func(r, t segmentRows) (*Array, *Array) {
		// The product again, from any of its rows, by ops that have derivatives themselves.
		others := segmentOthers(r.X, r.IDs)
		empty := Ones(x.shape.dims(append([]int{segments}, x.Dims()[ids.Rank():]...)...))
		y := segmentScatter("set", empty, Mul(r.X, others), IndexArray("SegmentProd", r.IDs))
		return y, SegmentSum(Mul(others, t.X), r.IDs, segments)
	})(segmentRows{x, ids})
}

// segmentReduce scatters the rows of x into the reduction's start values.
func segmentReduce(name, kind string, x, ids *Array, segments int) *Array {
	if segments < 0 {
		throw(name, "got %d segments, want at least 0", segments)
	}
	k := ids.Rank()
	if !isInt(ids.DType()) || k == 0 || k > x.Rank() || !slices.Equal(ids.Dims(), x.Dims()[:k]) {
		throw(name, "got rows %s and segment numbers %s, want integers, one for each row: their dims are the leading "+
			"ones of the rows", x.shape, ids.shape)
	}
	if x.DType() == Bool && kind == "prod" {
		throw(name, "got rows %s, want numbers: SegmentMin tells whether all of a segment are true", x.shape)
	}
	rest := x.Dims()[k:]
	out := Full(x.shape.dims(append([]int{segments}, rest...)...), reduceKinds[kind].start(x.DType()).Array())
	return segmentScatter(kind, out, x, IndexArray(name, ids))
}

// segmentScatter combines the rows of x into those of out that ids names.
func segmentScatter(kind string, out, x, ids *Array) *Array {
	if out.Size() == 0 || x.Size() == 0 {
		return out
	}
	a := gatherAttrs{Offset: rangeInts(ids.Rank(), x.Rank()), Collapsed: []int{0}, IndexMap: []int{0},
		Sizes: append([]int{1}, out.Dims()[1:]...), Kind: kind}
	return apply1(op("scatter"), a, out, ExpandDims(ids, -1), x)
}

// segmentOthers gives for each row of x the product of the other rows of its segment: what stands before it times what
// stands behind it, once rows are in the order of their segments.
func segmentOthers(x, ids *Array) *Array {
	n := ids.Size()
	rows := Reshape(x, append([]int{n}, x.Dims()[ids.Rank():]...)...)
	flat := Flatten1D(ids)
	if n < 2 {
		return OnesLike(x)
	}
	order := ArgSort(flat, 0)
	sorted := segmentRun{Reset: Ones(ShapeOf(Bool, n)), Value: Take(rows, order, 0)}
	of := Take(flat, order, 0)
	begins := Ne(of, shiftAxis(of, 0, 1, 0, false))
	ends := Ne(of, shiftAxis(of, 0, 1, 0, true))
	first, last := Eq(Iota(n), 0), Eq(Iota(n), n-1)
	around := func(edge *Array, reverse bool, opts ...CumulativeOption) *Array {
		sorted.Reset = edge
		run := AssociativeScan(segmentTimes, sorted, opts...).Value
		neighbor := shiftAxis(run, 0, 1, 1, reverse)
		return Select(BroadcastInDim(edge, rows.Dims(), []int{0}), OnesLike(rows), neighbor)
	}
	before := around(Or(begins, first), false)
	behind := around(Or(ends, last), true, Reversed())
	return Reshape(Take(Mul(before, behind), ArgSort(order, 0), 0), x.Dims()...)
}

// segmentRun is a product that starts anew where Reset is true.
type segmentRun struct{ Reset, Value *Array }

func segmentTimes(a, b segmentRun) segmentRun {
	return segmentRun{Or(a.Reset, b.Reset), Mul(Select(b.Reset, OnesLike(a.Value), a.Value), b.Value)}
}
