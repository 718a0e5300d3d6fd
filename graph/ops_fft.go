package graph

import (
	"math"
	"math/cmplx"
	"slices"

	"xlarun/graph/internal/stablehlo"
)

// fftAttrs is the kind of a Fourier transform, FFT, IFFT, RFFT or IRFFT, and its lengths along the last axes.
type fftAttrs struct {
	kind   string
	length []int
}

var fftKinds = []string{"FFT", "IFFT", "RFFT", "IRFFT"}

// mostFFTAxes is the number of axes that one op transforms.
const mostFFTAxes = 3

// FFT is jax.lax.fft: the transform of the last axes, from one to three, of the given lengths. kind is FFT, IFFT, RFFT
// or IRFFT; x is complex64, of RFFT float32. Package fft has the transforms of other axes, lengths and norms.
func FFT(x *Array, kind string, length ...int) *Array {
	return apply1(op("fft"), fftAttrs{kind, length}, x)
}

// The discrete Fourier transform over the last axes, one to three. The inverse ones divide by the product of the
// lengths. RFFT takes real numbers and gives the n/2+1 first results along the last axis, from which the others follow
// as conjugates; IRFFT takes those and gives real numbers.
var _ = register(&Op{
	Apart: alwaysApart,
	Name:  "fft", Complex: true,
	ByRows: true,
	Shape: func(c *call) []Shape {
		a, x := c.attrs.(fftAttrs), c.in[0]
		if !slices.Contains(fftKinds, a.kind) {
			c.fail("got the kind %q, want one of %q", a.kind, fftKinds)
		}
		want := Complex64
		if a.kind == "RFFT" {
			want = Float32
		}
		k := len(a.length)
		if x.DType != want || k < 1 || k > mostFFTAxes || x.Rank() < k {
			c.fail("got %s and the lengths %v for %s, want %s and from one to %d of its axes", x, a.length, a.kind,
				dtypeName(want), mostFFTAxes)
		}
		first := x.Rank() - k
		in := slices.Clone(a.length)
		if a.kind == "IRFFT" {
			in[k-1] = in[k-1]/2 + 1
		}
		if !slices.Equal(x.Dims[first:], in) || slices.Contains(a.length, 0) {
			c.fail("got %s and the lengths %v for %s, want the sizes %v of at least 1", x, a.length, a.kind, in)
		}
		out := ShapeOf(Complex64, append(slices.Clone(x.Dims[:first]), a.length...)...)
		switch a.kind {
		case "RFFT":
			out.Dims[x.Rank()-1] = a.length[k-1]/2 + 1
		case "IRFFT":
			out.DType = Float32
		}
		return []Shape{out}
	},
	Batch: func(b *batching, n *Node, in []*Array, dims []int) ([]*Array, []int) {
		return apply(n.Op, n.Attrs, b.front(in, dims)), []int{0}
	},
	JVP: linearJVP,
	Transpose: func(n *Node, in []*Array, linear []bool, cts []*Array) []*Array {
		a, ct := n.Attrs.(fftAttrs), cts[0]
		last := ct.Rank() - 1
		size := a.length[len(a.length)-1]
		switch a.kind {
		case "RFFT": // it is the transform of all, of which it drops the end
			after := make([]int, ct.Rank())
			after[last] = size - ct.Dim(last)
			ct = Pad(ct, 0, make([]int, ct.Rank()), after)
			return []*Array{Real(apply1(n.Op, fftAttrs{"FFT", a.length}, ct))}
		case "IRFFT": // results between the ends stand for two, one of them conjugated
			y := Conj(apply1(n.Op, fftAttrs{"RFFT", a.length}, ct))
			i := Iota(size/2 + 1)
			ends := Or(Eq(i, 0), Eq(Mul(i, 2), size))
			return []*Array{Mul(y, Div(Select(ends, 1., 2.), float64(product(a.length))))}
		}
		return apply(n.Op, a, cts)
	},
	Emit: func(e *emitter, n *Node) {
		a := n.Attrs.(fftAttrs)
		e.generic(n, "stablehlo.fft", "fft_type = #stablehlo<fft_type "+a.kind+">, fft_length = "+
			stablehlo.Int64s(a.length))
	},
	Eval: func(n *Node, in []*Tensor) []*Tensor {
		return []*Tensor{n.Attrs.(fftAttrs).eval(in[0], n.Outs[0].shape)}
	},
	Cost: costOf(func(n *Node) float64 {
		size := float64(product(n.Attrs.(fftAttrs).length))
		return 5 * resultElements(n) * math.Log2(max(2, size))
	}),
	Cases: func() []Case {
		var cases []Case
		for _, length := range [][]int{{8}, {6, 5}, {2, 3, 4}, {1}} {
			for _, kind := range fftKinds {
				a := fftAttrs{kind, length}
				cases = append(cases, Case{Name: kind + " " + joinInts(length, "x"), Lo: -1, Hi: 1, Tol: 1e-5,
					Rough:  true, // there are no finite differences: they are taken in float64
					Inputs: []Shape{ShapeOf(Float32, append([]int{2}, length...)...)},
					Fn: func(x []*Array) *Array {
						in := x[0]
						if kind == "IRFFT" {
							in = SliceAxis(in, -1, 0, length[len(length)-1]/2+1)
						}
						if kind != "RFFT" {
							in = Complex(in, Mul(in, in))
						}
						y := apply1(op("fft"), a, in)
						return Concatenate(0, Real(y), Imag(y))
					}})
			}
		}
		return cases
	},
})

