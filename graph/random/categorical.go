package random

import (
	"slices"

	"xlarun/graph"
)

// Bernoulli draws true with probability p, of the given dims. p is a Go number or an array that broadcasts to dims;
// with no dims given the result has p's.
func Bernoulli(key Key, p any, dims ...int) *graph.Array {
	const op = "random.Bernoulli"
	checkDims(op, dims)
	s := graph.ShapeOf(graph.Float32, dims...)
	if a, ok := p.(*graph.Array); ok && a != nil {
		if _, ok := formats[a.DType()]; ok {
			s.DType = a.DType()
		}
		if len(dims) == 0 {
			s.Dims = a.Dims()
		}
	}
	threshold := parameter(op, "p", p, s.DType, s.Dims)
	return wordsOf(op, key).unit(s).Lt(threshold)
}

// Categorical draws int32 indices along an axis of logits, each with probability softmax(logits): the largest of the
// logits with Gumbel noise added. logits is a float array of any rank; the result has its dims without the axis, after
// those that Draws asks for. A logit of -Inf is never drawn. With WithoutReplacement the draws along the Draws dims are
// distinct.
func Categorical(key Key, logits *graph.Array, axis int, opts ...Option) *graph.Array {
	const op = "random.Categorical"
	o := readOptions(op, opts)
	if o.p != nil {
		graph.Throw(op, "the probabilities are the logits: leave Weights out, or give their logarithm as logits")
	}
	if logits == nil {
		graph.Throw(op, "got nil logits")
	}
	floatShape(op, logits.Shape())
	if axis < -logits.Rank() || axis >= logits.Rank() {
		graph.Throw(op, "axis %d of logits %s, want one of its axes", axis, logits.Shape())
	}
	if axis < 0 {
		axis += logits.Rank()
	}
	n := logits.Dim(axis)
	if n == 0 {
		graph.Throw(op, "got logits %s: there is nothing to draw along axis %d", logits.Shape(), axis)
	}
	w := wordsOf(op, key)
	if o.distinct {
		return topDraws(op, logits.Add(w.gumbel(logits.Shape())), axis, o.dims)
	}
	noise := w.gumbel(graph.ShapeOf(logits.DType(), slices.Concat(o.dims, logits.Dims())...))
	return noise.Add(logits).ArgMax(len(o.dims) + axis)
}

// topDraws returns the indices of the largest scores along an axis, largest first; new leading dims replace the axis.
func topDraws(op string, scores *graph.Array, axis int, dims []int) *graph.Array {
	k, n := graph.Shape{Dims: dims}.Size(), scores.Dim(axis)
	if k > n {
		tooMany(op, k, n)
	}
	rest := slices.Delete(slices.Clone(scores.Dims()), axis, axis+1)
	_, indices := graph.TopK(scores.MoveAxis(axis, -1), k)
	return indices.MoveAxis(-1, 0).Reshape(slices.Concat(dims, rest)...)
}

func tooMany(op string, k, n int) {
	graph.Throw(op, "cannot draw %d of %d without replacement: draw at most %d, or leave WithoutReplacement out", k, n,
		n)
}
