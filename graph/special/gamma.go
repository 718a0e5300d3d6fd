package special

import (
	"math"

	"xlarun/graph"
)

// GammaInc is the regularized lower incomplete gamma function P(a, x): the probability that a gamma variable of
// concentration a is below x. a and x are at least 0 and not both 0; else NaN. At a = 0 it is 1. It has derivatives by
// both. 16-bit floats are computed as float32. Largest error: 20 ULP in float64, 15 in float32, 1 in 16-bit floats.
func GammaInc(a, x any) *graph.Array { return gammaTails("GammaInc", a, x, true) }

// GammaIncC is 1 - GammaInc(a, x), with all its digits where x is above a+1, however small it is. Largest error: 8 ULP
// in float64, 7 in float32, 1 in 16-bit floats; for values below 1, in ULP of 1 unless x is above a+1.
func GammaIncC(a, x any) *graph.Array { return gammaTails("GammaIncC", a, x, false) }

// tinyConcentration stands for a concentration of 0 in a derivative.
const tinyConcentration = 1e-30

func gammaTails(name string, a, x any, lower bool) *graph.Array {
	in := graph.Arguments.Floats(name, a, x)
	d := in[0].DType()
	value := func(g pair) *graph.Array {
		below, above := gammaValues(g.X, g.Y)
		if lower {
			return below
		}
		return above
	}
	f := graph.CustomJvp(value, func(g, t pair) (*graph.Array, *graph.Array) {
		inside := g.Y.Gt(0).And(g.Y.IsFinite()) // outside of it the density is 0, or its limit is infinite
		at := graph.Select(inside, g.Y, 1)
		// At a = 0 the density is 0 and the derivative of a draw infinite; their product is finite.
		zero := g.X.Eq(0)
		a := graph.Select(zero, tinyConcentration, g.X)
		slope := GammaLogPDF(a, at).Exp().Mul(graph.Select(zero, 0, t.Y).Sub(RandomGammaGrad(a, at).Mul(t.X)))
		slope = graph.Select(inside, slope, 0)
		if !lower {
			slope = slope.Neg()
		}
		return value(g), slope
	})
	return f(pair{graph.Arguments.Float32(in[0]), graph.Arguments.Float32(in[1])}).Convert(d)
}

// gammaFront is the logarithm l and the factor f of x^a e^-x / gamma(a) = e^l f, a and x positive.
func gammaFront(a, x *graph.Array) (l, f *graph.Array) {
	least := stirlingFrom(a.DType())
	low := a.Lt(least)
	near, far := graph.Select(low, a, least), graph.Select(low, least, a)
	small := near.Mul(x.Log()).Sub(x).Sub(graph.Lgamma(near.Add(1)))
	large := deviance(far, graph.Select(low, least, x)).Add(stirling(far)).Neg()
	return graph.Select(low, small, large), graph.Select(low, near, far.Mul(1/(2*math.Pi)).Sqrt())
}

// GammaLogPDF is the logarithm of the density of the gamma distribution with the concentration a, positive, and the
// rate 1, -Inf for negative x and at infinity. Where the concentration is large it is Loader's saddle-point form.
// 16-bit floats are computed as float32. Largest error: 30 ULP in float64, 16 in float32, 1 in 16-bit floats.
func GammaLogPDF(a, x any) *graph.Array {
	in := graph.Arguments.Floats("GammaLogPDF", a, x)
	p, at := graph.Arguments.Float32(in[0]), normal(graph.Arguments.Float32(in[1]))
	inside := at.Gt(0).And(at.IsFinite())
	safe := graph.Select(inside, at, 1)
	l, f := gammaFront(p, safe)
	y := l.Add(f.Log()).Sub(safe.Log())
	edge := at.Eq(0)
	y = graph.Select(inside, y, graph.Select(edge, edgeLog(p, edge, graph.ZerosLike(p)), math.Inf(-1)))
	return graph.Select(at.IsNaN(), at, y).Convert(in[0].DType())
}

