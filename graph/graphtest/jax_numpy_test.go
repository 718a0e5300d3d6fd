package graphtest_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	. "xlarun/graph"
	"xlarun/graph/graphtest"
	"xlarun/graph/linalg"
	"xlarun/graph/signal"
	"xlarun/graph/special"
	"xlarun/graph/stats"
	"xlarun/xlabridge"
)

// reduced is the reduction that a call names.
func reduced(a functionAttrs, r Reduction, x *Array) *Array {
	r.Axes, r.DDof = a.Axes, a.DDof
	return map[string]func(*Array) *Array{"sum": r.Sum, "prod": r.Prod, "mean": r.Mean, "var": r.Variance,
		"std": r.Std, "max": r.Max, "min": r.Min, "all": r.All, "any": r.Any}[a.Mode](x)
}

type raveled struct {
	A *Array
	B []*Array
}

func raveledOf(x list) raveled { return raveled{x[0], x[1:]} }

// numpyFunctions names ours for each of JAX's.
var numpyFunctions = map[string]any{
	"arange":           func(a functionAttrs, x list) *Array { return Arange(a.Dims[0], a.Dims[1], a.Dims[2]) },
	"arange of floats": func(a functionAttrs, x list) *Array { return Arange(a.Values[0], a.Values[1], a.Values[2]) },
	"geomspace":        func(a functionAttrs, x list) *Array { return Geomspace(a.Values[0], a.Values[1], a.N) },
	"logspace": func(a functionAttrs, x list) *Array {
		return Logspace(a.Values[0], a.Values[1], a.N, a.Values[2])
	},
	"ravel_pytree": func(a functionAttrs, x list) *Array {
		flat, _ := Ravel(raveledOf(x))
		return flat
	},
	"ravel_pytree and back": func(a functionAttrs, x list) list {
		flat, unravel := Ravel(raveledOf(x))
		return Leaves(unravel(flat.Mul(2)))
	},
	"reductions that keep axes": func(a functionAttrs, x list) *Array {
		return reduced(a, Reduction{KeepDims: true}, x[0])
	},
	"reductions where":      func(a functionAttrs, x list) *Array { return reduced(a, Reduction{Where: x[1]}, x[0]) },
	"reductions of nothing": func(a functionAttrs, x list) *Array { return reduced(a, Reduction{Where: x[1]}, x[0]) },
	"ddof": func(a functionAttrs, x list) *Array {
		if len(x) > 1 {
			return reduced(a, Reduction{Where: x[1]}, x[0])
		}
		return reduced(a, Reduction{}, x[0])
	},
	"cov":      func(a functionAttrs, x list) *Array { return stats.Cov(x[0], a.DDof) },
	"corrcoef": stats.CorrCoef,
	"average":  func(a functionAttrs, x list) *Array { return stats.Average(x[0], x[1], a.Axes...) },
	"ptp":      stats.Range, "count_nonzero": stats.CountNonzero,
	"correlate": func(a functionAttrs, x list) *Array { return signal.Correlate(x[0], x[1], a.Mode) },
	"hypot":     Hypot, "copysign": CopySign,
	"heaviside": Heaviside, "fmax": FMax, "fmin": FMin,
	"logaddexp2": LogAddExp2, "signbit": SignBit,
	"divmod": func(a functionAttrs, x list) list {
		q, r := DivMod(x[0], x[1])
		return list{q, r}
	},
	"modf": func(a functionAttrs, x list) list {
		f, w := Modf(x[0])
		return list{f, w}
	},
	"degrees": Degrees, "radians": Radians, "sinc": Sinc,
	"interp":            func(a functionAttrs, x list) *Array { return signal.Interp(x[0], x[1], x[2]) },
	"trapezoid":         func(a functionAttrs, x list) *Array { return signal.Trapezoid(x[0], a.Q, a.Axis) },
	"gradient":          func(a functionAttrs, x list) *Array { return signal.Gradient(x[0], a.Q, a.Axis) },
	"polyval":           signal.PolyVal,
	"polyfit":           func(a functionAttrs, x list) *Array { return signal.PolyFit(x[0], x[1], a.N) },
	"vander":            func(a functionAttrs, x list) *Array { return signal.Vander(x[0], a.N) },
	"unwrap":            func(a functionAttrs, x list) *Array { return signal.Unwrap(x[0], a.Q, a.Axis) },
	"toeplitz":          func(a functionAttrs, x list) *Array { return linalg.Toeplitz(x[0], x[1:]...) },
	"block_diag":        func(a functionAttrs, x list) *Array { return linalg.BlockDiag(x...) },
	"swapaxes":          func(a functionAttrs, x list) *Array { return SwapAxes(x[0], a.Dims[0], a.Dims[1]) },
	"rot90":             func(a functionAttrs, x list) *Array { return Rot90(x[0], a.N) },
	"ravel_multi_index": func(a functionAttrs, x list) *Array { return RavelMultiIndex(x, a.Dims...) },
	"tril_indices": func(a functionAttrs, x list) list {
		r, c := TrilIndices(a.Dims[0], a.Dims[1])
		return list{r, c}
	},
	"triu_indices": func(a functionAttrs, x list) list {
		r, c := TriuIndices(a.Dims[0], a.Dims[1])
		return list{r, c}
	},
	"ndtr": special.Ndtr, "log_ndtr": special.LogNdtr, "ndtri": special.Ndtri,
	"logit": special.Logit, "gammainc": special.GammaInc,
	"gammaincc": special.GammaIncC, "zeta": special.Zeta,
	"polygamma": func(a functionAttrs, x list) *Array { return special.Polygamma(a.N, x[0]) },
	"betaln":    special.BetaLn,
	"betainc":   func(a functionAttrs, x list) *Array { return special.BetaInc(x[0], x[1], x[2]) },
	"entr":      special.Entr, "rel_entr": special.RelEntr, "kl_div": special.KLDiv,
	"isin": IsIn,
}

