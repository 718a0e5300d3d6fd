package graph

import "slices"

// AssociativeScan is the running combination of the elements of xs along axis 0: element i of the result is f(f(f(x0,
// x1), x2) … xi), computed in about 2 log2(n) steps over many elements each instead of n steps over one (Ladner and
// Fischer, "Parallel prefix computation", 1980). f maps two elements, without the axis, to one of the same structure
// and shapes; it must be associative, and need not be commutative: its first argument stands before its second. It is
// mapped over pairs of elements as VMap does. With Reversed, element i covers i and all after it, and f's first
// argument is what comes later.
//
// Running sums are CumSum; linear recurrences, products of matrices and what restarts at flags (episodes) are this.
// Derivatives of every order go through it.
func AssociativeScan[T any](f func(a, b T) T, xs T, opts ...CumulativeOption) T {
	const name = "AssociativeScan"
	wantFunction(name, f == nil)
	leaves, tree := Flatten(xs)
	if len(leaves) == 0 {
		throw(name, "got no arrays to scan over")
	}
	element := make([]Shape, len(leaves))
	for i, l := range leaves {
		if l.Rank() == 0 {
			throw(name, "leaf %s is a scalar and has no axis to scan along", tree.Path(i))
		}
		if l.Dim(0) != leaves[0].Dim(0) {
			throw(name, "leaf %s has %d elements along axis 0, leaf %s has %d: all leaves must agree", tree.Path(0),
				leaves[0].Dim(0), tree.Path(i), l.Dim(0))
		}
		element[i] = l.shape.remove(0)
	}
	pairs := VMap2(func(a, b []*Array) []*Array {
		out, t := Flatten(f(unflattenAs[T](tree, a), unflattenAs[T](tree, b)))
		mustMatch(name, "element of xs", tree, "result of the function", t)
		for i, o := range out {
			if !o.shape.Equal(element[i]) {
				throw(name, "leaf %s of the function's result is %s, of its arguments %s: it must map two elements "+
					"to one of the same shapes and dtypes", tree.Path(i), o.shape, element[i])
			}
		}
		return out
	})
	reverse := cumulativeOptions(name, "", leaves[0], 0, opts).Reverse
	flip := func(x *Array) *Array { return Reverse(x, 0) }
	if reverse {
		leaves = each(leaves, flip)
	}
	leaves = prefixes(pairs, leaves)
	if reverse {
		leaves = each(leaves, flip)
	}
	return unflattenAs[T](tree, leaves)
}

// prefixes combines neighbors, scans over the pairs, which gives every second result, and takes one more step for
// those between.
func prefixes(pairs func(a, b []*Array) []*Array, xs []*Array) []*Array {
	n := xs[0].Dim(0)
	if n < 2 {
		return xs
	}
	half := n / 2
	every2 := func(from, count int) []*Array { return everySecond(xs, from, count) }
	odd := prefixes(pairs, pairs(every2(0, half), every2(1, half)))
	out := make([]*Array, len(xs))
	between := (n - 1) / 2 // elements at even places but the first
	var even []*Array
	if between > 0 {
		before := each(odd, func(x *Array) *Array { return SliceAxis(x, 0, 0, between) })
		even = pairs(before, every2(2, between))
	}
	for i, x := range xs {
		e := SliceAxis(x, 0, 0, 1)
		if between > 0 {
			e = Concatenate(0, e, even[i])
		}
		out[i] = interleave(e, odd[i])
	}
	return out
}

// everySecond takes count rows at places from, from+2, ….
func everySecond(xs []*Array, from, count int) []*Array {
	return each(xs, func(x *Array) *Array {
		start, limit, stride := make([]int, x.Rank()), slices.Clone(x.Dims()), slices.Repeat([]int{1}, x.Rank())
		start[0], limit[0], stride[0] = from, from+2*count-1, 2
		return StridedSlice(x, start, limit, stride)
	})
}

// interleave puts the rows of a at even places and those of b, as many or one fewer, at odd ones.
func interleave(a, b *Array) *Array {
	n, m := a.Dim(0), b.Dim(0)
	dims := append([]int{2 * m}, a.Dims()[1:]...)
	out := Reshape(Stack([]*Array{SliceAxis(a, 0, 0, m), b}, 1), dims...)
	if n > m {
		return Concatenate(0, out, SliceAxis(a, 0, m, n))
	}
	return out
}
