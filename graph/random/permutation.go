package random

import (
	"math"

	"xlarun/graph"
)

// Permutation draws a permutation of 0, 1, …, n-1, int32.
func Permutation(key Key, n int) *graph.Array {
	if n < 0 {
		graph.Throw("random.Permutation", "got n = %d, want 0 or more", n)
	}
	return shuffle(wordsOf("random.Permutation", key), graph.Iota(n), 0)
}

// PermutationOf permutes x's slices along an axis.
func PermutationOf(key Key, x *graph.Array, axis int) *graph.Array {
	axis = checkAxis("random.PermutationOf", x, axis)
	order := shuffle(wordsOf("random.PermutationOf", key), graph.Iota(x.Dim(axis)), 0)
	return graph.Take(x, order, axis)
}

// Shuffle permutes x along an axis, independently for each line: jax.random.permutation with independent=True.
func Shuffle(key Key, x *graph.Array, axis int) *graph.Array {
	return shuffle(wordsOf("random.Shuffle", key), x, checkAxis("random.Shuffle", x, axis))
}

// shuffle sorts by random words. Equal words keep their order, so it repeats until the probability of two elements with
// equal words in all rounds is negligible: sizes above 1,625 take a second round.
func shuffle(w words, x *graph.Array, axis int) *graph.Array {
	rounds := math.Ceil(3 * math.Log(float64(max(1, x.Size()))) / math.Log(math.MaxUint32))
	for range int(rounds) {
		var sub words
		w, sub = w.split2()
		order := sub.bits(graph.ShapeOf(graph.Uint32, x.Dims()...))
		x = graph.SortKV([]*graph.Array{order, x}, axis, 1)[1]
	}
	return x
}

func checkAxis(op string, x *graph.Array, axis int) int {
	if x == nil {
		graph.Throw(op, "got a nil *graph.Array")
	}
	if axis < -x.Rank() || axis >= x.Rank() {
		graph.Throw(op, "axis %d of %s, want one of its axes", axis, x.Shape())
	}
	if axis < 0 {
		axis += x.Rank()
	}
	return axis
}