// Every vector of functions of jax.numpy, with gradients.
func TestNumPyAgainstJAX(t *testing.T) {
	checkCalls(t, "../testdata/jax_numpy.json.gz", 130, numpyFunctions)
}

// What these functions cannot do is refused in a sentence.
func TestNumPyRefusals(t *testing.T) {
	x := Float32s([]float32{1, 2, 3, 4, 5, 6}, 2, 3)
	for _, c := range []struct {
		want string
		call func()
	}{
		{"Arange: got start 0, stop 1 and step 0; want numbers", func() { Arange(0, 1, 0) }},
		{"Arange: got a string, want a Go number", func() { Arange(0, "1", 1) }},
		{"Geomspace: got the ends -1 and 2, want finite numbers of one sign", func() { Geomspace(-1, 2, 3) }},
		{"Ravel: got f32[2] to unravel, want [6]", func() {
			_, unravel := Ravel(x)
			unravel(Zeros(ShapeOf(Float32, 2)))
		}},
		{"Reduction.Sum: Where is f32[2,3], want bools", func() { Reduction{Where: x}.Sum(x) }},
		{"Reduction.Max: axis 2 of an array of rank 2", func() { Reduction{Axes: []int{2}}.Max(x) }},
		{"Cov: got f32[], want [variables, observations]", func() { stats.Cov(Scalar(1), 1) }},
		{"Correlate: got f32[2,3] and f32[2,3], want two vectors", func() { signal.Correlate(x, x, "full") }},
		{"Interp: got the points f32[2,3] and f32[2,3], want two vectors", func() { signal.Interp(x, x, x) }},
		{"Gradient: axis 0 of f32[1] has 1 samples, want at least 2", func() {
			signal.Gradient(Float32s([]float32{1}), 1, 0)
		}},
		{"PolyVal: got the coefficients f32[2,3], want a vector", func() { signal.PolyVal(x, x) }},
		{"Vander: got f32[2,3] and 2 columns, want a vector", func() { signal.Vander(x, 2) }},
		{"Toeplitz: got a column f32[2,3] and a row f32[2,3], want one or two vectors", func() { linalg.Toeplitz(x) }},
		{"Unwrap: got the period 0, want a number above 0", func() { signal.Unwrap(x, 0, 1) }},
		{"Gradient: got the distance 0, want a number other than 0", func() { signal.Gradient(x, 0, 0) }},
		{"PolyFit: got the degree -1, x f32[3] and y f32[3], want a degree of at least 0", func() {
			signal.PolyFit(x.Index(0), x.Index(0), -1)
		}},
		{"PolyFit: got the degree 1, x f32[3] and y f32[2,3], want", func() { signal.PolyFit(x.Index(0), x, 1) }},
		{"PolyFit: got the degree 0, x f32[0] and y f32[0], want", func() {
			signal.PolyFit(Of([]float32{}), Of([]float32{}), 0)
		}},
		{"Histogram: got the limits 1 and 0, want the lower one first", func() { stats.Histogram(x, 2, 1, 0) }},
		{"Percentile: q is 150 and axis 0 of f32[2,3] has 2 elements; want q from 0 to 100", func() {
			stats.Percentile(x, 150, 0)
		}},
		{"CorrCoef: got f32[], want [variables, observations]", func() { stats.CorrCoef(Scalar(1)) }},
		{"Digitize: got the edges f32[2,3], want an ascending vector", func() { stats.Digitize(x, x, false) }},
		{"VMap: got a nil function", func() { VMap[*Array, *Array](nil)(x) }},
		{"While: got a nil function", func() { While(nil, (*Array).Sin, x) }},
		{"While: got a nil function", func() { While(func(*Array) *Array { return x }, nil, x) }},
		{"while: the condition returns [f32[2,3]], want one bool scalar", func() {
			While(func(x *Array) *Array { return x }, (*Array).Sin, x)
		}},
		{"Scan: got a nil function", func() { Scan[None, *Array, None](nil, None{}, x) }},
		{"Map: got a nil function", func() { Map[*Array, *Array](nil, x) }},
		{"Cond: got a nil function", func() {
			Cond(Scalar(1).Gt(0), nil, func() *Array { return x })
		}},
		{"Switch: got a nil function", func() { Switch[*Array](Scalar(0, Int32), nil) }},
		{"Grad: got a nil function", func() { Grad[*Array](nil)(x) }},
		{"Checkpoint: got a nil function", func() { Checkpoint[*Array, *Array](nil)(x) }},
		{"ForiLoop: got a nil function", func() { ForiLoop(0, 3, nil, x) }},
		{"WhileBounded: got a nil function", func() { WhileBounded(nil, (*Array).Sin, x, 3) }},
		{"AssociativeScan: got a nil function", func() { AssociativeScan(nil, x) }},
		{"Float32s: got 2 values for dims [3], want 3", func() { Float32s([]float32{1, 2}, 3) }},
		{"BlockDiag: got no matrices", func() { linalg.BlockDiag() }},
		{"Rot90: got f32[], want two axes or more", func() { Rot90(Scalar(1), 1) }},
		{"RavelMultiIndex: got 1 indices and 2 dims", func() { RavelMultiIndex([]*Array{x}, 2, 3) }},
	} {
		require.ErrorContains(t, Try(c.call), c.want)
	}
	_, err := xlabridge.Jit[*Array, *Array](&xlabridge.Reference{}, nil)(x)
	require.ErrorContains(t, err, "Jit: got a nil function")
}

