package special

import (
	"math"

	"xlarun/graph"
)

// BetaLn is the logarithm of the beta function, gamma(a) gamma(b) / gamma(a+b), of positive a and b. It keeps its
// digits where one is much larger than the other (DiDonato and Morris, "Algorithm 708", 1992, BETALN). 16-bit floats
// are computed as float32. Largest error: 4 ULP in float64, 6 in float32, 1 in 16-bit floats.
func BetaLn(a, b any) *graph.Array {
	in := graph.Arguments.Floats("BetaLn", a, b)
	f := graph.CustomJvp(betaLn, func(v, t pair) (*graph.Array, *graph.Array) {
		slope := digammaRise(v.X, v.Y).Mul(t.X).Add(digammaRise(v.Y, v.X).Mul(t.Y))
		return betaLn(v), slope.Neg()
	})
	return f(pair{graph.Arguments.Float32(in[0]), graph.Arguments.Float32(in[1])}).Convert(in[0].DType())
}

func betaLn(v pair) *graph.Array {
	x, y := v.X, v.Y
	first := x.Le(y)
	p, q := graph.Select(first, x, y), graph.Select(first, y, x)
	norm, high := betaNorm(p, q)
	value := graph.Select(high, norm, norm.Sub(p.Log()))
	value = graph.Select(p.Gt(0).And(q.Eq(math.Inf(1))), math.Inf(-1), value)
	return graph.Select(p.Lt(0).Or(x.Add(y).IsNaN()), math.NaN(), value)
}

// betaNorm is log B(p, q) of p up to q if high holds, that is if both are at least stirlingFrom, else log(p B(p, q)).
func betaNorm(p, q *graph.Array) (norm, high *graph.Array) {
	least := stirlingFrom(p.DType())
	low, lowest := p.Lt(least), q.Lt(least)
	n := p.Add(q)
	// What is left of lgamma(q) - lgamma(n): of large numbers the difference of the corrections, of small ones a
	// product of shifted ones, too.
	farQ, farN := graph.Select(lowest, q.Add(least), q), graph.Select(lowest, n.Add(least), n)
	nearQ, nearN := graph.Select(lowest, q, 1), graph.Select(lowest, n, 1)
	// the first pair, in derivatives without n-q
	top, bottom := graph.Add(1, graph.Select(lowest, p, 0).Div(nearQ)), graph.OnesLike(p)
	for k := 1; k < int(least); k++ {
		top, bottom = top.Mul(nearN.Add(k)), bottom.Mul(nearQ.Add(k))
	}
	rest := stirling(farQ).Sub(stirling(farN)).Add(top.Div(bottom).Log())
	// The quotient may underflow; its product with farQ does not.
	quotient := p.Div(farQ)
	ratio := graph.Log1p(quotient)
	whole := graph.Select(quotient.Lt(1e-30), p, farQ.Mul(ratio))
	near, far := graph.Select(low, p, least), graph.Select(low, least, p)
	small := rest.Sub(whole.Add(near.Sub(.5).Mul(ratio)).Add(near.Mul(farQ.Log().Sub(1))))
	small = graph.Lgamma(near.Add(1)).Add(small)
	large := far.Sub(.5).Mul(far.Div(graph.Select(low, least, n)).Log()).Sub(whole)
	large = large.Add(stirling(far).Add(rest).Add(graph.Sub(halfLog2Pi, graph.Mul(.5, farQ.Log()))))
	return graph.Select(low, small, large), low.Not()
}

// logOf is log(x) of x between 0 and 1, y = 1-x.
func logOf(x, y *graph.Array) *graph.Array {
	low := x.Lt(.5)
	return graph.Select(low, graph.Select(low, x, .5).Log(), graph.Log1p(graph.Select(low, .5, y).Neg()))
}

// betaFront is the logarithm l and the factor f of x^a y^b / B(a, b) = e^l f, a and b positive, x and y = 1-x between
// 0 and 1.
func betaFront(a, b, x, y *graph.Array) (l, f *graph.Array) {
	least := stirlingFrom(a.DType())
	first := a.Le(b)
	p, q := graph.Select(first, a, b), graph.Select(first, b, a)
	norm, high := betaNorm(p, q)
	small := a.Mul(logOf(x, y)).Add(b.Mul(logOf(y, x))).Sub(norm)
	far := func(v *graph.Array) *graph.Array { return graph.Select(high, v, least) }
	n := a.Add(b)
	apart := deviance(far(a), far(n.Mul(x))).Add(deviance(far(b), far(n.Mul(y))))
	large := stirling(far(n)).Sub(stirling(far(p)).Add(stirling(far(q)))).Sub(apart)
	root := far(p).Mul(far(q).Div(far(n))).Mul(1 / (2 * math.Pi)).Sqrt()
	return graph.Select(high, large, small), graph.Select(high, root, p)
}

