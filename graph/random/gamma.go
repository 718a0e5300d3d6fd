package random

import (
	"slices"

	"xlarun/graph"
	"xlarun/graph/special"
)

// Gamma draws from the gamma distribution with concentration a and rate 1, of float32 or float64 shape. a is a
// positive number or an array that broadcasts to the shape. Each element has its own key and rejection loop
// (Marsaglia and Tsang, "A simple method for generating gamma variables", 2000); the loops run until the last
// element is accepted. The draw has a derivative by a (implicit reparameterization, Figurnov et al., 2018).
func Gamma(key Key, shape graph.Shape, a any) *graph.Array {
	const op = "random.Gamma"
	return wordsOf(op, key).gamma(op, shape, a, false)
}

// LogGamma draws the logarithm of what Gamma draws, without underflow for small a.
func LogGamma(key Key, shape graph.Shape, a any) *graph.Array {
	const op = "random.LogGamma"
	return wordsOf(op, key).gamma(op, shape, a, true)
}

// Beta draws from the beta distribution with concentrations a and b, of float32 or float64 shape; a and b are
// positive numbers or arrays that broadcast to it.
func Beta(key Key, shape graph.Shape, a, b any) *graph.Array {
	const op = "random.Beta"
	first, second := wordsOf(op, key).split2()
	x, y := first.gamma(op, shape, a, true), second.gamma(op, shape, b, true)
	most := x.Max(y)
	p, q := x.Sub(most).Exp(), y.Sub(most).Exp()
	return p.Div(p.Add(q))
}

// Dirichlet draws from the Dirichlet distribution with the concentrations alpha [..., n], float32 or float64: rows
// of n numbers that add up to 1. The result has the given dims, to which alpha's other axes broadcast (default:
// those), and n.
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
			return y, special.RandomGammaGrad(x.A, y).Mul(t.A)
		}
		sample := y.Exp().Max(graph.Finfo(s.DType).Tiny) // where the draw itself underflows
		return y, special.RandomGammaGrad(x.A, sample).Div(sample).Mul(t.A)
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
		next, forX, forU := k.fold(count(0)), k.fold(count(1)), k.fold(count(2))
		type positive struct{ Hi, Lo, X, V *graph.Array }
		p := graph.While(func(p positive) *graph.Array { return p.V.Le(0) }, func(p positive) positive {
			next, forX := words{p.Hi, p.Lo}.split2()
			x := forX.normal(s)
			return positive{next.hi, next.lo, x, graph.Add(1, x.Mul(c))}
		}, positive{forX.hi, forX.lo, graph.ZerosLike(a), graph.FullLike(a, -1)})
		return state{next.hi, next.lo, p.X.Mul(p.X), p.V.Mul(p.V).Mul(p.V), forU.unit(s)}
	}
	next, forBoost := w.split2()
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

func count(n uint32) *graph.Array { return graph.Scalar(n, graph.Uint32) }
