package envs_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/envs"
	"xlarun/graph"
)

func TestSincos(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	x := []float32{0, math.Pi, -math.Pi, math.Pi / 2, -math.Pi / 2, 1e-20, 1e5}
	for _, size := range []float32{1, 4, 100, 1e4} {
		for range 2000 {
			x = append(x, size*(2*r.Float32()-1))
		}
	}
	sin, cos := envs.SinCos(graph.Float32s(x))
	s, c := floats(t, sin), floats(t, cos)
	for i, v := range x {
		require.InDelta(t, math.Sin(float64(v)), s[i], 2e-7, "sin %v", v)
		require.InDelta(t, math.Cos(float64(v)), c[i], 2e-7, "cos %v", v)
	}
	require.Equal(t, 1., c[0])
	require.Equal(t, 0., s[0])
	sin, cos = envs.SinCos(graph.Scalar(math.Inf(1)))
	require.True(t, math.IsNaN(floats(t, sin)[0]) && math.IsNaN(floats(t, cos)[0]))
}

func TestWrapAngle(t *testing.T) {
	for x, want := range map[float64]float64{0: 0, 3: 3, 4: 4 - 2*math.Pi, -4: 2*math.Pi - 4, 20: 20 - 6*math.Pi,
		-20: 6*math.Pi - 20} {
		require.InDelta(t, want, floats(t, envs.WrapAngle(graph.Scalar(x)))[0], 2e-6, "%v", x)
	}
}
