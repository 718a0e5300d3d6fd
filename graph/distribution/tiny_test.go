package distribution_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/graph"
	"xlarun/graph/distribution"
	"xlarun/graph/graphtest"
	"xlarun/graph/special"
)

// Gradients by parameters whose squares are smaller than all numbers are those of the leading terms, which are simple
// there, and infinite only where those overflow. Many were NaN.
func TestGradientsByTinyParameters(t *testing.T) {
	for _, d := range []graph.DType{graph.Float32, graph.Float64} {
		at, most := []float64{1e-10, 1e-16, 1e-20, 1e-30, 1e-36}, math.MaxFloat32
		if d == graph.Float64 {
			at, most = append(at, 1e-150, 1e-160, 1e-300), math.MaxFloat64
		}
		c := func(x float64) *graph.Array { return graph.Full(graph.ShapeOf(d), x) }
		gamma := func(a, rate *graph.Array) distribution.Gamma { return distribution.NewGamma(a, rate) }
		beta := func(a, b *graph.Array) distribution.Beta { return distribution.NewBeta(a, b) }
		type array = *graph.Array
		for _, f := range []struct {
			name string
			f    func(x array) array
			want func(x float64) float64
		}{
			{"BetaLn", func(x array) array { return special.BetaLn(x, 2) }, func(x float64) float64 { return -1 / x }},
			{"BetaLn of both", func(x array) array { return special.BetaLn(x, x) },
				func(x float64) float64 { return -1 / x }},
			{"BetaLn beside a small one", func(x array) array { return special.BetaLn(x, graph.StopGradient(x)) },
				func(x float64) float64 { return -.5 / x }},
			{"BetaInc by b", func(x array) array { return special.BetaInc(c(2), x, c(.3)) },
				func(float64) float64 { return -math.Log(.7) - .3 }},
			{"Beta.LogProb", func(x array) array { return beta(x, c(2)).LogProb(c(.3)) },
				func(x float64) float64 { return 1 / x }},
			{"Beta.LogProb beside a small one", func(x array) array {
				return beta(x, graph.StopGradient(x)).LogProb(c(.3))
			}, func(x float64) float64 { return .5 / x }},
			{"Gamma.LogProb", func(x array) array { return gamma(x, c(1)).LogProb(c(.3)) },
				func(x float64) float64 { return 1 / x }},
			{"Gamma.LogProb by the rate", func(x array) array { return gamma(c(2), x).LogProb(c(.3)) },
				func(x float64) float64 { return 2 / x }},
			{"Poisson.LogProb of 3", func(x array) array { return distribution.NewPoisson(x).LogProb(c(3)) },
				func(x float64) float64 { return 3 / x }},
			{"Poisson.LogProb of 0", func(x array) array { return distribution.NewPoisson(x).LogProb(c(0)) },
				func(x float64) float64 { return -1 }},
			{"Poisson.Entropy", func(x array) array { return distribution.NewPoisson(x).Entropy() },
				func(x float64) float64 { return -math.Log(x) }},
			{"Poisson.KL", func(x array) array { return distribution.NewPoisson(x).KL(distribution.NewPoisson(1)) },
				math.Log},
			{"Poisson.KL by the other", func(x array) array {
				return distribution.Poisson{Rate: c(1)}.KL(distribution.Poisson{Rate: x})
			}, func(x float64) float64 { return -1 / x }},
			{"Gamma.KL by the rate", func(x array) array { return gamma(c(2), x).KL(gamma(c(3), c(1))) },
				func(x float64) float64 { return -2 / x / x }},
			{"Gamma.KL by the other's rate", func(x array) array { return gamma(c(2), c(1)).KL(gamma(c(3), x)) },
				func(x float64) float64 { return -3 / x }},
			{"Gamma.KL", func(x array) array { return gamma(x, c(1)).KL(gamma(c(3), c(1))) },
				func(x float64) float64 { return -3 / x / x }},
			{"Gamma.KL by the other", func(x array) array { return gamma(c(2), c(1)).KL(gamma(x, c(1))) },
				func(x float64) float64 { return -1 / x }},
			{"Beta.KL", func(x array) array { return beta(x, c(1)).KL(beta(c(3), c(1))) },
				func(x float64) float64 { return -3 / x / x }},
			{"Beta.KL by the other", func(x array) array { return beta(c(2), c(1)).KL(beta(x, c(1))) },
				func(x float64) float64 { return -1 / x }},
			{"RelEntr by the other", func(x array) array { return special.RelEntr(1, x) },
				func(x float64) float64 { return -1 / x }},
		} {
			slope := graph.Grad(func(x array) array { return f.f(x).Sum() })(graph.Float64s(at).Convert(d))
			for i, got := range graphtest.Floats(t, slope) {
				want := f.want(at[i])
				if math.Abs(want) > most {
					want = math.Copysign(math.Inf(1), want)
					require.Equal(t, want, got, "%s, %s at %g", f.name, d, at[i])
					continue
				}
				require.InEpsilon(t, want, got, 1e-5, "%s, %s at %g", f.name, d, at[i])
			}
		}
	}
}

// The derivative of BetaLn by the larger of two small arguments, -b/a/(a+b), is no difference of large numbers.
func TestGradientOfBetaLnBesideTheSmaller(t *testing.T) {
	for _, d := range []graph.DType{graph.Float32, graph.Float64} {
		a := graph.Float64s([]float64{1e-20, 1e-20, 1e-10}).Convert(d)
		b := graph.Float64s([]float64{1e-25, 1e-21, 1e-16}).Convert(d)
		got := floats(t, graph.Grad(func(a *graph.Array) *graph.Array { return special.BetaLn(a, b).Sum() })(a))
		want := []float64{-1e15 / 1.00001, -1e19 / 1.1, -1e4 / 1.000001}
		for i, w := range want {
			require.InEpsilon(t, w, got[i], 1e-6, "%s %d", d, i)
		}
	}
}

// The derivatives of BetaLn are differences of digammas without what cancels: mpmath's digamma(b) - digamma(a+b).
func TestGradientOfBetaLnBesideATinyOne(t *testing.T) {
	at := []float64{1e-10, 1e-6, 1e-3, 1e-20, .5, 2, 1e-10, 1e-10, 7, 1e10}
	by := []float64{.5, 2, 3, 2, 3, 3, 20, 1e-5, 1e10, 7}
	want := []float64{-4.9348021997032397e-10, -6.4493386479140557e-7, -.00039485702976262452, -6.449340668482264e-21,
		-.18037230554677605, -.58333333333333333, -5.1270822935071716e-12, -.99999000026448987543, -6.9999999979e-10,
		-21.153066595491989701}
	for _, d := range []graph.DType{graph.Float32, graph.Float64} {
		a, b := graph.Float64s(at).Convert(d), graph.Float64s(by).Convert(d)
		for i, got := range floats(t, graph.Grad(func(b *graph.Array) *graph.Array {
			return special.BetaLn(a, b).Sum()
		})(b)) {
			tolerance := 1e-11
			if d == graph.Float32 {
				tolerance = 1e-6
			}
			require.InEpsilon(t, want[i], got, tolerance, "%s, %g, %g", d, at[i], by[i])
		}
	}
}
