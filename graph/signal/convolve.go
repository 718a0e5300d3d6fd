package signal

import (
	"slices"

	"xlarun/graph"
	"xlarun/graph/fft"
)

// FFTConvolve is the convolution of two arrays of one rank over the given axes, all if none is given, by the Fourier
// transform; the other axes broadcast. mode says which elements: "full" all, "same" the middle ones, as many as x has,
// "valid" those where the smaller array lies inside the larger. It is scipy.signal.fftconvolve.
func FFTConvolve(x, y *graph.Array, mode string, axes ...int) *graph.Array {
	const name = "FFTConvolve"
	if x.Rank() != y.Rank() || x.Rank() == 0 || x.Size() == 0 || y.Size() == 0 {
		graph.Throw(name, "got %s and %s, want arrays of one rank with at least one element", x.Shape(), y.Shape())
	}
	axes = graph.Arguments.Axes(name, axes, x.Rank())
	a := promoted(x, y)
	f := fft.Fourier{Axes: axes}
	full, start, size := make([]int, len(axes)), make([]int, len(axes)), make([]int, len(axes))
	for i, axis := range axes {
		n, m := x.Dim(axis), y.Dim(axis)
		full[i] = n + m - 1
		switch mode {
		case "full":
			size[i] = full[i]
		case "same":
			start[i], size[i] = (m-1)/2, n
		case "valid":
			start[i], size[i] = min(n, m)-1, max(n, m)-min(n, m)+1
		default:
			graph.Throw(name, "got the mode %q, want \"full\", \"same\" or \"valid\"", mode)
		}
		f.Length = append(f.Length, smooth(full[i]))
	}
	if mode == "valid" && slices.ContainsFunc(axes, func(i int) bool { return x.Dim(i) < y.Dim(i) }) &&
		slices.ContainsFunc(axes, func(i int) bool { return x.Dim(i) > y.Dim(i) }) {
		graph.Throw(name, "got %s and %s in the mode \"valid\", want one that is as large as the other along each axis",
			x.Shape(), y.Shape())
	}
	var z *graph.Array
	if a[0].DType() == graph.Complex64 {
		z = f.IFFT(graph.Mul(f.FFT(a[0]), f.FFT(a[1])))
	} else {
		z = f.IRFFT(graph.Mul(f.RFFT(a[0]), f.RFFT(a[1])))
	}
	for i, axis := range axes {
		z = graph.SliceAxis(z, axis, start[i], start[i]+size[i])
	}
	return z
}

// promoted gives two arrays one dtype and leaves their shapes.
func promoted(x, y *graph.Array) [2]*graph.Array {
	d := graph.Promote(x.DType(), y.DType())
	return [2]*graph.Array{x.Convert(d), y.Convert(d)}
}

// smooth is the least number from n on with no prime factor above 5, whose transform is fast.
func smooth(n int) int {
	for ; ; n++ {
		rest := n
		for _, p := range []int{2, 3, 5} {
			for rest%p == 0 {
				rest /= p
			}
		}
		if rest == 1 {
			return n
		}
	}
}

// Convolve is the convolution of two vectors, element k the sum of x[i] y[k-i]. mode says which elements: "full"
// all, "same" the middle ones, as many as the longer vector has, "valid" those where the shorter lies inside the
// longer. Bools become float32.
func Convolve(x, y *graph.Array, mode string) *graph.Array {
	if x.Rank() != 1 || y.Rank() != 1 || x.Size() == 0 || y.Size() == 0 {
		graph.Throw("Convolve", "got %s and %s, want two vectors of at least one element", x.Shape(), y.Shape())
	}
	a := promoted(x, y)
	x, y = a[0], a[1]
	switch x.DType() {
	case graph.Bool:
		x, y = x.Convert(graph.Float32), y.Convert(graph.Float32)
	case graph.Complex64: // by Conv, which takes real numbers
		re, im, re2, im2 := graph.Real(x), graph.Imag(x), graph.Real(y), graph.Imag(y)
		of := func(x, y *graph.Array) *graph.Array { return Convolve(x, y, mode) }
		return graph.Complex(of(re, re2).Sub(of(im, im2)), of(re, im2).Add(of(im, re2)))
	}
	if x.Size() < y.Size() {
		x, y = y, x
	}
	n := y.Size()
	pads, ok := map[string][2]int{"full": {n - 1, n - 1}, "same": {n / 2, n - 1 - n/2}, "valid": {0, 0}}[mode]
	if !ok {
		graph.Throw("Convolve", "got the mode %q, want \"full\", \"same\" or \"valid\"", mode)
	}
	return graph.Flatten1D(graph.Conv(x.Reshape(1, -1, 1), graph.Reverse(y, 0).Reshape(n, 1, 1), graph.Padding(pads)))
}

// Correlate is the correlation of two vectors, the sum of x[k+i] conj(y[i]) for each shift k. The modes are Convolve's;
// "same" has the middle ones, in the order of x.
func Correlate(x, y *graph.Array, mode string) *graph.Array {
	const name = "Correlate"
	if x.Rank() != 1 || y.Rank() != 1 || x.Size() == 0 || y.Size() == 0 {
		graph.Throw(name, "got %s and %s, want two vectors of at least one element", x.Shape(), y.Shape())
	}
	y = graph.Conj(y)
	if x.Size() < y.Size() {
		return graph.Reverse(Convolve(graph.Reverse(x, 0), y, mode), 0)
	}
	return Convolve(x, graph.Reverse(y, 0), mode)
}
