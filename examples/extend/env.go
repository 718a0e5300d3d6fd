package main

import (
	"image"

	"xlarun/envs"
	"xlarun/envs/draw"
	"xlarun/graph"
	"xlarun/graph/random"
)

func init() { envs.MustRegister(TMaze{}) }

// TMaze is the T-maze of Bakker, "Reinforcement learning with long short-term memory" (2002). A sign at the start of a
// corridor shows on which side of the junction at its end the reward is. A policy without memory gets half of the
// rewards.
type TMaze struct{}

// TMazeParams has the cells from the start to the junction, and the steps of an episode, each i32[].
type TMazeParams struct{ Length, MaxSteps *graph.Array }

// TMazeState is the position of the walker.
type TMazeState struct {
	Sign  *graph.Array // f32[]: the side of the reward, -1 left, 1 right
	Place *graph.Array // i32[]: the cell, from 0 to Length
	Side  *graph.Array // f32[]: the arm of the junction that the walker took; 0: none yet
	Time  *graph.Array // i32[]
}

// Spec has the observation (the sign, or 0 after the first cell; 1 at the junction) and the actions left, ahead, right.
func (TMaze) Spec() envs.Spec {
	return envs.Spec{ID: "TMaze-v0", Observation: envs.Symmetric(1, 1), Action: envs.Discrete{N: 3}, MaxSteps: 12,
		RewardThreshold: .95, Reports: []string{"turned"}}
}

// DefaultParams are a corridor of six cells.
func (TMaze) DefaultParams() TMazeParams {
	return TMazeParams{Length: envs.Steps(6), MaxSteps: envs.Steps(12)}
}

// Reset draws the sign.
func (m TMaze) Reset(key random.Key, p TMazeParams) (TMazeState, *graph.Array) {
	s := TMazeState{Sign: graph.Select(random.Bernoulli(key, .5), 1., -1.), Place: envs.Steps(0), Side: graph.Scalar(0),
		Time: envs.Steps(0)}
	return s, m.Observe(s, p)
}

// Observe shows the sign only in the first cell.
func (TMaze) Observe(s TMazeState, p TMazeParams) *graph.Array {
	sign := graph.Select(s.Place.Eq(0), s.Sign, 0.)
	return graph.Stack([]*graph.Array{sign, s.Place.Ge(p.Length).Convert(graph.Float32)}, 0)
}

// Step goes ahead in the corridor and turns at the junction. With any other action, the walker stays. The arm of the
// sign gives 1.
func (m TMaze) Step(_ random.Key, s TMazeState, action *graph.Array,
	p TMazeParams) (next TMazeState, obs, reward, terminated, truncated *graph.Array) {
	envs.CheckAction(m.Spec(), action)
	junction := s.Place.Ge(p.Length)
	walks := junction.Not().And(action.Eq(1))
	next = TMazeState{Sign: s.Sign, Place: s.Place.Add(walks.Convert(graph.Int32))}
	next.Side = graph.Select(junction, action.Sub(1).Convert(graph.Float32), 0.)
	next.Time, truncated = envs.Tick(s.Time, p.MaxSteps)
	return next, m.Observe(next, p), graph.Select(next.Side.Eq(s.Sign), 1., 0.), next.Side.Ne(0), truncated
}

// Report says whether the walker turned at the junction, to whichever side: the metric "turned" of a run.
func (TMaze) Report(s TMazeState, _ TMazeParams) *graph.Array {
	return s.Side.Ne(0).Convert(graph.Float32).Reshape(1)
}

// Draw paints the maze from above, the reward's arm and the walker.
func (m TMaze) Draw(state any, size image.Point) (image.Image, error) {
	c := draw.NewCanvas(size, draw.At(-3, -1), draw.At(3, 8))
	v := draw.Scalars(c, m.Spec().ID, state, func(s TMazeState) []*graph.Array {
		return []*graph.Array{s.Sign, s.Place, s.Side}
	})
	sign, place, side := v[0], v[1], v[2]
	c.Line(draw.Steel, draw.At(0, 0), draw.At(0, 6), 1)
	c.Line(draw.Steel, draw.At(-2, 6), draw.At(2, 6), 1)
	c.Disc(draw.Signal, draw.At(2*sign, 6), .5)
	c.Disc(draw.Ink, draw.At(2*side, place), .35)
	return c.Image()
}
