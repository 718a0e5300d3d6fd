package mujoco

import (
	"xlarun/envs/draw"
	"xlarun/graph"
)

func init() { register(InvertedPendulum) }

// InvertedPendulum-v5 balances a pole on a cart, by a force of 100 N times the action within ±3.
//
// Observation f32[4]: positions of cart and pole, their velocities. Reward 1 for each step until the pole leans by more
// than 0.2 rad, which ends the episode.
var InvertedPendulum = Task{ID: "InvertedPendulum-v5", Model: model("invertedpendulum.xml"), Engine: 4, FrameSkip: 2,
	MaxSteps: 1000, RewardThreshold: 950, Start: noise(false),
	Params:      Params{ResetNoiseScale: graph.Scalar(.01)},
	Observation: func(_ Task, s State) []*graph.Array { return []*graph.Array{s.Data.Q, s.Data.V} },
	Width:       func(Task) int { return 4 },
	View:        [2]draw.Point{draw.At(-1.2, -.4), draw.At(1.2, .9)},
	Reward: func(x Transition) (reward, terminated *graph.Array) {
		state := graph.Concatenate(0, x.After.Data.Q, x.After.Data.V)
		terminated = graph.IsFinite(state).All().Not().Or(x.After.Data.Q.Index(1).Abs().Gt(.2))
		return graph.Select(terminated, graph.Scalar(0), graph.Scalar(1)), terminated
	}}
