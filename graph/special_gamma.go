package graph

import "math"

// GammaInc is the regularized lower incomplete gamma function P(a, x): the probability that a gamma variable of
// concentration a is below x. a is positive, x at least 0; else NaN. It has derivatives by both. 16-bit floats are
// computed as float32. Largest error: 20 ULP in float64, 15 in float32, 1 in 16-bit floats.
func GammaInc(a, x any) *Array { return gammaTails("GammaInc", a, x, true) }

// GammaIncC is 1 - GammaInc(a, x), with all its digits where x is above a+1, however small it is. Largest error: 8 ULP
// in float64, 7 in float32, 1 in 16-bit floats; for values below 1, in ULP of 1 unless x is above a+1.
func GammaIncC(a, x any) *Array { return gammaTails("GammaIncC", a, x, false) }

func gammaTails(name string, a, x any, lower bool) *Array {
	in := floatOperands(name, a, x)
	d := in[0].DType()
	value := func(g pair) *Array {
		below, above := gammaValues(g.X, g.Y)
		if lower {
			return below
		}
		return above
	}
	f := CustomJvp(value, func(g, t pair) (*Array, *Array) {
		inside := And(Gt(g.Y, 0), IsFinite(g.Y)) // outside of it the density is 0, or its limit is infinite
		at := Select(inside, g.Y, 1)
		slope := Mul(Exp(GammaLogPDF(g.X, at)), Sub(t.Y, Mul(RandomGammaGrad(g.X, at), t.X)))
		slope = Select(inside, slope, 0)
		if !lower {
			slope = Neg(slope)
		}
		return value(g), slope
	})
	return Convert(f(pair{inFloat32(in[0]), inFloat32(in[1])}), d)
}

// gammaFront is the logarithm l and the factor f of x^a e^-x / gamma(a) = e^l f, a and x positive.
func gammaFront(a, x *Array) (l, f *Array) {
	least := stirlingFrom(a.DType())
	low := Lt(a, least)
	near, far := Select(low, a, least), Select(low, least, a)
	small := Sub(Sub(Mul(near, Log(x)), x), Lgamma(Add(near, 1)))
	large := Neg(Add(deviance(far, Select(low, least, x)), stirling(far)))
	return Select(low, small, large), Select(low, near, Sqrt(Mul(far, 1/(2*math.Pi))))
}

// GammaLogPDF is the logarithm of the density of the gamma distribution with the concentration a, positive, and the
// rate 1, -Inf for negative x and at infinity. Where the concentration is large it is Loader's saddle-point form.
// 16-bit floats are computed as float32. Largest error: 30 ULP in float64, 16 in float32, 1 in 16-bit floats.
func GammaLogPDF(a, x any) *Array {
	in := floatOperands("GammaLogPDF", a, x)
	p, at := inFloat32(in[0]), normal(inFloat32(in[1]))
	inside := And(Gt(at, 0), IsFinite(at))
	safe := Select(inside, at, 1)
	l, f := gammaFront(p, safe)
	y := Sub(Add(l, Log(f)), Log(safe))
	edge := Eq(at, 0)
	y = Select(inside, y, Select(edge, edgeLog(p, edge, ZerosLike(p)), math.Inf(-1)))
	return Convert(Select(IsNaN(at), at, y), in[0].DType())
}

// gammaValues are the lower and the upper regularized incomplete gamma function. Below about the mean a
// series gives the lower one, times x^a e^-x / gamma(a+1). Above it a continued fraction gives the upper one, times
// x^a e^-x / gamma(a) (Abramowitz and Stegun 6.5.29 and 6.5.31). Both are integrals where a is large.
func gammaValues(a, x *Array) (lower, upper *Array) {
	valid := And(Gt(a, 0), Ge(x, 0))
	inside := And(valid, And(And(Gt(x, 0), IsFinite(x)), IsFinite(a)))
	one, at := Select(inside, a, 1), Select(inside, x, 1)
	low := Le(at, Add(one, 1))
	large := Ge(one, integralFrom)
	b, near, far := gammaPlaces(one, at, low, large)
	sum := eachElement(func(v pair) *Array { return gammaSeries(v.X, v.Y) })(pair{b, near})
	fraction := eachElement(func(v pair) *Array { h, _ := gammaFraction(v.X, v.Y); return h })(pair{b, far})
	integral, _ := gammaIntegral(one, at, low, large)
	l, f := gammaFront(one, at)
	part := Mul(Exp(l), Select(large, Mul(f, integral), Mul(f, Select(low, Div(sum, b), fraction))))
	lower, upper = Select(low, part, Sub(1, part)), Select(low, Sub(1, part), part)
	end := Convert(Gt(x, a), a.DType()) // of x = 0 and of infinities
	lower, upper = Select(inside, lower, end), Select(inside, upper, Sub(1, end))
	return Select(valid, lower, math.NaN()), Select(valid, upper, math.NaN())
}

