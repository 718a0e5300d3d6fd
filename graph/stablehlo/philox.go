package stablehlo

import "xlarun/graph"

// rngBitGenerator draws the bits of JAX's keys of the kind rbg: Philox with 4 words of 32 bits and 10 rounds (Salmon et
// al., Parallel random numbers: as easy as 1, 2, 3), in XLA's layout for CPUs.
func rngBitGenerator(m *importer, o *op, s *scope) []*graph.Array {
	state := m.exactly(o, s, 1)[0]
	if by := o.word("algorithm") + o.word("rng_algorithm"); by != "DEFAULT" && by != "PHILOX" {
		m.refuse(o, "its algorithm is %s, want DEFAULT or PHILOX", by)
	}
	shapes, err := resultShapes(o)
	if err != nil || len(shapes) != 2 || state.DType() != graph.Uint64 || state.Rank() != 1 || state.Dim(0) < 2 ||
		state.Dim(0) > 3 {
		m.refuse(o, "want a state of two or three numbers of uint64, got %s", state.Shape())
	}
	out := shapes[1]
	width := graph.ItemSize(out.DType)
	to := unsigned[width]
	if out.DType == graph.Bool || out.DType == graph.Complex64 {
		m.refuse(o, "want bits as numbers, got %s", out)
	}
	words := (out.Size()*max(width, 4) + 3) / 4
	turns := (words + 3) / 4
	// The counter has 128 bits. Of a state of two numbers, the first is the key and the counter's upper half, too.
	key, low := state.Index(0), state.Index(1)
	high := key
	if state.Dim(0) == 3 {
		high = state.Index(2)
	}
	counters := graph.Add(low, graph.IotaAxis(graph.ShapeOf(graph.Uint64, turns), 0))
	carry := func(sum *graph.Array) *graph.Array {
		return graph.Add(high, graph.Lt(sum, low).Convert(graph.Uint64))
	}
	upper := carry(counters)
	random := philox([4]*graph.Array{lower32(counters), upper32(counters), lower32(upper), upper32(upper)},
		[2]*graph.Array{lower32(key), upper32(key)})
	bits := graph.Stack([]*graph.Array{random[0], random[1], random[2], random[3]}, 1)
	if width == 8 {
		halves := bits.Reshape(turns*2, 2)
		bits = graph.Or(graph.IndexAxis(halves, 1, 0), graph.ShiftLeft(graph.IndexAxis(halves, 1, 1), 32))
	}
	bits = bits.Reshape(bits.Size()).Convert(to)
	bits = graph.Bitcast(graph.StridedSlice(bits, []int{0}, []int{out.Size()}, []int{1}), out.DType)
	after := graph.Add(low, turns)
	next := []*graph.Array{key, after}
	if state.Dim(0) == 3 {
		next = append(next, carry(after))
	}
	return []*graph.Array{graph.Stack(next, 0), bits.Reshape(out.Dims...)}
}

func lower32(x *graph.Array) *graph.Array { return graph.And(x, 0xFFFFFFFF) }
func upper32(x *graph.Array) *graph.Array { return graph.ShiftRightLogical(x, 32) }

// philox is Philox4x32 with 10 rounds of words of 32 bits, which are kept in 64.
func philox(c [4]*graph.Array, key [2]*graph.Array) [4]*graph.Array {
	for range 10 {
		even, odd := graph.Mul(c[0], 0xD2511F53), graph.Mul(c[2], 0xCD9E8D57)
		c = [4]*graph.Array{graph.Xor(graph.Xor(upper32(odd), c[1]), key[0]), lower32(odd),
			graph.Xor(graph.Xor(upper32(even), c[3]), key[1]), lower32(even)}
		key = [2]*graph.Array{lower32(graph.Add(key[0], 0x9E3779B9)), lower32(graph.Add(key[1], 0xBB67AE85))}
	}
	return c
}
