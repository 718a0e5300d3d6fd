package levels

import (
	"image"

	"xlarun/envs"
	"xlarun/envs/draw"
	"xlarun/graph"
	"xlarun/graph/random"
)

func init() { envs.MustRegister(ForageL1{}) }

// ForageL1 needs to distinguish objects: food and poison lie on a torus of 16 x 16 cells with walls, and the forager
// has energy. Each step costs energy. Food and poison grow again: each step draws a cell for each kind, where it grows
// if the cell is free and there is less of the kind than the parameters set.
//
// Observation f32[76]: three layers of the 5 x 5 cells around the forager, row by row from the north, of food, poison
// and walls; then the energy, from 0 to 1. Actions: north, east, south, west, stay; into a wall is to stay. Reward 1
// for food, -1 for poison. Terminated when the energy is 0, truncated after 200 steps.
//
// Mean returns: 0 for a random policy, 19 for a hand-written one without memory (to the nearest food, around poison and
// walls; it circles in some corners until its energy is 0; 31 if a tenth of its steps are random), 56 for an evolved
// mlp:32,32 (OpenES, 1024 members, 2 episodes each, 400 generations; it reaches 45, the reward threshold, after 163).
type ForageL1 struct{}

// ForageL1Params are float32 scalars; MaxSteps is an int32 scalar.
type ForageL1Params struct {
	Walls, Food, Poison *graph.Array `min:"0" max:"1"` // fractions of the cells
	Cost                *graph.Array `min:"0"`         // energy cost of a step
	Meal                *graph.Array `min:"0"`         // energy of food; the forager has at most 1
	Harm                *graph.Array `min:"0"`         // energy cost of poison
	MaxSteps            *graph.Array `min:"1"`
}

// ForageL1State is the map, and the forager's energy and position.
type ForageL1State struct {
	Field      *graph.Array // i32[3, 16]: food, poison, walls; bit x of word y is column x of row y from the north
	View       *graph.Array // i32[3]: the visible part; bit c is cell c of a layer of the observation
	Have       *graph.Array // f32[3]: the amount of each
	Energy     *graph.Array // f32[], from 0 to 1
	X, Y, Time *graph.Array // i32[]: the forager's cell; steps played
}

const l1Steps = 200

var l1Size = size{side: 16, reach: 2}

// Spec of Forage-L1-v1.
func (ForageL1) Spec() envs.Spec {
	return envs.Spec{ID: "Forage-L1-v1", Observation: l1Size.space(3, 1, 5), Action: envs.Discrete{N: 5},
		MaxSteps: l1Steps, RewardThreshold: 45, Descriptor: envs.Positive(.5, .5),
		Descriptors: []string{"food a step", "poison a step"}}
}

// DefaultParams of Forage-L1-v1.
func (ForageL1) DefaultParams() ForageL1Params {
	return ForageL1Params{Walls: graph.Scalar(.1), Food: graph.Scalar(.1), Poison: graph.Scalar(.1),
		Cost: graph.Scalar(.02), Meal: graph.Scalar(.1), Harm: graph.Scalar(.1), MaxSteps: envs.Steps(l1Steps)}
}

// Reset scatters food, poison and walls, except beside the forager. Its energy is 1.
func (e ForageL1) Reset(key random.Key, p ForageL1Params) (ForageL1State, *graph.Array) {
	f, at := scatter(key, l1Size, p.Food, p.Poison, p.Walls), l1Size.middle()
	s := ForageL1State{Field: f.words, View: f.view(at), Have: f.count(), Energy: graph.Scalar(1), X: at.X, Y: at.Y,
		Time: envs.Steps(0)}
	return s, e.Observe(s, p)
}

// Step moves the forager, which eats what it finds, good or bad.
func (e ForageL1) Step(key random.Key, s ForageL1State, action *graph.Array,
	p ForageL1Params) (next ForageL1State, obs, reward, terminated, truncated *graph.Array) {
	envs.CheckAction(e.Spec(), action)
	m := l1Size.walk(position{s.X, s.Y}, s.View, action, 2, word(key))
	fed, hurt := m.found.Index(0), m.found.Index(1)
	one, other := l1Size.cells(m.randomWords[0])
	cells := graph.Stack([]*graph.Array{one, other, envs.Steps(0)}, 0)
	var f field
	f, next.Have = field{s.Field, l1Size}.eat(m.to, cells, s.Have.Sub(m.found),
		l1Size.density(p.Food, p.Poison))
	next.Field, next.View, next.X, next.Y = f.words, f.view(m.to), m.to.X, m.to.Y

	energy := s.Energy.Add(fed.Mul(p.Meal)).Sub(p.Cost.Add(hurt.Mul(p.Harm)))
	next.Energy = graph.Clamp(0., energy, 1.)
	next.Time, truncated = envs.Tick(s.Time, p.MaxSteps)
	return next, e.Observe(next, p), fed.Sub(hurt), energy.Le(0), truncated
}

// Observe is the view and the energy.
func (ForageL1) Observe(s ForageL1State, _ ForageL1Params) *graph.Array {
	return l1Size.observation(graph.Unstack(s.View, 0), s.Energy)
}

// DescribeStep is whether the forager ate food, and whether poison: the reward says it.
func (ForageL1) DescribeStep(_, _ ForageL1State, reward *graph.Array, _ ForageL1Params) *graph.Array {
	return graph.Stack([]*graph.Array{reward.Max(0), reward.Neg().Max(0)}, 0)
}

// Draw paints the map, the view brighter, with the energy as a bar below.
func (e ForageL1) Draw(state any, pixels image.Point) (image.Image, error) {
	c := l1Size.newCanvas(pixels)
	v := draw.Scalars(c, e.Spec().ID, state, func(s ForageL1State) []*graph.Array {
		return []*graph.Array{s.X, s.Y, s.Energy}
	})
	words := draw.Grid(c, e.Spec().ID, state, func(s ForageL1State) *graph.Array { return s.Field }, 3, l1Size.side)
	p := l1Size.newPicture(c, v[0], v[1])
	p.berries(words[:16], draw.Accent)
	p.berries(words[16:32], draw.Signal)
	p.walls(words[32:])
	p.forager()
	p.Rectangle(draw.Wood, draw.At(0, -.4), draw.At(16*min(max(v[2], 0), 1), -.1))
	return p.Image()
}
