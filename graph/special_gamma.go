package graph

import "math"

// GammaInc is the regularised lower incomplete gamma function P(a, x): the probability that a gamma variable of
// concentration a is below x. a is positive, x at least 0; else NaN. It has derivatives by both. 16-bit floats are
// computed as float32.
func GammaInc(a, x any) *Array { return gammaTails("GammaInc", a, x, true) }

// GammaIncC is 1 - GammaInc(a, x), accurate where it is small.
func GammaIncC(a, x any) *Array { return gammaTails("GammaIncC", a, x, false) }

// gammaArguments is a tree of the arguments of an incomplete gamma function.
type gammaArguments struct{ A, X *Array }

func gammaTails(name string, a, x any, lower bool) *Array {
	in := floatOperands(name, a, x)
	d := in[0].DType()
	value := func(g gammaArguments) *Array {
		below, above := gammaValues(g.A, g.X)
		if lower {
			return below
		}
		return above
	}
	f := CustomJvp(value, func(g, t gammaArguments) (*Array, *Array) {
		inside := And(Gt(g.X, 0), IsFinite(g.X)) // outside of it the density is 0, or its limit is infinite
		at := Select(inside, g.X, 1)
		log := Sub(Sub(Mul(Sub(g.A, 1), Log(at)), at), Lgamma(g.A))
		slope := Mul(Exp(log), Sub(t.X, Mul(RandomGammaGrad(g.A, at), t.A)))
		slope = Select(inside, slope, 0)
		if !lower {
			slope = Neg(slope)
		}
		return value(g), slope
	})
	return Convert(f(gammaArguments{inFloat32(in[0]), inFloat32(in[1])}), d)
}

// gammaValues are the lower and the upper regularised incomplete gamma function. Below about the mean a
// series gives the lower one, times x^a e^-x / gamma(a+1). Above it a continued fraction gives the upper one, times
// x^a e^-x / gamma(a) (Abramowitz and Stegun 6.5.29 and 6.5.31).
func gammaValues(a, x *Array) (lower, upper *Array) {
	valid := And(Gt(a, 0), Ge(x, 0))
	inside := And(valid, And(Gt(x, 0), IsFinite(x)))
	low := Le(x, Add(a, 1))
	one := Select(inside, a, 1)
	near := Select(And(inside, low), x, 0)
	far := Select(And(inside, Not(low)), x, Add(Mul(4, one), 40))
	sum := eachPair(gammaSeries)(one, near)
	fraction := eachPair(func(a, x *Array) *Array { h, _ := gammaFraction(a, x); return h })(one, far)
	at := Select(inside, x, 1)
	front := Exp(Sub(Sub(Mul(one, Log(at)), at), Lgamma(one)))
	part := Mul(front, Select(low, Div(sum, one), fraction))
	lower, upper = Select(low, part, Sub(1, part)), Select(low, Sub(1, part), part)
	end := Convert(Gt(x, 0), a.DType()) // of x = 0 and of infinity
	lower, upper = Select(inside, lower, end), Select(inside, upper, Sub(1, end))
	return Select(valid, lower, math.NaN()), Select(valid, upper, math.NaN())
}

// eachPair maps a function of two scalars over two arrays of one shape.
func eachPair(f func(a, x *Array) *Array) func(a, x *Array) *Array {
	return func(a, x *Array) *Array {
		return Reshape(VMap2(f)(Flatten1D(a), Flatten1D(x)), a.Dims()...)
	}
}

// RandomGammaGrad is the derivative of gamma draws x by their concentration a, the place in the distribution being
// fixed: minus the derivative of GammaInc by a over the density. a and x have one shape, float32 or float64. It is
// jax.lax.random_gamma_grad.
func RandomGammaGrad(a, x *Array) *Array {
	return eachPair(func(a, x *Array) *Array {
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
		return Select(Eq(x, 0), 0, Select(below, low, high)) // the draw underflowed
	})(a, x)
}

// mostGammaTerms bounds the loops of the series and the fraction; they need about six times the root of a.
const mostGammaTerms = 2000

