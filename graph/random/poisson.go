package random

import "xlarun/graph"

// Poisson draws from the Poisson distribution, int32, of the given dims (default: rate's). rate is a number or an array
// that broadcasts to dims, 0 or more. Rates below 10 multiply uniform draws (Knuth, "The art of computer programming",
// volume 2, section 3.4.1), others reject (Hörmann, "The transformed rejection method for generating Poisson random
// variables", 1993). A NaN gives -1.
func Poisson(key Key, rate any, dims ...int) *graph.Array {
	const op = "random.Poisson"
	checkDims(op, dims)
	if a, ok := rate.(*graph.Array); ok && a != nil && len(dims) == 0 {
		dims = a.Dims()
	}
	s := graph.ShapeOf(graph.Float32, dims...)
	r := graph.BroadcastTo(parameter(op, "rate", rate, s.DType, s.Dims), s.Dims...)
	w := wordsOf(op, key)
	small := graph.Or(graph.IsNaN(r), graph.Lt(r, 10))
	k := graph.Select(small, w.poissonProducts(graph.Select(small, r, 0)), w.poissonRejection(graph.Select(small, 1e5, r)))
	return graph.Select(graph.Eq(r, 0), 0, k)
}

// poissonProducts counts how many uniform draws keep the logarithm of their product above minus the rate.
func (w words) poissonProducts(rate *graph.Array) *graph.Array {
	type state struct{ Hi, Lo, K, Log *graph.Array }
	least := graph.Neg(rate)
	last := graph.While(func(s state) *graph.Array { return graph.Any(graph.Gt(s.Log, least)) }, func(s state) state {
		next, forU := words{s.Hi, s.Lo}.split2()
		forU = forU.done()
		k := graph.Select(graph.Gt(s.Log, least), graph.Add(s.K, 1), s.K)
		return state{next.hi, next.lo, k, graph.Add(s.Log, graph.Log(forU.unit(rate.Shape())))}
	}, state{w.hi, w.lo, graph.Zeros(graph.ShapeOf(graph.Int32, rate.Dims()...)), graph.ZerosLike(rate)})
	return graph.Sub(last.K, 1)
}

// poissonRejection rejects from a transformed uniform distribution; the constants are the paper's.
func (w words) poissonRejection(rate *graph.Array) *graph.Array {
	type state struct{ Hi, Lo, K, Done *graph.Array }
	log := graph.Log(rate)
	b := graph.Add(.931, graph.Mul(2.53, graph.Sqrt(rate)))
	a := graph.Add(-.059, graph.Mul(.02483, b))
	inverse := graph.Add(1.1239, graph.Div(1.1328, graph.Sub(b, 3.4)))
	squeeze := graph.Sub(.9277, graph.Div(3.6224, graph.Sub(b, 2)))
	last := graph.While(func(s state) *graph.Array { return graph.Not(graph.All(s.Done)) }, func(s state) state {
		k := words{s.Hi, s.Lo}
		next := k.fold(count(0))
		u := graph.Sub(k.fold(count(1)).done().unit(rate.Shape()), .5)
		v := k.fold(count(2)).done().unit(rate.Shape())
		from := graph.Sub(.5, graph.Abs(u))
		n := graph.Floor(graph.Add(graph.Add(graph.Mul(graph.Add(graph.Div(graph.Mul(2, a), from), b), u), rate), .43))
		height := graph.Log(graph.Div(graph.Mul(v, inverse), graph.Add(graph.Div(a, graph.Mul(from, from)), b)))
		density := graph.Sub(graph.Add(graph.Neg(rate), graph.Mul(n, log)), graph.Lgamma(graph.Add(n, 1)))
		inside := graph.And(graph.Ge(from, .07), graph.Le(v, squeeze))
		outside := graph.Or(graph.Lt(n, 0), graph.And(graph.Lt(from, .013), graph.Gt(v, from)))
		accept := graph.Or(inside, graph.And(graph.Not(outside), graph.Le(height, density)))
		return state{next.hi, next.lo, graph.Select(accept, n, s.K), graph.Or(s.Done, accept)}
	}, state{w.hi, w.lo, graph.FullLike(rate, -1), graph.Zeros(graph.ShapeOf(graph.Bool, rate.Dims()...))})
	return graph.Convert(last.K, graph.Int32)
}
