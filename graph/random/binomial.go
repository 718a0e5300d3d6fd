package random

import (
	"math"

	"xlarun/graph"
)

// Binomial draws the number of successes in n trials of probability p, whole numbers of a float32 or float64 shape.
// n and p are numbers or arrays that broadcast to the shape; NaN where n or p is negative or NaN. Few successes are
// counted by geometric draws (Devroye, "Non-uniform random variate generation", 1986, section X.4), many are drawn
// by rejection (Hörmann, "The generation of binomial random variates", 1993).
func Binomial(key Key, shape graph.Shape, n, p any) *graph.Array {
	const op = "random.Binomial"
	if shape = floatShape(op, shape); graph.ItemSize(shape.DType) < 4 {
		graph.Throw(op, "got the shape %s, whose precision is too low for it: draw float32 and convert", shape)
	}
	read := func(name string, x any) *graph.Array {
		return parameter(op, name, x, shape.DType, shape.Dims).BroadcastTo(shape.Dims...)
	}
	trials, prob := read("n", n), read("p", p)
	less := prob.Lt(.5)
	q := graph.Select(less, prob, graph.Sub(1, prob)) // of the rarer outcome
	noCount := trials.IsNaN().Or(trials.Lt(0))
	invalid := noCount.Or(q.IsNaN()).Or(q.Lt(0))
	q = graph.Select(q.IsNaN().Or(q.Lt(0)), .01, q)
	few := noCount.Or(trials.Mul(q).Le(10))
	infinite := graph.IsInf(trials)
	count := trials.Floor()
	w := wordsOf(op, key)
	k := graph.Select(few, w.binomialGeometric(graph.Select(few, count, 0), q),
		w.binomialRejection(graph.Select(few, 1e4, count), graph.Select(few, .5, q)))
	k = graph.Select(invalid, math.NaN(), k)
	k = graph.Select(infinite.And(invalid.Not()), math.Inf(1), k)
	return graph.Select(less.Or(noCount).Or(prob.IsNaN()).Or(infinite), k, count.Sub(k))
}

// Multinomial draws how often each of m outcomes with the probabilities p […, m] happens in n trials: of a float32
// or float64 shape […, m] to which p broadcasts. n is a number or an array […]. It is a binomial draw for each
// outcome, of the trials that are left.
func Multinomial(key Key, shape graph.Shape, n any, p *graph.Array) *graph.Array {
	const op = "random.Multinomial"
	if shape.Rank() == 0 {
		graph.Throw(op, "got the shape %s, want […, outcomes]", shape)
	}
	rest := shape.Dims[:shape.Rank()-1]
	left := parameter(op, "n", n, shape.DType, rest).BroadcastTo(rest...)
	p = graph.MoveAxis(parameter(op, "p", p, shape.DType, shape.Dims).BroadcastTo(shape.Dims...), -1, 0)
	remaining := graph.CumSum(p, 0, graph.Reversed())
	type outcome struct {
		Ratio *graph.Array
		Key   Key
	}
	ratios := p.Div(graph.Select(remaining.Eq(0), 1, remaining))
	_, counts := graph.Scan(func(left *graph.Array, o outcome) (*graph.Array, *graph.Array) {
		k := Binomial(o.Key, left.Shape(), left, o.Ratio.Clamp(0, 1))
		return left.Sub(k), k
	}, left, outcome{ratios, Split(key, p.Dim(0))})
	return graph.MoveAxis(counts, 0, -1)
}

// binomialGeometric counts the geometric draws whose sum stays within the trials.
func (w words) binomialGeometric(trials, p *graph.Array) *graph.Array {
	type state struct{ Hi, Lo, K, Sum *graph.Array }
	log := graph.Log1p(p.Neg())
	last := graph.While(func(s state) *graph.Array { return s.Sum.Le(trials).Any() }, func(s state) state {
		forU, next := words{s.Hi, s.Lo}.split2()
		k := graph.Select(s.Sum.Le(trials), s.K.Add(1), s.K)
		geometric := graph.Ceil(forU.unit(p.Shape()).Log().Div(log))
		return state{next.hi, next.lo, k, s.Sum.Add(geometric)}
	}, state{w.hi, w.lo, graph.ZerosLike(p), graph.ZerosLike(p)})
	return last.K.Sub(1)
}

// binomialRejection rejects from a transformed uniform distribution; the constants are the paper's.
func (w words) binomialRejection(n, p *graph.Array) *graph.Array {
	type state struct{ Hi, Lo, K, Done *graph.Array }
	deviation := n.Mul(p).Mul(graph.Sub(1, p)).Sqrt()
	b := graph.Add(1.15, graph.Mul(2.53, deviation))
	a := graph.Add(-.0873, graph.Mul(.0248, b)).Add(graph.Mul(.01, p))
	c := n.Mul(p).Add(.5)
	squeeze := graph.Sub(.92, graph.Div(4.2, b))
	odds := p.Div(graph.Sub(1, p))
	alpha := graph.Add(2.83, graph.Div(5.1, b)).Mul(deviation)
	m := n.Add(1).Mul(p).Floor()
	last := graph.While(func(s state) *graph.Array { return s.Done.All().Not() }, func(s state) state {
		key := words{s.Hi, s.Lo}
		next := key.fold(count(0))
		u := key.fold(count(1)).unit(p.Shape()).Sub(.5)
		v := key.fold(count(2)).unit(p.Shape())
		from := graph.Sub(.5, u.Abs())
		k := graph.Mul(2, a).Div(from).Add(b).Mul(u).Add(c).Floor()
		inside := from.Ge(.07).And(v.Le(squeeze))
		outside := k.Lt(0).Or(k.Gt(n))
		height := v.Mul(alpha).Div(a.Div(from.Mul(from)).Add(b)).Log()
		left := n.Sub(m).Add(1)
		density := m.Add(.5).Mul(m.Add(1).Div(odds.Mul(left)).Log()).
			Add(n.Add(1).Mul(left.Div(n.Sub(k).Add(1)).Log())).
			Add(k.Add(.5).Mul(odds.Mul(n.Sub(k).Add(1)).Div(k.Add(1)).Log())).
			Add(stirlingTail(m)).Add(stirlingTail(n.Sub(m))).Sub(stirlingTail(k)).Sub(stirlingTail(n.Sub(k)))
		accept := inside.Or(outside.Not().And(height.Le(density)))
		return state{next.hi, next.lo, graph.Select(accept, k, s.K), s.Done.Or(accept)}
	}, state{w.hi, w.lo, graph.FullLike(p, -1), graph.Zeros(graph.ShapeOf(graph.Bool, p.Dims()...))})
	return last.K
}

// stirlingTails are log(k!) less Stirling's approximation of it, for k from 0.
var stirlingTails = func() (out [10]float64) {
	for k := range out {
		factorial, _ := math.Lgamma(float64(k) + 1)
		n := float64(k) + 1
		out[k] = factorial - ((n-.5)*math.Log(n) - n + math.Log(2*math.Pi)/2)
	}
	return out
}()

// stirlingTail is log(k!) less Stirling's approximation of it: from a table up to 9, then by its series.
func stirlingTail(k *graph.Array) *graph.Array {
	small := k.Clamp(0, 9)
	exact := graph.Take(graph.Of(stirlingTails[:]).Convert(k.DType()), small.Convert(graph.Int32), 0)
	n := k.Clamp(0, math.Inf(1)).Add(1)
	square := n.Mul(n)
	series := graph.Sub(1./12, graph.Sub(1./360, graph.Div(1./1260, square)).Div(square)).Div(n)
	return graph.Select(k.Le(9), exact, series)
}
