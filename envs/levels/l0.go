package levels

import (
	"image"

	"xlarun/envs"
	"xlarun/envs/draw"
	"xlarun/graph"
	"xlarun/graph/random"
)

func init() { envs.MustRegister(ForageL0{}) }

// ForageL0 needs reflexes: food lies on a torus of 8 x 8 cells, and the forager sees the 5 x 5 cells around it. A good
// policy steps to visible food, or goes straight if it sees none. Food grows again: each step draws one cell, where
// food grows if the cell is free and there is less food than Food sets.
//
// Observation f32[25]: 1 where there is food, row by row from the north; the forager's own cell, the middle one, is
// always 0. Actions: north, east, south, west. Reward 1 for food. Truncated after 100 steps, never terminated.
//
// Mean returns: 10 for a random policy, 58 for a hand-written one (to the nearest food, else north), 47 for an evolved
// mlp:16,16 (OpenES, 1024 members, 2 episodes each; it reaches 45, the reward threshold, after 20 generations).
type ForageL0 struct{}

// ForageL0Params are a float32 scalar and MaxSteps, an int32 scalar.
type ForageL0Params struct {
	Food     *graph.Array `min:"0" max:"1"` // part of the cells that have food
	MaxSteps *graph.Array `min:"1"`
}

// ForageL0State is the food and the forager's position.
type ForageL0State struct {
	Field      *graph.Array // i32[1, 8]: food; bit x of word y is column x of row y from the north
	View       *graph.Array // i32[1]: the visible food; bit c is number c of the observation
	Have       *graph.Array // f32[1]: the amount of food
	X, Y, Time *graph.Array // i32[]: the forager's cell; steps played
}

const l0Steps = 100

var l0Size = size{side: 8, reach: 2}

// Spec of Forage-L0-v1.
func (ForageL0) Spec() envs.Spec {
	return envs.Spec{ID: "Forage-L0-v1", Observation: l0Size.space(1, 0, 4), Action: envs.Discrete{N: 4},
		MaxSteps: l0Steps, RewardThreshold: 45, MaxReward: new(1.), Descriptor: envs.Positive(1, 1),
		Descriptors: []string{"share of steps to the north", "share of steps to the east"}}
}

// DefaultParams of Forage-L0-v1.
func (ForageL0) DefaultParams() ForageL0Params {
	return ForageL0Params{Food: graph.Scalar(.15), MaxSteps: envs.Steps(l0Steps)}
}

// Reset scatters food, except beside the forager.
func (e ForageL0) Reset(key random.Key, p ForageL0Params) (ForageL0State, *graph.Array) {
	f, at := scatter(key, l0Size, p.Food), l0Size.middle()
	s := ForageL0State{Field: f.words, View: f.view(at), Have: f.count(), X: at.X, Y: at.Y, Time: envs.Steps(0)}
	return s, e.Observe(s, p)
}

// Step moves the forager, which eats what it finds.
func (e ForageL0) Step(key random.Key, s ForageL0State, action *graph.Array,
	p ForageL0Params) (next ForageL0State, obs, reward, terminated, truncated *graph.Array) {
	envs.CheckAction(e.Spec(), action)
	m := l0Size.walk(position{s.X, s.Y}, s.View, action, -1, word(key))
	cell, _ := l0Size.cells(m.randomWords[0])
	want := p.Food.Reshape(1).Mul(l0Size.side * l0Size.side)
	var f field
	f, next.Have = field{s.Field, l0Size}.eat(m.to, cell.Reshape(1), s.Have.Sub(m.found), want)
	next.Field, next.View, next.X, next.Y = f.words, f.view(m.to), m.to.X, m.to.Y
	next.Time, truncated = envs.Tick(s.Time, p.MaxSteps)
	return next, e.Observe(next, p), m.found.Index(0), envs.False(), truncated
}

// Observe is the food around the forager.
func (ForageL0) Observe(s ForageL0State, _ ForageL0Params) *graph.Array {
	return l0Size.observation([]*graph.Array{s.View.Index(0)})
}

// DescribeStep says whether the step went to the north, and whether to the east.
func (ForageL0) DescribeStep(s, next ForageL0State, _ *graph.Array, _ ForageL0Params) *graph.Array {
	north, east := s.Y.Sub(next.Y), next.X.Sub(s.X)
	ahead := func(d *graph.Array) *graph.Array { return d.Eq(1).Or(d.Eq(1 - l0Size.side)).Convert(graph.Float32) }
	return graph.Stack([]*graph.Array{ahead(north), ahead(east)}, 0)
}

// Draw paints the map, the view brighter.
func (e ForageL0) Draw(state any, pixels image.Point) (image.Image, error) {
	c := l0Size.newCanvas(pixels)
	at := draw.Scalars(c, e.Spec().ID, state, func(s ForageL0State) []*graph.Array {
		return []*graph.Array{s.X, s.Y}
	})
	words := draw.Grid(c, e.Spec().ID, state, func(s ForageL0State) *graph.Array { return s.Field }, 1, l0Size.side)
	p := l0Size.newPicture(c, at[0], at[1])
	p.berries(words, draw.Accent)
	p.forager()
	return p.Image()
}
