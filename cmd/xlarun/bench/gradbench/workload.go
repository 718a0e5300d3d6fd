// Package gradbench holds the learning workloads of xlarun bench grad: the value and gradient of small networks, from
// numbers that another program can make too, so that results can be compared as well as times.
package gradbench

import (
	"encoding/binary"
	"math"

	"xlarun/graph"
)

// Workload is a function and its arguments.
type Workload struct {
	Name string
	// What says in a few words what is computed.
	What string
	// Loop tells that gradients are taken inside a loop.
	Loop bool
	// Args are the arguments: concrete arrays, in trees.
	Args func() []any
	// Apply maps the arguments to a Result.
	Apply func(args []any) any
}

// Result of a workload: a loss (of several minibatches: the mean of theirs) and a tree of gradients or new parameters.
type Result struct {
	Loss   *graph.Array // scalar
	Values any
}

// All lists the workloads.
func All() []Workload { return []Workload{mlp, cnn, cnnScan, gru} }

// Named finds a workload by its name.
func Named(name string) (Workload, bool) {
	for _, w := range All() {
		if w.Name == name {
			return w, true
		}
	}
	return Workload{}, false
}

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

// classes is an int32 array of numbers below n.
func classes(seed uint32, n int, dims ...int) *graph.Array {
	s := graph.ShapeOf(graph.Int32, dims...)
	b := make([]byte, 0, s.Bytes())
	for i := range s.Size() {
		b = binary.LittleEndian.AppendUint32(b, number(seed, uint32(i))%uint32(n))
	}
	return graph.FromBytes(s, b)
}
