// Package numbers makes the random numbers that benches and their peers start from, which compute the same.
package numbers

import (
	"encoding/binary"
	"math"

	"xlarun/graph"
)

// At is the i-th of the random numbers with a seed: the finaliser of MurmurHash3 over a counter. The peers compute
// the same.
func At(seed, i uint32) uint32 {
	h := (i+1)*2654435761 + seed*2246822519
	h = (h ^ h>>16) * 0x85ebca6b
	h = (h ^ h>>13) * 0xc2b2ae35
	return h ^ h>>16
}

// Uniform is a float32 array of numbers in [-scale, scale).
func Uniform(seed uint32, scale float64, dims ...int) *graph.Array {
	s := graph.ShapeOf(graph.Float32, dims...)
	b := make([]byte, 0, s.Bytes())
	for i := range s.Size() {
		v := (float64(At(seed, uint32(i)))/(1<<31) - 1) * scale
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(float32(v)))
	}
	return graph.FromBytes(s, b)
}

// Classes is an int32 array of numbers below n.
func Classes(seed uint32, n int, dims ...int) *graph.Array {
	s := graph.ShapeOf(graph.Int32, dims...)
	b := make([]byte, 0, s.Bytes())
	for i := range s.Size() {
		b = binary.LittleEndian.AppendUint32(b, At(seed, uint32(i))%uint32(n))
	}
	return graph.FromBytes(s, b)
}
