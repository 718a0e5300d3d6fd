package fft

import (
	"math"

	"xlarun/graph"
)

// FFTFreq is the frequency of each result of FFT over n points that lie d apart: 0, 1, …, -2, -1 over nd.
func FFTFreq(n int, d float64) *graph.Array {
	v := frequencies("FFTFreq", n, n, d)
	for k := (n + 1) / 2; k < n; k++ {
		v[k] = float32(float64(k-n) / (float64(n) * d))
	}
	return graph.Float32s(v)
}

// RFFTFreq is the frequency of each result of RFFT over n points that lie d apart: 0, 1, …, n/2 over nd.
func RFFTFreq(n int, d float64) *graph.Array {
	return graph.Float32s(frequencies("RFFTFreq", n, n/2+1, d))
}

func frequencies(name string, n, count int, d float64) []float32 {
	if n < 1 || d == 0 || math.IsNaN(d) {
		graph.Throw(name, "got %d points that lie %v apart, want at least 1 and a distance other than 0", n, d)
	}
	v := make([]float32, count)
	for k := range v {
		v[k] = float32(float64(k) / (float64(n) * d))
	}
	return v
}

// FFTShift moves the frequency 0 to the middle of the given axes, of all if none is given.
func FFTShift(x *graph.Array, axes ...int) *graph.Array {
	for _, a := range graph.Arguments.Axes("FFTShift", axes, x.Rank()) {
		x = graph.Roll(x, x.Dim(a)/2, a)
	}
	return x
}

// IFFTShift is the inverse of FFTShift.
func IFFTShift(x *graph.Array, axes ...int) *graph.Array {
	for _, a := range graph.Arguments.Axes("IFFTShift", axes, x.Rank()) {
		x = graph.Roll(x, -(x.Dim(a) / 2), a)
	}
	return x
}
