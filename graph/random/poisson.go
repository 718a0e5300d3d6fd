package random

import (
	"math"

	"xlarun/graph"
)

// Poisson draws from the Poisson distribution, int32, of the given dims (default: rate's). rate is a number or an array
// that broadcasts to dims, 0 or more. Rates below 10 multiply uniform draws (Knuth, "The art of computer programming",
// volume 2, section 3.4.1), others reject (Hörmann, "The transformed rejection method for generating Poisson random
// variables", 1993). A draw that int32 cannot hold is the largest int32, as where the rate is infinite. A negative rate
// or NaN gives -1.
func Poisson(key Key, rate any, dims ...int) *graph.Array {
	const op = "random.Poisson"
	checkDims(op, dims)
	if a, ok := rate.(*graph.Array); ok && a != nil && len(dims) == 0 {
		dims = a.Dims()
	}
	s := graph.ShapeOf(graph.Float32, dims...)
	r := parameter(op, "rate", rate, s.DType, s.Dims).BroadcastTo(s.Dims...)
	w := wordsOf(op, key)
	small := r.IsNaN().Or(r.Lt(10))
	most := r.Gt(2 * float64(math.MaxInt32)) // many standard deviations above
	k := graph.Select(small, w.poissonProducts(graph.Select(small, r.Max(0), 0)),
		w.poissonRejection(graph.Select(small.Or(most), 1e5, r)))
	k = graph.Select(most, math.MaxInt32, k)
	return graph.Select(r.Eq(0), 0, graph.Select(r.Ge(0), k, -1))
}

// poissonProducts counts the uniform draws before the logarithm of their product falls to minus the rate.
func (w words) poissonProducts(rate *graph.Array) *graph.Array {
	type state struct{ Hi, Lo, K, Log *graph.Array }
	least := rate.Neg()
	last := graph.While(func(s state) *graph.Array { return s.Log.Gt(least).Any() }, func(s state) state {
		next, forU := words{s.Hi, s.Lo}.split2()
		k := graph.Select(s.Log.Gt(least), s.K.Add(1), s.K)
		return state{next.hi, next.lo, k, s.Log.Add(forU.unit(rate.Shape()).Log())}
	}, state{w.hi, w.lo, graph.Zeros(graph.ShapeOf(graph.Int32, rate.Dims()...)), graph.ZerosLike(rate)})
	return last.K.Sub(1)
}

// poissonRejection rejects from a transformed uniform distribution; the constants are the paper's.
func (w words) poissonRejection(rate *graph.Array) *graph.Array {
	type state struct{ Hi, Lo, K, Done *graph.Array }
	log := rate.Log()
	b := graph.Add(.931, graph.Mul(2.53, rate.Sqrt()))
	a := graph.Add(-.059, graph.Mul(.02483, b))
	inverse := graph.Add(1.1239, graph.Div(1.1328, b.Sub(3.4)))
	squeeze := graph.Sub(.9277, graph.Div(3.6224, b.Sub(2)))
	last := graph.While(func(s state) *graph.Array { return s.Done.All().Not() }, func(s state) state {
		k := words{s.Hi, s.Lo}
		next := k.fold(count(0))
		u := k.fold(count(1)).unit(rate.Shape()).Sub(.5)
		v := k.fold(count(2)).unit(rate.Shape())
		from := graph.Sub(.5, u.Abs())
		n := graph.Mul(2, a).Div(from).Add(b).Mul(u).Add(rate).Add(.43).Floor()
		height := v.Mul(inverse).Div(a.Div(from.Mul(from)).Add(b)).Log()
		density := rate.Neg().Add(n.Mul(log)).Sub(graph.Lgamma(n.Add(1)))
		inside := from.Ge(.07).And(v.Le(squeeze))
		outside := n.Lt(0).Or(from.Lt(.013).And(v.Gt(from)))
		accept := inside.Or(outside.Not().And(height.Le(density)))
		return state{next.hi, next.lo, graph.Select(accept, n, s.K), s.Done.Or(accept)}
	}, state{w.hi, w.lo, graph.FullLike(rate, -1), graph.Zeros(graph.ShapeOf(graph.Bool, rate.Dims()...))})
	fits := last.K.Lt(math.MaxInt32 + 1)
	return graph.Select(fits, graph.Select(fits, last.K, 0).Convert(graph.Int32), math.MaxInt32)
}
