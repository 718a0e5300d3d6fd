package graph

// AllGatherTiled joins x of every lane or device of a named axis along an axis of x, in order: x [.., d, ..] gives
// [.., n d, ..] on n lanes (jax.lax.all_gather with tiled=True).
func AllGatherTiled(x *Array, axis string, dim int) *Array {
	dim = checkAxis("AllGatherTiled", dim, x.Rank())
	return MergeAxes(MoveAxis(AllGather(x, axis), 0, dim), dim, 2)
}

// AllToAllTiled cuts axis split of x into a part for each lane or device of a named axis, sends part i to lane i, and
// joins what comes in along axis concat, in order: on n lanes axis split gets n times shorter, and axis concat n times
// longer (jax.lax.all_to_all with tiled=True).
func AllToAllTiled(x *Array, axis string, split, concat int) *Array {
	const name = "AllToAllTiled"
	split, concat = checkAxis(name, split, x.Rank()), checkAxis(name, concat, x.Rank())
	parts := MoveAxis(cutAxis(name, x, axis, split), split, 0)
	return MergeAxes(MoveAxis(AllToAll(parts, axis, 0, 0), 0, concat), concat, 2)
}

// PSumScatter adds x over the lanes or devices of a named axis and leaves each with its own element of axis dim, which
// has one for each lane: x [.., n, ..] gives [.., ..] (jax.lax.psum_scatter). Lanes are
// added in their order.
func PSumScatter(x *Array, axis string, dim int) *Array {
	dim = checkAxis("PSumScatter", dim, x.Rank())
	if n := collective("PSumScatter", axis, x).Size; x.Dim(dim) != n {
		throw("PSumScatter", "axis %d of %s has %d elements, want %d, one for each of axis %q", dim, x.shape,
			x.Dim(dim), n, axis)
	}
	return Sum(AllToAll(x, axis, dim, 0), 0)
}

// PSumScatterTiled is PSumScatter for an axis with several elements for each lane: x [.., n d, ..] gives [.., d, ..]
// on n lanes (jax.lax.psum_scatter with tiled=True).
func PSumScatterTiled(x *Array, axis string, dim int) *Array {
	dim = checkAxis("PSumScatterTiled", dim, x.Rank())
	return PSumScatter(cutAxis("PSumScatterTiled", x, axis, dim), axis, dim)
}

// cutAxis makes [.., n, d, ..] of x [.., n d, ..], for the n lanes or devices of a named axis.
func cutAxis(name string, x *Array, axis string, dim int) *Array {
	n := collective(name, axis, x).Size
	if x.Dim(dim)%n != 0 {
		throw(name, "axis %d of %s has %d elements, want a multiple of %d, the size of axis %q", dim, x.shape,
			x.Dim(dim), n, axis)
	}
	return SplitAxis(x, dim, n, x.Dim(dim)/n)
}
