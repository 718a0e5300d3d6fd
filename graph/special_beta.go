package graph

import "math"

// BetaLn is the logarithm of the beta function, gamma(a) gamma(b) / gamma(a+b), of positive a and b. It keeps its
// digits where one is much larger than the other (DiDonato and Morris, "Algorithm 708", 1992, BETALN). 16-bit floats
// are computed as float32.
func BetaLn(a, b any) *Array {
	in := floatOperands("BetaLn", a, b)
	d := in[0].DType()
	x, y := inFloat32(in[0]), inFloat32(in[1])
	first := Le(x, y)
	p, q := Select(first, x, y), Select(first, y, x)
	norm, high := betaNorm(p, q)
	value := Select(high, norm, Sub(norm, Log(p)))
	value = Select(And(Gt(p, 0), Eq(q, math.Inf(1))), math.Inf(-1), value)
	return Convert(Select(Or(Lt(p, 0), IsNaN(Add(x, y))), math.NaN(), value), d)
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
	top, bottom := OnesLike(p), OnesLike(p)
	for k := range int(least) {
		top, bottom = Mul(top, Add(nearN, k)), Mul(bottom, Add(nearQ, k))
	}
	rest := Add(Sub(stirling(farQ), stirling(farN)), Log(Div(top, bottom)))
	ratio := Log1p(Div(p, farQ))
	near, far := Select(low, p, least), Select(low, least, p)
	small := Add(Lgamma(Add(near, 1)), Sub(Sub(rest, Mul(Sub(farN, .5), ratio)), Mul(near, Sub(Log(farQ), 1))))
	large := Sub(Mul(Sub(far, .5), Log(Div(far, n))), Mul(q, ratio))
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
// computed as float32.
func BetaLogPDF(a, b, x any) *Array {
	in := floatOperands("BetaLogPDF", a, b, x)
	d := in[0].DType()
	p, q, at := inFloat32(in[0]), inFloat32(in[1]), inFloat32(in[2])
	inside := And(Gt(at, 0), Lt(at, 1))
	safe := Select(inside, at, .5)
	l, f := betaFront(p, q, safe, Sub(1, safe))
	y := Sub(Add(l, Log(f)), Add(Log(safe), Log1p(Neg(safe))))
	edge := func(p, q *Array) *Array { return edgeLog(p, Log(q)) } // at 0 the density of a = 1 is b
	y = Select(inside, y, Select(Eq(at, 0), edge(p, q), Select(Eq(at, 1), edge(q, p), math.Inf(-1))))
	return Convert(Select(IsNaN(at), at, y), d)
}

// edgeLog is the logarithm of a density that goes like x^(a-1) at x = 0, there: y where a is 1.
func edgeLog(a, y *Array) *Array {
	outer := Select(Gt(a, 1), math.Inf(-1), Select(Lt(a, 1), math.Inf(1), math.NaN()))
	return Select(Eq(a, 1), y, outer)
}

// betaArguments is a tree of the arguments of BetaInc.
type betaArguments struct{ A, B, X *Array }

// BetaInc is the regularised incomplete beta function: the probability that a beta variable with the concentrations
// a and b is below x. a and b are positive and finite, x is from 0 to 1; else NaN. It has derivatives by all three.
// 16-bit floats are computed as float32.
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
	below := Lt(x, Div(Add(a, 1), Add(Add(a, b), 2)))
	p, q := Select(below, a, b), Select(below, b, a)
	y, z := Select(below, x, rest), Select(below, rest, x)
	l, f := betaFront(p, q, y, z)
	large := And(Ge(a, integralFrom), Ge(b, integralFrom))
	far := func(v *Array) *Array { return Select(large, v, integralFrom) }
	mid := func(v *Array) *Array { return Select(large, v, .5) }
	near := func(v, otherwise *Array) *Array { return Select(large, otherwise, v) }
	one := OnesLike(a)
	fraction := Mul(Div(f, p), betaFraction(near(p, one), near(q, one), near(y, Mul(.25, one))))
	part := Mul(Exp(l), Select(large, Mul(f, betaIntegral(far(p), far(q), mid(y), mid(z))), fraction))
	value := Select(below, part, Sub(1, part))
	value = Select(inside, value, Convert(Gt(v.X, 0), v.X.DType())) // at 0 and at 1
	return Select(valid, value, math.NaN())
}

// mostBetaTerms bounds the loop of betaFraction, which needs about the root of the smaller concentration, and many
// more where it is below a tenth and x next to 1.
const mostBetaTerms = 500

// betaFraction is 1/(1 + d1/(1 + d2/(1 + …))), from the front (Lentz's method, as modified by Thompson and Barnett,
// 1986). Each turn takes two terms. It is NaN where it has not converged.
func betaFraction(a, b, x *Array) *Array {
	type state struct{ N, C, D, H, Moved *Array }
	small := epsilon(a.DType())
	const tiny = 1e-30
	apart := func(v *Array) *Array { return Select(Lt(Abs(v), tiny), tiny, v) }
	one := OnesLike(a)
	step := func(s state, term *Array) state {
		d := Reciprocal(apart(Add(1, Mul(term, s.D))))
		c := apart(Add(1, Div(term, s.C)))
		factor := Mul(c, d)
		return state{s.N, c, d, Mul(s.H, factor), Abs(Sub(factor, 1))}
	}
	first := Reciprocal(apart(Sub(1, Mul(Div(Add(a, b), Add(a, 1)), x))))
	last := While(func(s state) *Array {
		return And(Any(Gt(s.Moved, small)), Lt(s.N, mostBetaTerms))
	}, func(s state) state {
		m := Convert(Add(s.N, 1), a.DType())
		n := Add(a, Mul(2, m))
		even := Mul(Mul(Div(m, Sub(n, 1)), Div(Sub(b, m), n)), x)
		odd := Neg(Mul(Mul(Div(Add(a, m), n), Div(Add(Add(a, b), m), Add(n, 1))), x))
		next := step(step(s, even), odd)
		next.N = Add(s.N, 1)
		return next
	}, state{Scalar(0, Int32), one, first, first, one})
	return Select(Gt(last.Moved, 4*small), math.NaN(), last.H)
}

// betaIntegral is the probability below y over y^(p+1) z^(q+1) / B(p, q), for y below about the mean and z = 1-y: the
// integral over the logit's distance s of e^-(c s + n h(s)), where h is log(z + y e^-s) + y s.
func betaIntegral(p, q, y, z *Array) *Array {
	n := Add(p, q)
	rate := Select(Lt(y, z), Sub(p, Mul(n, y)), Sub(Mul(n, z), q))
	value, _ := tailIntegral(rate, Mul(Mul(n, y), z), []*Array{n, y, z}, func(s *Array, v []*Array) *Array {
		n, y, z := v[0], v[1], v[2]
		return Mul(n, Log1p(Add(Mul(z, expm1Rest(Mul(y, s))), Mul(y, expm1Rest(Neg(Mul(z, s)))))))
	})
	return value
}