// gammaPlaces are the arguments of the series and the fraction where they count, and elsewhere such as take few
// turns.
func gammaPlaces(a, x, low, large *Array) (b, near, far *Array) {
	b = Select(large, 1, a)
	near = Select(And(low, Not(large)), x, 0)
	return b, near, Select(Or(low, large), Add(Mul(4, b), 40), x)
}

// gammaIntegral is a tail of the gamma distribution over x^a e^-x / gamma(a), the lower one where low holds, and the
// integral that is weighted by the logarithm's distance, with its sign. It is wanted where large holds.
func gammaIntegral(a, x, low, large *Array) (value, moment *Array) {
	a, x = Select(large, a, integralFrom), Select(large, x, integralFrom)
	sign := Select(low, -1, OnesLike(a))
	return tailIntegral(Mul(sign, Sub(x, a)), x, []*Array{sign, x}, func(s *Array, v []*Array) *Array {
		return Mul(v[1], expm1Rest(Mul(v[0], s)))
	})
}

// eachElement maps a function of scalars over a tree of arrays of one shape. A loop in it ends for each element, so
// that the turns that others take round nothing.
func eachElement[A any](f func(A) *Array) func(A) *Array {
	return func(v A) *Array {
		dims := Leaves(v)[0].Dims()
		return Reshape(VMap(f)(MapTree(Flatten1D, v)), dims...)
	}
}

// RandomGammaGrad is the derivative of gamma draws x by their concentration a, the place in the distribution being
// fixed: minus the derivative of GammaInc by a over the density. a and x have one shape. It is
// jax.lax.random_gamma_grad. 16-bit floats are computed as float32. Largest error: 50 ULP in float64, 8 in float32, 1
// in 16-bit floats.
func RandomGammaGrad(a, x *Array) *Array {
	d := x.DType()
	a, x = inFloat32(a), inFloat32(x)
	at := Select(Gt(x, 0), x, 1)
	low, large := Le(at, Add(a, 1)), Ge(a, integralFrom)
	b, near, far := gammaPlaces(a, at, low, large)
	small := eachElement(smallGammaGrad)(pair{b, Select(low, near, far)})
	k, moment := gammaIntegral(a, at, low, large)
	moment = Select(low, Neg(moment), moment)
	// log(x) - digamma(a)
	log := Sub(logRatio(at, a), DigammaCorrection(Select(large, a, integralFrom)))
	value := Mul(at, Add(Mul(k, log), moment))
	value = Select(large, Select(low, Neg(value), value), small)
	return Convert(Select(Eq(x, 0), 0, value), d) // at 0 the draw underflowed
}

// smallGammaGrad is RandomGammaGrad for a below integralFrom, by the derivatives of the series and of the fraction.
func smallGammaGrad(v pair) *Array {
	a, x := v.X, v.Y
	below := Le(x, Add(a, 1))
	near := Select(below, x, 0) // no turns where the other form counts
	far := Select(below, Add(Mul(4, a), 40), x)
	one := OnesLike(a)
	s, ds := Jvp(func(a *Array) *Array { return gammaSeries(a, near) }, a, one)
	h, dh := gammaFraction(a, far)
	log := Log(Select(Eq(x, 0), 1, x))
	// What stands before the series and the fraction leaves digamma and a logarithm.
	low := Neg(Mul(Div(x, a), Add(Mul(s, Sub(log, Digamma(Add(a, 1)))), ds)))
	high := Mul(x, Add(Mul(h, Sub(log, Digamma(a))), dh))
	return Select(below, low, high)
}

// mostGammaTerms bounds the loops of the series and the fraction, which take fewer than a hundred turns.
const mostGammaTerms = 500

// gammaSeries is the sum of x^n / ((a+1) … (a+n)), NaN where it has not converged.
func gammaSeries(a, x *Array) *Array {
	type state struct{ N, Term, Sum *Array }
	small := Finfo(a.DType()).Eps / 16 // the derivatives of the terms are up to some ten times larger than they
	one := OnesLike(a)
	goesOn := func(s state) *Array { return Gt(s.Term, Mul(small, s.Sum)) }
	last := While(func(s state) *Array {
		return And(goesOn(s), Lt(s.N, mostGammaTerms))
	}, func(s state) state {
		n := Add(s.N, 1)
		term := Mul(s.Term, Div(x, Add(a, n)))
		return state{n, term, Add(s.Sum, term)}
	}, state{ZerosLike(a), one, one})
	return Select(goesOn(last), math.NaN(), last.Sum)
}

