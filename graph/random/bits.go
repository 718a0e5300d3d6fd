package random

import "xlarun/graph"

// Bits draws uniform bits, as unsigned integers of the given dtype (Uint8, Uint16, Uint32 or Uint64) and dims. Each
// element takes one hash, whatever its width.
func Bits(key Key, dtype graph.DType, dims ...int) *graph.Array {
	switch dtype {
	case graph.Uint8, graph.Uint16, graph.Uint32, graph.Uint64:
	default:
		graph.Throw("random.Bits", "got dtype %s, want uint8, uint16, uint32 or uint64", dtype)
	}
	checkDims("random.Bits", dims)
	return wordsOf("random.Bits", key).bits(graph.ShapeOf(dtype, dims...))
}

// bits fills a shape of unsigned integers.
func (w words) bits(s graph.Shape) *graph.Array {
	if s.DType == graph.Uint64 {
		a, b := w.hash(s.Dims...)
		return graph.ShiftLeft(a.Convert(graph.Uint64), 32).Or(b.Convert(graph.Uint64))
	}
	return w.mixed(s.Dims...).Convert(s.DType)
}

// These fill an array with bits. A test puts all bits there are in their place.
var threeFryBits, threeFryWords = graph.Random.ThreeFryBits, graph.Random.ThreeFryWords

// hash returns both output words for each of the counters 0, 1, … of an array of the given dims, in row-major order.
func (w words) hash(dims ...int) (a, b *graph.Array) {
	if fits(dims) {
		return threeFryWords(w.hi, w.lo, dims...)
	}
	flat := graph.ShapeOf(graph.Uint64, graph.ShapeOf(graph.Uint64, dims...).Size())
	counter := graph.IotaAxis(flat, 0).Reshape(dims...)
	return graph.Random.ThreeFry2x32(w.hi, w.lo, graph.ShiftRightLogical(counter, 32).Convert(graph.Uint32),
		counter.Convert(graph.Uint32))
}

// mixed is the exclusive or of both words of hash.
func (w words) mixed(dims ...int) *graph.Array {
	if !fits(dims) {
		a, b := w.hash(dims...)
		return a.Xor(b)
	}
	return threeFryBits(w.hi, w.lo, dims...)
}

// fits reports whether 32 bits count the elements of an array; larger arrays use both halves of the counter.
func fits(dims []int) bool { return int64(graph.ShapeOf(graph.Uint32, dims...).Size()) <= 1<<32 }
