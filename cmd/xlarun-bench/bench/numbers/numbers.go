// Package numbers makes pseudo-random inputs of workloads. The peers make the same ones.
package numbers

import (
	"encoding/binary"
	"math"

	"xlarun/graph"
)

// At returns the i-th number of a seed: the finalizer of MurmurHash3 over a counter.
func At(seed, i uint32) uint32 {
	h := (i+1)*2654435761 + seed*2246822519
	h = (h ^ h>>16) * 0x85ebca6b
	h = (h ^ h>>13) * 0xc2b2ae35
	return h ^ h>>16
}

// array makes an array from the bits of each element.
func array(s graph.Shape, bits func(i uint32) uint32) *graph.Array {
	b := make([]byte, 0, s.Bytes())
	for i := range s.Size() {
		b = binary.LittleEndian.AppendUint32(b, bits(uint32(i)))
	}
	return graph.FromBytes(s, b)
}

// Uniform returns float32 numbers in [-scale, scale).
func Uniform(seed uint32, scale float64, dims ...int) *graph.Array {
	return array(graph.ShapeOf(graph.Float32, dims...), func(i uint32) uint32 {
		return math.Float32bits(float32((float64(At(seed, i))/(1<<31) - 1) * scale))
	})
}

// Classes returns int32 numbers below n.
func Classes(seed uint32, n int, dims ...int) *graph.Array {
	return array(graph.ShapeOf(graph.Int32, dims...), func(i uint32) uint32 { return At(seed, i) % uint32(n) })
}

// Spikes returns float32 zeros and ones. rate is the share of ones.
func Spikes(seed uint32, rate float64, dims ...int) *graph.Array {
	return array(graph.ShapeOf(graph.Float32, dims...), func(i uint32) uint32 {
		if float64(At(seed, i))/(1<<32) < rate {
			return math.Float32bits(1)
		}
		return 0
	})
}
