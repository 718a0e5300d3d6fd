package graph

import "math"

// Elementwise functions of one operand. x is an *Array or a Go number; integer and bool operands of float functions
// become float32. Results have x's shape.

func unaryCall(name string, x any) *Array { return apply1(op(name), nil, operands(name, x)[0]) }

func floatCall(name string, x any) *Array { return apply1(op(name), nil, floatOf(name, x)) }

// floatOf reads an operand of a float function.
func floatOf(name string, x any) *Array { return floatOperands(name, x)[0] }

// Exp is e to the x.
func Exp(x any) *Array { return floatCall("exp", x) }

// Expm1 is exp(x) - 1, accurate near 0.
func Expm1(x any) *Array { return floatCall("expm1", x) }

// Log is the natural logarithm.
func Log(x any) *Array { return floatCall("log", x) }

// Log1p is log(1 + x), accurate near 0.
func Log1p(x any) *Array { return floatCall("log1p", x) }

// Sin is the sine, in radians.
func Sin(x any) *Array { return floatCall("sin", x) }

// Cos is the cosine, in radians.
func Cos(x any) *Array { return floatCall("cos", x) }

// Tan is the tangent, in radians.
func Tan(x any) *Array { return floatCall("tan", x) }

// Asin is the inverse sine.
func Asin(x any) *Array { return floatCall("asin", x) }

// Acos is the inverse cosine.
func Acos(x any) *Array { return floatCall("acos", x) }

// Atan is the inverse tangent.
func Atan(x any) *Array { return floatCall("atan", x) }

// Sinh is the hyperbolic sine.
func Sinh(x any) *Array { return floatCall("sinh", x) }

// Cosh is the hyperbolic cosine.
func Cosh(x any) *Array { return floatCall("cosh", x) }

// Tanh is the hyperbolic tangent.
func Tanh(x any) *Array { return floatCall("tanh", x) }

// Asinh is the inverse hyperbolic sine.
func Asinh(x any) *Array { return floatCall("asinh", x) }

// Acosh is the inverse hyperbolic cosine.
func Acosh(x any) *Array { return floatCall("acosh", x) }

// Atanh is the inverse hyperbolic tangent.
func Atanh(x any) *Array { return floatCall("atanh", x) }

// Sqrt is the square root.
func Sqrt(x any) *Array { return floatCall("sqrt", x) }

// Rsqrt is 1 / sqrt(x).
func Rsqrt(x any) *Array { return floatCall("rsqrt", x) }

// Cbrt is the cube root.
func Cbrt(x any) *Array { return floatCall("cbrt", x) }

// Logistic is 1 / (1 + exp(-x)), the sigmoid.
func Logistic(x any) *Array { return floatCall("logistic", x) }

// Erf is the error function. Largest error: 1 ULP in float64, 3 in float32, 1 in 16-bit floats.
func Erf(x any) *Array { return floatCall("erf", x) }

// ErfInv is the inverse of Erf. Largest error: 2 ULP in float64, 2 in float32, 1 in 16-bit floats.
func ErfInv(x any) *Array { return floatCall("erf_inv", x) }

// Erfc is 1 - Erf(x). Largest error: 1 ULP in float64, 2 in float32, 1 in 16-bit floats.
func Erfc(x any) *Array { return floatCall("erfc", x) }

// Lgamma is the logarithm of the absolute value of the gamma function. Largest error: 18 ULP in float64, 40 in
// float32, 1 in 16-bit floats.
func Lgamma(x any) *Array { return floatCall("lgamma", x) }

// Digamma is the derivative of Lgamma. Largest error: 4 ULP in float64, 5 in float32, 1 in 16-bit floats.
func Digamma(x any) *Array { return floatCall("digamma", x) }