// gammaValues are the lower and the upper regularized incomplete gamma function. Below about the mean a
// series gives the lower one, times x^a e^-x / gamma(a+1). Above it a continued fraction gives the upper one, times
// x^a e^-x / gamma(a) (Abramowitz and Stegun 6.5.29 and 6.5.31). Both are integrals where a is large.
func gammaValues(a, x *graph.Array) (lower, upper *graph.Array) {
	valid := a.Ge(0).And(x.Ge(0)).And(a.Gt(0).Or(x.Gt(0)))
	inside := valid.And(a.Gt(0).And(x.Gt(0)).And(x.IsFinite()).And(a.IsFinite()))
	one, at := graph.Select(inside, a, 1), graph.Select(inside, x, 1)
	low := at.Le(one.Add(1))
	large := one.Ge(integralFrom)
	b, near, far := gammaPlaces(one, at, low, large)
	sum := eachElement(func(v pair) *graph.Array { return gammaSeries(v.X, v.Y) })(pair{b, near})
	fraction := eachElement(func(v pair) *graph.Array { h, _ := gammaFraction(v.X, v.Y); return h })(pair{b, far})
	integral, _ := gammaIntegral(one, at, low, large)
	l, f := gammaFront(one, at)
	part := l.Exp().Mul(graph.Select(large, f.Mul(integral), f.Mul(graph.Select(low, sum.Div(b), fraction))))
	lower, upper = graph.Select(low, part, graph.Sub(1, part)), graph.Select(low, graph.Sub(1, part), part)
	end := x.Gt(a).Convert(a.DType()) // of zeros and of infinities
	lower, upper = graph.Select(inside, lower, end), graph.Select(inside, upper, graph.Sub(1, end))
	return graph.Select(valid, lower, math.NaN()), graph.Select(valid, upper, math.NaN())
}

// gammaPlaces are the arguments of the series and the fraction where they count, and elsewhere such as take few
// iterations.
func gammaPlaces(a, x, low, large *graph.Array) (b, near, far *graph.Array) {
	b = graph.Select(large, 1, a)
	near = graph.Select(low.And(large.Not()), x, 0)
	return b, near, graph.Select(low.Or(large), graph.Mul(4, b).Add(40), x)
}

// gammaIntegral is a tail of the gamma distribution over x^a e^-x / gamma(a), the lower one where low holds, and the
// integral that is weighted by the logarithm's distance, with its sign. It is wanted where large holds.
func gammaIntegral(a, x, low, large *graph.Array) (value, moment *graph.Array) {
	a, x = graph.Select(large, a, integralFrom), graph.Select(large, x, integralFrom)
	sign := graph.Select(low, -1, graph.OnesLike(a))
	return tailIntegral(sign.Mul(x.Sub(a)), x, []*graph.Array{sign, x},
		func(s *graph.Array, v []*graph.Array) *graph.Array {
			return v[1].Mul(expm1Rest(v[0].Mul(s)))
		})
}

// eachElement maps a function of scalars over a tree of arrays of one shape. A loop in it ends for each element, so
// that the iterations that others take round nothing.
func eachElement[A any](f func(A) *graph.Array) func(A) *graph.Array {
	return func(v A) *graph.Array {
		dims := graph.Leaves(v)[0].Dims()
		return graph.VMap(f)(graph.MapTree(graph.Flatten1D, v)).Reshape(dims...)
	}
}

// RandomGammaGrad is the derivative of gamma draws x by their concentration a, the place in the distribution being
// fixed: minus the derivative of GammaInc by a over the density. a and x have one shape. It is
// jax.lax.random_gamma_grad. 16-bit floats are computed as float32. Largest error: 50 ULP in float64, 8 in float32, 1
// in 16-bit floats.
func RandomGammaGrad(a, x *graph.Array) *graph.Array {
	d := x.DType()
	a, x = graph.Arguments.Float32(a), graph.Arguments.Float32(x)
	at := graph.Select(x.Gt(0), x, 1)
	low, large := at.Le(a.Add(1)), a.Ge(integralFrom)
	b, near, far := gammaPlaces(a, at, low, large)
	small := eachElement(smallGammaGrad)(pair{b, graph.Select(low, near, far)})
	k, moment := gammaIntegral(a, at, low, large)
	moment = graph.Select(low, moment.Neg(), moment)
	// log(x) - digamma(a)
	log := logRatio(at, a).Sub(DigammaCorrection(graph.Select(large, a, integralFrom)))
	value := at.Mul(k.Mul(log).Add(moment))
	value = graph.Select(large, graph.Select(low, value.Neg(), value), small)
	return graph.Select(x.Eq(0), 0, value).Convert(d) // at 0 the draw underflowed
}

