package gomlx

import (
	"fmt"

	"github.com/gomlx/compute"

	"xlarun/graph"
	"xlarun/graph/fft"
)

// Complex implements compute.Function, for float32 parts.
func (f *Function) Complex(re, im compute.Value) (compute.Value, error) {
	in, err := f.values(compute.OpTypeComplex.String(), []compute.Value{re, im})
	if err != nil {
		return nil, err
	}
	if d := in[0].shape.DType; d != graph.Float32 {
		return nil, fmt.Errorf("GoMLX's op Complex: xlarun has complex numbers of float32 parts, got %s: %w", d,
			compute.ErrNotImplemented)
	}
	return f.binary(compute.OpTypeComplex, graph.Complex, re, im)
}

func (f *Function) Conj(x compute.Value) (compute.Value, error) {
	return f.unary(compute.OpTypeConj, graph.Conj, x)
}

func (f *Function) Real(x compute.Value) (compute.Value, error) {
	return f.unary(compute.OpTypeReal, graph.Real, x)
}

func (f *Function) Imag(x compute.Value) (compute.Value, error) {
	return f.unary(compute.OpTypeImag, graph.Imag, x)
}

// FFT implements compute.Function: over as many of the last axes as there are lengths, or over the last one.
func (f *Function) FFT(x compute.Value, kind compute.FFTType, lengths []int) (compute.Value, error) {
	transforms := map[compute.FFTType]func(t fft.Fourier, x *graph.Array) *graph.Array{
		compute.FFTForward: fft.Fourier.FFT, compute.FFTInverse: fft.Fourier.IFFT,
		compute.FFTForwardReal: fft.Fourier.RFFT, compute.FFTInverseReal: fft.Fourier.IRFFT}
	transform, ok := transforms[kind]
	if !ok {
		return nil, fmt.Errorf("GoMLX's op FFT: the transform %s is not known", kind)
	}
	var t fft.Fourier
	for i := range lengths {
		t.Axes = append(t.Axes, i-len(lengths))
	}
	t.Length = lengths
	return f.one(compute.OpTypeFFT, func(x []*graph.Array) *graph.Array { return transform(t, x[0]) }, x)
}
