package graph

import (
	"math"
	"slices"
)

// Fourier says how to transform, where the plain functions (FFT, RFFT, …) do not. The zero value is theirs.
//
//	spectrum := graph.Fourier{Axes: []int{0}, Length: []int{64}, Norm: "ortho"}.FFT(x)
type Fourier struct {
	Axes []int // none: the last one
	// Length is the number of points for each axis: shorter axes get zeros at the end, longer ones are cut. Of an
	// inverse real transform it is the number of results. None: the sizes, of an inverse real transform 2(n-1) along
	// the last of Axes.
	Length []int
	// Norm says who divides: "backward", the default, has the inverse divide by the number of points, "forward" the
	// other direction, "ortho" both by its root.
	Norm string
}

// FFT is the discrete Fourier transform over the given axes, the last one if none is given: numpy.fft.fft, fft2 and
// fftn. Results are complex64.
func FFT(x *Array, axes ...int) *Array { return Fourier{Axes: axes}.FFT(x) }

// IFFT is the inverse of FFT.
func IFFT(x *Array, axes ...int) *Array { return Fourier{Axes: axes}.IFFT(x) }

// RFFT is the transform of real numbers. Along the last of the axes it has the n/2+1 first results, from which the
// others follow as conjugates.
func RFFT(x *Array, axes ...int) *Array { return Fourier{Axes: axes}.RFFT(x) }

// IRFFT is the inverse of RFFT, for an even number of points along the last of the axes: see Fourier for others.
func IRFFT(x *Array, axes ...int) *Array { return Fourier{Axes: axes}.IRFFT(x) }

// HFFT is the real transform of numbers that are conjugates of those mirrored; x has the first half of them, along one
// axis.
func HFFT(x *Array, axes ...int) *Array { return Fourier{Axes: axes}.HFFT(x) }

// IHFFT is the inverse of HFFT.
func IHFFT(x *Array, axes ...int) *Array { return Fourier{Axes: axes}.IHFFT(x) }

// FFT is the forward transform.
func (f Fourier) FFT(x *Array) *Array { return f.complex("FFT", x) }

// IFFT is the inverse transform.
func (f Fourier) IFFT(x *Array) *Array { return f.complex("IFFT", x) }

func (f Fourier) complex(kind string, x *Array) *Array {
	p := f.plan(kind, x)
	x = p.sized(toComplex(kind, x), p.length)
	return p.scaled(p.run(kind, x))
}

// RFFT is the forward transform of real numbers.
func (f Fourier) RFFT(x *Array) *Array {
	const kind = "RFFT"
	if isComplex(x.DType()) || x.DType() == Float64 {
		throw(kind, "got %s, want real numbers other than float64: use FFT for complex ones, or convert", x.shape)
	}
	p := f.plan(kind, x)
	x = p.sized(Convert(x, Float32), p.length)
	return p.scaled(p.run(kind, x))
}

// IRFFT is the inverse transform to real numbers.
func (f Fourier) IRFFT(x *Array) *Array {
	const kind = "IRFFT"
	p := f.plan(kind, x)
	half := slices.Clone(p.length)
	last := len(half) - 1
	half[last] = half[last]/2 + 1
	x = p.sized(toComplex(kind, x), half)
	return p.scaled(p.run(kind, x))
}

// HFFT is the forward transform, along one axis, of numbers of which the others are conjugates.
func (f Fourier) HFFT(x *Array) *Array {
	f.wantOneAxis("HFFT")
	return f.mirrored().IRFFT(Conj(x))
}

// IHFFT is the inverse of HFFT.
func (f Fourier) IHFFT(x *Array) *Array {
	f.wantOneAxis("IHFFT")
	return Conj(f.mirrored().RFFT(x))
}

func (f Fourier) wantOneAxis(name string) {
	if len(f.Axes) > 1 {
		throw(name, "got the axes %v, want one", f.Axes)
	}
}

// mirrored is the same with the divisions of the other direction.
func (f Fourier) mirrored() Fourier {
	switch f.Norm {
	case "", "backward":
		f.Norm = "forward"
	case "forward":
		f.Norm = "backward"
	}
	return f
}

// toComplex refuses float64, of which there are no complex numbers.
func toComplex(name string, x *Array) *Array {
	if x.DType() == Float64 {
		throw(name, "got %s, and there is no complex128: convert it to float32 first", x.shape)
	}
	return Convert(x, Complex64)
}

// fourierPlan is a Fourier of one array.
type fourierPlan struct {
	order  []int // all axes of the array, those to transform last
	length []int // of each axis to transform
	scale  float64
}

func (f Fourier) plan(kind string, x *Array) fourierPlan {
	axes := f.Axes
	if len(axes) == 0 {
		axes = []int{-1}
	}
	axes = mapInts(axes, func(a int) int { return checkAxis(kind, a, x.Rank()) })
	for i, a := range axes {
		if slices.Contains(axes[:i], a) {
			throw(kind, "got the axes %v of %s, want different ones", f.Axes, x.shape)
		}
	}
	length := slices.Clone(f.Length)
	if len(length) == 0 {
		length = sizesAt(x.Dims(), axes)
		if last := len(length) - 1; kind == "IRFFT" {
			length[last] = 2 * (length[last] - 1)
		}
	}
	if len(length) != len(axes) || slices.Min(length) < 1 {
		throw(kind, "got the lengths %v for the axes %v of %s, want one of at least 1 for each", length, axes, x.shape)
	}
	n := float64(product(length))
	inverse := kind == "IFFT" || kind == "IRFFT"
	scale := map[string]float64{"": 1, "backward": 1, "ortho": 1 / math.Sqrt(n), "forward": 1 / n}[f.Norm]
	if scale == 0 {
		throw(kind, "got the norm %q, want \"backward\", \"ortho\" or \"forward\"", f.Norm)
	}
	if inverse {
		scale = 1 / scale // the op divides by n
	}
	return fourierPlan{append(dropAxes(rangeInts(0, x.Rank()), axes), axes...), length, scale}
}

