package spikingbench

import (
	"encoding/binary"
	"math"

	"xlarun/cmd/xlarun-bench/bench/numbers"
	"xlarun/graph"
)

// spread is the bound of uniform weights whose variance is 1/in.
func spread(in int) float64 { return math.Sqrt(3 / float64(in)) }

// spikes is a float32 array of ones, so many of them in one number, among zeros.
func spikes(seed uint32, rate float64, dims ...int) *graph.Array {
	s := graph.ShapeOf(graph.Float32, dims...)
	b := make([]byte, 0, s.Bytes())
	for i := range s.Size() {
		var v float32
		if float64(numbers.At(seed, uint32(i)))/(1<<32) < rate {
			v = 1
		}
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(v))
	}
	return graph.FromBytes(s, b)
}
