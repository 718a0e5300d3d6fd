package small

import (
	"image"

	"xlarun/envs"
	"xlarun/envs/draw"
	"xlarun/graph"
	"xlarun/graph/random"
)

func init() { envs.MustRegister(DeepSea{}) }

// DeepSea is a dive through 8 rows of 8 columns, one row a step, from the left end of the first row. The treasure, a
// reward of 1, is at the right end of the last row. Each step to the right costs MoveCost / 8. A random policy finds
// the treasure once in 256 dives, and all other rewards favor going left. The action that goes right differs between
// cells; by default it is the same in all episodes. Terminated and truncated after 8 steps. The best return is 0.99;
// always going left gives 0.
//
// Observation f32[8, 8]: a one at the diver; zeros after the last row. Equal to gymnax 1.0.1.
type DeepSea struct{}

// DeepSeaParams are scalars: bools, MoveCost of float32, MaxSteps of int32.
type DeepSeaParams struct {
	// false: steps to the right fail with probability 1/8, and rewards at both ends of the last row have normal noise
	Deterministic    *graph.Array
	SampleMapping    *graph.Array // draw the actions' meaning for each episode
	RandomizeActions *graph.Array // false, without SampleMapping: action 1 goes right everywhere
	MoveCost         *graph.Array `min:"0"` // of 8 steps to the right
	MaxSteps         *graph.Array `min:"1"`
}

// DeepSeaState is int32 scalars and Mapping, the action that goes right in each cell, i32[8, 8].
type DeepSeaState struct{ Row, Column, Mapping, Time *graph.Array }

const seaSize = 8

// Spec of DeepSea-bsuite-v1.
func (DeepSea) Spec() envs.Spec {
	return envs.Spec{ID: "DeepSea-bsuite-v1", Observation: box(0, 1, seaSize, seaSize), Action: envs.Discrete{N: 2},
		MaxSteps: seaSize}
}

// DefaultParams of DeepSea-bsuite-v1.
func (DeepSea) DefaultParams() DeepSeaParams {
	return DeepSeaParams{Deterministic: yes(), SampleMapping: envs.False(), RandomizeActions: yes(),
		MoveCost: graph.Scalar(.01), MaxSteps: envs.Steps(seaSize)}
}

// Reset puts the diver at the left end of the first row.
func (e DeepSea) Reset(key random.Key, p DeepSeaParams) (DeepSeaState, *graph.Array) {
	coins := func(key random.Key) *graph.Array { return random.Bernoulli(key, .5, seaSize, seaSize) }
	fixed := coins(random.Clone(random.New(0))) // the same in all episodes
	mapping := graph.Select(p.SampleMapping, coins(key), p.RandomizeActions.Not().Or(fixed))
	s := DeepSeaState{Row: envs.Steps(0), Column: envs.Steps(0), Mapping: number(mapping), Time: envs.Steps(0)}
	return s, e.Observe(s, p)
}

// Step dives a row deeper. The key is used if the dive is not deterministic.
func (e DeepSea) Step(key random.Key, s DeepSeaState, action *graph.Array,
	p DeepSeaParams) (next DeepSeaState, obs, reward, terminated, truncated *graph.Array) {
	envs.CheckAction(e.Spec(), action)
	noise, slip := random.Split2(key)
	scalar := graph.ShapeOf(graph.Float32)
	here := cell(s.Row, s.Column, seaSize, seaSize)
	right := here.And(s.Mapping.Eq(action)).Any()
	arrives := right.And(p.Deterministic.Or(random.Uniform(slip, scalar, 0, 1).Gt(1. / seaSize)))

	edge := s.Column.Eq(0).Or(s.Column.Eq(seaSize - 1))
	noisy := p.Deterministic.Not().And(s.Row.Eq(seaSize - 1).And(edge))
	reward = float(right.And(s.Column.Eq(seaSize - 1)))
	reward = reward.Add(graph.Select(noisy, random.Normal(noise, scalar), 0.))
	reward = reward.Sub(graph.Select(right, p.MoveCost.Div(seaSize), 0.))

	move := graph.Select(arrives, 1, graph.Select(right, 0, -1))
	next = DeepSeaState{Row: s.Row.Add(1), Column: graph.Clamp(0, s.Column.Add(move), seaSize-1),
		Mapping: s.Mapping}
	next.Time, truncated = envs.Tick(s.Time, p.MaxSteps)
	return next, e.Observe(next, p), reward, next.Row.Eq(seaSize), truncated
}

// Observe is the grid with the diver.
func (DeepSea) Observe(s DeepSeaState, _ DeepSeaParams) *graph.Array {
	return float(cell(s.Row, s.Column, seaSize, seaSize))
}

// Draw paints the grid, the treasure and the diver.
func (e DeepSea) Draw(state any, size image.Point) (image.Image, error) {
	b := newBoard(size, seaSize, seaSize)
	v := draw.Scalars(b.Canvas, e.Spec().ID, state, func(s DeepSeaState) []*graph.Array {
		return []*graph.Array{s.Row, s.Column}
	})
	b.fill(draw.Wood, seaSize-1, seaSize-1, .8)
	b.dot(draw.Accent, v[0], v[1], .35)
	return b.Image()
}
