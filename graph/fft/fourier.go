package fft

import (
	"math"
	"slices"

	"xlarun/graph"
)

// Fourier says how to transform, where the plain functions (FFT, RFFT, …) do not. The zero value is theirs.
//
//	spectrum := fft.Fourier{Axes: []int{0}, Length: []int{64}, Norm: "ortho"}.FFT(x)
type Fourier struct {
	Axes []int // none: the last one
	// Length is the number of points for each axis: shorter axes get zeros at the end, longer ones are cut. Of an
	// inverse real transform it is the number of results. None: the sizes, of an inverse real transform 2(n-1) along
	// the last of Axes, and of no points there are no results.
	Length []int
	// Norm says who divides: "backward", the default, has the inverse divide by the number of points, "forward" the
	// other direction, "ortho" both by its root.
	Norm string
}

// FFT is the discrete Fourier transform over the given axes, the last one if none is given: numpy.fft.fft, fft2 and
// fftn. Results are complex64.
func FFT(x *graph.Array, axes ...int) *graph.Array { return Fourier{Axes: axes}.FFT(x) }

// IFFT is the inverse of FFT.
func IFFT(x *graph.Array, axes ...int) *graph.Array { return Fourier{Axes: axes}.IFFT(x) }

// RFFT is the transform of real numbers. Along the last of the axes it has the n/2+1 first results, from which the
// others follow as conjugates.
func RFFT(x *graph.Array, axes ...int) *graph.Array { return Fourier{Axes: axes}.RFFT(x) }

// IRFFT is the inverse of RFFT, for an even number of points along the last of the axes: see Fourier for others.
func IRFFT(x *graph.Array, axes ...int) *graph.Array { return Fourier{Axes: axes}.IRFFT(x) }

// HFFT is the real transform of numbers that are conjugates of those mirrored; x has the first half of them, along one
// axis.
func HFFT(x *graph.Array, axes ...int) *graph.Array { return Fourier{Axes: axes}.HFFT(x) }

// IHFFT is the inverse of HFFT.
func IHFFT(x *graph.Array, axes ...int) *graph.Array { return Fourier{Axes: axes}.IHFFT(x) }

// FFT is the forward transform.
func (f Fourier) FFT(x *graph.Array) *graph.Array { return f.complex("FFT", x) }

// IFFT is the inverse transform.
func (f Fourier) IFFT(x *graph.Array) *graph.Array { return f.complex("IFFT", x) }

func (f Fourier) complex(kind string, x *graph.Array) *graph.Array {
	p := f.plan(kind, x)
	x = p.sized(toComplex(kind, x), p.length)
	return p.scaled(p.run(kind, x))
}

// RFFT is the forward transform of real numbers.
func (f Fourier) RFFT(x *graph.Array) *graph.Array { return f.fromReal("RFFT", x) }

func (f Fourier) fromReal(name string, x *graph.Array) *graph.Array {
	if x.DType() == graph.Complex64 || x.DType() == graph.Float64 {
		graph.Throw(name, "got %s, want real numbers other than float64: use FFT for complex ones, or convert",
			x.Shape())
	}
	p := f.plan(name, x)
	x = p.sized(x.Convert(graph.Float32), p.length)
	return p.scaled(p.run("RFFT", x))
}

// IRFFT is the inverse transform to real numbers.
func (f Fourier) IRFFT(x *graph.Array) *graph.Array { return f.toReal("IRFFT", x) }

func (f Fourier) toReal(name string, x *graph.Array) *graph.Array {
	p := f.plan(name, x)
	half := slices.Clone(p.length)
	last := len(half) - 1
	half[last] = half[last]/2 + 1
	x = p.sized(toComplex(name, x), half)
	return p.scaled(p.run("IRFFT", x))
}

// HFFT is the forward transform, along one axis, of numbers of which the others are conjugates.
func (f Fourier) HFFT(x *graph.Array) *graph.Array {
	f.wantOneAxis("HFFT")
	return f.mirrored().toReal("HFFT", graph.Conj(x))
}

// IHFFT is the inverse of HFFT.
func (f Fourier) IHFFT(x *graph.Array) *graph.Array {
	f.wantOneAxis("IHFFT")
	return graph.Conj(f.mirrored().fromReal("IHFFT", x))
}

func (f Fourier) wantOneAxis(name string) {
	if len(f.Axes) > 1 {
		graph.Throw(name, "got the axes %v, want one", f.Axes)
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
func toComplex(name string, x *graph.Array) *graph.Array {
	if x.DType() == graph.Float64 {
		graph.Throw(name, "got %s, and there is no complex128: convert it to float32 first", x.Shape())
	}
	return x.Convert(graph.Complex64)
}

func (f Fourier) plan(kind string, x *graph.Array) fourierPlan {
	axes := slices.Clone(f.Axes)
	if len(axes) == 0 {
		axes = []int{-1}
	}
	sizes := make([]int, len(axes))
	for i, a := range axes {
		axes[i] = graph.Arguments.Axis(kind, a, x.Rank())
		if slices.Contains(axes[:i], axes[i]) {
			graph.Throw(kind, "got the axes %v of %s, want different ones", f.Axes, x.Shape())
		}
		sizes[i] = x.Dim(axes[i])
	}
	length := slices.Clone(f.Length)
	half := kind == "IRFFT" || kind == "HFFT"
	if len(length) == 0 {
		length = slices.Clone(sizes)
		last := len(length) - 1
		if half {
			length[last] = max(0, 2*(length[last]-1))
		}
		if length[last] == 0 && (kind == "RFFT" || kind == "IHFFT") {
			graph.Throw(kind, "got %s, want at least 1 element along axis %d, or a Length", x.Shape(), axes[last])
		}
	} else if len(length) != len(axes) || slices.Min(length) < 1 {
		graph.Throw(kind, "got the lengths %v for the axes %v of %s, want one of at least 1 for each", length, axes,
			x.Shape())
	}
	n := 1.
	for _, points := range length {
		n *= float64(points)
	}
	scale := map[string]float64{"": 1, "backward": 1, "ortho": 1 / math.Sqrt(n), "forward": 1 / n}[f.Norm]
	if scale == 0 {
		graph.Throw(kind, "got the norm %q, want \"backward\", \"ortho\" or \"forward\"", f.Norm)
	}
	if half || kind == "IFFT" {
		scale = 1 / scale // the op divides by n
	}
	return fourierPlan{atEnd(x.Rank(), axes), length, scale}
}
