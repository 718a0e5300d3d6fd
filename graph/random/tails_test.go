package random_test

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	g "xlarun/graph"
	"xlarun/graph/random"
	"xlarun/xlabridge"
	"xlarun/xlabridge/xlatest"
)

func full(d g.DType, x float64) *g.Array { return g.Float64s([]float64{x}).Index(0).Convert(d) }

// Where erf is flat, draws from a truncated normal distribution follow it still: the largest distance between their
// distribution and erfc's is that of random numbers (Kolmogorov and Smirnov, at 1 %). JAX draws the bound alone.
func TestTruncatedNormalFarOut(t *testing.T) {
	const n = 4096
	for _, c := range []struct {
		d      g.DType
		lo, hi float64
	}{
		{g.Float32, 4, 5}, {g.Float32, 6, 7}, {g.Float32, 10, math.Inf(1)}, {g.Float32, 30, 30.5},
		{g.Float32, math.Inf(-1), -8}, {g.Float32, -6, -5.5}, {g.Float64, 6, 7}, {g.Float64, 20, math.Inf(1)},
		{g.Float64, -30.001, -30},
	} {
		x := floats(t, random.TruncatedNormal(random.New(3), g.ShapeOf(c.d, n), full(c.d, c.lo), full(c.d, c.hi)))
		lo, hi := floats(t, full(c.d, c.lo))[0], floats(t, full(c.d, c.hi))[0]
		slices.Sort(x)
		require.Greater(t, x[0], lo, "%v", c)
		require.Less(t, x[n-1], hi, "%v", c)
		if hi < 0 {
			lo, hi = -hi, -lo
			slices.Reverse(x)
			for i := range x {
				x[i] = -x[i]
			}
		}
		tail := func(x float64) float64 { return math.Erfc(x / math.Sqrt2) }
		for i, x := range x {
			below := (tail(lo) - tail(x)) / (tail(lo) - tail(hi))
			require.InDelta(t, (float64(i)+.5)/n, below, 1.63/math.Sqrt(n), "%v: draw %d of %d, %v", c, i, n, x)
		}
	}
	for _, d := range []g.DType{g.Float16, g.BFloat16, g.Float32, g.Float64} {
		for _, b := range [][2]float64{{100, 104}, {-1024, -1000}, {30000, 32000}} {
			for _, x := range floats(t, random.TruncatedNormal(random.New(3), g.ShapeOf(d, 64), full(d, b[0]),
				full(d, b[1]))) {
				require.Greater(t, x, floats(t, full(d, b[0]))[0], "%s %v", d, b)
				require.Less(t, x, floats(t, full(d, b[1]))[0], "%s %v", d, b)
				far := math.Abs(x) - min(math.Abs(b[0]), math.Abs(b[1]))
				require.Less(t, far, math.Abs(x)/100, "%s %v: %v", d, b, x)
			}
		}
	}
}

// The derivative of each draw by its bound is that of a difference of draws, also where the other bound is infinite.
func TestGradientOfTruncatedNormal(t *testing.T) {
	bounds, inf := g.Float64s([]float64{-1, 0, 2, 5.5, 6, 40, 2e4}), math.Inf(1)
	for name, draw := range map[string]func(b *g.Array) *g.Array{
		"lower, a Go number above": func(b *g.Array) *g.Array {
			return random.TruncatedNormal(random.New(3), b.Shape(), b, inf)
		},
		"lower": func(b *g.Array) *g.Array {
			return random.TruncatedNormal(random.New(3), b.Shape(), b, full(b.DType(), inf))
		},
		"upper": func(b *g.Array) *g.Array {
			return random.TruncatedNormal(random.New(3), b.Shape(), full(b.DType(), -inf), b.Neg())
		},
		"both": func(b *g.Array) *g.Array {
			return random.TruncatedNormal(random.New(3), b.Shape(), b, b.Add(.5))
		},
	} {
		const h = 1e-5
		slope := g.Grad(func(b *g.Array) *g.Array { return draw(b).Sum() })
		above, below := floats(t, draw(bounds.Add(h))), floats(t, draw(bounds.Sub(h)))
		for i, x := range floats(t, slope(bounds)) {
			require.InDelta(t, (above[i]-below[i])/(2*h), x, 1e-4, "%s %d", name, i)
		}
		for i, x := range floats(t, slope(bounds.Convert(g.Float32))) {
			require.InDelta(t, .5, math.Abs(x), .6, "%s %d, float32", name, i)
		}
	}
}

