package levels

import (
	"image"

	"xlarun/envs"
	"xlarun/envs/draw"
	"xlarun/graph"
	"xlarun/graph/random"
)

func init() { envs.MustRegister(ForageL0{}) }

// ForageL0 asks for a reflex: food lies on a torus of 8 x 8 cells, the forager sees the cells that touch its own, and does well
// if it steps onto food that it sees and goes straight on where it sees none. What is eaten grows again elsewhere: each
// step one cell is drawn, and food grows there where there is less of it than Food says.
//
// Observation f32[9]: 1 where there is food, row by row from the north; the forager's own cell, the middle one, is always 0.
// Actions: north, east, south, west. Reward 1 for food. Truncated after 100 steps, never terminated.
type ForageL0 struct{}

// ForageL0Params are a float32 scalar and MaxSteps, an int32 scalar.
type ForageL0Params struct {
	Food     *graph.Array // part of the cells that have food
	MaxSteps *graph.Array
}

// ForageL0State is what lies around the forager, and where that is.
type ForageL0State struct {
	Field *graph.Array // i32[1, 8]: bit x of word y is food in column x of row y, the forager in column and row 4
	Have  *graph.Array // f32[1]: how much food there is
	X, Y  *graph.Array // i32[]: the forager's cell on the map, Y from the north; only pictures show it
	Time  *graph.Array // i32[]: steps played
}

const (
	l0Side  = 8
	l0Reach = 1
	l0Steps = 100
)

// Spec of Forage-L0-v1.
func (ForageL0) Spec() envs.Spec {
	return envs.Spec{ID: "Forage-L0-v1", Observation: zeroOne(9), Action: envs.Discrete{N: 4}, MaxSteps: l0Steps, RewardThreshold: 40}
}

// DefaultParams of Forage-L0-v1.
func (ForageL0) DefaultParams() ForageL0Params {
	return ForageL0Params{Food: graph.Scalar(.15), MaxSteps: envs.Steps(l0Steps)}
}

// Reset scatters food, none of it beside the forager.
func (e ForageL0) Reset(key random.Key, p ForageL0Params) (ForageL0State, *graph.Array) {
	f := scatter(key, l0Side, p.Food)
	at := startPlace(l0Side)
	s := ForageL0State{Field: f.words, Have: f.count(), X: at.X, Y: at.Y, Time: envs.Steps(0)}
	return s, e.Observe(s, p)
}

// Step moves the forager, who eats what it finds.
func (e ForageL0) Step(key random.Key, s ForageL0State, action *graph.Array, p ForageL0Params) (next ForageL0State, obs, reward, terminated, truncated *graph.Array) {
	envs.CheckAction(e.Spec(), action)
	dx, dy := step(action)
	draws := once(dx, dy, word(key))
	f := field{s.Field, l0Side}.moved(draws[0], draws[1])
	found := number(f.found())
	cell, _ := f.cells(draws[2])
	f, next.Have = f.eaten(graph.Reshape(cell, 1), graph.Sub(s.Have, found), graph.Mul(graph.Reshape(p.Food, 1), l0Side*l0Side))
	next.Field, reward = f.words, graph.Index(found, 0)
	at := place{s.X, s.Y}.moved(dx, dy, l0Side)
	next.X, next.Y = at.X, at.Y
	next.Time, truncated = envs.Tick(s.Time, p.MaxSteps)
	return next, e.Observe(next, p), reward, envs.False(), truncated
}

// word is 32 random bits, i32[].
func word(key random.Key) *graph.Array {
	return graph.Bitcast(random.Bits(key, graph.Uint32), graph.Int32)
}

// Observe is the food that touches the forager's cell.
func (ForageL0) Observe(s ForageL0State, _ ForageL0Params) *graph.Array {
	return field{s.Field, l0Side}.view(l0Reach)
}

// Draw paints the map, what the forager sees of it brighter.
func (e ForageL0) Draw(state any, size image.Point) (image.Image, error) {
	at, err := draw.Scalars(e.Spec().ID, state, func(s ForageL0State) []*graph.Array { return []*graph.Array{s.X, s.Y} })
	if err != nil {
		return nil, err
	}
	words, err := draw.Grid(e.Spec().ID, state, func(s ForageL0State) *graph.Array { return s.Field }, 1, l0Side)
	if err != nil {
		return nil, err
	}
	p, err := newPicture(size, l0Side, at[0], at[1], l0Reach)
	if err != nil {
		return nil, err
	}
	p.berries(words, draw.Accent)
	p.forager()
	return p.Image(), nil
}
