package mujoco

import (
	"xlarun/envs"
	"xlarun/envs/draw"
	"xlarun/graph"
)

func init() { register(Swimmer) }

// Swimmer-v5 swims to the right: three links in a fluid, driven by two torques within ±1.
//
// Observation f32[8]: positions without x and y, velocities. Reward: the speed along x, less 0.0001 of the sum of
// squared controls. It never terminates.
var Swimmer = Task{ID: "Swimmer-v5", Model: model("swimmer.xml"), Engine: 4, FrameSkip: 4, MaxSteps: 1000,
	RewardThreshold: 360, Flags: []Flag{exclude}, Start: noise(false), Observation: joints(2, 0), Width: jointsWidth(2),
	Params: Params{ForwardRewardWeight: graph.Scalar(1), CtrlCostWeight: graph.Scalar(1e-4),
		ResetNoiseScale: graph.Scalar(.1)},
	View: [2]draw.Point{draw.At(-3, -2), draw.At(3, 2)}, Above: true,
	Reward: func(x Transition) (reward, terminated *graph.Array) {
		return x.forward().Sub(x.effort()), envs.False()
	}}
