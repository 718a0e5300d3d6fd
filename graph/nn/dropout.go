package nn

import (
	"xlarun/graph"
	"xlarun/graph/random"
)

// Dropout sets elements of x to zero, each with probability rate, and divides the others by 1 - rate (Srivastava et
// al., "Dropout: a simple way to prevent neural networks from overfitting", 2014). rate is from 0 to below 1: a
// float64, or a scalar float array where it is an input of the program. With the float64 0 the result is x.
func Dropout(key random.Key, x *graph.Array, rate any) *graph.Array {
	var keep any
	switch r := rate.(type) {
	case float64:
		if !(r >= 0 && r < 1) {
			graph.Throw("nn.Dropout", "got the rate %v, want 0 or more and less than 1", r)
		}
		if r == 0 {
			return x
		}
		keep = 1 - r
	case *graph.Array:
		if r == nil || r.Rank() != 0 || !r.DType().IsFloat() {
			graph.Throw("nn.Dropout", "got the rate %v, want a float scalar", r)
		}
		keep = graph.Sub(1, r)
	default:
		graph.Throw("nn.Dropout", "got a rate of type %T, want a float64 or a float scalar array", rate)
	}
	mask := random.Bernoulli(key, keep, x.Dims()...)
	return graph.Select(mask, x.Div(keep).Convert(floatType(x)), 0)
}
