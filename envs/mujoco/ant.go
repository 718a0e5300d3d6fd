package mujoco

import (
	"xlarun/envs/bodies"
	"xlarun/envs/draw"
	"xlarun/graph"
)

func init() { register(Ant) }

// Ant-v5 walks to the right on four legs, driven by eight torques within ±1.
//
// Observation f32[105]: positions without x and y, velocities, and the torques and forces of contacts on each body
// within ±1. Reward: the speed of the torso along x, 1 for a healthy state, less 0.5 of the sum of squared controls,
// less 0.0005 of that of contact forces within ±1. A state is unhealthy, and ends the episode, where the height is not
// from 0.2 to 1 m.
var Ant = Task{ID: "Ant-v5", Model: model("ant.xml"), Engine: 4, FrameSkip: 5, MaxSteps: 1000, RewardThreshold: 6000,
	MainBody: 1,
	Flags:    []Flag{exclude, {"include-cfrc-ext-in-observation", true}, omniFlag},
	Frames:   bodies.Places | bodies.Contacts, Start: noise(true),
	Params: Params{ForwardRewardWeight: graph.Scalar(1), CtrlCostWeight: graph.Scalar(.5),
		ContactCostWeight: graph.Scalar(5e-4), HealthyReward: graph.Scalar(1), TerminateWhenUnhealthy: graph.Scalar(1),
		HealthyZMin: graph.Scalar(.2), HealthyZMax: graph.Scalar(1), ContactForceMin: graph.Scalar(-1),
		ContactForceMax: graph.Scalar(1), ResetNoiseScale: graph.Scalar(.1)},
	Observation: func(t Task, s State) []*graph.Array {
		return append(joints(2, 0)(t, s), t.seen("include-cfrc-ext-in-observation", graph.Clamp(graph.Scalar(-1),
			s.Frames.Force, graph.Scalar(1)))...)
	},
	Width: func(t Task) int { return jointsWidth(2)(t) + t.seenWidth("include-cfrc-ext-in-observation", 6) },
	Feet:  []string{"left_ankle_geom", "right_ankle_geom", "third_ankle_geom", "fourth_ankle_geom"},
	View:  [2]draw.Point{draw.At(-2, -.3), draw.At(2, 2)},
	Reward: func(x Transition) (reward, terminated *graph.Array) {
		p := x.Params
		z := x.After.Data.Q.Index(2)
		finite := graph.IsFinite(graph.Concatenate(0, x.After.Data.Q, x.After.Data.V)).All()
		reward, terminated = x.alive(finite.And(p.HealthyZMin.Le(z)).And(z.Le(p.HealthyZMax)))
		main := x.Task.MainBody
		speed := x.moved(x.After.Frames.Pos.Index(main), x.Before.Frames.Pos.Index(main)).Mul(p.ForwardRewardWeight)
		contact := graph.Clamp(p.ContactForceMin, x.After.Frames.Force, p.ContactForceMax).Square().Sum()
		return speed.Add(reward).Sub(x.effort()).Sub(contact.Mul(p.ContactCostWeight)), terminated
	}}
