package graph_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/graph"
	"xlarun/graph/fft"
	"xlarun/graph/graphtest"
	"xlarun/graph/linalg"
	"xlarun/graph/signal"
	"xlarun/graph/special"
	"xlarun/graph/stats"
)

func transform(f func(fft.Fourier, *graph.Array) *graph.Array) func(functionAttrs, list) list {
	return single(func(a functionAttrs, x list) *graph.Array {
		return f(fft.Fourier{Axes: a.Axes, Length: a.Dims, Norm: a.Mode}, x[0])
	})
}

func points(f func(n int, d float64) *graph.Array) func(functionAttrs, list) list {
	return single(func(a functionAttrs, _ list) *graph.Array { return f(a.N, a.Q) })
}

// complexFunctions names ours for each of JAX's.
var complexFunctions = map[string]func(functionAttrs, list) list{
	"real": unary(graph.Real), "imag": unary(graph.Imag), "conj": unary(graph.Conj),
	"angle": unary(graph.Angle), "abs": unary(graph.Abs), "sign": unary(graph.Sign),
	"complex": binary(graph.Complex),
	"exp":     unary(graph.Exp), "log": unary(graph.Log), "sqrt": unary(graph.Sqrt),
	"sin": unary(graph.Sin), "cos": unary(graph.Cos), "tan": unary(graph.Tan),
	"sinh": unary(graph.Sinh), "cosh": unary(graph.Cosh), "tanh": unary(graph.Tanh),
	"expm1": unary(graph.Expm1), "log1p": unary(graph.Log1p), "negative": unary(graph.Neg),
	"square": unary(graph.Square), "reciprocal": unary(graph.Reciprocal),
	"rsqrt": unary(graph.Rsqrt), "logistic": unary(graph.Logistic),
	"add": binary(graph.Add), "subtract": binary(graph.Sub), "multiply": binary(graph.Mul),
	"divide": binary(graph.Div), "power": binary(graph.Pow),
	"equal": binary(graph.Eq), "not_equal": binary(graph.Ne),
	"where":    single(func(_ functionAttrs, x list) *graph.Array { return graph.Where(x[0], x[1], x[2]) }),
	"isfinite": unary(graph.IsFinite), "isreal": unary(graph.IsReal),
	"iscomplex": unary(graph.IsComplex),
	"sum":       overAxes(graph.Sum), "prod": overAxes(graph.Prod), "mean": overAxes(graph.Mean),
	"var": overAxes(graph.Variance), "std": overAxes(graph.Std),
	"cumsum":  single(func(a functionAttrs, x list) *graph.Array { return graph.CumSum(x[0], a.Axis) }),
	"cumprod": single(func(a functionAttrs, x list) *graph.Array { return graph.CumProd(x[0], a.Axis) }),
	"matmul":  single(func(_ functionAttrs, x list) *graph.Array { return graph.Dot(x[0], x[1]) }),
	"vdot":    single(func(_ functionAttrs, x list) *graph.Array { return graph.Vdot(x[0], x[1]) }),
	"batched": single(func(_ functionAttrs, x list) *graph.Array {
		return graph.Einsum("bij,bjk->bik", x[0], x[1])
	}),
	"scatter": single(func(_ functionAttrs, x list) *graph.Array {
		return graph.ScatterAdd(x[0], graph.Of([]int32{1, 3, 1}), x[1])
	}),
	"take": single(func(_ functionAttrs, x list) *graph.Array {
		return graph.Take(x[0], graph.Of([]int32{2, 0, 2}), 0)
	}),
	"pad": single(func(_ functionAttrs, x list) *graph.Array {
		return graph.Pad(graph.Transpose(graph.Reverse(x[0], 0)), 0, []int{1, 0}, []int{0, 2})
	}),
	"scan": func(_ functionAttrs, x list) list {
		c, y := graph.Scan(func(c, x *graph.Array) (*graph.Array, *graph.Array) {
			return graph.Add(graph.Mul(c, x), 1i), graph.Abs(c)
		}, x[0], x[1])
		return list{c, y}
	},
	"vmap": single(func(_ functionAttrs, x list) *graph.Array {
		return graph.VMap2(func(x, w *graph.Array) *graph.Array { return graph.Sum(graph.Mul(graph.Exp(x), w)) })(x[0],
			x[1])
	}),
	"while": single(func(_ functionAttrs, x list) *graph.Array {
		return graph.ForiLoop(0, 4, func(_, c *graph.Array) *graph.Array {
			return graph.Add(graph.Mul(graph.Mul(c, c), .5), x[0])
		}, x[0])
	}),
	"holomorphic": single(func(_ functionAttrs, x list) *graph.Array {
		return graph.GradHolomorphic(func(x *graph.Array) *graph.Array {
			return graph.Sum(graph.Mul(graph.Sin(x), x))
		})(x[0])
	}),
	"gradient descent": single(func(_ functionAttrs, x list) *graph.Array {
		return graph.Grad(func(x *graph.Array) *graph.Array {
			return graph.Sum(graph.Square(graph.Abs(graph.Sub(x, 1+2i))))
		})(x[0])
	}),
	"jvp": func(_ functionAttrs, x list) list {
		f := func(x *graph.Array) *graph.Array { return graph.Mul(graph.Abs(x), graph.Exp(x)) }
		y, t := graph.Jvp(f, x[0], x[1])
		return list{y, t}
	},
	"norm": single(func(_ functionAttrs, x list) *graph.Array { return linalg.VectorNorm(x[0], 1, 2) }),
	"cov":  single(func(_ functionAttrs, x list) *graph.Array { return stats.Cov(x[0], 1) }),
	"fft":  transform(fft.Fourier.FFT), "ifft": transform(fft.Fourier.IFFT),
	"rfft": transform(fft.Fourier.RFFT), "irfft": transform(fft.Fourier.IRFFT),
	"hfft": transform(fft.Fourier.HFFT), "ihfft": transform(fft.Fourier.IHFFT),
	"fftn": transform(fft.Fourier.FFT), "ifftn": transform(fft.Fourier.IFFT),
	"rfftn": transform(fft.Fourier.RFFT), "irfftn": transform(fft.Fourier.IRFFT),
	"fft of real numbers": transform(fft.Fourier.FFT),
	"vmap of rfft": single(func(_ functionAttrs, x list) *graph.Array {
		return graph.VMap(func(x *graph.Array) *graph.Array { return fft.IRFFT(graph.Mul(fft.RFFT(x), 2)) },
			graph.InAxes(1), graph.OutAxis(1))(x[0])
	}),
	"fftfreq": points(fft.FFTFreq), "rfftfreq": points(fft.RFFTFreq),
	"fftshift": overAxes(fft.FFTShift), "ifftshift": overAxes(fft.IFFTShift),
	"fftconvolve": single(func(a functionAttrs, x list) *graph.Array {
		return signal.FFTConvolve(x[0], x[1], a.Mode, a.Axes...)
	}),
}

