package graph

import "math"

// Hypot is sqrt(x² + y²) without overflow: infinite if an operand is, else NaN if one is NaN. The derivative at (0,
// 0) is 0.
func Hypot(x, y any) *Array {
	a := floatOperands("Hypot", x, y)
	p, q := Abs(a[0]), Abs(a[1])
	first := Ge(p, q)
	large, small := Select(first, p, q), Select(first, q, p)
	flat := Or(Eq(large, 0), IsInf(large)) // where the quotient is no number
	r := Div(Select(flat, 0, small), Select(flat, 1, large))
	length := Select(IsNaN(Add(p, q)), math.NaN(), Mul(large, Sqrt(Add(1, Square(r)))))
	return Select(Or(IsInf(p), IsInf(q)), math.Inf(1), length)
}

// SignBit returns whether the sign bit of a float is set: true for -0 and for a NaN with it. Of integers it is x <
// 0.
func SignBit(x any) *Array {
	a := operands("SignBit", x)[0]
	if !isFloat(a.DType()) {
		return Lt(a, 0)
	}
	signedOf := map[int]DType{2: Int16, 4: Int32, 8: Int64}
	return Lt(Bitcast(a, signedOf[ItemSize(a.DType())]), 0)
}

// CopySign is the magnitude of x with the sign bit of y.
func CopySign(x, y any) *Array {
	a := floatOperands("CopySign", x, y)
	size := Abs(a[0])
	return Select(SignBit(a[1]), Neg(size), size)
}

// Heaviside is 0 where x < 0, 1 where x > 0 and y where x is 0.
func Heaviside(x, y any) *Array {
	a := floatOperands("Heaviside", x, y)
	return Select(Lt(a[0], 0), 0, Select(Gt(a[0], 0), 1, Select(Eq(a[0], 0), a[1], a[0])))
}

// FMax is the larger operand; where one of them is NaN, the other one.
func FMax(x, y any) *Array {
	a := operands("FMax", x, y)
	return Select(Or(Gt(a[0], a[1]), IsNaN(a[1])), a[0], a[1])
}

// FMin is the smaller operand; where one of them is NaN, the other one.
func FMin(x, y any) *Array {
	a := operands("FMin", x, y)
	return Select(Or(Lt(a[0], a[1]), IsNaN(a[1])), a[0], a[1])
}

// DivMod is FloorDiv and Mod.
func DivMod(x, y any) (quotient, remainder *Array) { return FloorDiv(x, y), Mod(x, y) }

// Modf is the fraction of x and its whole part, both with the sign of x.
func Modf(x any) (fraction, whole *Array) {
	a := floatOf("Modf", x)
	whole = Trunc(a)
	return CopySign(Select(IsInf(a), 0, Sub(a, whole)), a), whole
}

// Degrees converts radians to degrees.
func Degrees(x any) *Array { return Mul(floatOf("Degrees", x), 180/math.Pi) }

// Radians converts degrees to radians.
func Radians(x any) *Array { return Mul(floatOf("Radians", x), math.Pi/180) }

// Sinc is sin(πx)/(πx), and 1 at 0, with all its derivatives there.
func Sinc(x any) *Array {
	y := Mul(floatOf("Sinc", x), math.Pi)
	small := Lt(Abs(y), .1)
	q := Square(Select(small, y, 0))
	series := OnesLike(y)
	for _, n := range []float64{110, 72, 42, 20, 6} { // 1 - y²/6 (1 - y²/20 (1 - …
		series = Sub(1, Mul(Div(q, n), series))
	}
	away := Select(small, 1, y)
	return Select(small, series, Div(Sin(away), away))
}

// LogAddExp2 is log2(2^x + 2^y) without overflow.
func LogAddExp2(x, y any) *Array {
	a := floatOperands("LogAddExp2", x, y)
	return Div(LogAddExp(Mul(a[0], math.Ln2), Mul(a[1], math.Ln2)), math.Ln2)
}

// NanToNum replaces NaN by 0, and infinities by the largest and the smallest finite number of the dtype; up to three
// values, for NaN, +Inf and -Inf, say otherwise. What is replaced has derivative zero.
func NanToNum(x *Array, values ...float64) *Array {
	if len(values) > 3 {
		throw("NanToNum", "got %d values, want up to three: for NaN, +Inf and -Inf", len(values))
	}
	if !isFloat(x.DType()) {
		return x
	}
	with := []float64{0, Finfo(x.DType()).Max, -Finfo(x.DType()).Max}
	copy(with, values)
	var by [3]*Array
	for i, v := range with {
		_, s := operand("NanToNum", v)
		by[i] = s.exactly("NanToNum", x.DType())
	}
	x = Select(Eq(x, math.Inf(1)), by[1], Select(Eq(x, math.Inf(-1)), by[2], x))
	return Select(IsNaN(x), by[0], x)
}
