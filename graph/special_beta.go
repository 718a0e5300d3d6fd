package graph

import "math"

// BetaLn is the logarithm of the beta function, gamma(a) gamma(b) / gamma(a+b), of positive a and b. It keeps its
// digits where one is much larger than the other (DiDonato and Morris, "Algorithm 708", 1992, BETALN). 16-bit floats
// are computed as float32. Largest error: 4 ULP in float64, 6 in float32, 1 in 16-bit floats.
func BetaLn(a, b any) *Array {
	in := floatOperands("BetaLn", a, b)
	f := CustomJvp(betaLn, func(v, t pair) (*Array, *Array) {
		slope := Add(Mul(digammaRise(v.X, v.Y), t.X), Mul(digammaRise(v.Y, v.X), t.Y))
		return betaLn(v), Neg(slope)
	})
	return Convert(f(pair{inFloat32(in[0]), inFloat32(in[1])}), in[0].DType())
}

func betaLn(v pair) *Array {
	x, y := v.X, v.Y
	first := Le(x, y)
	p, q := Select(first, x, y), Select(first, y, x)
	norm, high := betaNorm(p, q)
	value := Select(high, norm, Sub(norm, Log(p)))
	value = Select(And(Gt(p, 0), Eq(q, math.Inf(1))), math.Inf(-1), value)
	return Select(Or(Lt(p, 0), IsNaN(Add(x, y))), math.NaN(), value)
}

// betaNorm is log B(p, q) of p up to q if high holds, that is if both are at least stirlingFrom, else log(p B(p, q)).
func betaNorm(p, q *Array) (norm, high *Array) {
	least := stirlingFrom(p.DType())
	low, lowest := Lt(p, least), Lt(q, least)
	n := Add(p, q)
	// What is left of lgamma(q) - lgamma(n): of large numbers the difference of the corrections, of small ones a
	// product of shifted ones, too.
	farQ, farN := Select(lowest, Add(q, least), q), Select(lowest, Add(n, least), n)
	nearQ, nearN := Select(lowest, q, 1), Select(lowest, n, 1)
	top, bottom := Add(1, Div(Select(lowest, p, 0), nearQ)), OnesLike(p) // the first pair, in derivatives without n-q
	for k := 1; k < int(least); k++ {
		top, bottom = Mul(top, Add(nearN, k)), Mul(bottom, Add(nearQ, k))
	}
	rest := Add(Sub(stirling(farQ), stirling(farN)), Log(Div(top, bottom)))
	// The quotient may underflow; its product with farQ does not.
	quotient := Div(p, farQ)
	ratio := Log1p(quotient)
	whole := Select(Lt(quotient, 1e-30), p, Mul(farQ, ratio))
	near, far := Select(low, p, least), Select(low, least, p)
	small := Sub(rest, Add(Add(whole, Mul(Sub(near, .5), ratio)), Mul(near, Sub(Log(farQ), 1))))
	small = Add(Lgamma(Add(near, 1)), small)
	large := Sub(Mul(Sub(far, .5), Log(Div(far, Select(low, least, n)))), whole)
	large = Add(large, Add(Add(stirling(far), rest), Sub(halfLog2Pi, Mul(.5, Log(farQ)))))
	return Select(low, small, large), Not(low)
}

// logOf is log(x) of x between 0 and 1, y = 1-x.
func logOf(x, y *Array) *Array {
	low := Lt(x, .5)
	return Select(low, Log(Select(low, x, .5)), Log1p(Neg(Select(low, .5, y))))
}

// betaFront is the logarithm l and the factor f of x^a y^b / B(a, b) = e^l f, a and b positive, x and y = 1-x between
// 0 and 1.
func betaFront(a, b, x, y *Array) (l, f *Array) {
	least := stirlingFrom(a.DType())
	first := Le(a, b)
	p, q := Select(first, a, b), Select(first, b, a)
	norm, high := betaNorm(p, q)
	small := Sub(Add(Mul(a, logOf(x, y)), Mul(b, logOf(y, x))), norm)
	far := func(v *Array) *Array { return Select(high, v, least) }
	n := Add(a, b)
	apart := Add(deviance(far(a), far(Mul(n, x))), deviance(far(b), far(Mul(n, y))))
	large := Sub(Sub(stirling(far(n)), Add(stirling(far(p)), stirling(far(q)))), apart)
	root := Sqrt(Mul(Mul(far(p), Div(far(q), far(n))), 1/(2*math.Pi)))
	return Select(high, large, small), Select(high, root, p)
}