// Every vector of complex numbers and Fourier transforms from JAX, with gradients, on the reference interpreter and on
// XLA.
func TestComplexAgainstJAX(t *testing.T) {
	checkCalls(t, "testdata/jax_complex.json.gz", 200, complexFunctions)
}

// Complex numbers go in and out as Go's, and are printed.
func TestComplexValues(t *testing.T) {
	x := graph.Complex64s([]complex64{1 + 2i, -3, complex(float32(math.Inf(1)), -0.5)})
	require.Equal(t, "c64[3] {1+2i -3+0i +Inf-0.5i}", x.String())
	require.Equal(t, "c64[] 0.5+1i", graph.Of(.5+1i).String())
	require.Equal(t, "c64[2,1] {1+0i 0+1i}", graph.Of([][]complex64{{1}, {1i}}).String())
	got, err := graph.Complexes(graph.Add(x, 1i))
	require.NoError(t, err)
	require.Equal(t, []complex64{1 + 3i, -3 + 1i, complex(float32(math.Inf(1)), 0.5)}, got)
	got, err = graph.Complexes(graph.Iota(2))
	require.NoError(t, err)
	require.Equal(t, []complex64{0, 1}, got)
	require.Equal(t, "f32[2] {0 0}", graph.Imag(graph.Ones(graph.ShapeOf(graph.Float32, 2))).String())
	z, w := graph.Of([]complex64{1 + 1i, 2 - 1i, .5i}), graph.Of([]complex64{1i, 1 - 1i})
	b := graph.Of([]bool{true, true, false})
	for _, c := range []struct{ got, want *graph.Array }{ // jax.numpy.convolve, correlate and corrcoef
		{signal.Convolve(z, w, "full"), graph.Of([]complex64{-1 + 1i, 3 + 2i, .5 - 3i, .5 + .5i})},
		{signal.Convolve(graph.Of([]float32{1, 2}), w, "same"), graph.Of([]complex64{1i, 1 + 1i})},
		{signal.Correlate(z, w, "full"), graph.Of([]complex64{2i, 4, -1.5 - 1.5i, .5})},
		{signal.Correlate(w, z, "full"), graph.Of([]complex64{.5, -1.5 + 1.5i, 4, -2i})},
		{signal.Correlate(graph.Of([]float32{1, 2}), w, "valid"), graph.Of([]complex64{2 + 1i})},
		{signal.Convolve(b, graph.SliceAxis(b, 0, 0, 2), "full"), graph.Of([]float32{1, 2, 1, 0})},
		{signal.Correlate(b, graph.SliceAxis(b, 0, 0, 2), "valid"), graph.Of([]float32{2, 1})},
		{stats.CorrCoef(graph.Of([][]complex64{{1 + 1i, 2, 3i}, {1i, 2, 5}})),
			graph.Of([][]complex64{{1, -.35355338 + .60104084i}, {-.35355338 - .60104084i, 1}})},
	} {
		graphtest.Same(t, c.want, c.got, graphtest.Both(1e-6))
	}
	require.Equal(t, "c64[0,4] {}", fft.FFT(graph.Zeros(graph.ShapeOf(graph.Float32, 0, 4))).String())
}

