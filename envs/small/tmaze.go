package small

import (
	"image"

	"xlarun/envs"
	"xlarun/envs/draw"
	"xlarun/graph"
	"xlarun/graph/random"
)

func init() { envs.MustRegister(TMaze{}) }

// TMaze is the T-maze of Bakker, "Reinforcement learning with long short-term memory" (2002). A sign at the start of a
// corridor of Length steps shows the side of the goal at the junction at its end. The actions are north, east (along
// the corridor), south and west. The goal's side pays 4, the other side -0.1; both terminate. A step into a wall pays
// -0.1, other steps 0. Truncated after 150 steps. The best return is 4; the best mean return without memory is 1.95.
//
// Observation f32[3]: 0 1 1 at the start if the goal is in the north, 1 1 0 if it is in the south, 1 0 1 in the
// corridor, 0 1 0 at the junction.
type TMaze struct{}

// TMazeParams are int32 scalars: steps from the start to the junction, at least 1, and steps of an episode.
type TMazeParams struct {
	Length   *graph.Array `min:"1"`
	MaxSteps *graph.Array `min:"1"`
}

// TMazeState is int32 scalars, except North, a bool.
type TMazeState struct {
	North *graph.Array // whether the goal is in the north
	Place *graph.Array // from 0, the start, to Length, the junction
	Turn  *graph.Array // at the junction: -1 to the south, 1 to the north; 0 before
	Time  *graph.Array
}

// Spec of TMaze-v1.
func (TMaze) Spec() envs.Spec {
	return envs.Spec{ID: "TMaze-v1", Observation: box(0, 1, 3), Action: envs.Discrete{N: 4},
		MaxSteps: 150, MaxReward: new(4.)}
}

// DefaultParams are a corridor of ten steps.
func (TMaze) DefaultParams() TMazeParams {
	return TMazeParams{Length: envs.Steps(10), MaxSteps: envs.Steps(150)}
}

// Reset draws the side of the goal.
func (e TMaze) Reset(key random.Key, p TMazeParams) (TMazeState, *graph.Array) {
	s := TMazeState{North: random.Bernoulli(key, .5), Place: envs.Steps(0), Turn: envs.Steps(0), Time: envs.Steps(0)}
	return s, e.Observe(s, p)
}

// Step walks or turns. The key is not used.
func (e TMaze) Step(_ random.Key, s TMazeState, action *graph.Array,
	p TMazeParams) (next TMazeState, obs, reward, terminated, truncated *graph.Array) {
	envs.CheckAction(e.Spec(), action)
	is := func(way int) *graph.Array { return action.Eq(way) }
	junction := s.Place.Ge(p.Length)
	walk := number(is(1)).Sub(number(is(3)))
	next = TMazeState{North: s.North, Place: graph.Clamp(0, s.Place.Add(walk), p.Length),
		Turn: graph.Select(junction, number(is(0)).Sub(number(is(2))), 0)}
	next.Time, truncated = envs.Tick(s.Time, p.MaxSteps)
	turned := next.Turn.Ne(0)
	right := next.Turn.Gt(0).Eq(s.North)
	still := next.Place.Eq(s.Place)
	reward = graph.Select(turned, graph.Select(right, 4., -.1), graph.Select(still, -.1, 0.))
	return next, e.Observe(next, p), reward, turned, truncated
}

// Observe is the sign, the corridor or the junction.
func (TMaze) Observe(s TMazeState, p TMazeParams) *graph.Array {
	show := func(a, b, c float32) *graph.Array { return graph.Float32s([]float32{a, b, c}) }
	sign := graph.Select(s.North, show(0, 1, 1), show(1, 1, 0))
	on := graph.Select(s.Place.Ge(p.Length), show(0, 1, 0), show(1, 0, 1))
	return graph.Select(s.Place.Eq(0), sign, on)
}

// Draw paints the maze of the default length from above, the goal and the walker.
func (e TMaze) Draw(state any, size image.Point) (image.Image, error) {
	const length = 10
	c := draw.NewCanvas(size, draw.At(-1, -2.2), draw.At(length+1, 2.2))
	v := draw.Scalars(c, e.Spec().ID, state, func(s TMazeState) []*graph.Array {
		return []*graph.Array{s.North, s.Place, s.Turn}
	})
	c.Rectangle(draw.Steel, draw.At(-.5, -.5), draw.At(length+.5, .5))
	c.Rectangle(draw.Steel, draw.At(length-.5, -1.5), draw.At(length+.5, 1.5))
	goal := draw.At(length, -1)
	if v[0] != 0 {
		goal.Y = 1
	}
	c.Disc(draw.Signal, goal, .35)
	c.Disc(draw.Signal, draw.At(0, .7*goal.Y), .12) // the sign
	c.Disc(draw.Ink, draw.At(v[1], v[2]), .3)
	return c.Image()
}
