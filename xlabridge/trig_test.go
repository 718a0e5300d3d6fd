package xlabridge

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/graph"
)

// Sine and cosine of float32 numbers of every size, within 2e-7 of the exact values, and within 1e-6 of them relatively
// near the zeros of numbers below a million; as many as make whole vectors and a rest, and so few that no vector is
// made.
func TestSineOfAllNumbers(t *testing.T) {
	t.Parallel()
	c := open(t, Options{Devices: 1})
	r := rand.New(rand.NewPCG(1, 2))
	// the last is next to a multiple of π/2
	many := []float32{0, float32(math.Copysign(0, -1)), math.MaxFloat32, -math.MaxFloat32, 0x1p-126, 16367173 * 0x1p72}
	for k := range 40 {
		many = append(many, float32(float64(k)*math.Pi/4), float32(float64(k*k*k)*math.Pi/2))
	}
	for len(many) < 40003 {
		if v := math.Float32frombits(r.Uint32()); v == v && !math.IsInf(float64(v), 0) {
			many = append(many, v, float32(r.NormFloat64()*10))
		}
	}
	sizes := [][]float32{many, many[:9], many[:5]}
	var calls []sample
	for _, in := range sizes {
		calls = append(calls, sample{"", func(in []*array) []*array {
			return []*array{graph.Sin(in[0]), graph.Cos(in[0])}
		}, []*array{graph.Float32s(in, len(in))}})
	}
	for n, got := range together(t, c, calls) {
		in := sizes[n]
		for f, exact := range []func(float64) float64{math.Sin, math.Cos} {
			y := floats(t, got[f])
			for i, x := range in {
				want, bound := exact(float64(x)), 2e-7
				if x := math.Abs(float64(x)); x < 1e6 {
					bound = min(bound, 1e-6*math.Abs(want)+1e-37)
				}
				require.InDelta(t, want, y[i], bound, "function %d of %g", f, x)
			}
			if f == 0 && len(in) > 5 {
				require.True(t, math.Signbit(y[1]), "sin(-0) = -0")
			}
		}
	}
}
