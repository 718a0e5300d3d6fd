package graph

import "math"

// Logarithms of gamma functions of large arguments are large, and their differences are what is left of them. The
// functions here are those differences without the part that cancels (DiDonato and Morris, "Algorithm 708", 1992;
// Loader, "Fast and accurate computation of binomial probabilities", 2000).

var halfLog2Pi = math.Log(2*math.Pi) / 2

// stirlingFrom is the argument from which Stirling's series has all digits.
func stirlingFrom(d DType) float64 {
	if d == Float64 {
		return 8
	}
	return 4
}

// inReciprocal is the sum of c[j] x^(-2j), x at least stirlingFrom.
func inReciprocal(x *Array, c []float64) *Array {
	if x.DType() != Float64 {
		c = c[:4]
	}
	q := Square(Reciprocal(x))
	y := FullLike(x, c[len(c)-1])
	for j := len(c) - 2; j >= 0; j-- {
		y = Add(Mul(y, q), c[j])
	}
	return y
}

// LgammaCorrection is what Stirling's formula leaves of Lgamma: lgamma(x) - (x - 1/2) log x + x - log(2π)/2, x
// positive. It is accurate where x is large (Abramowitz and Stegun 6.1.41). 16-bit floats are computed as float32.
// Largest error: 40 ULP in float64, 20 in float32, 1 in 16-bit floats; for values below 1, in ULP of 1 unless x is at
// least 8.
func LgammaCorrection(x any) *Array {
	a := floatOf("LgammaCorrection", x)
	z := inFloat32(a)
	least := stirlingFrom(z.DType())
	low := Lt(z, least)
	near := Select(low, z, least)
	small := Sub(Lgamma(near), Add(Sub(Mul(Sub(near, .5), Log(near)), near), halfLog2Pi))
	return Convert(Select(low, small, stirling(Select(low, least, z))), a.DType())
}

// stirling is LgammaCorrection for x of at least stirlingFrom.
func stirling(x *Array) *Array {
	return Div(inReciprocal(x, []float64{1. / 12, -1. / 360, 1. / 1260, -1. / 1680, 1. / 1188, -691. / 360360,
		1. / 156, -3617. / 122400}), x)
}

// DigammaCorrection is digamma(x) - log x, x positive, accurate where x is large (Abramowitz and Stegun 6.3.18). 16-bit
// floats are computed as float32. Largest error: 40 ULP in float64, 20 in float32, 1 in 16-bit floats.
func DigammaCorrection(x any) *Array {
	a := floatOf("DigammaCorrection", x)
	z := inFloat32(a)
	least := stirlingFrom(z.DType())
	low := Lt(z, least)
	near, far := Select(low, z, least), Select(low, least, z)
	series := inReciprocal(far, []float64{1. / 12, -1. / 120, 1. / 252, -1. / 240, 1. / 132, -691. / 32760, 1. / 12,
		-3617. / 8160})
	r := Reciprocal(far)
	large := Neg(Mul(r, Add(.5, Mul(r, series))))
	return Convert(Select(low, Sub(Digamma(near), Log(near)), large), a.DType())
}

// digammaRise is digamma(x+h) - digamma(x) of positive x and h, NaN of negative ones. It keeps its digits where one is
// much smaller than the other (Abramowitz and Stegun 6.3.5 and 6.3.18).
func digammaRise(x, h *Array) *Array {
	sum := Div(Div(h, Add(x, h)), x)
	least := stirlingFrom(x.DType())
	for k := 1; k < int(least); k++ {
		y := Add(x, k)
		sum = Add(sum, Div(h, Mul(y, Add(y, h))))
	}
	y := Add(x, least)
	log := Log1p(Div(h, y))
	sum = Add(sum, Add(log, Div(Mul(.5, h), Mul(y, Add(y, h)))))
	q := Square(Reciprocal(y))
	power := OnesLike(x)
	for k, c := range []float64{1. / 12, -1. / 120, 1. / 252, -1. / 240, 1. / 132, -691. / 32760, 1. / 12,
		-3617. / 8160} {
		power = Mul(power, q)
		sum = Sub(sum, Mul(Mul(c, power), Expm1(Mul(-2*float64(k+1), log))))
	}
	return Select(Or(Lt(x, 0), Lt(h, 0)), math.NaN(), sum)
}

// logRatio is log(x/y) of positive x and y, accurate next to 0 and where the quotient overflows. So is its derivative.
func logRatio(x, y *Array) *Array {
	return CustomJvp(logRatioValue, func(v, t pair) (*Array, *Array) {
		return logRatioValue(v), Sub(Div(t.X, v.X), Div(t.Y, v.Y))
	})(pair{x, y})
}

func logRatioValue(v pair) *Array {
	x, y := v.X, v.Y
	q := Div(x, y)
	close := And(Gt(q, .5), Lt(q, 2))
	near := Log1p(Select(close, Div(Sub(x, y), y), 0))
	return Select(close, near, Mul(2, Log(Div(Sqrt(x), Sqrt(y)))))
}

// pair is a tree of two arguments.
type pair struct{ X, Y *Array }

// deviance is x log(x/y) - x + y of positive x and y (Loader, section 3).
func deviance(x, y *Array) *Array {
	return CustomJvp(devianceValue, func(v, t pair) (*Array, *Array) {
		slope := Add(Mul(logRatio(v.X, v.Y), t.X), Mul(Div(Sub(v.Y, v.X), v.Y), t.Y))
		return devianceValue(v), slope
	})(pair{x, y})
}

func devianceValue(v pair) *Array {
	x, y := v.X, v.Y
	apart := Sub(x, y)
	w := Div(Mul(.5, apart), Add(Mul(.5, x), Mul(.5, y)))
	close := Lt(Abs(w), .1)
	near := Select(close, w, 0)
	q := Square(near)
	terms := 4
	if x.DType() == Float64 {
		terms = 8
	}
	series := ZerosLike(x)
	for j := terms; j > 0; j-- {
		series = Mul(q, Add(1/float64(2*j+1), series))
	}
	small := Mul(near, Add(apart, Mul(Mul(2, x), series)))
	return Select(close, small, Sub(Mul(x, logRatio(x, y)), apart))
}

// normal is x, of float32 or float64, and 0 where that is below the smallest normal number: compilers take such numbers
// for 0 in some places and not in others.
func normal(x *Array) *Array {
	return Select(Lt(Abs(x), Finfo(x.DType()).Tiny), 0, x)
}
