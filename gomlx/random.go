package gomlx

import (
	"fmt"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/shapes"

	"xlarun/graph"
	"xlarun/graph/random"
)

// RNGBitGenerator implements compute.Function. The state u64[3] is a key, a counter, and a further word of the
// key. Package random makes the bits. GoMLX's other backends use Philox, so that draws of one seed differ.
func (f *Function) RNGBitGenerator(state compute.Value, shape shapes.Shape) (compute.Value, compute.Value, error) {
	const op = compute.OpTypeRNGBitGenerator
	s, err := shapeOf(shape)
	if err != nil {
		return nil, nil, fmt.Errorf("GoMLX's op %s: %w", op, err)
	}
	if s.DType.IsFloat() || s.DType == graph.Bool {
		return nil, nil, fmt.Errorf("GoMLX's op %s: want bits as integers, got %s", op, s)
	}
	out, err := f.record(op, []compute.Value{state}, func(x []*graph.Array) []*graph.Array {
		if !x[0].Shape().Equal(stateShape) {
			graph.Throw(op.String(), "the state is %s, want %s", x[0].Shape(), stateShape)
		}
		next := graph.Concatenate(0, graph.SliceAxis(x[0], 0, 0, 1), graph.SliceAxis(x[0], 0, 1, 2).Add(1),
			graph.SliceAxis(x[0], 0, 2, 3))
		return []*graph.Array{next, bits(x[0], s)}
	})
	if err != nil {
		return nil, nil, err
	}
	return out[0], out[1], nil
}

var stateShape = graph.ShapeOf(graph.Uint64, 3)

// bits draws integers: those of the key that Threefry makes of the counter, state[1], under the key state[0] xor
// state[2].
func bits(state *graph.Array, s graph.Shape) *graph.Array {
	hi, lo := words(graph.Xor(state.Index(0), state.Index(2)))
	counterHi, counterLo := words(state.Index(1))
	hi, lo = graph.Random.ThreeFry2x32(hi, lo, counterHi, counterLo)
	key := random.Key{Data: graph.Stack([]*graph.Array{hi, lo}, 0)}
	return random.Bits(key, unsigned[graph.ItemSize(s.DType)], s.Dims...).Convert(s.DType)
}

// words cuts 64 bits into the upper and the lower 32.
func words(x *graph.Array) (hi, lo *graph.Array) {
	return graph.ShiftRightLogical(x, 32).Convert(graph.Uint32), x.Convert(graph.Uint32)
}

// wide joins two words of 32 bits.
func wide(hi, lo *graph.Array) *graph.Array {
	return graph.Or(graph.ShiftLeft(hi.Convert(graph.Uint64), 32), lo.Convert(graph.Uint64))
}

// stateOf is the state of GoMLX's random numbers that follows from a key.
func stateOf(key random.Key) *graph.Array {
	first := wide(key.Data.Index(0), key.Data.Index(1)).Reshape(1)
	return graph.Concatenate(0, first, graph.Zeros(graph.ShapeOf(graph.Uint64, 2)))
}
