package random

import (
	"slices"

	"xlarun/graph"
)

// Gamma draws from the gamma distribution with concentration a and rate 1, of float32 or float64 shape. a is a positive
// number or an array that broadcasts to the shape. Each element has its own key and rejection loop (Marsaglia and
// Tsang, "A simple method for generating gamma variables", 2000); the loops run until the last element is accepted. The
// draw has a derivative by a (implicit reparameterisation, Figurnov et al., 2018).
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
	most := x.Max(y)
	p, q := x.Sub(most).Exp(), y.Sub(most).Exp()
	return p.Div(p.Add(q))
}

// Dirichlet draws from the Dirichlet distribution with the concentrations alpha [..., n], float32 or float64: rows of n
// numbers that add up to 1. The result has the given dims, to which alpha's other axes broadcast (default: those), and
// n.
func Dirichlet(key Key, alpha *graph.Array, dims ...int) *graph.Array {
	const op = "random.Dirichlet"
	if alpha == nil || alpha.Rank() == 0 {
		graph.Throw(op, "got the concentrations %v, want […, n]", alpha)
	}
	if dims == nil {
		dims = alpha.Dims()[:alpha.Rank()-1]
	}
	s := graph.ShapeOf(alpha.DType(), slices.Concat(dims, []int{alpha.Dim(-1)})...)
	return graph.Softmax(wordsOf(op, key).gamma(op, s, alpha, true), -1)
}

// gammaDraws is the arguments of a vector of gamma draws.
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
	x := gammaDraws{hi, lo, graph.Flatten1D(parameter(op, "a", a, s.DType, s.Dims).BroadcastTo(s.Dims...))}
	y := graph.CustomJvp(draw, func(x, t gammaDraws) (*graph.Array, *graph.Array) {
		y := draw(x)
		if !inLogs {
			return y, gammaSlope(x.A, y).Mul(t.A)
		}
		sample := y.Exp().Max(formats[s.DType].tiny) // where the draw itself underflows
		return y, gammaSlope(x.A, sample).Div(sample).Mul(t.A)
	})(x)
	return y.Reshape(s.Dims...)
}

// oneGamma draws one number. For a concentration a below 1 it draws with a+1 and multiplies by a power of a uniform
// draw.
func oneGamma(w words, a *graph.Array, inLogs bool) *graph.Array {
	s := a.Shape()
	large := a.Ge(1)
	d := graph.Select(large, a, a.Add(1)).Sub(third(a))
	c := third(a).Div(d.Sqrt())
	type state struct{ Hi, Lo, X2, V, U *graph.Array } // X2: the normal draw squared
	rejected := func(t state) *graph.Array {
		squeeze := t.U.Ge(graph.Sub(1, graph.Mul(.0331, t.X2.Mul(t.X2))))
		exact := t.U.Log().Ge(t.X2.Mul(.5).Add(d.Mul(graph.Sub(1, t.V).Add(t.V.Log()))))
		return squeeze.And(exact)
	}
	again := func(t state) state {
		k := words{t.Hi, t.Lo}
		next, forX, forU := k.fold(count(0)).once(), k.fold(count(1)).once(), k.fold(count(2)).once()
		type positive struct{ Hi, Lo, X, V *graph.Array }
		p := graph.While(func(p positive) *graph.Array { return p.V.Le(0) }, func(p positive) positive {
			next, forX := words{p.Hi, p.Lo}.split2()
			x := forX.once().normal(s)
			return positive{next.hi, next.lo, x, graph.Add(1, x.Mul(c))}
		}, positive{forX.hi, forX.lo, graph.ZerosLike(a), graph.FullLike(a, -1)})
		return state{next.hi, next.lo, p.X.Mul(p.X), p.V.Mul(p.V).Mul(p.V), forU.unit(s)}
	}
	next, forBoost := w.split2()
	forBoost = forBoost.once()
	v := graph.While(rejected, again, state{next.hi, next.lo, graph.ZerosLike(a), graph.OnesLike(a),
		graph.FullLike(a, 2)}).V
	if inLogs {
		u := graph.Log1p(forBoost.unit(s).Neg())
		boost := graph.Select(large.Or(u.Eq(0)), 0, u.Mul(graph.Div(1, a)))
		return d.Log().Add(v.Log()).Add(boost)
	}
	boost := graph.Select(large, 1, graph.Sub(1, forBoost.unit(s)).Pow(graph.Div(1, a)))
	return d.Mul(v).Mul(boost)
}

