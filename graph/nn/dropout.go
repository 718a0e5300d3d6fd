package nn

import (
	"xlarun/graph"
	"xlarun/graph/random"
)

// Dropout sets elements of x to zero, each with probability rate, and divides the others by 1 - rate (Srivastava et
// al., "Dropout: a simple way to prevent neural networks from overfitting", 2014). rate is from 0 to 1: a float64, or a
// scalar float array where it is an input of the program. With the float64 0 the result is x, with a rate of 1 it is 0,
// as are its derivatives.
func Dropout(key random.Key, x *graph.Array, rate any) *graph.Array {
	var keep, by any
	switch r := rate.(type) {
	case float64:
		switch {
		case r == 0:
			return x
		case r == 1:
			return graph.ZerosLike(x).Convert(floatType(x))
		case !(r > 0 && r < 1):
			graph.Throw("nn.Dropout", "got the rate %v, want one from 0 to 1", r)
		}
		keep, by = 1-r, 1-r
	case *graph.Array:
		if r == nil || r.Rank() != 0 || !r.DType().IsFloat() {
			graph.Throw("nn.Dropout", "got the rate %v, want a float scalar", r)
		}
		keep = graph.Sub(1, r)
		by = graph.Select(r.Lt(1), keep, 1) // a quotient by 0 would have derivatives that are NaN
	default:
		graph.Throw("nn.Dropout", "got a rate of type %T, want a float64 or a float scalar array", rate)
	}
	mask := random.Bernoulli(key, keep, x.Dims()...)
	return graph.Select(mask, x.Div(by).Convert(floatType(x)), 0)
}
