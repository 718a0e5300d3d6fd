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

// doublePole is the state of the plain integration: x, ẋ, θ₁, θ̇₁, θ₂, θ̇₂.
type doublePole [6]float64

// rates are the equations of Gomez and Miikkulainen (1999), table 1, in float64.
func (v doublePole) rates(force float64) (d doublePole) {
	const g, cart, friction = -9.8, 1., 2e-6
	mass, half := [2]float64{.1, .01}, [2]float64{.5, .05}
	sum, total := force, cart
	for i := range 2 {
		a, w := v[2+2*i], v[3+2*i]
		hinge := friction * w / (mass[i] * half[i])
		sum += mass[i]*half[i]*w*w*math.Sin(a) + .75*mass[i]*math.Cos(a)*(hinge+g*math.Sin(a))
		total += mass[i] * (1 - .75*math.Cos(a)*math.Cos(a))
	}
	d[0], d[1] = v[1], sum/total
	for i := range 2 {
		a, w := v[2+2*i], v[3+2*i]
		d[2+2*i] = w
		d[3+2*i] = -.75 / half[i] * (d[1]*math.Cos(a) + g*math.Sin(a) + friction*w/(mass[i]*half[i]))
	}
	return d
}

func (v doublePole) plus(d doublePole, dt float64) doublePole {
	for i := range v {
		v[i] += dt * d[i]
	}
	return v
}

// step is one Runge-Kutta step of order 4.
func (v doublePole) step(force, dt float64) doublePole {
	k1 := v.rates(force)
	k2 := v.plus(k1, dt/2).rates(force)
	k3 := v.plus(k2, dt/2).rates(force)
	k4 := v.plus(k3, dt).rates(force)
	return v.plus(k1, dt/6).plus(k2, dt/3).plus(k3, dt/3).plus(k4, dt/6)
}

func TestDoublePoleMoves(t *testing.T) {
	e := classic.DoublePole{Velocities: true}
	p := e.DefaultParams()
	r := rand.New(rand.NewSource(5))
	const n = 400
	var states []doublePole
	columns := make([][]float32, 6)
	var action []float32
	for range n {
		s := doublePole{r.Float64()*5 - 2.5, r.NormFloat64(), r.NormFloat64() * .4, r.NormFloat64(),
			r.NormFloat64() * .4, r.NormFloat64()}
		for i := range s {
			columns[i] = append(columns[i], float32(s[i]))
			s[i] = float64(float32(s[i]))
		}
		states, action = append(states, s), append(action, float32(r.NormFloat64()))
	}
	type input struct{ X, V, A, W, B, U, Action *graph.Array }
	got := graph.VMap(func(in input) (o outcome[classic.DoublePoleState]) {
		s := classic.DoublePoleState{X: in.X, XDot: in.V, Long: in.A, LongDot: in.W, Short: in.B, ShortDot: in.U,
			Recent: graph.Full(graph.ShapeOf(graph.Float32, 100), .5), Time: graph.Of(int32(500))}
		o.Next, o.Obs, o.Reward, o.Terminated, o.Truncated = e.Step(random.New(0), s, in.Action, p)
		return o
	})(input{graph.Float32s(columns[0]), graph.Float32s(columns[1]), graph.Float32s(columns[2]),
		graph.Float32s(columns[3]), graph.Float32s(columns[4]), graph.Float32s(columns[5]),
		graph.Float32s(action, n, 1)})
	reward, over, obs := floats(t, got.Reward), floats(t, got.Terminated), floats(t, got.Obs)
	ended := 0.
	for i, s := range states {
		force := 10 * min(max(float64(action[i]), -1), 1)
		s = s.step(force, .01).step(force, .01)
		for j, scale := range []float64{4.8, 2, .52, 2, .52, 2} {
			require.InDelta(t, s[j], obs[6*i+j]*scale, 3e-5*max(1, math.Abs(s[j])), "row %d, number %d", i, j)
		}
		fallen := math.Abs(s[0]) > 2.4 || max(math.Abs(s[2]), math.Abs(s[4])) > 36*math.Pi/180
		require.Equal(t, fallen, over[i] != 0, "row %d is %v", i, s)
		want := .1
		if fallen {
			want += .9 * 750 / (99*.5 + math.Abs(s[0]) + math.Abs(s[1]) + math.Abs(s[2]) + math.Abs(s[3]))
		}
		require.InDelta(t, want, reward[i], 1e-3, "row %d", i)
		ended += over[i]
	}
	require.Greater(t, ended, 40.)
	require.Less(t, ended, n-40.)
}

// The long pole starts at 4 degrees, and a spread moves the start.
func TestDoublePoleStarts(t *testing.T) {
	e := classic.DoublePole{}
	p := e.DefaultParams()
	start := func(p classic.DoublePoleParams) []float64 {
		_, obs := e.Reset(random.New(3), p)
		return floats(t, obs)
	}
	require.InDeltaSlice(t, []float64{0, 4 * math.Pi / 180 / .52, 0}, start(p), 1e-6)
	p.Spread = graph.Scalar(1)
	drawn := start(p)
	require.NotZero(t, drawn[0])
	require.LessOrEqual(t, math.Abs(drawn[0]), 2.16/4.8)
	require.LessOrEqual(t, math.Abs(drawn[1]), 3.6*math.Pi/180/.52)
}
