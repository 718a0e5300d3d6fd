package stablehlo

import (
	"xlarun/graph"
	"xlarun/graph/fft"
)

// fourier reads "type = RFFT, length = [8]": a transform over as many of the last axes as there are lengths.
func fourier(m *importer, o *op, s *scope) []*graph.Array {
	x, length := m.exactly(o, s, 1)[0], m.want(o, "length")
	f := fft.Fourier{Length: length}
	for i := range length {
		f.Axes = append(f.Axes, i-len(length))
	}
	kind := o.word("type")
	transform := map[string]func(*graph.Array) *graph.Array{"FFT": f.FFT, "IFFT": f.IFFT, "RFFT": f.RFFT,
		"IRFFT": f.IRFFT}[kind]
	if transform == nil {
		m.refuse(o, "its type is %q, want FFT, IFFT, RFFT or IRFFT", kind)
	}
	return []*graph.Array{transform(x)}
}
