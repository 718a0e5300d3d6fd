package graph

// Ravel lays the leaves of a tree end to end, [numbers], and returns the function that makes a tree of such a
// vector. The vector has the dtype to which the leaves' dtypes promote; unravel gives each leaf its shape and its
// dtype back. It is jax.flatten_util.ravel_pytree.
func Ravel[T any](v T) (flat *Array, unravel func(flat *Array) T) {
	leaves, tree := Flatten(v)
	d, size := Float32, 0
	shapes := make([]Shape, len(leaves))
	for i, a := range leaves {
		if i == 0 {
			d = a.DType()
		}
		d, size, shapes[i] = Promote(d, a.DType()), size+a.Size(), a.shape
	}
	parts := make([]*Array, len(leaves))
	for i, a := range leaves {
		parts[i] = Convert(Flatten1D(a), d)
	}
	if len(parts) == 0 {
		parts = []*Array{Zeros(ShapeOf(d, 0))}
	}
	return Concatenate(0, parts...), func(flat *Array) T {
		if flat.Rank() != 1 || flat.Size() != size {
			throw("Ravel", "got %s to unravel, want [%d]", flat.shape, size)
		}
		at, out := 0, make([]*Array, len(shapes))
		for i, s := range shapes {
			out[i] = Convert(Reshape(SliceAxis(flat, 0, at, at+s.Size()), s.Dims...), s.DType)
			at += s.Size()
		}
		tree, _ := tree.Unflatten(out).(T)
		return tree
	}
}