// BetaLogPDF is the logarithm of the density of the beta distribution with the concentrations a and b, positive, at x
// from 0 to 1, -Inf outside. Where both concentrations are large it is Loader's saddle-point form. 16-bit floats are
// computed as float32. Largest error: 50 ULP in float64, 30 in float32, 1 in 16-bit floats.
func BetaLogPDF(a, b, x any) *Array {
	in := floatOperands("BetaLogPDF", a, b, x)
	d := in[0].DType()
	p, q, at := inFloat32(in[0]), inFloat32(in[1]), normal(inFloat32(in[2]))
	inside := And(Gt(at, 0), Lt(at, 1))
	safe := Select(inside, at, .5)
	l, f := betaFront(p, q, safe, Sub(1, safe))
	y := Sub(Add(l, Log(f)), Add(Log(safe), Log1p(Neg(safe))))
	first, last := Eq(at, 0), Eq(at, 1)
	edges := Select(first, edgeLog(p, first, Log(q)), edgeLog(q, last, Log(p))) // at 0 the density of a = 1 is b
	y = Select(inside, y, Select(Or(first, last), edges, math.Inf(-1)))
	return Convert(Select(IsNaN(at), at, y), d)
}

// edgeLog is, where edge holds, the logarithm of a density that goes like x^(a-1) at x = 0: y where a is 1.
func edgeLog(a, edge, y *Array) *Array {
	return Add(XLogY(Sub(a, 1), Select(edge, 0, OnesLike(a))), Select(Eq(a, 1), y, 0))
}

// betaArguments is a tree of the arguments of BetaInc.
type betaArguments struct{ A, B, X *Array }

// BetaInc is the regularized incomplete beta function: the probability that a beta variable with the concentrations a
// and b is below x. a and b are positive and finite, x is from 0 to 1; else NaN. It has derivatives by all three.
// 16-bit floats are computed as float32. Largest error: 40 ULP in float64, 20 in float32, 1 in 16-bit floats; for
// values below 1, in ULP of 1 unless x is below (a+1)/(a+b+2).
func BetaInc(a, b, x any) *Array {
	in := floatOperands("BetaInc", a, b, x)
	d := in[0].DType()
	f := CustomJvp(betaValue, func(v, t betaArguments) (*Array, *Array) {
		// Forward mode runs through the loop; a value times a tangent has a transpose, the loop has none.
		one, zero := OnesLike(v.A), ZerosLike(v.A)
		y, byA := Jvp(betaValue, v, betaArguments{one, zero, zero})
		_, byB := Jvp(betaValue, v, betaArguments{zero, one, zero})
		density := Exp(BetaLogPDF(v.A, v.B, v.X))
		return y, Add(Mul(density, t.X), Add(Mul(byA, t.A), Mul(byB, t.B)))
	})
	return Convert(f(betaArguments{inFloat32(in[0]), inFloat32(in[1]), inFloat32(in[2])}), d)
}