// eval transforms axis by axis. The inverse real transform sets the other half first.
func (a fftAttrs) eval(x *Tensor, out Shape) *Tensor {
	first, sign := x.Shape.Rank()-len(a.length), -1.
	if a.kind == "IFFT" || a.kind == "IRFFT" {
		sign = 1
	}
	dims := append(slices.Clone(x.Shape.Dims[:first]), a.length...)
	v := make([]complex128, product(dims))
	st, half := strides(x.Shape.Dims), a.kind == "IRFFT"
	last := len(dims) - 1
	forEach(dims, func(i int, idx []int) {
		switch {
		case a.kind == "RFFT":
			v[i] = complex(x.F(i), 0)
		case !half || idx[last] < x.Shape.Dims[last]:
			v[i] = x.C(dot(idx, st))
		}
	})
	for axis := first; axis < len(dims); axis++ {
		if axis == last && half {
			n := dims[last]
			for row := 0; row < len(v); row += n {
				for k := n/2 + 1; k < n; k++ {
					v[row+k] = cmplx.Conj(v[row+n-k])
				}
			}
		}
		dftAlong(v, dims, axis, sign)
	}
	result := newTensor(out)
	scale := complex(1, 0)
	if sign > 0 {
		scale = complex(1/float64(product(a.length)), 0)
	}
	full := strides(dims)
	forEach(out.Dims, func(i int, idx []int) {
		y := v[dot(idx, full)] * scale
		if half {
			result.SetF(i, real(y))
		} else {
			result.SetC(i, y)
		}
	})
	return result
}

// dftAlong transforms an axis in place.
func dftAlong(v []complex128, dims []int, axis int, sign float64) {
	n, step := dims[axis], strides(dims)[axis]
	line := make([]complex128, n)
	for start := range v {
		if start/step%n != 0 {
			continue
		}
		for k := range line {
			line[k] = v[start+k*step]
		}
		for k, y := range dft(line, sign) {
			v[start+k*step] = y
		}
	}
}

// dft is the sum over j of x[j] exp(sign 2πi jk/n): by the smallest factor of n, in parts, of a prime by the sum itself
// (Cooley and Tukey 1965).
func dft(x []complex128, sign float64) []complex128 {
	n := len(x)
	p := 2
	for p < n && n%p != 0 {
		p++
	}
	turn := func(k, n int) complex128 { return cmplx.Rect(1, sign*2*math.Pi*float64(k%n)/float64(n)) }
	out := make([]complex128, n)
	if p >= n {
		for k := range out {
			for j, v := range x {
				out[k] += v * turn(j*k, n)
			}
		}
		return out
	}
	m := n / p
	part := make([]complex128, m)
	for r := range p {
		for j := range part {
			part[j] = x[j*p+r]
		}
		y := dft(part, sign)
		for k := range out {
			out[k] += y[k%m] * turn(r*k, n)
		}
	}
	return out
}