// TestEndsOfRanges: ends that are included are exact, and those that are not are left out, although numbers,
// differences and quotients are rounded.
func TestEndsOfRanges(t *testing.T) {
	ends := func(a *Array) [2]float32 {
		v := graphtest.Floats(t, a)
		return [2]float32{float32(v[0]), float32(v[len(v)-1])}
	}
	for _, c := range [][2]float64{{.1, .7}, {-.7, .1}, {1e-30, 1e30}, {7, 3}, {1. / 3, 1. / 7}, {1, 1 + 1e-7}} {
		want := [2]float32{float32(c[0]), float32(c[1])}
		for n := 2; n < 200; n += 1 + n/7 {
			require.Equal(t, want, ends(Linspace(c[0], c[1], n)), "%v, %d numbers", c, n)
			if c[0] > 0 {
				require.Equal(t, want, ends(Geomspace(c[0], c[1], n)), "%v, %d numbers", c, n)
				require.Equal(t, [2]float32{-want[0], -want[1]}, ends(Geomspace(-c[0], -c[1], n)))
			}
		}
	}
	require.Equal(t, [2]float32{1e-5, 1e30}, ends(Logspace(-5, 30, 9, 10)))
	require.Equal(t, [2]float32{float32(math.Pow(3, .1)), 27}, ends(Logspace(.1, 3, 9, 3)))
	require.Equal(t, []float64{1, 10, 100, 1000}, graphtest.Floats(t, Logspace(0, 3, 4, 10)))
	require.Equal(t, []float64{1, 10, 100, 1000}, graphtest.Floats(t, Geomspace(1, 1000, 4)))

	for _, c := range []struct {
		start, stop, step float64
		n                 int
	}{{.7, .8, .1, 1}, {1, 1.3, .1, 3}, {1, 2.2, .2, 6}, {.1, .8, .1, 7}, {0, .3, .1, 3}, {.3, 0, -.1, 3},
		{1, 2.21, .2, 7}, {1, 1 + 1e-15, 1, 1}, {0, 1e6 + .1, .1, 1e7 + 1}, {1, 0, .1, 0}} {
		a := Arange(c.start, c.stop, c.step)
		require.Equal(t, c.n, a.Dim(0), "%v", c)
		if c.n > 0 && c.n < 100 && c.stop != 1+1e-15 { // which is 1 in f32
			got := ends(a)
			require.Equal(t, float32(c.start), got[0], "%v", c)
			require.Greater(t, (c.stop-float64(got[1]))/c.step, .04, "%v", c)
		}
	}
}