// gammaFraction is 1/(x+1-a- 1(1-a)/(x+3-a- 2(2-a)/(x+5-a- …))) and its derivative by a, from the front (Lentz's
// method, as modified by Thompson and Barnett, 1986). For whole a the fraction ends, its derivative does not: both
// have to stand still. They are NaN where they do not.
func gammaFraction(a, x *Array) (h, dh *Array) {
	type dual struct{ V, D *Array } // a value and its derivative
	type state struct {
		N       *Array
		C, D, H dual // C: the reciprocal of the partial denominator
		Moved   *Array
	}
	small := Finfo(a.DType()).Eps
	zero := ZerosLike(a)
	start := Add(Sub(x, a), 1)
	first := dual{Reciprocal(start), Square(Reciprocal(start))}
	// linear is bottom + top*v, where bottom's derivative is -1 and top's is n.
	linear := func(n, top, bottom *Array, v dual) dual {
		return dual{Add(bottom, Mul(top, v.V)), Add(Sub(Mul(n, v.V), 1), Mul(top, v.D))}
	}
	inverse := func(v dual) dual {
		r := Reciprocal(v.V)
		return dual{r, Neg(Mul(Square(r), v.D))}
	}
	times := func(v, w dual) dual {
		return dual{Mul(v.V, w.V), Add(Mul(v.D, w.V), Mul(v.V, w.D))}
	}
	last := While(func(s state) *Array {
		return And(Gt(s.Moved, small), Lt(s.N, mostGammaTerms))
	}, func(s state) state {
		n := Add(s.N, 1)
		top, bottom := Mul(n, Sub(a, n)), Add(start, Mul(2, n))
		c, d := linear(n, top, bottom, s.C), inverse(linear(n, top, bottom, s.D))
		factor := times(d, c)
		moved := Add(Abs(Sub(factor.V, 1)), Abs(factor.D))
		return state{n, inverse(c), d, times(s.H, factor), moved}
	}, state{zero, dual{zero, zero}, first, first, OnesLike(a)})
	stands := Le(last.Moved, 8*small)
	return Select(stands, last.H.V, math.NaN()), Select(stands, last.H.D, math.NaN())
}

// Zeta is Hurwitz's zeta function, the sum of (q+k)^-s for k = 0, 1, …; s above 1, q positive: infinite at s = 1, NaN
// elsewhere. It sums the first terms, the others are Euler and Maclaurin's formula (Abramowitz and Stegun 23.1.30).
// 16-bit floats are computed as float32. Largest error: 1 ULP in float64, 1 in float32, 1 in 16-bit floats.
func Zeta(s, q any) *Array {
	in := floatOperands("Zeta", s, q)
	sv, qv := inFloat32(in[0]), inFloat32(in[1])
	return Convert(zeta(sv, qv, OnesLike(qv)), in[0].DType())
}

// zeta is the sum of (unit (q+k))^-s.
func zeta(s, q, unit *Array) *Array {
	valid := And(Gt(s, 1), Gt(q, 0))
	sv, at := Select(valid, s, 2), Select(valid, q, 1)
	const terms = 10
	sum := ZerosLike(at)
	power := func(x *Array) *Array { return Pow(Mul(unit, x), Neg(sv)) }
	for k := range terms {
		sum = Add(sum, power(Add(at, k)))
	}
	end := Add(at, terms)
	rest := power(end)
	sum = Add(sum, Add(Div(Pow(Mul(unit, end), Sub(1, sv)), Mul(unit, Sub(sv, 1))), Mul(.5, rest)))
	sv = Select(Eq(rest, 0), 2, sv) // powers of a large one overflow
	ratio := Div(sv, end)
	for j, b := range bernoulli { // B(2j) / (2j)! s (s+1) … (s+2j-2) end^(-s-2j+1)
		sum = Add(sum, Mul(b, Mul(ratio, rest)))
		k := float64(2*j + 1)
		ratio = Mul(ratio, Mul(Div(Add(sv, k), end), Div(Add(sv, k+1), end)))
	}
	outside := Select(And(Eq(s, 1), Gt(q, 0)), math.Inf(1), math.NaN())
	return Select(valid, sum, outside)
}

// bernoulli are Bernoulli's numbers B(2j) over (2j)!, j from 1 (Abramowitz and Stegun 23.1.3).
var bernoulli = []float64{1. / 12, -1. / 720, 1. / 30240, -1. / 1209600, 1. / 47900160, -691. / 1307674368000,
	1. / 74724249600, -3617. / 10670622842880000}

// Polygamma is the n-th derivative of Digamma at positive x, elsewhere NaN for n above 1; n at least 0. 16-bit floats
// are computed as float32. Largest error: 2 ULP in float64, 1 in float32, 1 in 16-bit floats.
func Polygamma(n int, x any) *Array {
	if n < 0 {
		throw("Polygamma", "got the derivative number %d, want 0 or more", n)
	}
	switch n {
	case 0:
		return Digamma(x)
	case 1:
		return Trigamma(x)
	}
	a := floatOf("Polygamma", x)
	log, _ := math.Lgamma(float64(n) + 1)
	at := inFloat32(a)
	unit := math.Exp(-log / float64(n+1))
	sign := float64(2*(n%2) - 1)
	return Convert(Mul(sign, zeta(FullLike(at, n+1), at, FullLike(at, unit))), a.DType())
}
