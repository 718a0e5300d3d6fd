package graph

// Interp is the piecewise linear function through the points (xp[i], fp[i]) at x, of any shape: fp's ends outside.
// xp and fp are vectors of one length, xp ascending.
func Interp(x, xp, fp *Array) *Array {
	const name = "Interp"
	if xp.Rank() != 1 || fp.Rank() != 1 || xp.Size() != fp.Size() || xp.Size() == 0 {
		throw(name, "got the points %s and %s, want two vectors of one length of at least 1", xp.shape, fp.shape)
	}
	d := Promote(Promote(asFloat(x).DType(), asFloat(xp).DType()), asFloat(fp).DType())
	x, xp, fp = Convert(x, d), Convert(xp, d), Convert(fp, d)
	n := xp.Size()
	if n == 1 {
		return BroadcastTo(Squeeze(fp), x.Dims()...)
	}
	i := Clamp(1, SearchSorted(xp, x, true), n-1)
	at := func(points, i *Array) *Array { return Take(points, i, 0) }
	x0, x1 := at(xp, Sub(i, 1)), at(xp, i)
	y0, y1 := at(fp, Sub(i, 1)), at(fp, i)
	apart := Sub(x1, x0)
	jump := Eq(apart, 0)
	inside := Select(jump, y0, Add(y0, Mul(Div(Sub(x, x0), Select(jump, 1, apart)), Sub(y1, y0))))
	inside = Select(Lt(x, Index(xp, 0)), Index(fp, 0), inside)
	return Select(Gt(x, Index(xp, n-1)), Index(fp, n-1), inside)
}

// Trapezoid is the integral of samples y along an axis by the trapezoidal rule. The distance between samples is a
// number or an array that broadcasts to the distances, one fewer than the samples.
func Trapezoid(y *Array, distance any, axis int) *Array {
	axis = checkAxis("Trapezoid", axis, y.Rank())
	n := y.shape.Dims[axis]
	if n == 0 {
		throw("Trapezoid", "axis %d of %s is empty", axis, y.shape)
	}
	y = asFloat(y)
	middle := Mul(.5, Add(SliceAxis(y, axis, 1, n), SliceAxis(y, axis, 0, n-1)))
	return Sum(Mul(middle, distance), axis)
}

// Slope is the derivative of samples x along an axis by differences: central ones inside, one-sided ones at the
// ends. The distance between samples is a number. It is numpy.gradient.
func Slope(x *Array, distance float64, axis int) *Array {
	axis = checkAxis("Slope", axis, x.Rank())
	n := x.shape.Dims[axis]
	if n < 2 {
		throw("Slope", "axis %d of %s has %d samples, want at least 2", axis, x.shape, n)
	}
	x = asFloat(x)
	step := Diff(x, axis)
	ends := []*Array{SliceAxis(step, axis, 0, 1), SliceAxis(step, axis, n-2, n-1)}
	if n > 2 {
		inside := Mul(.5, Sub(SliceAxis(x, axis, 2, n), SliceAxis(x, axis, 0, n-2)))
		ends = []*Array{ends[0], inside, ends[1]}
	}
	return Div(Concatenate(axis, ends...), distance)
}

// PolyVal is the polynomial with the coefficients p, of the highest power first, at x.
func PolyVal(p, x *Array) *Array {
	if p.Rank() != 1 {
		throw("PolyVal", "got the coefficients %s, want a vector", p.shape)
	}
	d := Promote(p.DType(), x.DType())
	p, x = Convert(p, d), Convert(x, d)
	y := ZerosLike(x)
	for i := range p.Size() {
		y = Add(Mul(y, x), Index(p, i))
	}
	return y
}

// PolyFit is the polynomial of the given degree with the least squared differences to points (x[i], y[i]): its
// coefficients, [degree + 1], of the highest power first.
func PolyFit(x, y *Array, degree int) *Array {
	v := Vander(asFloat(x), degree+1)
	scale := Sqrt(Sum(Square(v), 0))
	return Div(Lstsq(Div(v, scale), y).X, scale)
}

// Vander is the matrix [len(x), n] of the powers of a vector: columns x^(n-1), …, x, 1.
func Vander(x *Array, n int) *Array {
	if x.Rank() != 1 || n < 0 {
		throw("Vander", "got %s and %d columns, want a vector and at least 0", x.shape, n)
	}
	if n == 0 {
		return Zeros(x.shape.dims(x.Size(), 0))
	}
	columns := make([]*Array, n)
	for i := range columns {
		columns[n-1-i] = OnesLike(x)
		if i > 0 {
			columns[n-1-i] = Mul(columns[n-i], x)
		}
	}
	return Stack(columns, 1)
}

// Unwrap adds multiples of the period to the elements along an axis, so that neighbors differ by half a period at
// most: angles that go on. The period of radians is 2 math.Pi.
func Unwrap(x *Array, period float64, axis int) *Array {
	axis = checkAxis("Unwrap", axis, x.Rank())
	x = asFloat(x)
	n := x.shape.Dims[axis]
	if n < 2 {
		return x
	}
	step := Diff(x, axis)
	near := Sub(Mod(Add(step, period/2), period), period/2)
	near = Select(And(Eq(near, -period/2), Gt(step, 0)), period/2, near)
	add := CumSum(Select(Lt(Abs(step), period/2), 0, Sub(near, step)), axis)
	return Concatenate(axis, SliceAxis(x, axis, 0, 1), Add(SliceAxis(x, axis, 1, n), add))
}