func third(like *graph.Array) *graph.Array { return graph.FullLike(like, 1./3) }

func count(n uint32) *graph.Array { return graph.Full(graph.ShapeOf(graph.Uint32), n) }

// gammaSlope is the derivative of gamma draws x (vectors) by their concentration a, the place in the distribution being
// fixed: minus the derivative of the cumulative function by a over the density. Below about the mean the cumulative
// function is x^a e^-x / gamma(a+1) times a series, above it its complement is x^a e^-x / gamma(a) times a continued
// fraction (Abramowitz and Stegun 6.5.29 and 6.5.31): what stands before them leaves digamma and a logarithm.
func gammaSlope(a, x *graph.Array) *graph.Array {
	return graph.VMap2(func(a, x *graph.Array) *graph.Array {
		below := x.Le(a.Add(1))
		near := graph.Select(below, x, 0) // no turns where the other form counts
		far := graph.Select(below, graph.Mul(4, a).Add(40), x)
		one := graph.OnesLike(a)
		s, ds := graph.Jvp(func(a *graph.Array) *graph.Array { return gammaSeries(a, near) }, a, one)
		h, dh := gammaFraction(a, far)
		log := graph.Select(x.Eq(0), 1, x).Log()
		low := x.Div(a).Mul(s.Mul(log.Sub(graph.Digamma(a.Add(1)))).Add(ds)).Neg()
		high := x.Mul(h.Mul(log.Sub(graph.Digamma(a))).Add(dh))
		return graph.Select(x.Eq(0), 0, graph.Select(below, low, high)) // the draw underflowed
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
		return s.Term.Gt(graph.Mul(small, s.Sum)).And(s.N.Lt(mostTerms))
	}, func(s state) state {
		n := s.N.Add(1)
		term := s.Term.Mul(x.Div(a.Add(n)))
		return state{n, term, s.Sum.Add(term)}
	}, state{graph.ZerosLike(a), one, one}).Sum
}

// gammaFraction is 1/(x+1-a- 1(1-a)/(x+3-a- 2(2-a)/(x+5-a- …))) and its derivative by a, from the front (Lentz's
// method, as modified by Thompson and Barnett, 1986). For whole a the fraction ends, its derivative does not: both have
// to stand still.
func gammaFraction(a, x *graph.Array) (h, dh *graph.Array) {
	type pair struct{ V, D *graph.Array } // a value and its derivative
	type state struct {
		N       *graph.Array
		C, D, H pair // C: the reciprocal of the partial denominator
		Moved   *graph.Array
	}
	small := formats[a.DType()].epsilon()
	zero := graph.ZerosLike(a)
	start := x.Sub(a).Add(1)
	first := pair{start.Reciprocal(), start.Reciprocal().Square()}
	// linear is bottom + top*v, where bottom's derivative is -1 and top's is n.
	linear := func(n, top, bottom *graph.Array, v pair) pair {
		return pair{bottom.Add(top.Mul(v.V)), n.Mul(v.V).Sub(1).Add(top.Mul(v.D))}
	}
	inverse := func(v pair) pair {
		r := v.V.Reciprocal()
		return pair{r, r.Square().Mul(v.D).Neg()}
	}
	times := func(v, w pair) pair {
		return pair{v.V.Mul(w.V), v.D.Mul(w.V).Add(v.V.Mul(w.D))}
	}
	last := graph.While(func(s state) *graph.Array {
		return s.Moved.Gt(small).And(s.N.Lt(mostTerms))
	}, func(s state) state {
		n := s.N.Add(1)
		top, bottom := n.Mul(a.Sub(n)), start.Add(graph.Mul(2, n))
		c, d := linear(n, top, bottom, s.C), inverse(linear(n, top, bottom, s.D))
		factor := times(d, c)
		moved := factor.V.Sub(1).Abs().Add(factor.D.Abs())
		return state{n, inverse(c), d, times(s.H, factor), moved}
	}, state{zero, pair{zero, zero}, first, first, graph.OnesLike(a)})
	return last.H.V, last.H.D
}