// Trigamma is the derivative of Digamma: by recurrence up to x + 8 and the asymptotic series, by reflection below 1/2
// (Abramowitz and Stegun 6.4.6, 6.4.7, 6.4.12). 16-bit floats are computed as float32 and rounded once. Largest
// error: 2 ULP in float64, 3 in float32, 1 in 16-bit floats.
func Trigamma(x any) *Array {
	a := floatOf("trigamma", x)
	if ItemSize(a.DType()) == 2 {
		return Convert(Trigamma(Convert(a, Float32)), a.DType())
	}
	low := Lt(a, .5)
	z := Select(low, Sub(1, a), a)
	sum := ZerosLike(z)
	for range 8 {
		sum = Add(sum, Reciprocal(Square(z)))
		z = Add(z, 1)
	}
	r := Reciprocal(z)
	q := Square(r)
	series := ZerosLike(z)
	bernoulli := []float64{43867. / 798, -3617. / 510, 7. / 6, -691. / 2730, 5. / 66, -1. / 30, 1. / 42, -1. / 30,
		1. / 6}
	if a.DType() != Float64 {
		bernoulli = bernoulli[4:]
	}
	for _, c := range bernoulli {
		series = Mul(Add(series, c), q)
	}
	sum = Add(sum, Mul(r, Add(Add(1, Mul(.5, r)), series)))
	near := Select(low, Sub(a, Round(a)), .5) // the sine's sign does not count
	s := Div(math.Pi, Sin(Mul(math.Pi, near)))
	return Select(low, Sub(Square(s), sum), sum)
}

// Floor rounds down.
func Floor(x any) *Array { return floatCall("floor", x) }

// Ceil rounds up.
func Ceil(x any) *Array { return floatCall("ceil", x) }

// Round rounds to the nearest integer, halves to even.
func Round(x any) *Array { return floatCall("round", x) }

// RoundAway rounds to the nearest integer, halves away from zero.
func RoundAway(x any) *Array { return floatCall("round_away", x) }

// IsFinite returns whether a float is neither infinite nor NaN, of a complex number whether both parts are so.
func IsFinite(x any) *Array {
	a := floatOf("is_finite", x)
	if isComplex(a.DType()) {
		return And(IsFinite(Real(a)), IsFinite(Imag(a)))
	}
	return apply1(op("is_finite"), nil, a)
}

// Neg is -x; unsigned integers wrap.
func Neg(x any) *Array { return unaryCall("neg", x) }

// Abs is the absolute value, of complex numbers a real one.
func Abs(x any) *Array {
	a := operands("abs", x)[0]
	switch {
	case isUnsigned(a.DType()):
		return a
	case isComplex(a.DType()):
		return modulus(a)
	}
	return apply1(op("abs"), nil, a)
}

// Sign is -1, 0 or 1 (NaN for NaN); of a complex number, the number over its absolute value.
func Sign(x any) *Array {
	a := operands("sign", x)[0]
	switch {
	case isUnsigned(a.DType()):
		return Convert(Ne(a, 0), a.DType())
	case isComplex(a.DType()):
		return unitOf(a, Abs(a))
	}
	return apply1(op("sign"), nil, a)
}

// Not is the bitwise complement, the logical one for bools.
func Not(x any) *Array { return unaryCall("not", x) }

// PopCount is the number of set bits.
func PopCount(x any) *Array { return unaryCall("popcnt", x) }

// CountLeadingZeros is the number of zero bits above the highest set one.
func CountLeadingZeros(x any) *Array { return unaryCall("clz", x) }

// Exp2 is 2 to the x.
func Exp2(x any) *Array { return Exp(Mul(floatOf("exp2", x), math.Ln2)) }

// Log2 is the logarithm to base 2.
func Log2(x any) *Array { return Div(Log(x), math.Ln2) }

// Log10 is the logarithm to base 10.
func Log10(x any) *Array { return Div(Log(x), math.Ln10) }

// Trunc rounds toward zero.
func Trunc(x any) *Array {
	a := floatOf("trunc", x)
	return Select(Lt(a, 0), Ceil(a), Floor(a))
}

// IsInf returns whether a float, or the absolute value of a complex number, is infinite.
func IsInf(x any) *Array { return Eq(Abs(x), math.Inf(1)) }

// Square is x * x.
func Square(x any) *Array { return Mul(x, x) }

// Reciprocal is 1 / x.
func Reciprocal(x any) *Array { return Div(1, x) }

// IsNaN returns whether a float is not a number.
func IsNaN(x any) *Array { return Ne(x, x) }

// Relu is max(x, 0), with gradient 0 at 0; NaN stays NaN.
func Relu(x any) *Array {
	a := operands("relu", x)[0]
	return Select(Le(a, 0), 0, a)
}
