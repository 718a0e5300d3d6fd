package graphtest_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	. "xlarun/graph"
	"xlarun/graph/fft"
	"xlarun/graph/graphtest"
	"xlarun/graph/linalg"
	"xlarun/graph/signal"
	"xlarun/graph/special"
	"xlarun/graph/stats"
)

// complexFunctions names ours for each of JAX's.
var complexFunctions = map[string]any{
	"real": Real, "imag": Imag, "conj": Conj, "angle": Angle, "abs": Abs, "sign": Sign, "complex": Complex,
	"exp": Exp, "log": Log, "sqrt": Sqrt, "sin": Sin, "cos": Cos, "tan": Tan, "sinh": Sinh, "cosh": Cosh, "tanh": Tanh,
	"expm1": Expm1, "log1p": Log1p, "negative": Neg, "square": Square, "reciprocal": Reciprocal, "rsqrt": Rsqrt,
	"logistic": Logistic, "add": Add, "subtract": Sub, "multiply": Mul, "divide": Div, "power": Pow, "equal": Eq,
	"not_equal": Ne, "isfinite": IsFinite, "isreal": IsReal, "iscomplex": IsComplex, "sum": Sum, "prod": Prod,
	"mean": Mean, "var": Variance, "std": Std, "matmul": Dot, "vdot": Vdot,
	"where":   func(_ functionAttrs, x list) *Array { return Where(x[0], x[1], x[2]) },
	"cumsum":  func(a functionAttrs, x list) *Array { return CumSum(x[0], a.Axis) },
	"cumprod": func(a functionAttrs, x list) *Array { return CumProd(x[0], a.Axis) },
	"batched": func(_ functionAttrs, x list) *Array { return Einsum("bij,bjk->bik", x[0], x[1]) },
	"scatter": func(_ functionAttrs, x list) *Array { return ScatterAdd(x[0], Of([]int32{1, 3, 1}), x[1]) },
	"take":    func(_ functionAttrs, x list) *Array { return Take(x[0], Of([]int32{2, 0, 2}), 0) },
	"pad": func(_ functionAttrs, x list) *Array {
		return Pad(Transpose(Reverse(x[0], 0)), 0, []int{1, 0}, []int{0, 2})
	},
	"scan": func(_ functionAttrs, x list) list {
		c, y := Scan(func(c, x *Array) (*Array, *Array) { return Add(Mul(c, x), 1i), Abs(c) }, x[0], x[1])
		return list{c, y}
	},
	"vmap": func(_ functionAttrs, x list) *Array {
		return VMap2(func(x, w *Array) *Array { return Sum(Mul(Exp(x), w)) })(x[0], x[1])
	},
	"while": func(_ functionAttrs, x list) *Array {
		return ForiLoop(0, 4, func(_, c *Array) *Array { return Add(Mul(Mul(c, c), .5), x[0]) }, x[0])
	},
	"holomorphic": func(_ functionAttrs, x list) *Array {
		return GradHolomorphic(func(x *Array) *Array { return Sum(Mul(Sin(x), x)) })(x[0])
	},
	"gradient descent": func(_ functionAttrs, x list) *Array {
		return Grad(func(x *Array) *Array { return Sum(Square(Abs(Sub(x, 1+2i)))) })(x[0])
	},
	"jvp": func(_ functionAttrs, x list) list {
		f := func(x *Array) *Array { return Mul(Abs(x), Exp(x)) }
		y, t := Jvp(f, x[0], x[1])
		return list{y, t}
	},
	"norm": func(_ functionAttrs, x list) *Array { return linalg.VectorNorm(x[0], 1, 2) },
	"cov":  func(_ functionAttrs, x list) *Array { return stats.Cov(x[0], 1) },
	"fft":  fft.Fourier.FFT, "ifft": fft.Fourier.IFFT, "rfft": fft.Fourier.RFFT, "irfft": fft.Fourier.IRFFT,
	"hfft": fft.Fourier.HFFT, "ihfft": fft.Fourier.IHFFT, "fftn": fft.Fourier.FFT, "ifftn": fft.Fourier.IFFT,
	"rfftn": fft.Fourier.RFFT, "irfftn": fft.Fourier.IRFFT, "fft of real numbers": fft.Fourier.FFT,
	"vmap of rfft": func(_ functionAttrs, x list) *Array {
		return VMap(func(x *Array) *Array { return fft.IRFFT(Mul(fft.RFFT(x), 2)) }, InAxes(1), OutAxis(1))(x[0])
	},
	"fftfreq": fft.FFTFreq, "rfftfreq": fft.RFFTFreq,
	"fftshift": fft.FFTShift, "ifftshift": fft.IFFTShift,
	"fftconvolve": func(a functionAttrs, x list) *Array { return signal.FFTConvolve(x[0], x[1], a.Mode, a.Axes...) },
}

