package graph

import "slices"

// Full is an array of one value. A Go number that the dtype does not hold is an error: an integer of an integer or a
// float dtype, and any number beyond the range. Other numbers are rounded, as 0.1 is.
//
//go:noinline
func Full(s Shape, value any) *Array { return full("Full", s, value) }

// full is Full under the name of the function that was called.
func full(name string, s Shape, value any) *Array {
	for _, d := range s.Dims {
		if d < 0 {
			throw(name, "got the shape %s; want sizes of at least 0", s)
		}
	}
	v, sc := operand(name, value)
	if v == nil {
		v = sc.exactly(name, s.DType)
	}
	return BroadcastTo(Convert(v, s.DType), s.Dims...)
}

// Zeros is an array of zeros.
//
//go:noinline
func Zeros(s Shape) *Array { return Full(s, 0) }

// Ones is an array of ones.
//
//go:noinline
func Ones(s Shape) *Array { return Full(s, 1) }

// ZerosLike has x's shape.
//
//go:noinline
func ZerosLike(x *Array) *Array { return Zeros(x.shape) }

// OnesLike has x's shape.
//
//go:noinline
func OnesLike(x *Array) *Array { return Ones(x.shape) }

// FullLike has x's shape.
func FullLike(x *Array, value any) *Array { return full("FullLike", x.shape, value) }

// Scalar is a number or a bool as an array without axes. Without a dtype it is float32, and bool for a bool.
func Scalar(v any, dtype ...DType) *Array {
	if len(dtype) > 1 {
		throw("Scalar", "got %d dtypes, want one or none", len(dtype))
	}
	usual := Float32
	if _, ok := v.(bool); ok {
		usual = Bool
	}
	return full("Scalar", Shape{DType: append(dtype, usual)[0]}, v)
}

// Eye is the n x n identity matrix.
func Eye(d DType, n int) *Array {
	s := ShapeOf(Int32, n, n)
	return Convert(Eq(IotaAxis(s, 0), IotaAxis(s, 1)), d)
}

// Linspace is n numbers from start to stop, both included and exact. n is at most 2^24, the steps that a float32 can
// count.
func Linspace(start, stop float64, n int) *Array {
	return spaced("Linspace", start, stop, n, func(x float64) float64 { return x })
}

// spaced is f of n numbers from start to stop, both included.
func spaced(name string, start, stop float64, n int, f func(x float64) float64) *Array {
	const most = 1 << 24
	if n < 0 || n > most {
		throw(name, "got %d numbers; want from 0 to %d", n, most)
	}
	v := make([]float32, n)
	for i := range v {
		x := start
		switch i {
		case 0:
		case n - 1:
			x = stop
		default:
			x += (stop - start) * float64(i) / float64(n-1)
		}
		v[i] = float32(f(x))
	}
	return Float32s(v)
}

// OneHot marks index x (any integer shape) along a new last axis of size n; indices out of range give zeros. A bool is
// index 0 or 1.
func OneHot(x *Array, n int, d DType) *Array {
	if n < 0 {
		throw("OneHot", "got the size %d for %s; want at least 0", n, x.shape)
	}
	d32 := Int32 // holds all of 0, …, n-1
	if isFloat(x.DType()) {
		d32 = Float32
	}
	x = widen(x, d32)
	return Convert(Eq(ExpandDims(x, -1), Convert(Iota(n), x.DType())), d)
}

// ExpandDims adds an axis of size 1 at the given place of the result.
func ExpandDims(x *Array, axis int) *Array {
	axis = checkAxis("ExpandDims", axis, x.Rank()+1)
	return Reshape(x, slices.Insert(slices.Clone(x.Dims()), axis, 1)...)
}

// Squeeze removes axes of size 1: those given, else all of them.
func Squeeze(x *Array, axes ...int) *Array {
	if len(axes) == 0 {
		for i, d := range x.Dims() {
			if d == 1 {
				axes = append(axes, i)
			}
		}
		if len(axes) == 0 {
			return x
		}
	}
	axes = normAxes("Squeeze", axes, x.Rank())
	for _, a := range axes {
		if x.shape.Dims[a] != 1 {
			throw("Squeeze", "axis %d of %s has size %d, want 1", a, x.shape, x.shape.Dims[a])
		}
	}
	return Reshape(x, dropAxes(x.Dims(), axes)...)
}

// Flatten1D gives the elements as one axis.
func Flatten1D(x *Array) *Array { return Reshape(x, x.Size()) }

// Split cuts an axis into n equal parts.
func Split(x *Array, n, axis int) []*Array {
	axis = checkAxis("Split", axis, x.Rank())
	d := x.shape.Dims[axis]
	if n < 1 || d%n != 0 {
		throw("Split", "axis %d of %s does not divide into %d parts", axis, x.shape, n)
	}
	wantSeparate("Split", n)
	out := make([]*Array, n)
	for i := range out {
		out[i] = SliceAxis(x, axis, i*(d/n), (i+1)*(d/n))
	}
	return out
}

// mostSeparate is the number of results up to which functions give them one by one.
const mostSeparate = 1 << 16

// wantSeparate refuses to make more things one by one than a program can name.
func wantSeparate(op string, n int) {
	if n < 0 || n > mostSeparate {
		throw(op, "got %d for the number of results, want from 0 to %d", n, mostSeparate)
	}
}

// Unstack takes an axis apart.
func Unstack(x *Array, axis int) []*Array {
	axis = checkAxis("Unstack", axis, x.Rank())
	wantSeparate("Unstack", x.shape.Dims[axis])
	out := make([]*Array, x.shape.Dims[axis])
	for i := range out {
		out[i] = index(x, axis, i)
	}
	return out
}
