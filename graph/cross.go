package graph

// Cross is the cross product of vectors along the last axis, [..., 3]; leading axes broadcast. Of vectors [..., 2] it
// is the third component, [...]. As jax.numpy.cross.
func Cross(x, y *Array) *Array {
	const name = "Cross"
	for _, a := range []*Array{x, y} {
		if a == nil || a.Rank() == 0 || a.Dim(-1) != 2 && a.Dim(-1) != 3 {
			throw(name, "got %v, want vectors of 2 or 3 along the last axis", a)
		}
	}
	at := func(a *Array, i int) *Array {
		if i == a.Dim(-1) { // the third component of a vector of two
			return ZerosLike(IndexAxis(a, -1, 0))
		}
		return IndexAxis(a, -1, i)
	}
	third := Sub(Mul(at(x, 0), at(y, 1)), Mul(at(x, 1), at(y, 0)))
	if x.Dim(-1) == 2 && y.Dim(-1) == 2 {
		return third
	}
	return Stack([]*Array{Sub(Mul(at(x, 1), at(y, 2)), Mul(at(x, 2), at(y, 1))),
		Sub(Mul(at(x, 2), at(y, 0)), Mul(at(x, 0), at(y, 2))), third}, -1)
}
