package graph

// Functions of complex numbers, complex64. Most elementwise functions, sums, products and what moves elements take them
// as they are.

// Complex makes complex numbers of real and imaginary parts, which are promoted and broadcast; integers and 16-bit
// floats are read as float32.
func Complex(re, im any) *Array {
	a := floatOperands("complex", re, im)
	if ItemSize(a[0].DType()) == 2 {
		a = each(a, func(x *Array) *Array { return Convert(x, Float32) })
	}
	return apply1(op("complex"), nil, a...)
}

// Real is the real part; a real array is its own.
func Real(x any) *Array {
	a := operands("real", x)[0]
	if !isComplex(a.DType()) {
		return a
	}
	return apply1(op("real"), nil, a)
}

// Imag is the imaginary part; of a real array it is 0.
func Imag(x any) *Array {
	a := operands("imag", x)[0]
	if !isComplex(a.DType()) {
		return ZerosLike(a)
	}
	return apply1(op("imag"), nil, a)
}

// Conj is the complex conjugate; a real array is its own.
func Conj(x any) *Array {
	a := operands("conj", x)[0]
	if !isComplex(a.DType()) {
		return a
	}
	return Complex(Real(a), Neg(Imag(a)))
}

// modulus is the absolute value of complex numbers. Its tangent is the part of z's tangent along z. It does not use
// the derivative of Hypot, which has squares of small numbers.
func modulus(z *Array) *Array {
	size := func(z *Array) *Array { return Hypot(Real(z), Imag(z)) }
	return CustomJvp(size, func(z, t *Array) (*Array, *Array) {
		y := size(z)
		u := unitOf(z, y)
		return y, Add(Mul(Real(u), Real(t)), Mul(Imag(u), Imag(t)))
	})(z)
}

// unitOf is z over its absolute value, and 0 of 0.
func unitOf(z, size *Array) *Array { return Div(z, Select(Eq(size, 0), 1, size)) }

// Angle is the angle of a complex number against the real axis, in radians from -π to π: π of negative real numbers.
func Angle(x any) *Array {
	a := floatOf("angle", x)
	return Atan2(Imag(a), Real(a))
}

// IsReal returns whether an element has no imaginary part. It is numpy.isreal.
func IsReal(x any) *Array { return Eq(Imag(x), 0) }

// IsComplex returns whether an element has an imaginary part. It is numpy.iscomplex.
func IsComplex(x any) *Array { return Ne(Imag(x), 0) }

// Vdot is the sum of products of the elements of x, conjugated, with those of y, as jax.numpy.vdot.
func Vdot(x, y *Array) *Array { return Dot(Flatten1D(Conj(x)), Flatten1D(y)) }

// GradHolomorphic gives the complex derivative of a holomorphic function of one complex argument, a tree, to a complex
// scalar: jax.grad with holomorphic=True. Of functions that are not holomorphic it is not their derivative.
func GradHolomorphic[A any](f func(A) *Array) func(A) A {
	return func(a A) A {
		y, pull := Vjp(f, a)
		if !isComplex(y.DType()) || y.Rank() != 0 {
			throw("GradHolomorphic", "the function returns %s, want a complex scalar: Grad is for real ones", y.shape)
		}
		return pull(OnesLike(y))
	}
}