// betaValue is the probability below x where x is below about the mean, else one minus that above it. It is
// x^a (1-x)^b / B(a, b) times a continued fraction over a (NIST's digital library of mathematical functions, 8.17.22
// and 8.17.4) or, where both concentrations are large, times an integral.
func betaValue(v betaArguments) *Array {
	valid := And(And(Gt(v.A, 0), Gt(v.B, 0)), And(And(IsFinite(v.A), IsFinite(v.B)), And(Ge(v.X, 0), Le(v.X, 1))))
	inside := And(valid, And(Gt(v.X, 0), Lt(v.X, 1)))
	a, b, x := Select(inside, v.A, 1), Select(inside, v.B, 1), Select(inside, v.X, .5)
	rest := Sub(1, x)
	below := Lt(Mul(x, Add(b, 1)), Mul(rest, Add(a, 1))) // x is below (a+1)/(a+b+2)
	p, q := Select(below, a, b), Select(below, b, a)
	y, z := Select(below, x, rest), Select(below, rest, x)
	l, f := betaFront(p, q, y, z)
	n := Add(a, b)
	rate := Select(Lt(y, z), Sub(p, Mul(n, y)), Sub(Mul(n, z), q)) // p z - q y
	large := And(Ge(a, integralFrom), Ge(b, integralFrom))
	far := func(v *Array, otherwise float64) *Array { return Select(large, v, otherwise) }
	near := func(v *Array, otherwise float64) *Array { return Select(large, otherwise, v) }
	integral := betaIntegral(betaPlace{far(p, integralFrom), far(q, integralFrom), far(y, .5), far(z, .5),
		far(rate, 0)})
	fraction := eachElement(betaFraction)(betaPlace{near(p, 1), near(q, 1), near(y, .25), near(z, .75),
		near(rate, .5)})
	part := Mul(Exp(l), Select(large, Mul(f, integral), Div(Div(f, p), fraction)))
	value := Select(below, part, Sub(1, part))
	value = Select(inside, value, Convert(Gt(v.X, 0), v.X.DType())) // at 0 and at 1
	return Select(valid, value, math.NaN())
}

// betaPlace is what a tail of the beta distribution depends on: the concentrations P and Q, the place Y = 1-Z below
// about the mean, and Rate, P Z - Q Y.
type betaPlace struct{ P, Q, Y, Z, Rate *Array }

// mostBetaTerms bounds the loop of betaFraction, which takes fewer than a hundred turns.
const mostBetaTerms = 500

// betaFraction, of scalars, is y^p z^q / B(p, q) / p over the probability below y: the even part of the continued
// fraction, which does not need the digits of 1-y (DiDonato and Morris, equation 9), from the front (Lentz's method, as
// modified by Thompson and Barnett, 1986). It is NaN where it has not converged.
func betaFraction(v betaPlace) *Array {
	type state struct{ N, C, D, H, Moved *Array }
	small := 2 * Finfo(v.P.DType()).Eps
	a, b, x := v.P, v.Q, v.Y
	c := Add(v.Rate, 1)
	const tiny = 1e-30
	apart := func(v *Array) *Array { return Select(Lt(Abs(v), tiny), tiny, v) }
	first := apart(Div(c, Add(a, 1))) // over p, as the first term below
	last := While(func(s state) *Array {
		return And(Gt(s.Moved, small), Lt(s.N, mostBetaTerms))
	}, func(s state) state {
		m := Add(s.N, 1)
		k := Sub(Add(a, Mul(2, m)), 1)
		rest := Mul(m, Mul(Sub(b, m), x))
		scale := Select(Eq(m, 1), 1, Sub(Add(a, m), 1))
		top := Mul(Mul(Div(scale, k), rest), Mul(Div(Sub(Add(Add(a, b), m), 1), k), x))
		bottom := Add(Add(m, Div(rest, k)), Mul(Div(Add(a, m), Add(k, 2)), Add(c, Mul(m, Add(1, v.Z)))))
		d := Reciprocal(apart(Add(bottom, Mul(top, s.D))))
		over := apart(Add(bottom, Div(top, s.C)))
		factor := Mul(over, d)
		return state{m, over, d, Mul(s.H, factor), Abs(Sub(factor, 1))}
	}, state{ZerosLike(a), first, ZerosLike(a), first, OnesLike(a)})
	return Select(Gt(last.Moved, 8*small), math.NaN(), last.H)
}

// betaIntegral is the probability below y over y^p z^q / B(p, q): the integral over the logit's distance s of
// e^-(rate s + n h(s)), where h is log(z + y e^-s) + y s.
func betaIntegral(v betaPlace) *Array {
	n := Add(v.P, v.Q)
	value, _ := tailIntegral(v.Rate, Mul(Mul(n, v.Y), v.Z), []*Array{n, v.Y, v.Z}, func(s *Array, v []*Array) *Array {
		n, y, z := v[0], v[1], v[2]
		return Mul(n, Log1p(Add(Mul(z, expm1Rest(Mul(y, s))), Mul(y, expm1Rest(Neg(Mul(z, s)))))))
	})
	return value
}