// Every vector of complex numbers and Fourier transforms from JAX, with gradients, on the reference interpreter and on
// XLA.
func TestComplexAgainstJAX(t *testing.T) {
	checkCalls(t, "../testdata/jax_complex.json.gz", 200, complexFunctions)
}

// Complex numbers go in and out as Go's, and are printed.
func TestComplexValues(t *testing.T) {
	x := Complex64s([]complex64{1 + 2i, -3, complex(float32(math.Inf(1)), -0.5)})
	require.Equal(t, "c64[3] {1+2i -3+0i +Inf-0.5i}", x.String())
	require.Equal(t, "c64[] 0.5+1i", Of(.5+1i).String())
	require.Equal(t, "c64[2,1] {1+0i 0+1i}", Of([][]complex64{{1}, {1i}}).String())
	got, err := Complexes(Add(x, 1i))
	require.NoError(t, err)
	require.Equal(t, []complex64{1 + 3i, -3 + 1i, complex(float32(math.Inf(1)), 0.5)}, got)
	got, err = Complexes(Iota(2))
	require.NoError(t, err)
	require.Equal(t, []complex64{0, 1}, got)
	require.Equal(t, "f32[2] {0 0}", Imag(Ones(ShapeOf(Float32, 2))).String())
	z, w := Of([]complex64{1 + 1i, 2 - 1i, .5i}), Of([]complex64{1i, 1 - 1i})
	b := Of([]bool{true, true, false})
	for _, c := range []struct{ got, want *Array }{ // jax.numpy.convolve, correlate and corrcoef
		{signal.Convolve(z, w, "full"), Of([]complex64{-1 + 1i, 3 + 2i, .5 - 3i, .5 + .5i})},
		{signal.Convolve(Of([]float32{1, 2}), w, "same"), Of([]complex64{1i, 1 + 1i})},
		{signal.Correlate(z, w, "full"), Of([]complex64{2i, 4, -1.5 - 1.5i, .5})},
		{signal.Correlate(w, z, "full"), Of([]complex64{.5, -1.5 + 1.5i, 4, -2i})},
		{signal.Correlate(Of([]float32{1, 2}), w, "valid"), Of([]complex64{2 + 1i})},
		{signal.Convolve(b, SliceAxis(b, 0, 0, 2), "full"), Of([]float32{1, 2, 1, 0})},
		{signal.Correlate(b, SliceAxis(b, 0, 0, 2), "valid"), Of([]float32{2, 1})},
		{stats.CorrCoef(Of([][]complex64{{1 + 1i, 2, 3i}, {1i, 2, 5}})),
			Of([][]complex64{{1, -.35355338 + .60104084i}, {-.35355338 - .60104084i, 1}})},
	} {
		graphtest.Same(t, c.want, c.got, graphtest.Both(1e-6))
	}
	require.Equal(t, "c64[0,4] {}", fft.FFT(Zeros(ShapeOf(Float32, 0, 4))).String())
}

