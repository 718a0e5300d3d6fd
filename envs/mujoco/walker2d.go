package mujoco

import (
	"xlarun/envs/draw"
	"xlarun/graph"
)

func init() { register(Walker2d) }

// Walker2d-v5 walks to the right: two legs in a plane, driven by six torques within ±1.
//
// Observation f32[17]: positions without x, velocities within ±10. Reward: the speed along x, 1 for a healthy state,
// less 0.001 of the sum of squared controls. Unhealthy states end the episode: the height is not between 0.8 and 2 m,
// or the torso leans by 1 rad or more.
var Walker2d = Task{ID: "Walker2d-v5", Model: model("walker2d.xml"), Engine: 4, FrameSkip: 4, MaxSteps: 1000,
	Flags: []Flag{exclude}, Start: noise(false), Observation: joints(1, 10), Width: jointsWidth(1),
	Params: Params{ForwardRewardWeight: graph.Scalar(1), CtrlCostWeight: graph.Scalar(1e-3),
		HealthyReward: graph.Scalar(1), TerminateWhenUnhealthy: graph.Scalar(1), HealthyZMin: graph.Scalar(.8),
		HealthyZMax: graph.Scalar(2), HealthyAngleMin: graph.Scalar(-1), HealthyAngleMax: graph.Scalar(1),
		ResetNoiseScale: graph.Scalar(5e-3)},
	Feet: []string{"foot_geom", "foot_left_geom"}, View: [2]draw.Point{draw.At(-1.2, -.2), draw.At(1.2, 1.8)},
	Reward: func(x Transition) (reward, terminated *graph.Array) {
		q, p := x.After.Data.Q, x.Params
		healthy := between(p.HealthyZMin, q.Index(1), p.HealthyZMax)
		reward, terminated = x.alive(healthy.And(between(p.HealthyAngleMin, q.Index(2), p.HealthyAngleMax)))
		return x.forward().Add(reward).Sub(x.effort()), terminated
	}}