// BetaLogPDF is the logarithm of the density of the beta distribution with the concentrations a and b, positive, at x
// from 0 to 1, -Inf outside. Where both concentrations are large it is Loader's saddle-point form. 16-bit floats are
// computed as float32. Largest error: 50 ULP in float64, 30 in float32, 1 in 16-bit floats.
func BetaLogPDF(a, b, x any) *graph.Array {
	in := graph.Arguments.Floats("BetaLogPDF", a, b, x)
	d := in[0].DType()
	p, q, at := graph.Arguments.Float32(in[0]), graph.Arguments.Float32(in[1]), normal(graph.Arguments.Float32(in[2]))
	inside := at.Gt(0).And(at.Lt(1))
	safe := graph.Select(inside, at, .5)
	l, f := betaFront(p, q, safe, graph.Sub(1, safe))
	y := l.Add(f.Log()).Sub(safe.Log().Add(graph.Log1p(safe.Neg())))
	first, last := at.Eq(0), at.Eq(1)
	// at 0 the density of a = 1 is b
	edges := graph.Select(first, edgeLog(p, first, q.Log()), edgeLog(q, last, p.Log()))
	y = graph.Select(inside, y, graph.Select(first.Or(last), edges, math.Inf(-1)))
	return graph.Select(at.IsNaN(), at, y).Convert(d)
}

// edgeLog is, where edge holds, the logarithm of a density that goes like x^(a-1) at x = 0: y where a is 1.
func edgeLog(a, edge, y *graph.Array) *graph.Array {
	return XLogY(a.Sub(1), graph.Select(edge, 0, graph.OnesLike(a))).Add(graph.Select(a.Eq(1), y, 0))
}

// betaArguments is a tree of the arguments of BetaInc.
type betaArguments struct{ A, B, X *graph.Array }

// BetaInc is the regularized incomplete beta function: the probability that a beta variable with the concentrations a
// and b is below x. a and b are at least 0, finite and not both 0, x is from 0 to 1; else NaN. Inside, it is 1 at a = 0
// and 0 at b = 0. It has derivatives by all three. 16-bit floats are computed as float32. Largest
// error: 40 ULP in float64, 20 in float32, 1 in 16-bit floats; for values below 1, in ULP of 1 unless x is below
// (a+1)/(a+b+2).
func BetaInc(a, b, x any) *graph.Array {
	in := graph.Arguments.Floats("BetaInc", a, b, x)
	d := in[0].DType()
	f := graph.CustomJvp(betaValue, func(v, t betaArguments) (*graph.Array, *graph.Array) {
		// Forward mode runs through the loop; a value times a tangent has a transpose, the loop has none.
		one, zero := graph.OnesLike(v.A), graph.ZerosLike(v.A)
		none := v.A.Eq(0).Or(v.B.Eq(0))
		at := betaArguments{graph.Select(v.A.Eq(0), tinyConcentration, v.A),
			graph.Select(v.B.Eq(0), tinyConcentration, v.B), v.X}
		y, byA := graph.Jvp(betaValue, at, betaArguments{one, zero, zero})
		_, byB := graph.Jvp(betaValue, at, betaArguments{zero, one, zero})
		y = graph.Select(none, betaEnds(v), y)
		density := BetaLogPDF(v.A, v.B, v.X).Exp()
		return y, density.Mul(t.X).Add(byA.Mul(t.A).Add(byB.Mul(t.B)))
	})
	return f(betaArguments{graph.Arguments.Float32(in[0]), graph.Arguments.Float32(in[1]),
		graph.Arguments.Float32(in[2])}).Convert(d)
}

// betaValue is the probability below x where x is below about the mean, else one minus that above it. It is
// x^a (1-x)^b / B(a, b) times a continued fraction over a (NIST's digital library of mathematical functions, 8.17.22
// and 8.17.4) or, where both concentrations are large, times an integral.
func betaValue(v betaArguments) *graph.Array {
	inside := v.A.Gt(0).And(v.B.Gt(0)).And(v.A.IsFinite().And(v.B.IsFinite()).And(v.X.Gt(0).And(v.X.Lt(1))))
	a, b, x := graph.Select(inside, v.A, 1), graph.Select(inside, v.B, 1), graph.Select(inside, v.X, .5)
	rest := graph.Sub(1, x)
	below := x.Mul(b.Add(1)).Lt(rest.Mul(a.Add(1))) // x is below (a+1)/(a+b+2)
	p, q := graph.Select(below, a, b), graph.Select(below, b, a)
	y, z := graph.Select(below, x, rest), graph.Select(below, rest, x)
	l, f := betaFront(p, q, y, z)
	n := a.Add(b)
	rate := graph.Select(y.Lt(z), p.Sub(n.Mul(y)), n.Mul(z).Sub(q)) // p z - q y
	large := a.Ge(integralFrom).And(b.Ge(integralFrom))
	far := func(v *graph.Array, otherwise float64) *graph.Array { return graph.Select(large, v, otherwise) }
	near := func(v *graph.Array, otherwise float64) *graph.Array { return graph.Select(large, otherwise, v) }
	integral := betaIntegral(betaPlace{far(p, integralFrom), far(q, integralFrom), far(y, .5), far(z, .5),
		far(rate, 0)})
	fraction := eachElement(betaFraction)(betaPlace{near(p, 1), near(q, 1), near(y, .25), near(z, .75),
		near(rate, .5)})
	part := l.Exp().Mul(graph.Select(large, f.Mul(integral), f.Div(p).Div(fraction)))
	value := graph.Select(below, part, graph.Sub(1, part))
	return graph.Select(inside, value, betaEnds(v))
}