// What has no complex form is refused in a sentence.
func TestComplexRefusals(t *testing.T) {
	x := Complex64s([]complex64{1, 2i, 3})
	r, wide := Real(x), Float64s([]float64{1, 2, 3})
	for _, c := range []struct {
		want string
		call func()
	}{
		{"compare: got c64[3], and complex numbers have no order: compare Real, Imag or Abs",
			func() { Lt(x, x) }},
		{"max: got c64[3], and there is no form for complex numbers: take Real, Imag or Abs first",
			func() { Max(x, 1) }},
		{"reduce max: got c64[3], and there is no form", func() { ReduceMax(x) }},
		{"cumulative min: got c64[3]", func() { CumMin(x, 0) }},
		{"scatter max: got c64[3]", func() { ScatterMax(x, Of([]int32{0}), Of([]complex64{1})) }},
		{"sort: got c64[3]", func() { Sort(x, 0) }},
		{"floor: got c64[3]", func() { Floor(x) }},
		{"Cholesky: got c64[2,2], and there is no form for complex numbers", func() {
			linalg.Cholesky(Eye(Complex64, 2))
		}},
		{"convert: got c64[3]", func() { Convert(x, Float32) }},
		{"bitcast: got c64[3]", func() { Bitcast(x, Uint64) }},
		{"bitcast: got c64[3]", func() { Bitcast(wide, Complex64) }},
		{"complex numbers with float64 would be complex128", func() { Add(x, wide) }},
		{"(0+1i) is no value of Complex128: convert the array to complex64", func() { Add(wide, 1i) }},
		{"complex: got f64[3], want float32: there is no complex128", func() { Complex(wide, wide) }},
		{"FFT: got f64[3], and there is no complex128: convert it to float32 first", func() { fft.FFT(wide) }},
		{"(1+2i) is no value of f32", func() { Full(ShapeOf(Float32, 2), 1+2i) }},
		{"Grad: the function returns c64[], want a float scalar", func() {
			Grad(func(x *Array) *Array { return Sum(x) })(x)
		}},
		{"GradHolomorphic: the function returns f32[], want a complex scalar", func() {
			GradHolomorphic(func(x *Array) *Array { return Sum(Abs(x)) })(x)
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
		{"HFFT: got the axes [0 1], want one", func() { fft.HFFT(Eye(Float32, 2), 0, 1) }},
		{"FFTFreq: got 0 points", func() { fft.FFTFreq(0, 1) }},
		{"FFTConvolve: got f32[3] and f32[2,2], want arrays of one rank", func() {
			signal.FFTConvolve(r, Eye(Float32, 2), "full")
		}},
		{"FFTConvolve: got the mode \"most\"", func() { signal.FFTConvolve(r, r, "most") }},
	} {
		require.ErrorContains(t, Try(c.call), c.want)
	}
	_, err := Floats(x)
	require.ErrorContains(t, err, "graph.Floats: got c64[3], want real numbers")
}

// A transform of a large prime number of points, and back.
func TestFourierOfPrime(t *testing.T) {
	n := 211
	x := Sin(Square(Convert(Iota(n), Float32)))
	graphtest.Same(t, x, Real(fft.IFFT(fft.FFT(x))), graphtest.Both(1e-6))
	graphtest.Same(t, x, fft.Fourier{Length: []int{n}}.IRFFT(fft.RFFT(x)), graphtest.Both(1e-6))
	// Parseval: the energy of the results is n times that of the points.
	graphtest.Same(t, Sum(Square(x)), Mean(Square(Abs(fft.FFT(x)))), graphtest.Both(1e-6))
}

// Transforms along an axis without elements were refused. The shapes are those of jax.numpy.fft in JAX 0.10.2, which
// takes no real numbers along such an axis either.
func TestEmptyTransforms(t *testing.T) {
	zeros := func(dims ...int) *Array { return Zeros(ShapeOf(Float32, dims...)) }
	for _, c := range []struct {
		f    func(x *Array, axes ...int) *Array
		x    *Array
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
		var y *Array
		err := Try(func() { y = c.f(c.x, c.axes...) })
		if c.want == "" {
			require.ErrorContains(t, err, "want at least 1 element along axis")
			continue
		}
		require.NoError(t, err, c.x.Shape())
		require.Equal(t, c.want, y.Shape().String())
		require.Empty(t, graphtest.Floats(t, Real(y)))
	}
}