// smallGammaGrad is RandomGammaGrad for a below integralFrom, by the derivatives of the series and of the fraction.
func smallGammaGrad(v pair) *graph.Array {
	a, x := v.X, v.Y
	below := x.Le(a.Add(1))
	near := graph.Select(below, x, 0) // no iterations where the other form counts
	far := graph.Select(below, graph.Mul(4, a).Add(40), x)
	one := graph.OnesLike(a)
	s, ds := graph.Jvp(func(a *graph.Array) *graph.Array { return gammaSeries(a, near) }, a, one)
	h, dh := gammaFraction(a, far)
	log := graph.Select(x.Eq(0), 1, x).Log()
	// What stands before the series and the fraction leaves digamma and a logarithm.
	low := x.Div(a).Mul(s.Mul(log.Sub(graph.Digamma(a.Add(1)))).Add(ds)).Neg()
	high := x.Mul(h.Mul(log.Sub(graph.Digamma(a))).Add(dh))
	return graph.Select(below, low, high)
}

// mostGammaTerms bounds the loops of the series and the fraction, which take fewer than a hundred iterations.
const mostGammaTerms = 500

// gammaSeries is the sum of x^n / ((a+1) … (a+n)), NaN where it has not converged.
func gammaSeries(a, x *graph.Array) *graph.Array {
	type state struct{ N, Term, Sum *graph.Array }
	small := graph.Finfo(a.DType()).Eps / 16 // the derivatives of the terms are up to some ten times larger than they
	one := graph.OnesLike(a)
	goesOn := func(s state) *graph.Array { return s.Term.Gt(graph.Mul(small, s.Sum)) }
	last := graph.While(func(s state) *graph.Array {
		return goesOn(s).And(s.N.Lt(mostGammaTerms))
	}, func(s state) state {
		n := s.N.Add(1)
		term := s.Term.Mul(x.Div(a.Add(n)))
		return state{n, term, s.Sum.Add(term)}
	}, state{graph.ZerosLike(a), one, one})
	return graph.Select(goesOn(last), math.NaN(), last.Sum)
}

// gammaFraction is 1/(x+1-a- 1(1-a)/(x+3-a- 2(2-a)/(x+5-a- …))) and its derivative by a, from the front (Lentz's
// method, as modified by Thompson and Barnett, 1986). For whole a the fraction ends, its derivative does not: both
// have to stand still. They are NaN where they do not.
func gammaFraction(a, x *graph.Array) (h, dh *graph.Array) {
	type dual struct{ V, D *graph.Array } // a value and its derivative
	type state struct {
		N       *graph.Array
		C, D, H dual // C: the reciprocal of the partial denominator
		Moved   *graph.Array
	}
	small := graph.Finfo(a.DType()).Eps
	zero := graph.ZerosLike(a)
	start := x.Sub(a).Add(1)
	first := dual{start.Reciprocal(), start.Reciprocal().Square()}
	// linear is bottom + top*v, where bottom's derivative is -1 and top's is n.
	linear := func(n, top, bottom *graph.Array, v dual) dual {
		return dual{bottom.Add(top.Mul(v.V)), n.Mul(v.V).Sub(1).Add(top.Mul(v.D))}
	}
	inverse := func(v dual) dual {
		r := v.V.Reciprocal()
		return dual{r, r.Square().Mul(v.D).Neg()}
	}
	times := func(v, w dual) dual {
		return dual{v.V.Mul(w.V), v.D.Mul(w.V).Add(v.V.Mul(w.D))}
	}
	last := graph.While(func(s state) *graph.Array {
		return s.Moved.Gt(small).And(s.N.Lt(mostGammaTerms))
	}, func(s state) state {
		n := s.N.Add(1)
		top, bottom := n.Mul(a.Sub(n)), start.Add(graph.Mul(2, n))
		c, d := linear(n, top, bottom, s.C), inverse(linear(n, top, bottom, s.D))
		factor := times(d, c)
		moved := factor.V.Sub(1).Abs().Add(factor.D.Abs())
		return state{n, inverse(c), d, times(s.H, factor), moved}
	}, state{zero, dual{zero, zero}, first, first, graph.OnesLike(a)})
	stands := last.Moved.Le(8 * small)
	return graph.Select(stands, last.H.V, math.NaN()), graph.Select(stands, last.H.D, math.NaN())
}

