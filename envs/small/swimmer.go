package small

import (
	"image"

	"xlarun/envs"
	"xlarun/envs/draw"
	"xlarun/graph"
	"xlarun/graph/random"
)

func init() { envs.MustRegister(Swimmer{}) }

// Swimmer steers a point in the plane to a goal and away from five urchins: the action f32[2] in [-1, 1] is its
// acceleration. A step of 50 ms pays exp(-distance² / 2), times 1 - exp(-30 distance²) for each urchin. Never
// terminated; truncated after 500 steps. It equals Swimmer in gymnax 1.0.1, which is not MuJoCo's Swimmer and does not
// clip the action.
//
// Observation f32[16]: the urchins' positions, the swimmer's position and velocity, the goal's position.
type Swimmer struct{}

// SwimmerParams are scalars, Dt of float32, the seconds between steps, and MaxSteps of int32.
type SwimmerParams struct {
	Dt       *graph.Array `above:"0"`
	MaxSteps *graph.Array `min:"1"`
}

// SwimmerState is f32[2] each, except Urchins, f32[5, 2], and Time, an int32 scalar.
type SwimmerState struct{ Urchins, Place, Velocity, Goal, Time *graph.Array }

const urchins = 5

// Spec of Swimmer-misc-v1.
func (Swimmer) Spec() envs.Spec {
	return envs.Spec{ID: "Swimmer-misc-v1", Observation: box(-envs.Unbounded, envs.Unbounded, 2*urchins+6),
		Action: envs.Symmetric(1, 1), MaxSteps: 500, MaxReward: new(1.)}
}

// DefaultParams of Swimmer-misc-v1.
func (Swimmer) DefaultParams() SwimmerParams {
	return SwimmerParams{Dt: graph.Scalar(.05), MaxSteps: envs.Steps(500)}
}

// Reset draws all positions from the square of ±1.
func (e Swimmer) Reset(key random.Key, p SwimmerParams) (SwimmerState, *graph.Array) {
	keys := random.SplitN(key, 3)
	two := graph.ShapeOf(graph.Float32, 2)
	s := SwimmerState{Urchins: random.Uniform(keys[0], graph.ShapeOf(graph.Float32, urchins, 2), -1, 1),
		Place: random.Uniform(keys[1], two, -1, 1), Velocity: graph.Zeros(two),
		Goal: random.Uniform(keys[2], two, -1, 1), Time: envs.Steps(0)}
	return s, e.Observe(s, p)
}

// Step integrates the velocity, then the position with the new velocity. The key is not used.
func (e Swimmer) Step(_ random.Key, s SwimmerState, action *graph.Array,
	p SwimmerParams) (next SwimmerState, obs, reward, terminated, truncated *graph.Array) {
	envs.CheckAction(e.Spec(), action)
	next = SwimmerState{Urchins: s.Urchins, Velocity: s.Velocity.Add(p.Dt.Mul(action)), Goal: s.Goal}
	next.Place = s.Place.Add(p.Dt.Mul(next.Velocity))
	next.Time, truncated = envs.Tick(s.Time, p.MaxSteps)
	reward = graph.Mul(-.5, next.Place.Sub(s.Goal).Square().Sum()).Exp()
	stings := graph.Mul(-30, next.Place.Sub(s.Urchins).Square().Sum(1)).Exp()
	return next, e.Observe(next, p), reward.Mul(graph.Sub(1, stings).Prod()), envs.False(), truncated
}

// Observe is the state.
func (Swimmer) Observe(s SwimmerState, _ SwimmerParams) *graph.Array {
	return graph.Concatenate(0, graph.Flatten1D(s.Urchins), s.Place, s.Velocity, s.Goal)
}

// Draw paints the square of all starts with a margin.
func (e Swimmer) Draw(state any, size image.Point) (image.Image, error) {
	id := e.Spec().ID
	c := draw.NewCanvas(size, draw.At(-1.5, -1.5), draw.At(1.5, 1.5))
	stings := draw.Grid(c, id, state, func(s SwimmerState) *graph.Array { return s.Urchins }, urchins, 2)
	var points [3][]float64
	for i, leaf := range []func(SwimmerState) *graph.Array{
		func(s SwimmerState) *graph.Array { return s.Goal },
		func(s SwimmerState) *graph.Array { return s.Place },
		func(s SwimmerState) *graph.Array { return s.Velocity },
	} {
		points[i] = draw.Grid(c, id, state, leaf, 2)
	}
	for i := range urchins {
		c.Disc(draw.Ink, draw.At(stings[2*i], stings[2*i+1]), .1)
	}
	goal, place, velocity := points[0], points[1], points[2]
	c.Disc(draw.Signal, draw.At(goal[0], goal[1]), .07)
	at := draw.At(place[0], place[1])
	c.Line(draw.Accent, at, draw.At(at.X+.3*velocity[0], at.Y+.3*velocity[1]), .03)
	c.Disc(draw.Accent, at, .06)
	return c.Image()
}
