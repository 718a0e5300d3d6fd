package mujoco

import (
	"image"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/envs"
	"xlarun/envs/draw"
	"xlarun/graph"
	"xlarun/graph/graphtest"
	"xlarun/graph/random"
)

// A task without a field that it needs is refused by its name.
func TestMissing(t *testing.T) {
	for field, clear := range map[string]func(t *Task){
		"Model":       func(t *Task) { t.Model = nil },
		"Engine":      func(t *Task) { t.Engine = 0 },
		"FrameSkip":   func(t *Task) { t.FrameSkip = 0 },
		"Observation": func(t *Task) { t.Observation = nil },
		"Width":       func(t *Task) { t.Width = nil },
		"Reward":      func(t *Task) { t.Reward = nil },
	} {
		task := Hopper
		clear(&task)
		err := graph.Try(func() { task.Spec() })
		require.ErrorContains(t, err, "Hopper-v5: the field "+field+" of the task has no right value: want ")
	}
}

// Steps after the one that terminated change nothing but the time, whatever the reason; if none did, they go on.
func TestStepsAfterTheEnd(t *testing.T) {
	never, once := Hopper, Hopper
	never.Reward = func(x Transition) (reward, terminated *graph.Array) { return x.forward(), envs.False() }
	once.Reward = func(x Transition) (reward, terminated *graph.Array) { return x.forward(), x.Before.Time.Eq(0) }
	goesOn := Hopper.DefaultParams()
	goesOn.TerminateWhenUnhealthy = graph.Scalar(0)
	for i, c := range []struct {
		task Task
		p    Params
		ends float64
	}{{Hopper, Hopper.DefaultParams(), 1}, {Hopper, goesOn, 0}, {never, never.DefaultParams(), 0},
		{once, once.DefaultParams(), 1}} {
		start, _ := c.task.Reset(random.New(3), c.p)
		start.Data.Q = graph.Of([]float32{0, .3, 0, 0, 0, 0})
		action := graph.Of([]float32{.5, -.5, .5})
		first, _, _, terminated, _ := c.task.Step(random.New(0), start, action, c.p)
		require.Equal(t, []float64{c.ends}, graphtest.Floats(t, terminated), i)
		require.NotEqual(t, graphtest.Floats(t, start.Data.Q), graphtest.Floats(t, first.Data.Q), i)
		second, _, reward, terminated, _ := c.task.Step(random.New(0), first, action, c.p)
		require.Equal(t, c.ends == 0, graphtest.Floats(t, reward)[0] != 0, i)
		require.Equal(t, []float64{c.ends}, graphtest.Floats(t, terminated), i)
		require.Equal(t, []float64{2}, graphtest.Floats(t, second.Time), i)
		moved := !slices.Equal(graphtest.Floats(t, first.Data.Q), graphtest.Floats(t, second.Data.Q))
		require.Equal(t, c.ends == 0, moved, i)
	}
}

// A parameter that a function reads and the task lacks is named; other errors stay as they are.
func TestMissingParameter(t *testing.T) {
	task := Hopper
	play := func() error {
		return graph.Try(func() {
			p := task.DefaultParams()
			s, _ := task.Reset(random.New(3), p)
			task.Step(random.New(0), s, zeros(3), p)
		})
	}
	require.NoError(t, play())
	task.Params.HealthyZMax = nil
	require.ErrorContains(t, play(), "Hopper-v5: Reward reads the parameter HealthyZMax, which the task's Params lack")
	task.Params.ResetNoiseScale = nil
	require.ErrorContains(t, play(), "Hopper-v5: Start reads the parameter ResetNoiseScale, which")
	task.Start = nil
	task.Reward = func(x Transition) (reward, terminated *graph.Array) { return x.Action.Add(zeros(2)), nil }
	require.ErrorContains(t, play(), "add: shapes [[3] [2]] do not broadcast")
}

// Without Start a task begins at the model's first configuration, and without View its picture shows the body, which
// a picture follows along x. A joint that turns moves no picture.
func TestDefaults(t *testing.T) {
	task := Hopper
	task.Start, task.View = nil, [2]draw.Point{}
	p := task.DefaultParams()
	s, _ := task.Reset(random.New(3), p)
	require.InDeltaSlice(t, task.Model().Rest(), graphtest.Floats(t, s.Data.Q), 1e-6)
	require.Equal(t, make([]float64, 6), graphtest.Floats(t, s.Data.V))
	colors := func(x float64) int {
		s.Data.Q = graph.Float32s([]float32{float32(x), 1.25, 0, 0, 0, 0})
		img, err := task.draw(s, image.Pt(60, 50))
		require.NoError(t, err)
		seen := map[any]bool{}
		for i := range 3000 {
			seen[img.At(i%60, i/60)] = true
		}
		return len(seen)
	}
	require.Greater(t, colors(0), 8)
	require.Greater(t, colors(50), 8)
}