// gammaSeries is the sum of x^n / ((a+1) … (a+n)).
func gammaSeries(a, x *Array) *Array {
	type state struct{ N, Term, Sum *Array }
	small := epsilon(a.DType()) / 16 // the derivatives of the terms are up to some ten times larger than they
	one := OnesLike(a)
	return While(func(s state) *Array {
		return And(Gt(s.Term, Mul(small, s.Sum)), Lt(s.N, mostGammaTerms))
	}, func(s state) state {
		n := Add(s.N, 1)
		term := Mul(s.Term, Div(x, Add(a, n)))
		return state{n, term, Add(s.Sum, term)}
	}, state{ZerosLike(a), one, one}).Sum
}

// gammaFraction is 1/(x+1-a- 1(1-a)/(x+3-a- 2(2-a)/(x+5-a- …))) and its derivative by a, from the front (Lentz's
// method, as modified by Thompson and Barnett, 1986). For whole a the fraction ends, its derivative does not: both
// have to stand still.
func gammaFraction(a, x *Array) (h, dh *Array) {
	type pair struct{ V, D *Array } // a value and its derivative
	type state struct {
		N       *Array
		C, D, H pair // C: the reciprocal of the partial denominator
		Moved   *Array
	}
	small := epsilon(a.DType())
	zero := ZerosLike(a)
	start := Add(Sub(x, a), 1)
	first := pair{Reciprocal(start), Square(Reciprocal(start))}
	// linear is bottom + top*v, where bottom's derivative is -1 and top's is n.
	linear := func(n, top, bottom *Array, v pair) pair {
		return pair{Add(bottom, Mul(top, v.V)), Add(Sub(Mul(n, v.V), 1), Mul(top, v.D))}
	}
	inverse := func(v pair) pair {
		r := Reciprocal(v.V)
		return pair{r, Neg(Mul(Square(r), v.D))}
	}
	times := func(v, w pair) pair {
		return pair{Mul(v.V, w.V), Add(Mul(v.D, w.V), Mul(v.V, w.D))}
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
	}, state{zero, pair{zero, zero}, first, first, OnesLike(a)})
	return last.H.V, last.H.D
}

// Zeta is Hurwitz's zeta function, the sum of (q+k)^-s for k = 0, 1, …; s above 1, q positive: infinite at s = 1,
// NaN elsewhere. It sums the first terms, the others are Euler and Maclaurin's formula (Abramowitz and Stegun
// 23.1.30). 16-bit floats are computed as float32.
func Zeta(s, q any) *Array {
	in := floatOperands("Zeta", s, q)
	d := in[0].DType()
	sv, qv := inFloat32(in[0]), inFloat32(in[1])
	valid := And(Gt(sv, 1), Gt(qv, 0))
	sv, at := Select(valid, sv, 2), Select(valid, qv, 1)
	const terms = 10
	sum := ZerosLike(at)
	for k := range terms {
		sum = Add(sum, Pow(Add(at, k), Neg(sv)))
	}
	end := Add(at, terms)
	power := Pow(end, Neg(sv))
	sum = Add(sum, Mul(power, Add(Div(end, Sub(sv, 1)), .5)))
	factor := Div(Mul(sv, power), end)
	for j, b := range bernoulli { // B(2j) / (2j)! s (s+1) … (s+2j-2) end^(-s-2j+1)
		sum = Add(sum, Mul(b, factor))
		k := float64(2*j + 1)
		factor = Div(Mul(factor, Mul(Add(sv, k), Add(sv, k+1))), Square(end))
	}
	outside := Select(And(Eq(inFloat32(in[0]), 1), Gt(qv, 0)), math.Inf(1), math.NaN())
	return Convert(Select(valid, sum, outside), d)
}

// bernoulli are Bernoulli's numbers B(2j) over (2j)!, j from 1 (Abramowitz and Stegun 23.1.3).
var bernoulli = []float64{1. / 12, -1. / 720, 1. / 30240, -1. / 1209600, 1. / 47900160, -691. / 1307674368000,
	1. / 74724249600, -3617. / 10670622842880000}

// Polygamma is the n-th derivative of Digamma at positive x, elsewhere NaN for n above 1; n at least 0.
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
	factorial, _ := math.Lgamma(float64(n) + 1)
	sign := float64(2*(n%2) - 1)
	return Mul(sign*math.Exp(factorial), Zeta(FullLike(a, n+1), a))
}