// What has no complex form is refused in a sentence.
func TestComplexRefusals(t *testing.T) {
	x := graph.Complex64s([]complex64{1, 2i, 3})
	r, wide := graph.Real(x), graph.Float64s([]float64{1, 2, 3})
	for _, c := range []struct {
		want string
		call func()
	}{
		{"compare: got c64[3], and complex numbers have no order: compare Real, Imag or Abs",
			func() { graph.Lt(x, x) }},
		{"max: got c64[3], and there is no form for complex numbers: take Real, Imag or Abs first",
			func() { graph.Max(x, 1) }},
		{"reduce max: got c64[3], and there is no form", func() { graph.ReduceMax(x) }},
		{"cumulative min: got c64[3]", func() { graph.CumMin(x, 0) }},
		{"scatter max: got c64[3]", func() { graph.ScatterMax(x, graph.Of([]int32{0}), graph.Of([]complex64{1})) }},
		{"sort: got c64[3]", func() { graph.Sort(x, 0) }},
		{"floor: got c64[3]", func() { graph.Floor(x) }},
		{"Cholesky: got c64[2,2], and there is no form for complex numbers", func() {
			linalg.Cholesky(graph.Eye(graph.Complex64, 2))
		}},
		{"convert: got c64[3]", func() { graph.Convert(x, graph.Float32) }},
		{"bitcast: got c64[3]", func() { graph.Bitcast(x, graph.Uint64) }},
		{"bitcast: got c64[3]", func() { graph.Bitcast(wide, graph.Complex64) }},
		{"complex numbers with float64 would be complex128", func() { graph.Add(x, wide) }},
		{"(0+1i) is no value of Complex128: convert the array to complex64", func() { graph.Add(wide, 1i) }},
		{"complex: got f64[3], want float32: there is no complex128", func() { graph.Complex(wide, wide) }},
		{"FFT: got f64[3], and there is no complex128: convert it to float32 first", func() { fft.FFT(wide) }},
		{"(1+2i) is no value of f32", func() { graph.Full(graph.ShapeOf(graph.Float32, 2), 1+2i) }},
		{"Grad: the function returns c64[], want a float scalar", func() {
			graph.Grad(func(x *graph.Array) *graph.Array { return graph.Sum(x) })(x)
		}},
		{"GradHolomorphic: the function returns f32[], want a complex scalar", func() {
			graph.GradHolomorphic(func(x *graph.Array) *graph.Array { return graph.Sum(graph.Abs(x)) })(x)
		}},
		{"RFFT: got c64[3], want real numbers other than float64", func() { fft.RFFT(x) }},
		{"HFFT: got f64[3], and there is no complex128", func() { fft.HFFT(wide) }},
		{"IHFFT: got c64[3], want real numbers", func() { fft.IHFFT(x) }},
		{"Digitize: got c64[3], and complex numbers have no order", func() { stats.Digitize(x, r, false) }},
		{"NanMax: got c64[3], and complex", func() { stats.NanMax(x) }},
		{"Range: got c64[3], and complex", func() { stats.Range(x) }},
		{"Percentile: got c64[3], and complex", func() { stats.Percentile(x, 50, 0) }},
		{"XLogY: got c64[3], want real numbers", func() { special.XLogY(x, x) }},
		{"FFT: got the axes [0 -1] of f32[3], want different ones", func() { fft.FFT(r, 0, -1) }},
		{"FFT: got the lengths [2 3] for the axes [0] of f32[3]", func() {
			fft.Fourier{Length: []int{2, 3}}.FFT(r)
		}},
		{"FFT: got the norm \"unit\", want", func() { fft.Fourier{Norm: "unit"}.FFT(r) }},
		{"HFFT: got the axes [0 1], want one", func() { fft.HFFT(graph.Eye(graph.Float32, 2), 0, 1) }},
		{"FFTFreq: got 0 points", func() { fft.FFTFreq(0, 1) }},
		{"FFTConvolve: got f32[3] and f32[2,2], want arrays of one rank", func() {
			signal.FFTConvolve(r, graph.Eye(graph.Float32, 2), "full")
		}},
		{"FFTConvolve: got the mode \"most\"", func() { signal.FFTConvolve(r, r, "most") }},
	} {
		require.ErrorContains(t, graph.Try(c.call), c.want)
	}
	_, err := graph.Floats(x)
	require.ErrorContains(t, err, "graph.Floats: got c64[3], want real numbers")
}

