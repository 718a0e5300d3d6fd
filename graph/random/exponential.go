package random

import "xlarun/graph"

// Exponential draws from the exponential distribution of mean 1, of a float shape: -log(1-u), u uniform in [0, 1).
func Exponential(key Key, shape graph.Shape) *graph.Array {
	shape = floatShape("random.Exponential", shape)
	u := wordsOf("random.Exponential", key).unit(shape)
	return graph.Log1p(u.Neg()).Neg()
}

// Gumbel draws from the standard Gumbel distribution, of a float shape: -log(-log(u)), u uniform in (0, 1). float32
// draws lie between about -4.5 and 15.9.
func Gumbel(key Key, shape graph.Shape) *graph.Array {
	return wordsOf("random.Gumbel", key).gumbel(floatShape("random.Gumbel", shape))
}

func (w words) gumbel(s graph.Shape) *graph.Array {
	u := w.uniform("random.Gumbel", s, graph.Finfo(s.DType).Tiny, 1) // never 0, whose logarithm is infinite
	return u.Log().Neg().Log().Neg()
}
