package spikingbench

import (
	"encoding/binary"
	"math"

	"xlarun/graph"
)

// number is the i-th of the random numbers with a seed: the finaliser of MurmurHash3 over a counter. The peers compute
// the same.
func number(seed, i uint32) uint32 {
	h := (i+1)*2654435761 + seed*2246822519
	h = (h ^ h>>16) * 0x85ebca6b
	h = (h ^ h>>13) * 0xc2b2ae35
	return h ^ h>>16
}

// uniform is a float32 array of numbers in [-scale, scale).
func uniform(seed uint32, scale float64, dims ...int) *graph.Array {
	s := graph.ShapeOf(graph.Float32, dims...)
	b := make([]byte, 0, s.Bytes())
	for i := range s.Size() {
		v := (float64(number(seed, uint32(i)))/(1<<31) - 1) * scale
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(float32(v)))
	}
	return graph.FromBytes(s, b)
}

// spread is the bound of uniform weights whose variance is 1/in.
func spread(in int) float64 { return math.Sqrt(3 / float64(in)) }

// spikes is a float32 array of ones, so many of them in one number, among zeros.
func spikes(seed uint32, rate float64, dims ...int) *graph.Array {
	s := graph.ShapeOf(graph.Float32, dims...)
	b := make([]byte, 0, s.Bytes())
	for i := range s.Size() {
		var v float32
		if float64(number(seed, uint32(i)))/(1<<32) < rate {
			v = 1
		}
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(v))
	}
	return graph.FromBytes(s, b)
}

// classes is an int32 array of numbers below n.
func classes(seed uint32, n int, dims ...int) *graph.Array {
	s := graph.ShapeOf(graph.Int32, dims...)
	b := make([]byte, 0, s.Bytes())
	for i := range s.Size() {
		b = binary.LittleEndian.AppendUint32(b, number(seed, uint32(i))%uint32(n))
	}
	return graph.FromBytes(s, b)
}