// extreme draws with parameters at the ends of their ranges, on the interpreter as in a compiled program.
func extremeDraws(k random.Key) map[string]*g.Array {
	inf := math.Inf(1)
	s := f32(512)
	draw := func(from string, weights ...float32) *g.Array {
		w := g.Float32s(weights)
		if from == "half" {
			w = w.Convert(g.Float16)
		}
		return random.Choice(k, len(weights), random.Draws(512), random.Weights(w))
	}
	big, nan := float32(3e38), float32(math.NaN())
	infinite := float32(inf)
	return map[string]*g.Array{
		"wald":              random.Wald(k, s, full(g.Float32, 1e20)),
		"wald, infinite":    random.Wald(k, s, full(g.Float32, inf)),
		"poisson":           random.Poisson(k, g.Float32s([]float32{3e9, infinite, 4e9, -1, nan, 0, 2e9, -infinite})),
		"choice, overflow":  draw("", big, 0, big, big),
		"choice, half":      draw("half", 60000, 0, 60000, 60000),
		"choice, NaN":       draw("", 1, nan, 0, 1),
		"choice, negative":  draw("", 1, -1, -infinite, 1),
		"choice, infinite":  draw("", infinite, 0, 1, infinite),
		"choice, no weight": draw("", 0, nan, -1),
		"distinct, NaN": random.Choice(k, 4, random.Draws(2), random.WithoutReplacement(),
			random.Weights(g.Float32s([]float32{1, nan, -1, 1}))),
	}
}

func TestDrawsAtTheEndsOfParameters(t *testing.T) {
	compiled, err := xlabridge.Jit(xlatest.OpenCPU(t, 1), extremeDraws)(random.New(4))
	require.NoError(t, err)
	for backend, draws := range map[string]map[string]*g.Array{"interpreter": extremeDraws(random.New(4)),
		"xla": compiled} {
		of := func(name string) []float64 { return floats(t, draws[name]) }
		for _, name := range []string{"wald", "wald, infinite"} { // Lévy's distribution, whose median is 2.198
			x := of(name)
			slices.Sort(x)
			require.Positive(t, x[0], "%s %s", backend, name)
			require.InDelta(t, 2.198, x[256], .4, "%s %s", backend, name)
		}
		p := of("poisson")
		require.InDelta(t, 2e9, p[6], 2e5, backend)
		require.Equal(t, []float64{math.MaxInt32, math.MaxInt32, math.MaxInt32, -1, -1, 0}, p[:6], backend)
		require.Equal(t, -1., p[7], backend)
		for name, c := range map[string]struct {
			drawn []float64
			each  float64
		}{
			"choice, overflow":  {[]float64{0, 2, 3}, 1. / 3},
			"choice, half":      {[]float64{0, 2, 3}, 1. / 3},
			"choice, NaN":       {[]float64{0, 3}, .5},
			"choice, negative":  {[]float64{0, 3}, .5},
			"choice, infinite":  {[]float64{0, 3}, .5},
			"choice, no weight": {[]float64{0}, 1},
			"distinct, NaN":     {[]float64{0, 3}, .5},
		} {
			x := of(name)
			slices.Sort(x)
			require.Equal(t, c.drawn, slices.Compact(slices.Clone(x)), "%s %s", backend, name)
			for _, candidate := range c.drawn {
				count := 0
				for _, drawn := range x {
					if drawn == candidate {
						count++
					}
				}
				require.InDelta(t, c.each, float64(count)/float64(len(x)), .08, "%s %s: %v", backend, name, candidate)
			}
		}
	}
}

// Few degrees of freedom make draws whose parts are smaller than all numbers. JAX gives NaN there.
func TestFOfFewDegreesOfFreedom(t *testing.T) {
	below := 0
	for _, x := range floats(t, random.F(random.New(4), f32(512), full(g.Float32, .01), full(g.Float32, .01))) {
		require.GreaterOrEqual(t, x, 0.) // not NaN
		if x < 1 {
			below++
		}
	}
	require.InDelta(t, 256, below, 40) // the median is 1
}
