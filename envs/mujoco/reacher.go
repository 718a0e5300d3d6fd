package mujoco

import (
	"math"

	"xlarun/envs"
	"xlarun/envs/bodies"
	"xlarun/envs/draw"
	"xlarun/graph"
	"xlarun/graph/random"
)

func init() { register(Reacher) }

// Reacher-v5 moves the tip of an arm with two links to a target, by two torques within ±1.
//
// Observation f32[10]: cosines and sines of the two angles, the target's position, angular velocities, and the way from
// the target to the tip. Reward: less the distance, less the sum of squared controls. It never terminates.
var Reacher = Task{ID: "Reacher-v5", Model: model("reacher.xml"), Engine: 4, FrameSkip: 2, MaxSteps: 50,
	RewardThreshold: -3.75, Frames: bodies.Places,
	Params: Params{RewardDistWeight: graph.Scalar(1), RewardControlWeight: graph.Scalar(1)},
	Start: func(t Task, key random.Key, _ Params) (q, v *graph.Array) {
		keys := random.SplitN(key, 4)
		draw := func(key random.Key, limit float64) *graph.Array {
			return random.Uniform(key, graph.ShapeOf(graph.Float32, 2), graph.Scalar(-limit), graph.Scalar(limit))
		}
		// Uniform in the disc of radius 0.2, where Gymnasium draws until a point of the square lies in it.
		angle := random.Uniform(keys[1], graph.ShapeOf(graph.Float32), graph.Scalar(-math.Pi), graph.Scalar(math.Pi))
		r := random.Uniform(keys[2], graph.ShapeOf(graph.Float32), graph.Scalar(0), graph.Scalar(1)).Sqrt().Mul(.2)
		goal := graph.Stack([]*graph.Array{r.Mul(angle.Cos()), r.Mul(angle.Sin())}, 0)
		return graph.Concatenate(0, draw(keys[0], .1), goal), graph.Concatenate(0, draw(keys[3], .005), zeros(2))
	},
	Observation: func(t Task, s State) []*graph.Array {
		angles := cut(s.Data.Q, 0, 2)
		return []*graph.Array{angles.Cos(), angles.Sin(), cut(s.Data.Q, 2, 4), cut(s.Data.V, 0, 2),
			cut(t.way(s, "target", "fingertip"), 0, 2)}
	},
	Width: func(Task) int { return 10 },
	View:  [2]draw.Point{draw.At(-.35, -.35), draw.At(.35, .35)}, Above: true,
	Reward: func(x Transition) (reward, terminated *graph.Array) {
		p := x.Params
		reward = length(x.Task.way(x.After, "target", "fingertip")).Mul(p.RewardDistWeight).Neg()
		return reward.Sub(x.Action.Square().Sum().Mul(p.RewardControlWeight)), envs.False()
	}}
