package mujoco

import (
	"xlarun/envs"
	"xlarun/envs/draw"
	"xlarun/graph"
)

func init() { register(HalfCheetah) }

// HalfCheetah-v5 runs to the right: two legs in a plane, driven by six torques within ±1.
//
// Observation f32[17]: positions without x, velocities. Reward: the speed along x, less 0.1 of the sum of squared
// controls. It never terminates.
var HalfCheetah = Task{ID: "HalfCheetah-v5", Model: model("halfcheetah.xml"), Engine: 4, FrameSkip: 5, MaxSteps: 1000,
	RewardThreshold: 4800, Flags: []Flag{exclude}, Start: noise(true), Observation: joints(1, 0), Width: jointsWidth(1),
	Params: Params{ForwardRewardWeight: graph.Scalar(1), CtrlCostWeight: graph.Scalar(.1),
		ResetNoiseScale: graph.Scalar(.1)},
	Feet: []string{"bfoot", "ffoot"}, View: [2]draw.Point{draw.At(-1.5, -.3), draw.At(1.5, 1.5)},
	Reward: func(x Transition) (reward, terminated *graph.Array) {
		return x.forward().Sub(x.effort()), envs.False()
	}}
