package random

import "xlarun/graph"

// Gamma draws from the gamma distribution with concentration a and rate 1, of float32 or float64 shape. a is a positive
// number or an array that broadcasts to the shape. Each element has a key of its own and rejects by itself (Marsaglia and
// Tsang, "A simple method for generating gamma variables", 2000); all go on until the last is accepted. The draw has a
// derivative by a, at a fixed place of the distribution (implicit reparameterisation, Figurnov et al., 2018).
func Gamma(key Key, shape graph.Shape, a any) *graph.Array {
	const op = "random.Gamma"
	return wordsOf(op, key).gamma(op, shape, a, false)
}

// LogGamma draws the logarithm of what Gamma draws, without underflow for small a.
func LogGamma(key Key, shape graph.Shape, a any) *graph.Array {
	const op = "random.LogGamma"
	return wordsOf(op, key).gamma(op, shape, a, true)
}

// Beta draws from the beta distribution with concentrations a and b, of float32 or float64 shape; a and b are positive
// numbers or arrays that broadcast to it.
func Beta(key Key, shape graph.Shape, a, b any) *graph.Array {
	const op = "random.Beta"
	first, second := wordsOf(op, key).split2()
	x, y := first.gamma(op, shape, a, true), second.gamma(op, shape, b, true)
	most := graph.Max(x, y)
	p, q := graph.Exp(graph.Sub(x, most)), graph.Exp(graph.Sub(y, most))
	return graph.Div(p, graph.Add(p, q))
}

// Dirichlet draws from the Dirichlet distribution with the concentrations alpha [..., n], float32 or float64: rows of n
// numbers that add up to 1. The result has the given dims, to which alpha's other axes broadcast (default: those), and n.
func Dirichlet(key Key, alpha *graph.Array, dims ...int) *graph.Array {
	const op = "random.Dirichlet"
	if alpha == nil || alpha.Rank() == 0 {
		graph.Throw(op, "got the concentrations %v, want […, n]", alpha)
	}
	if dims == nil {
		dims = alpha.Dims()[:alpha.Rank()-1]
	}
	s := graph.ShapeOf(alpha.DType(), join(dims, []int{alpha.Dim(-1)})...)
	return graph.Softmax(wordsOf(op, key).gamma(op, s, alpha, true), -1)
}

// gammaDraws is what a vector of gamma draws depends on.
type gammaDraws struct{ Hi, Lo, A *graph.Array }

func (w words) gamma(op string, s graph.Shape, a any, inLogs bool) *graph.Array {
	if s = floatShape(op, s); graph.ItemSize(s.DType) < 4 {
		graph.Throw(op, "got the shape %s, whose precision is too low for it: draw float32 and convert", s)
	}
	n := s.Size()
	if n == 0 {
		return graph.Zeros(s)
	}
	draw := graph.VMap(func(g gammaDraws) *graph.Array { return oneGamma(words{g.Hi, g.Lo}, g.A, inLogs) })
	hi, lo := w.hash(n)
	x := gammaDraws{hi, lo, graph.Flatten1D(graph.BroadcastTo(parameter(op, "a", a, s.DType, s.Dims), s.Dims...))}
	y := graph.CustomJvp(draw, func(x, t gammaDraws) (*graph.Array, *graph.Array) {
		y := draw(x)
		if !inLogs {
			return y, graph.Mul(gammaSlope(x.A, y), t.A)
		}
		sample := graph.Max(graph.Exp(y), formats[s.DType].tiny) // where the draw itself underflows
		return y, graph.Mul(graph.Div(gammaSlope(x.A, sample), sample), t.A)
	})(x)
	return graph.Reshape(y, s.Dims...)
}

// oneGamma draws one number. Concentrations below 1 are drawn as a+1 and brought down by a power of a uniform draw.
func oneGamma(w words, a *graph.Array, inLogs bool) *graph.Array {
	s := a.Shape()
	large := graph.Ge(a, 1)
	d := graph.Sub(graph.Select(large, a, graph.Add(a, 1)), third(a))
	c := graph.Div(third(a), graph.Sqrt(d))
	type state struct{ Hi, Lo, X2, V, U *graph.Array } // X2: the normal draw squared
	rejected := func(t state) *graph.Array {
		squeeze := graph.Ge(t.U, graph.Sub(1, graph.Mul(.0331, graph.Mul(t.X2, t.X2))))
		exact := graph.Ge(graph.Log(t.U), graph.Add(graph.Mul(t.X2, .5), graph.Mul(d, graph.Add(graph.Sub(1, t.V), graph.Log(t.V)))))
		return graph.And(squeeze, exact)
	}
	again := func(t state) state {
		k := words{t.Hi, t.Lo}
		next, forX, forU := k.fold(count(0)).done(), k.fold(count(1)).done(), k.fold(count(2)).done()
		type positive struct{ Hi, Lo, X, V *graph.Array }
		p := graph.While(func(p positive) *graph.Array { return graph.Le(p.V, 0) }, func(p positive) positive {
			next, forX := words{p.Hi, p.Lo}.split2()
			x := forX.done().normal(s)
			return positive{next.hi, next.lo, x, graph.Add(1, graph.Mul(x, c))}
		}, positive{forX.hi, forX.lo, graph.ZerosLike(a), graph.FullLike(a, -1)})
		return state{next.hi, next.lo, graph.Mul(p.X, p.X), graph.Mul(graph.Mul(p.V, p.V), p.V), forU.unit(s)}
	}
	next, forBoost := w.split2()
	forBoost = forBoost.done()
	v := graph.While(rejected, again, state{next.hi, next.lo, graph.ZerosLike(a), graph.OnesLike(a), graph.FullLike(a, 2)}).V
	if inLogs {
		u := graph.Log1p(graph.Neg(forBoost.unit(s)))
		boost := graph.Select(graph.Or(large, graph.Eq(u, 0)), 0, graph.Mul(u, graph.Div(1, a)))
		return graph.Add(graph.Add(graph.Log(d), graph.Log(v)), boost)
	}
	boost := graph.Select(large, 1, graph.Pow(graph.Sub(1, forBoost.unit(s)), graph.Div(1, a)))
	return graph.Mul(graph.Mul(d, v), boost)
}

