package main

import (
	"image"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/envs"
	"xlarun/envs/envtest"
	"xlarun/graph"
	"xlarun/graph/random"
)

// The environment keeps its Spec. A pole that hangs stays where it is; one that stands falls; a torque turns the arm.
func TestFuruta(t *testing.T) {
	env, err := envs.Make("Furuta-v0")
	require.NoError(t, err)
	require.NoError(t, envtest.CheckSteps(env, 3))
	p := Furuta.DefaultParams()
	for _, c := range []struct{ pole, torque, reward, arm float64 }{{0, 0, -1, 0}, {3.14159265, 0, 1, 0},
		{0, 1, -1.011, .0063}} {
		s, _ := Furuta.Reset(random.New(0), p)
		s.Data.Q, s.Data.V = graph.Float32s([]float32{0, float32(c.pole)}), graph.Float32s([]float32{0, 0})
		action := graph.Float32s([]float32{float32(c.torque)})
		next, _, reward, terminated, truncated := Furuta.Step(random.New(0), s, action, p)
		require.InDelta(t, c.reward, number(t, reward), .002)
		require.InDelta(t, c.arm, number(t, next.Data.Q.Index(0)), .0003)
		require.Zero(t, number(t, terminated)+number(t, truncated))
	}
}

// A picture stays where the arm turns.
func TestFurutaPicture(t *testing.T) {
	s, _ := Furuta.Reset(random.New(0), Furuta.DefaultParams())
	painted := func(arm float32) (n int) {
		s.Data.Q = graph.Float32s([]float32{arm, 0})
		img, err := Furuta.Traits().Draw(s, image.Pt(60, 45))
		require.NoError(t, err)
		for i := range 60 * 45 {
			if img.At(i%60, i/60) != img.At(0, 0) {
				n++
			}
		}
		return n
	}
	require.Greater(t, painted(0), 100)
	require.InDelta(t, painted(0), painted(4*math.Pi), 5)
}
