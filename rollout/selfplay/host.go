package selfplay

import (
	"encoding/binary"
	"math"

	"xlarun/graph"
	"xlarun/xlabridge"
)

// onHost copies a tree to the host.
func onHost[T any](tree T) (T, error) {
	var first error
	out := graph.MapTree(func(a *graph.Array) *graph.Array {
		h, err := xlabridge.ToHost(a)
		if err != nil {
			if first == nil {
				first = err
			}
			return a
		}
		return h
	}, tree)
	return out, first
}

// wordsOf returns the 32-bit elements of an array.
func wordsOf(a *graph.Array) ([]uint32, error) {
	host, err := xlabridge.ToHost(a)
	if err != nil {
		return nil, err
	}
	b, err := graph.HostBytes(host)
	if err != nil {
		return nil, err
	}
	out := make([]uint32, len(b)/4)
	for i := range out {
		out[i] = binary.LittleEndian.Uint32(b[4*i:])
	}
	return out, nil
}

// floats returns the elements of a float32 array.
func floats(a *graph.Array) ([]float32, error) {
	words, err := wordsOf(a)
	out := make([]float32, len(words))
	for i, w := range words {
		out[i] = math.Float32frombits(w)
	}
	return out, err
}

// hostReader copies the elements of arrays to the host and keeps the first error.
type hostReader struct{ err error }

func read[T any](r *hostReader, f func(a *graph.Array) (T, error), a *graph.Array) T {
	v, err := f(a)
	if r.err == nil {
		r.err = err
	}
	return v
}

func (r *hostReader) words(a *graph.Array) []uint32     { return read(r, wordsOf, a) }
func (r *hostReader) float32s(a *graph.Array) []float32 { return read(r, floats, a) }
func (r *hostReader) float64s(a *graph.Array) []float64 { return read(r, graph.Floats, a) }

func (r *hostReader) ints(a *graph.Array) (all []int) {
	for _, x := range r.float64s(a) {
		all = append(all, int(x))
	}
	return all
}

func (r *hostReader) bools(a *graph.Array) (all []bool) {
	for _, x := range r.float64s(a) {
		all = append(all, x != 0)
	}
	return all
}

// number returns the only element of an array; 0 after an error.
func (r *hostReader) number(a *graph.Array) float64 {
	if v := r.float64s(a); len(v) == 1 {
		return v[0]
	}
	return 0
}