// sized cuts the axes to transform, or puts zeros at their ends.
func (p fourierPlan) sized(x *Array, length []int) *Array {
	after := make([]int, x.Rank())
	for i, n := range length {
		axis := p.order[len(p.order)-len(length)+i]
		if have := x.Dim(axis); have > n {
			x = SliceAxis(x, axis, 0, n)
		} else {
			after[axis] = n - have
		}
	}
	if slices.Max(after) == 0 {
		return x
	}
	return Pad(x, 0, make([]int, x.Rank()), after)
}

// run transforms up to three axes at a time. Of the real transforms the part with the real numbers is the last axes'.
func (p fourierPlan) run(kind string, x *Array) *Array {
	first := x.Rank() - len(p.length)
	x = Transpose(x, p.order...)
	at := max(0, len(p.length)-mostFFTAxes)
	last := func(x *Array) *Array { return apply1(op("fft"), fftAttrs{kind, p.length[at:]}, x) }
	others := func(kind string, x *Array) *Array {
		rank := x.Rank()
		for to := at; to > 0; to -= mostFFTAxes {
			part := rangeInts(max(0, to-mostFFTAxes), to)
			axes := mapInts(part, func(i int) int { return first + i })
			order := append(dropAxes(rangeInts(0, rank), axes), axes...)
			x = unorder(apply1(op("fft"), fftAttrs{kind, sizesAt(p.length, part)}, Transpose(x, order...)), order)
		}
		return x
	}
	switch kind {
	case "RFFT":
		x = others("FFT", last(x))
	case "IRFFT":
		x = last(others("IFFT", x))
	default:
		x = others(kind, last(x))
	}
	return unorder(x, p.order)
}

func (p fourierPlan) scaled(x *Array) *Array {
	if p.scale == 1 {
		return x
	}
	return Mul(x, p.scale)
}

// FFTFreq is the frequency of each result of FFT over n points that lie d apart: 0, 1, …, -2, -1 over nd.
func FFTFreq(n int, d float64) *Array {
	v := frequencies("FFTFreq", n, n, d)
	for k := (n + 1) / 2; k < n; k++ {
		v[k] = float32(float64(k-n) / (float64(n) * d))
	}
	return Float32s(v)
}

// RFFTFreq is the frequency of each result of RFFT over n points that lie d apart: 0, 1, …, n/2 over nd.
func RFFTFreq(n int, d float64) *Array { return Float32s(frequencies("RFFTFreq", n, n/2+1, d)) }

func frequencies(name string, n, count int, d float64) []float32 {
	if n < 1 || d == 0 || math.IsNaN(d) {
		throw(name, "got %d points that lie %v apart, want at least 1 and a distance other than 0", n, d)
	}
	v := make([]float32, count)
	for k := range v {
		v[k] = float32(float64(k) / (float64(n) * d))
	}
	return v
}

// FFTShift moves the frequency 0 to the middle of the given axes, of all if none is given.
func FFTShift(x *Array, axes ...int) *Array {
	for _, a := range normAxes("FFTShift", axes, x.Rank()) {
		x = Roll(x, x.Dim(a)/2, a)
	}
	return x
}

// IFFTShift is the inverse of FFTShift.
func IFFTShift(x *Array, axes ...int) *Array {
	for _, a := range normAxes("IFFTShift", axes, x.Rank()) {
		x = Roll(x, -(x.Dim(a) / 2), a)
	}
	return x
}

// FFTConvolve is the convolution of two arrays of one rank over the given axes, all if none is given, by the Fourier
// transform; the other axes broadcast. mode says which elements: "full" all, "same" the middle ones, as many as x has,
// "valid" those where the smaller array lies inside the larger. It is scipy.signal.fftconvolve.
func FFTConvolve(x, y *Array, mode string, axes ...int) *Array {
	const name = "FFTConvolve"
	if x.Rank() != y.Rank() || x.Rank() == 0 || x.Size() == 0 || y.Size() == 0 {
		throw(name, "got %s and %s, want arrays of one rank with at least one element", x.shape, y.shape)
	}
	axes = normAxes(name, axes, x.Rank())
	a := operandsOnly(x, y)
	f := Fourier{Axes: axes}
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
			throw(name, "got the mode %q, want \"full\", \"same\" or \"valid\"", mode)
		}
		f.Length = append(f.Length, smooth(full[i]))
	}
	if mode == "valid" && slices.ContainsFunc(axes, func(i int) bool { return x.Dim(i) < y.Dim(i) }) &&
		slices.ContainsFunc(axes, func(i int) bool { return x.Dim(i) > y.Dim(i) }) {
		throw(name, "got %s and %s in the mode \"valid\", want one that is as large as the other along each axis",
			x.shape, y.shape)
	}
	var z *Array
	if isComplex(a[0].DType()) {
		z = f.IFFT(Mul(f.FFT(a[0]), f.FFT(a[1])))
	} else {
		z = f.IRFFT(Mul(f.RFFT(a[0]), f.RFFT(a[1])))
	}
	for i, axis := range axes {
		z = SliceAxis(z, axis, start[i], start[i]+size[i])
	}
	return z
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