// betaEnds is BetaInc where x is 0 or 1 or a concentration is 0, and NaN outside of its domain.
func betaEnds(v betaArguments) *graph.Array {
	finite := v.A.IsFinite().And(v.B.IsFinite())
	valid := v.A.Ge(0).And(v.B.Ge(0)).And(v.A.Add(v.B).Gt(0)).And(finite.And(v.X.Ge(0).And(v.X.Le(1))))
	end := v.X.Eq(1).Or(v.A.Eq(0).And(v.X.Gt(0)))
	return graph.Select(valid, end.Convert(v.X.DType()), math.NaN())
}

// betaPlace is what a tail of the beta distribution depends on: the concentrations P and Q, the place Y = 1-Z below
// about the mean, and Rate, P Z - Q Y.
type betaPlace struct{ P, Q, Y, Z, Rate *graph.Array }

// mostBetaTerms bounds the loop of betaFraction, which takes fewer than a hundred iterations.
const mostBetaTerms = 500

// betaFraction, of scalars, is y^p z^q / B(p, q) / p over the probability below y: the even part of the continued
// fraction, which does not need the digits of 1-y (DiDonato and Morris, equation 9), from the front (Lentz's method, as
// modified by Thompson and Barnett, 1986). It is NaN where it has not converged.
func betaFraction(v betaPlace) *graph.Array {
	type state struct{ N, C, D, H, Moved *graph.Array }
	small := 2 * graph.Finfo(v.P.DType()).Eps
	a, b, x := v.P, v.Q, v.Y
	c := v.Rate.Add(1)
	const tiny = 1e-30
	apart := func(v *graph.Array) *graph.Array { return graph.Select(v.Abs().Lt(tiny), tiny, v) }
	first := apart(c.Div(a.Add(1))) // over p, as the first term below
	last := graph.While(func(s state) *graph.Array {
		return s.Moved.Gt(small).And(s.N.Lt(mostBetaTerms))
	}, func(s state) state {
		m := s.N.Add(1)
		k := a.Add(graph.Mul(2, m)).Sub(1)
		rest := m.Mul(b.Sub(m).Mul(x))
		scale := graph.Select(m.Eq(1), 1, a.Add(m).Sub(1))
		top := scale.Div(k).Mul(rest).Mul(a.Add(b).Add(m).Sub(1).Div(k).Mul(x))
		bottom := m.Add(rest.Div(k)).Add(a.Add(m).Div(k.Add(2)).Mul(c.Add(m.Mul(graph.Add(1, v.Z)))))
		d := apart(bottom.Add(top.Mul(s.D))).Reciprocal()
		over := apart(bottom.Add(top.Div(s.C)))
		factor := over.Mul(d)
		return state{m, over, d, s.H.Mul(factor), factor.Sub(1).Abs()}
	}, state{graph.ZerosLike(a), first, graph.ZerosLike(a), first, graph.OnesLike(a)})
	return graph.Select(last.Moved.Gt(8*small), math.NaN(), last.H)
}

// betaIntegral is the probability below y over y^p z^q / B(p, q): the integral over the logit's distance s of
// e^-(rate s + n h(s)), where h is log(z + y e^-s) + y s.
func betaIntegral(v betaPlace) *graph.Array {
	n := v.P.Add(v.Q)
	value, _ := tailIntegral(v.Rate, n.Mul(v.Y).Mul(v.Z), []*graph.Array{n, v.Y, v.Z},
		func(s *graph.Array, v []*graph.Array) *graph.Array {
			n, y, z := v[0], v[1], v[2]
			return n.Mul(graph.Log1p(z.Mul(expm1Rest(y.Mul(s))).Add(y.Mul(expm1Rest(z.Mul(s).Neg())))))
		})
	return value
}
