package mujoco

import (
	"xlarun/envs"
	"xlarun/envs/bodies"
	"xlarun/envs/draw"
	"xlarun/graph"
	"xlarun/graph/random"
)

func init() { register(Pusher) }

// Pusher-v5 pushes a cylinder to a goal with an arm of seven joints, by seven torques within ±2.
//
// Observation f32[23]: angles and angular velocities of the arm, and the positions of its tip, of the object and of the
// goal. Reward: less half the distance from tip to object, less the distance from object to goal, less 0.1 of the sum
// of squared controls. It never terminates.
var Pusher = Task{ID: "Pusher-v5", Model: model("pusher.xml"), Engine: 4, FrameSkip: 5, MaxSteps: 100,
	Frames: bodies.Places,
	Params: Params{RewardNearWeight: graph.Scalar(.5), RewardDistWeight: graph.Scalar(1),
		RewardControlWeight: graph.Scalar(.1)},
	Start: func(t Task, key random.Key, _ Params) (q, v *graph.Array) {
		// The object lies in a rectangle, at least 0.17 from the goal: of 16 draws the first that does. Gymnasium draws
		// until one does; a draw fails with a probability of 0.38, so that 16 fail once in five million.
		const draws = 16
		keys := random.SplitN(key, 2)
		low := graph.Float32s([]float32{-.3, -.2})
		high := graph.Float32s([]float32{0, .2})
		places := random.Uniform(keys[0], graph.ShapeOf(graph.Float32, draws, 2), low, high)
		far := places.Square().Sum(1).Gt(.17 * .17)
		place := places.Index(draws - 1)
		for i := draws - 2; i >= 0; i-- {
			place = graph.Select(far.Index(i), places.Index(i), place)
		}
		v = random.Uniform(keys[1], graph.ShapeOf(graph.Float32, 7), graph.Scalar(-.005), graph.Scalar(.005))
		return graph.Concatenate(0, zeros(7), place, zeros(2)), graph.Concatenate(0, v, zeros(4))
	},
	Observation: func(t Task, s State) []*graph.Array {
		return []*graph.Array{cut(s.Data.Q, 0, 7), cut(s.Data.V, 0, 7), t.place(s, "tips_arm"), t.place(s, "object"),
			t.place(s, "goal")}
	},
	Width: func(Task) int { return 23 },
	View:  [2]draw.Point{draw.At(-.7, -1), draw.At(1.1, .8)}, Above: true,
	Reward: func(x Transition) (reward, terminated *graph.Array) {
		t, p := x.Task, x.Params
		near := length(t.way(x.After, "tips_arm", "object")).Mul(p.RewardNearWeight)
		dist := length(t.way(x.After, "goal", "object")).Mul(p.RewardDistWeight)
		return near.Add(dist).Add(x.Action.Square().Sum().Mul(p.RewardControlWeight)).Neg(), envs.False()
	}}
