package envs_test

import (
	"image"
	"image/color"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/envs"
	"xlarun/envs/classic"
	"xlarun/envs/draw"
	"xlarun/graph"
	"xlarun/graph/random"
)

// Pixels of known states: where a part of the picture must be, and in which color.
func TestDraw(t *testing.T) {
	for _, c := range []struct {
		id    string
		state any
		at    map[image.Point]color.RGBA // of a picture of 400 x 300
	}{
		{"CartPole-v1", classic.CartPoleState{X: graph.Scalar(1), XDot: graph.Scalar(0), Theta: graph.Scalar(0),
			ThetaDot: graph.Scalar(0), Time: envs.Steps(3)},
			map[image.Point]color.RGBA{{271, 140}: draw.Wood, {255, 186}: draw.Ink, {10, 10}: draw.Paper,
				{130, 140}: draw.Paper}},
		{"Acrobot-v1", classic.AcrobotState{JointAngle1: graph.Scalar(0), JointAngle2: graph.Scalar(1.5707963),
			Velocity1: graph.Scalar(0), Velocity2: graph.Scalar(0), Time: envs.Steps(3)},
			map[image.Point]color.RGBA{{200, 182}: draw.Steel, {232, 215}: draw.Accent, {168, 215}: draw.Paper}},
		{"MountainCar-v0", classic.MountainCarState{Position: graph.Scalar(-.5), Velocity: graph.Scalar(0),
			Time: envs.Steps(0)}, map[image.Point]color.RGBA{{165, 228}: draw.Ink, {165, 280}: draw.Steel}},
		{"MountainCarContinuous-v0", classic.MountainCarState{Position: graph.Scalar(.5), Velocity: graph.Scalar(0),
			Time: envs.Steps(0)}, map[image.Point]color.RGBA{{165, 228}: draw.Paper}},
		{"Pendulum-v1", classic.PendulumState{Theta: graph.Scalar(1.5707963), ThetaDot: graph.Scalar(0),
			LastU: graph.Scalar(-2), Time: envs.Steps(0)},
			map[image.Point]color.RGBA{{120, 150}: draw.Wood, {280, 150}: draw.Paper}},
	} {
		t.Run(c.id, func(t *testing.T) {
			env, err := envs.Make(c.id)
			require.NoError(t, err)
			d := envs.TraitsOf(env).Draw
			require.NotNil(t, d)
			size := image.Pt(400, 300)
			img, err := d(c.state, size)
			require.NoError(t, err)
			require.Equal(t, size, img.Bounds().Size())
			for p, want := range c.at {
				require.Equal(t, want, color.RGBAModel.Convert(img.At(p.X, p.Y)), "pixel %v", p)
			}

			state, _ := env.Reset(random.New(1), env.DefaultParams())
			_, err = d(graph.MapTree(func(a *graph.Array) *graph.Array {
				return graph.Scalar(1e30).Convert(a.DType())
			}, state), size)
			require.NoError(t, err, "far outside of the picture")
			_, err = d(graph.MapTree(func(a *graph.Array) *graph.Array { return a.Div(0) }, state), size)
			require.ErrorContains(t, err, "its state holds")

			auto := envs.TraitsOf(envs.AutoReset(env)).Draw
			require.NotNil(t, auto)
			_, err = auto(envs.Episode[any]{State: c.state}, size)
			require.NoError(t, err)
		})
	}
}
