package envs_test

import (
	"math"
	"math/rand"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/envs/classic"
	"xlarun/graph"
	"xlarun/graph/random"
)

// outcome is what a step gives.
type outcome[S any] struct {
	Next                               S
	Obs, Reward, Terminated, Truncated *graph.Array
}

// The equations of motion in float64, with the constants of the published environment.
func TestCartPoleSwingUpMoves(t *testing.T) {
	e := classic.CartPoleSwingUp{}
	p := e.DefaultParams()
	r := rand.New(rand.NewSource(5))
	const n = 400
	var x, xDot, theta, thetaDot, action []float32
	for range n {
		x = append(x, float32(r.Float64()*5.2-2.6))
		xDot, theta = append(xDot, float32(r.NormFloat64()*4)), append(theta, float32(r.NormFloat64()*4))
		thetaDot, action = append(thetaDot, float32(r.NormFloat64()*6)), append(action, float32(r.NormFloat64()))
	}
	type input struct{ X, XDot, Theta, ThetaDot, Action *graph.Array }
	got := graph.VMap(func(in input) (o outcome[classic.CartPoleSwingUpState]) {
		s := classic.CartPoleSwingUpState{X: in.X, XDot: in.XDot, Theta: in.Theta, ThetaDot: in.ThetaDot,
			Time: graph.Of(int32(998))}
		o.Next, o.Obs, o.Reward, o.Terminated, o.Truncated = e.Step(random.New(0), s, in.Action, p)
		return o
	})(input{graph.Float32s(x), graph.Float32s(xDot), graph.Float32s(theta), graph.Float32s(thetaDot),
		graph.Float32s(action, n, 1)})
	reward, over, obs := floats(t, got.Reward), floats(t, got.Terminated), floats(t, got.Obs)
	ended := 0
	for i := range n {
		const g, cart, pole, length, friction, dt = 9.82, .5, .5, .6, .1, .01
		x, v, a, w := float64(x[i]), float64(xDot[i]), float64(theta[i]), float64(thetaDot[i])
		u := 10*min(max(float64(action[i]), -1), 1) - friction*v
		s, c, m := math.Sin(a), math.Cos(a), cart+pole
		vDot := (-2*pole*length*w*w*s + 3*pole*g*s*c + 4*u) / (4*m - 3*pole*c*c)
		wDot := (-3*pole*length*w*w*s*c + 6*m*g*s + 6*u*c) / (4*length*m - 3*pole*length*c*c)
		x, v, a, w = x+dt*v, v+dt*vDot, a+dt*w, w+dt*wDot
		for j, want := range []float64{x, v, math.Cos(a), math.Sin(a), w} {
			require.InDelta(t, want, obs[5*i+j], 2e-5, "row %d, element %d", i, j)
		}
		require.InDelta(t, (math.Cos(a)+1)/2*math.Cos(x/2.4*math.Pi/2), reward[i], 1e-5, "row %d", i)
		require.Equal(t, math.Abs(x) > 2.4, over[i] != 0, "row %d: x is %v", i, x)
		ended += int(over[i])
	}
	require.Greater(t, ended, 10)
	require.Less(t, ended, n/2)
	require.Zero(t, floats(t, got.Truncated.Convert(graph.Int32).Sum())[0], "999 of 1,000 steps")
}

// Where the pole hangs at the start: nearly still, or anywhere with any speed.
func TestCartPoleSwingUpStarts(t *testing.T) {
	for _, c := range []struct {
		env   classic.CartPoleSwingUp
		width [4]float64
	}{
		{classic.CartPoleSwingUp{}, [4]float64{.2, .2, .2, .2}},
		{classic.CartPoleSwingUp{Hard: true}, [4]float64{2.4 / math.Sqrt(3), 10 / math.Sqrt(3),
			math.Pi / 2 / math.Sqrt(3), 10 / math.Sqrt(3)}},
	} {
		p := c.env.DefaultParams()
		s := graph.VMap(func(key random.Key) classic.CartPoleSwingUpState {
			s, _ := c.env.Reset(key, p)
			return s
		})(random.Split(random.New(2), 2000))
		for i, a := range []*graph.Array{s.X, s.XDot, s.Theta, s.ThetaDot} {
			mean := 0.
			if i == 2 {
				mean = math.Pi
			}
			require.InDelta(t, mean, floats(t, a.Mean())[0], .1*c.width[i], "%s, number %d", c.env.Spec().ID, i)
			require.InEpsilon(t, c.width[i], floats(t, a.Std())[0], .06, "%s, number %d", c.env.Spec().ID, i)
		}
	}
}
