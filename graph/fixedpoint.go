package graph

// FixedPoint applies f to x, an array of whole numbers or bools, until nothing changes: the result y is f(y). f must
// converge from x in a finite number of iterations. VMap goes on until all lanes have converged. More iterations leave
// a lane that has converged as it is.
func FixedPoint(f func(x *Array) *Array, x *Array) *Array {
	if !isInt(x.DType()) && x.DType() != Bool {
		throw("FixedPoint", "got %s, want whole numbers or bools: rounding may prevent the convergence of others",
			x.shape)
	}
	type loop struct{ X, Before *Array }
	changed := func(l loop) *Array { return BatchMax(Convert(Any(Ne(l.X, l.Before)), Int32)) }
	return While(func(l loop) *Array { return Gt(changed(l), 0) }, func(l loop) loop {
		return loop{f(l.X), l.X}
	}, loop{f(x), x}).X
}