// Zeta is Hurwitz's zeta function, the sum of (q+k)^-s for k = 0, 1, …; s above 1, q positive: infinite at s = 1, NaN
// elsewhere. It sums the first terms, the others are Euler and Maclaurin's formula (Abramowitz and Stegun 23.1.30).
// 16-bit floats are computed as float32. Largest error: 1 ULP in float64, 1 in float32, 1 in 16-bit floats.
func Zeta(s, q any) *graph.Array {
	in := graph.Arguments.Floats("Zeta", s, q)
	sv, qv := graph.Arguments.Float32(in[0]), graph.Arguments.Float32(in[1])
	return zeta(sv, qv, graph.OnesLike(qv)).Convert(in[0].DType())
}

// zeta is the sum of (unit (q+k))^-s.
func zeta(s, q, unit *graph.Array) *graph.Array {
	valid := s.Gt(1).And(q.Gt(0))
	sv, at := graph.Select(valid, s, 2), graph.Select(valid, q, 1)
	const terms = 10
	sum := graph.ZerosLike(at)
	power := func(x *graph.Array) *graph.Array { return unit.Mul(x).Pow(sv.Neg()) }
	for k := range terms {
		sum = sum.Add(power(at.Add(k)))
	}
	end := at.Add(terms)
	rest := power(end)
	sum = sum.Add(unit.Mul(end).Pow(graph.Sub(1, sv)).Div(unit.Mul(sv.Sub(1))).Add(graph.Mul(.5, rest)))
	sv = graph.Select(rest.Eq(0), 2, sv) // powers of a large one overflow
	ratio := sv.Div(end)
	for j, b := range bernoulli { // B(2j) / (2j)! s (s+1) … (s+2j-2) end^(-s-2j+1)
		sum = sum.Add(graph.Mul(b, ratio.Mul(rest)))
		k := float64(2*j + 1)
		ratio = ratio.Mul(sv.Add(k).Div(end).Mul(sv.Add(k + 1).Div(end)))
	}
	outside := graph.Select(s.Eq(1).And(q.Gt(0)), math.Inf(1), math.NaN())
	return graph.Select(valid, sum, outside)
}

// bernoulli are Bernoulli's numbers B(2j) over (2j)!, j from 1 (Abramowitz and Stegun 23.1.3).
var bernoulli = []float64{1. / 12, -1. / 720, 1. / 30240, -1. / 1209600, 1. / 47900160, -691. / 1307674368000,
	1. / 74724249600, -3617. / 10670622842880000}

// Polygamma is the n-th derivative of Digamma at positive x, elsewhere NaN for n above 1; n at least 0. 16-bit floats
// are computed as float32. Largest error: 2 ULP in float64, 1 in float32, 1 in 16-bit floats.
func Polygamma(n int, x any) *graph.Array {
	if n < 0 {
		graph.Throw("Polygamma", "got the derivative number %d, want 0 or more", n)
	}
	switch n {
	case 0:
		return graph.Digamma(x)
	case 1:
		return graph.Trigamma(x)
	}
	a := floatOf("Polygamma", x)
	log, _ := math.Lgamma(float64(n) + 1)
	at := graph.Arguments.Float32(a)
	unit := math.Exp(-log / float64(n+1))
	sign := float64(2*(n%2) - 1)
	return graph.Mul(sign, zeta(graph.FullLike(at, n+1), at, graph.FullLike(at, unit))).Convert(a.DType())
}
