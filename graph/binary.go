package graph

// Elementwise functions of two operands. Operands are *Array or Go numbers; they are promoted to one dtype (JAX's
// rules; a Go scalar takes the array's dtype) and broadcast to one shape (NumPy's rules).

func binaryCall(name string, x, y any) *Array {
	a := operands(name, x, y)
	return apply1(op(name), nil, a[0], a[1])
}

// Add is x + y; for bools, or.
//
//go:noinline
func Add(x, y any) *Array { return binaryCall("add", x, y) }

// Sub is x - y.
//
//go:noinline
func Sub(x, y any) *Array { return binaryCall("sub", x, y) }

// Mul is x * y; for bools, and.
//
//go:noinline
func Mul(x, y any) *Array { return binaryCall("mul", x, y) }

// Div is x / y; integers are divided as float32 numbers (see FloorDiv and Quo for integer quotients).
func Div(x, y any) *Array {
	a := floatOperands("div", x, y)
	return apply1(op("div"), nil, a[0], a[1])
}

// Quo is the quotient truncated toward zero, x / y in Go's sense for integers.
func Quo(x, y any) *Array {
	a := operands("quo", x, y)
	q := apply1(op("div"), nil, a[0], a[1])
	if isFloat(q.DType()) {
		return Mul(Sign(q), Floor(Abs(q)))
	}
	return q
}

// FloorDiv is the quotient rounded down, such that x = FloorDiv(x, y) y + Mod(x, y) up to rounding. Of floats it is x /
// y where y is 0.
func FloorDiv(x, y any) *Array {
	a := operands("floor_div", x, y)
	d := a[0].DType()
	if isUnsigned(d) {
		return apply1(op("div"), nil, a[0], a[1])
	}
	r := apply1(op("rem"), nil, a[0], a[1])
	down := And(Ne(r, 0), Ne(Lt(r, 0), Lt(a[1], 0)))
	if isFloat(d) {
		// Taken from the exact remainder: x / y itself may round up to the next whole number.
		q := Div(Sub(a[0], r), a[1])
		return Round(Select(Eq(a[1], 0), Div(a[0], a[1]), Select(down, Sub(q, 1), q))) // the remainder by 0 is NaN
	}
	q := apply1(op("div"), nil, a[0], a[1])
	return Select(down, Sub(q, 1), q)
}

// Rem is the remainder with the sign of x, x % y in Go's sense.
func Rem(x, y any) *Array { return binaryCall("rem", x, y) }

// Mod is the remainder with the sign of y, as in Python and NumPy.
func Mod(x, y any) *Array {
	a := operands("mod", x, y)
	r := apply1(op("rem"), nil, a[0], a[1])
	if isUnsigned(r.DType()) {
		return r
	}
	return Select(And(Ne(r, 0), Ne(Lt(r, 0), Lt(a[1], 0))), Add(r, a[1]), r)
}

// Pow is x to the power of y. A Go integer y becomes multiplications, which are exact where the result is and right for
// negative x.
func Pow(x, y any) *Array {
	a, _ := operand("pow", x)
	if v, s := operand("pow", y); a != nil && v == nil && s.v.CanInt() && (s.v.Int() >= 0 || isFloat(a.DType())) &&
		a.DType() != Bool {
		return integerPow(a, s.v.Int())
	}
	return binaryCall("pow", x, y)
}

// integerPow multiplies by repeated squaring.
func integerPow(x *Array, n int64) *Array {
	if n < 0 {
		// The derivative of the quotient would be the square of a number that may be infinite.
		return CustomJvp(func(x *Array) *Array { return Reciprocal(integerPow(x, -n)) },
			func(x, t *Array) (*Array, *Array) {
				return Reciprocal(integerPow(x, -n)), Mul(t, Mul(float64(n), Reciprocal(integerPow(x, 1-n))))
			})(x)
	}
	var out *Array
	for ; n > 0; n >>= 1 {
		if n&1 == 1 && out == nil {
			out = x
		} else if n&1 == 1 {
			out = Mul(out, x)
		}
		if n > 1 {
			x = Mul(x, x)
		}
	}
	if out == nil {
		return OnesLike(x)
	}
	return out
}

// NextAfter is the float next to x in the direction of y.
func NextAfter(x, y any) *Array {
	a := floatOperands("nextafter", x, y)
	return apply1(op("nextafter"), nil, a...)
}

// Max is the larger operand; NaN if one of them is.
func Max(x, y any) *Array { return binaryCall("max", x, y) }

// Min is the smaller operand; NaN if one of them is.
func Min(x, y any) *Array { return binaryCall("min", x, y) }

// LogAddExp is log(exp(x) + exp(y)) without overflow.
func LogAddExp(x, y any) *Array {
	a := floatOperands("LogAddExp", x, y)
	// Written by selection, not by Max and Abs, whose corners at x = y would hide the second derivative there.
	first := Ge(a[0], a[1])
	large, small := Select(first, a[0], a[1]), Select(first, a[1], a[0])
	// The difference of equal infinities is no number.
	same := And(Eq(large, small), IsInf(large))
	return Select(same, Max(a[0], a[1]), Add(large, Log1p(Exp(Select(same, 0, Sub(small, large))))))
}

// Atan2 is the angle of the point (y, x), in radians; integers are read as float32.
func Atan2(y, x any) *Array {
	a := floatOperands("atan2", y, x)
	return apply1(op("atan2"), nil, a...)
}

// And is the bitwise, for bools the logical, and.
func And(x, y any) *Array { return binaryCall("and", x, y) }

// Or is the bitwise, for bools the logical, or.
func Or(x, y any) *Array { return binaryCall("or", x, y) }

// LogicalAnd returns whether both operands are true; numbers other than 0 are true. It is numpy.logical_and.
func LogicalAnd(x, y any) *Array { return And(truth("LogicalAnd", x), truth("LogicalAnd", y)) }

// LogicalOr returns whether an operand is true; numbers other than 0 are true. It is numpy.logical_or.
func LogicalOr(x, y any) *Array { return Or(truth("LogicalOr", x), truth("LogicalOr", y)) }

// LogicalXor returns whether one of two operands is true; numbers other than 0 are true. It is numpy.logical_xor.
func LogicalXor(x, y any) *Array { return Xor(truth("LogicalXor", x), truth("LogicalXor", y)) }

// LogicalNot returns whether x is not true; numbers other than 0 are true. It is numpy.logical_not.
func LogicalNot(x any) *Array { return Not(truth("LogicalNot", x)) }

// truth returns whether elements are not 0.
func truth(op string, x any) *Array {
	a := operands(op, x)[0]
	if a.DType() == Bool {
		return a
	}
	return Ne(a, 0)
}

// Xor is the bitwise, for bools the logical, exclusive or.
func Xor(x, y any) *Array { return binaryCall("xor", x, y) }

// ShiftLeft is x << y; shifts by the width or more give 0.
func ShiftLeft(x, y any) *Array { return binaryCall("shift_left", x, y) }

// ShiftRightLogical is x >> y, filling with zeros.
func ShiftRightLogical(x, y any) *Array { return binaryCall("shift_right_logical", x, y) }

// ShiftRightArithmetic is x >> y, filling with the sign.
func ShiftRightArithmetic(x, y any) *Array { return binaryCall("shift_right_arithmetic", x, y) }
