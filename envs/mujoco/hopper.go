package mujoco

import (
	"xlarun/envs"
	"xlarun/envs/draw"
	"xlarun/graph"
)

func init() { register(Hopper) }

// Hopper-v5 hops to the right: one leg in a plane, driven by three torques within ±1.
//
// Observation f32[11]: positions without x, velocities within ±10. Reward: the speed along x, 1 for a healthy state,
// less 0.001 of the sum of squared controls. Unhealthy states end the episode: the height is at most 0.7 m, the torso
// leans by 0.2 rad or more, or another element of the state is beyond ±100.
var Hopper = Task{ID: "Hopper-v5", Model: model("hopper.xml"), Engine: 4, FrameSkip: 4, MaxSteps: 1000,
	RewardThreshold: 3800, Flags: []Flag{exclude}, Start: noise(false), Observation: joints(1, 10),
	Width: jointsWidth(1),
	Params: Params{ForwardRewardWeight: graph.Scalar(1), CtrlCostWeight: graph.Scalar(1e-3),
		HealthyReward: graph.Scalar(1), TerminateWhenUnhealthy: graph.Scalar(1), HealthyStateMin: graph.Scalar(-100),
		HealthyStateMax: graph.Scalar(100), HealthyZMin: graph.Scalar(.7), HealthyZMax: graph.Scalar(envs.Unbounded),
		HealthyAngleMin: graph.Scalar(-.2), HealthyAngleMax: graph.Scalar(.2), ResetNoiseScale: graph.Scalar(5e-3)},
	Feet: []string{"foot_geom"}, View: [2]draw.Point{draw.At(-1.2, -.2), draw.At(1.2, 1.8)},
	Reward: func(x Transition) (reward, terminated *graph.Array) {
		q, v, p := x.After.Data.Q, x.After.Data.V, x.Params
		healthy := between(p.HealthyStateMin, graph.Concatenate(0, cut(q, 2, q.Dim(0)), v), p.HealthyStateMax)
		healthy = healthy.And(between(p.HealthyZMin, q.Index(1), p.HealthyZMax))
		healthy = healthy.And(between(p.HealthyAngleMin, q.Index(2), p.HealthyAngleMax))
		reward, terminated = x.alive(healthy)
		return x.forward().Add(reward).Sub(x.effort()), terminated
	}}
