package graph

import "math"

// BetaLn is the logarithm of the beta function, gamma(a) gamma(b) / gamma(a+b), of positive a and b.
func BetaLn(a, b any) *Array {
	in := floatOperands("BetaLn", a, b)
	return Sub(Add(Lgamma(in[0]), Lgamma(in[1])), Lgamma(Add(in[0], in[1])))
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
		density := Exp(Sub(Add(XLogY(Sub(v.A, 1), v.X), XLog1pY(Sub(v.B, 1), Neg(v.X))), BetaLn(v.A, v.B)))
		return y, Add(Mul(density, t.X), Add(Mul(byA, t.A), Mul(byB, t.B)))
	})
	return Convert(f(betaArguments{inFloat32(in[0]), inFloat32(in[1]), inFloat32(in[2])}), d)
}

// betaValue is x^a (1-x)^b / (a B(a, b)) times a continued fraction where that converges fast, else one minus the
// same with both sides exchanged (NIST's digital library of mathematical functions, 8.17.22 and 8.17.4).
func betaValue(v betaArguments) *Array {
	valid := And(And(Gt(v.A, 0), Gt(v.B, 0)), And(And(IsFinite(v.A), IsFinite(v.B)), And(Ge(v.X, 0), Le(v.X, 1))))
	inside := And(valid, And(Gt(v.X, 0), Lt(v.X, 1)))
	a, b, x := Select(inside, v.A, 1), Select(inside, v.B, 1), Select(inside, v.X, .5)
	fast := Lt(x, Div(Add(a, 1), Add(Add(a, b), 2)))
	p, q := Select(fast, a, b), Select(fast, b, a)
	y := Select(fast, x, Sub(1, x))
	front := Div(Exp(Sub(Add(Mul(p, Log(y)), Mul(q, Log1p(Neg(y)))), BetaLn(p, q))), p)
	part := Mul(front, betaFraction(p, q, y))
	value := Select(fast, part, Sub(1, part))
	value = Select(inside, value, Convert(Gt(v.X, 0), v.X.DType())) // at 0 and at 1
	return Select(valid, value, math.NaN())
}

// mostBetaTerms bounds the loop of betaFraction, which needs about the root of the larger concentration.
const mostBetaTerms = 500

// betaFraction is 1/(1 + d1/(1 + d2/(1 + …))), from the front (Lentz's method, as modified by Thompson and Barnett,
// 1986). Each turn takes two terms.
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
	first := Reciprocal(apart(Sub(1, Div(Mul(Add(a, b), x), Add(a, 1)))))
	last := While(func(s state) *Array {
		return And(Any(Gt(s.Moved, small)), Lt(s.N, mostBetaTerms))
	}, func(s state) state {
		m := Convert(Add(s.N, 1), a.DType())
		n := Add(a, Mul(2, m))
		even := Div(Mul(Mul(m, Sub(b, m)), x), Mul(Sub(n, 1), n))
		odd := Neg(Div(Mul(Mul(Add(a, m), Add(Add(a, b), m)), x), Mul(n, Add(n, 1))))
		next := step(step(s, even), odd)
		next.N = Add(s.N, 1)
		return next
	}, state{Scalar(0, Int32), one, first, first, one})
	return last.H
}
