package mujoco

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/envs"
	"xlarun/envs/bodies"
	"xlarun/envs/envtest"
	"xlarun/graph"
	"xlarun/graph/graphtest"
	"xlarun/graph/random"
)

// Factors of the model's numbers are parameters: half of the gear is half of the control, twice the mass goes
// elsewhere, and a pole that leans stays without gravity, falls with it and rises with its opposite. Without factors
// the parameters are Gymnasium's.
func TestFactors(t *testing.T) {
	sized, err := InvertedPendulum.resize("factors", 1)
	require.NoError(t, err)
	require.NoError(t, envtest.Check(sized))
	require.Nil(t, InvertedPendulum.DefaultParams().GearFactor)
	task := InvertedPendulum
	task.Factors = true
	p := task.DefaultParams()
	after := func(gear, mass, control float64) []float64 {
		s, _ := task.Reset(random.New(3), p)
		q := p
		q.GearFactor, q.MassFactor = graph.Scalar(gear), graph.Scalar(mass)
		next, _, _, _, _ := task.Step(random.New(0), s, graph.Float32s([]float32{float32(control)}), q)
		return graphtest.Floats(t, next.Data.V)
	}
	require.InDeltaSlice(t, after(1, 1, 1), after(.5, 1, 2), 1e-6)
	require.Greater(t, math.Abs(after(1, 1, 1)[0]-after(1, 2, 1)[0]), .1)

	lean := func(gravity float64) []float64 { // speeds after a step from rest
		s, _ := task.Reset(random.New(3), p)
		s.Data.Q, s.Data.V = graph.Float32s([]float32{0, .1}), zeros(2)
		q := p
		q.GravityFactor = graph.Scalar(gravity)
		next, _, _, _, _ := task.Step(random.New(0), s, zeros(1), q)
		return graphtest.Floats(t, next.Data.V)
	}
	require.Equal(t, []float64{0, 0}, lean(0))
	require.InDelta(t, lean(1)[1], -lean(-1)[1], .003)
	require.Greater(t, lean(1)[1], .01)
	hopper := Hopper
	hopper.Factors = true
	p = hopper.DefaultParams()
	p.FrictionFactor = graph.Scalar(.25)
	for i, mu := range graphtest.Floats(t, hopper.numbers(p, nil).Friction) {
		require.InDelta(t, hopper.Model().Geoms[i].Friction[0]/4, mu, 1e-6)
	}
}

// A member's design is the end of its action: the model's numbers follow it, the controls are the rest, and the state
// keeps it for pictures.
func TestDesign(t *testing.T) {
	task := InvertedPendulum
	task.ID, task.Designs = "Designed-v0", 1
	task.Design = func(m *bodies.Model, design *graph.Array) bodies.Params {
		return bodies.Params{Gear: m.Params().Gear.Mul(design.Add(1))}
	}
	require.Equal(t, []float64{-3, -1}, task.Spec().Action.(envs.Box).Low)
	_, err := task.resize("factors", 1)
	require.ErrorContains(t, err, "Designed-v0 has no size \"factors\"")
	p := task.DefaultParams()
	s, _ := task.Reset(random.New(3), p)
	require.Equal(t, []float64{0}, graphtest.Floats(t, s.Design))
	next, _, _, _, _ := task.Step(random.New(0), s, graph.Float32s([]float32{1, -.5}), p)
	require.Equal(t, []float64{-.5}, graphtest.Floats(t, next.Design))
	own, _ := InvertedPendulum.Reset(random.New(3), p)
	want, _, _, _, _ := InvertedPendulum.Step(random.New(0), own, graph.Float32s([]float32{.5}), p)
	require.InDeltaSlice(t, graphtest.Floats(t, want.Data.V), graphtest.Floats(t, next.Data.V), 1e-6)
}

// The command line takes no factor of friction with which float32 is too coarse.
func TestLittleFriction(t *testing.T) {
	r := envs.RangeOf(Params{}, ".FrictionFactor")
	require.True(t, r.Holds(.01) && !r.Holds(.009))
}

// Factors without effect are no parameters: nothing touches in Swimmer, nor with friction in Pusher, which
// has no gravity.
func TestFactorsThatMatter(t *testing.T) {
	for _, c := range []struct {
		task              Task
		friction, gravity bool
	}{{Hopper, true, true}, {Swimmer, false, true}, {Pusher, false, false}} {
		c.task.Factors = true
		p := c.task.DefaultParams()
		require.Equal(t, c.friction, p.FrictionFactor != nil, c.task.ID)
		require.Equal(t, c.gravity, p.GravityFactor != nil, c.task.ID)
		require.NotNil(t, p.MassFactor)
	}
}