// A transform of a large prime number of points, and back.
func TestFourierOfPrime(t *testing.T) {
	n := 211
	x := graph.Sin(graph.Square(graph.Convert(graph.Iota(n), graph.Float32)))
	graphtest.Same(t, x, graph.Real(fft.IFFT(fft.FFT(x))), graphtest.Both(1e-6))
	graphtest.Same(t, x, fft.Fourier{Length: []int{n}}.IRFFT(fft.RFFT(x)), graphtest.Both(1e-6))
	// Parseval: the energy of the results is n times that of the points.
	graphtest.Same(t, graph.Sum(graph.Square(x)), graph.Mean(graph.Square(graph.Abs(fft.FFT(x)))), graphtest.Both(1e-6))
}

// Transforms along an axis without elements were refused. The shapes are those of jax.numpy.fft in JAX 0.10.2, which
// takes no real numbers along such an axis either.
func TestEmptyTransforms(t *testing.T) {
	zeros := func(dims ...int) *graph.Array { return graph.Zeros(graph.ShapeOf(graph.Float32, dims...)) }
	for _, c := range []struct {
		f    func(x *graph.Array, axes ...int) *graph.Array
		x    *graph.Array
		axes []int
		want string
	}{
		{fft.FFT, zeros(0), nil, "c64[0]"},
		{fft.IFFT, zeros(3, 0), nil, "c64[3,0]"}, {fft.IFFT, zeros(2, 0, 4), []int{1, 2}, "c64[2,0,4]"},
		{fft.RFFT, zeros(0), nil, ""}, {fft.RFFT, zeros(0, 4), nil, "c64[0,3]"},
		{fft.RFFT, zeros(4, 0), []int{0, 1}, ""}, {fft.RFFT, zeros(0, 4), []int{0, 1}, "c64[0,3]"},
		{fft.IRFFT, zeros(3, 0), nil, "f32[3,0]"}, {fft.IRFFT, zeros(0, 4), nil, "f32[0,6]"},
		{fft.IRFFT, zeros(1), nil, "f32[0]"}, {fft.IRFFT, zeros(4, 0), []int{1, 0}, "f32[6,0]"},
		{fft.HFFT, zeros(0, 1), nil, "f32[0,0]"},
		{fft.IHFFT, zeros(0), nil, ""}, {fft.IHFFT, zeros(0, 1), nil, "c64[0,1]"},
	} {
		var y *graph.Array
		err := graph.Try(func() { y = c.f(c.x, c.axes...) })
		if c.want == "" {
			require.ErrorContains(t, err, "want at least 1 element along axis")
			continue
		}
		require.NoError(t, err, c.x.Shape())
		require.Equal(t, c.want, y.Shape().String())
		require.Empty(t, graphtest.Floats(t, graph.Real(y)))
	}
}
