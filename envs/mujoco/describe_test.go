package mujoco

import (
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/envs"
	"xlarun/envs/bodies"
	"xlarun/graph"
	"xlarun/graph/graphtest"
	"xlarun/graph/random"
)

// A foot is on the ground where the model is lowered until it touches, and not in the air. The last place is x and y,
// within the bounds. All of it in plain Go and in the units of the descriptor.
func TestDescribe(t *testing.T) {
	for _, c := range []struct {
		task   Task
		height int // the joint's number
		low    float64
		want   []float64
	}{{HalfCheetah, 1, -.2, []float64{1, 1}}, {Walker2d, 1, 1.15, []float64{1, 1}}, {Hopper, 1, 1.15, []float64{1}},
		{Ant, 2, .07, []float64{1, 1, 1, 1}}, {Humanoid, 2, 1.2, []float64{1, 1}}} {
		q := append([]float64{}, c.task.Model().Rest()...)
		at := func(height float64) []float64 {
			q[c.height] = height
			_, nv, _ := c.task.Model().Sizes()
			s := State{Data: bodies.Data{Q: graph.Of(q).Convert(graph.Float32), V: zeros(nv), Warm: zeros(nv)}}
			return graphtest.Floats(t, c.task.onGround(s, s, nil, Params{}))
		}
		require.Equal(t, c.want, at(c.low), "%s on the ground", c.task.ID)
		require.Equal(t, make([]float64, len(c.want)), at(c.low+1), "%s in the air", c.task.ID)
		require.Equal(t, []int{len(c.want)}, c.task.Spec().Descriptor.Dims)
	}
	// Feet twice as thick touch the ground where the model's own do not.
	task := HalfCheetah
	task.Designs = 1
	task.Design = func(m *bodies.Model, design *graph.Array) bodies.Params {
		return bodies.Params{Size: m.Params().Size.Mul(design.Add(1))}
	}
	s, _ := task.Reset(random.New(0), task.DefaultParams())
	s.Data.Q = graph.Float32s([]float32{0, -.06, 0, 0, 0, 0, 0, 0, 0})
	for design, want := range map[float32][]float64{0: {0, 0}, 1: {1, 1}} {
		s.Design = graph.Float32s([]float32{design})
		require.Equal(t, want, graphtest.Floats(t, task.onGround(s, s, nil, Params{})))
	}
	require.Equal(t, []string{"share of time of bfoot on the ground 0 to 1",
		"share of time of ffoot on the ground 0 to 1"}, task.Spec().DescriptorTexts())

	omni, err := Ant.resize("omni", 1)
	require.NoError(t, err)
	require.NotNil(t, envs.TraitsOf(omni).Describe)
	require.Nil(t, envs.TraitsOf(omni).DescribeStep)
	require.Equal(t, []string{"x (m) -30 to 30", "y (m) -30 to 30"}, omni.Spec().DescriptorTexts())
	s = State{Data: bodies.Data{Q: graph.Float32s([]float32{-31, 12, .5})}}
	require.Equal(t, []float64{-30, 12}, graphtest.Floats(t, Ant.lastPlace(s, Params{})))
}