// done finishes a key before it is used: a compiler would otherwise fuse its hash into that of the draw.
func (w words) done() words {
	k := graph.Barrier(w.hi, w.lo)
	return words{k[0], k[1]}
}

func third(like *graph.Array) *graph.Array { return graph.FullLike(like, 1./3) }

func count(n uint32) *graph.Array { return graph.Full(graph.ShapeOf(graph.Uint32), n) }

// gammaSlope is the derivative of gamma draws x (vectors) by their concentration a, the place in the distribution being
// fixed: minus the derivative of the cumulative function by a over the density. Below about the mean the cumulative
// function is x^a e^-x / gamma(a+1) times a series, above it its complement is x^a e^-x / gamma(a) times a continued
// fraction (Abramowitz and Stegun 6.5.29 and 6.5.31): what stands before them leaves digamma and a logarithm.
func gammaSlope(a, x *graph.Array) *graph.Array {
	return graph.VMap2(func(a, x *graph.Array) *graph.Array {
		below := graph.Le(x, graph.Add(a, 1))
		near := graph.Select(below, x, 0) // no turns where the other form counts
		far := graph.Select(below, graph.Add(graph.Mul(4, a), 40), x)
		one := graph.OnesLike(a)
		s, ds := graph.Jvp(func(a *graph.Array) *graph.Array { return gammaSeries(a, near) }, a, one)
		h, dh := gammaFraction(a, far)
		log := graph.Log(graph.Select(graph.Eq(x, 0), 1, x))
		low := graph.Neg(graph.Mul(graph.Div(x, a), graph.Add(graph.Mul(s, graph.Sub(log, graph.Digamma(graph.Add(a, 1)))), ds)))
		high := graph.Mul(x, graph.Add(graph.Mul(h, graph.Sub(log, graph.Digamma(a))), dh))
		return graph.Select(graph.Eq(x, 0), 0, graph.Select(below, low, high)) // the draw underflowed
	})(a, x)
}

// mostTerms bounds the loops of gammaSlope; they need about six times the root of the concentration.
const mostTerms = 2000

// gammaSeries is the sum of x^n / ((a+1) … (a+n)).
func gammaSeries(a, x *graph.Array) *graph.Array {
	type state struct{ N, Term, Sum *graph.Array }
	small := formats[a.DType()].epsilon() / 16 // the derivatives of the terms are up to some ten times larger than they
	one := graph.OnesLike(a)
	return graph.While(func(s state) *graph.Array {
		return graph.And(graph.Gt(s.Term, graph.Mul(small, s.Sum)), graph.Lt(s.N, mostTerms))
	}, func(s state) state {
		n := graph.Add(s.N, 1)
		term := graph.Mul(s.Term, graph.Div(x, graph.Add(a, n)))
		return state{n, term, graph.Add(s.Sum, term)}
	}, state{graph.ZerosLike(a), one, one}).Sum
}

// gammaFraction is 1/(x+1-a- 1(1-a)/(x+3-a- 2(2-a)/(x+5-a- …))) and its derivative by a, from the front (Lentz's method, as
// modified by Thompson and Barnett, 1986). For whole a the fraction ends, its derivative does not: both have to stand still.
func gammaFraction(a, x *graph.Array) (h, dh *graph.Array) {
	type pair struct{ V, D *graph.Array } // a value and its derivative
	type state struct {
		N       *graph.Array
		C, D, H pair // C: the reciprocal of the partial denominator
		Moved   *graph.Array
	}
	small := formats[a.DType()].epsilon()
	zero := graph.ZerosLike(a)
	start := graph.Add(graph.Sub(x, a), 1)
	first := pair{graph.Reciprocal(start), graph.Square(graph.Reciprocal(start))}
	// linear is bottom + top*v, where bottom's derivative is -1 and top's is n.
	linear := func(n, top, bottom *graph.Array, v pair) pair {
		return pair{graph.Add(bottom, graph.Mul(top, v.V)), graph.Add(graph.Sub(graph.Mul(n, v.V), 1), graph.Mul(top, v.D))}
	}
	inverse := func(v pair) pair {
		r := graph.Reciprocal(v.V)
		return pair{r, graph.Neg(graph.Mul(graph.Square(r), v.D))}
	}
	times := func(v, w pair) pair {
		return pair{graph.Mul(v.V, w.V), graph.Add(graph.Mul(v.D, w.V), graph.Mul(v.V, w.D))}
	}
	last := graph.While(func(s state) *graph.Array {
		return graph.And(graph.Gt(s.Moved, small), graph.Lt(s.N, mostTerms))
	}, func(s state) state {
		n := graph.Add(s.N, 1)
		top, bottom := graph.Mul(n, graph.Sub(a, n)), graph.Add(start, graph.Mul(2, n))
		c, d := linear(n, top, bottom, s.C), inverse(linear(n, top, bottom, s.D))
		factor := times(d, c)
		moved := graph.Add(graph.Abs(graph.Sub(factor.V, 1)), graph.Abs(factor.D))
		return state{n, inverse(c), d, times(s.H, factor), moved}
	}, state{zero, pair{zero, zero}, first, first, graph.OnesLike(a)})
	return last.H.V, last.H.D
}
