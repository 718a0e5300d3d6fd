package mujoco

import (
	"xlarun/envs"
	"xlarun/envs/draw"
	"xlarun/graph"
)

func init() { register(HumanoidStandup) }

// HumanoidStandup-v5 gets up from the ground: Humanoid's body, which lies on its back.
//
// Observation f32[348] as Humanoid's. Reward: the height over the time of a substep, 1, less 0.1 of the sum of squared
// controls, less 5e-7 of that of contact forces, which is at most 10. It never terminates.
var HumanoidStandup = Task{ID: "HumanoidStandup-v5", Model: model("humanoidstandup.xml"), Engine: 4, FrameSkip: 5,
	MaxSteps: 1000, Flags: humanoidFlags, Frames: humanoidFrames, Start: noise(false),
	Params: Params{UphCostWeight: graph.Scalar(1), CtrlCostWeight: graph.Scalar(.1),
		ImpactCostWeight: graph.Scalar(5e-7), ImpactCostMin: graph.Scalar(-envs.Unbounded),
		ImpactCostMax: graph.Scalar(10), ResetNoiseScale: graph.Scalar(.01)},
	Observation: humanoidObservation, Width: humanoidWidth,
	View: [2]draw.Point{draw.At(-1.5, -.2), draw.At(1.5, 1.5)},
	Reward: func(x Transition) (reward, terminated *graph.Array) {
		p := x.Params
		up := x.After.Data.Q.Index(2).Div(x.Task.Model().Timestep).Mul(p.UphCostWeight)
		impact := x.After.Frames.Force.Square().Sum().Mul(p.ImpactCostWeight)
		impact = graph.Clamp(p.ImpactCostMin, impact, p.ImpactCostMax)
		return up.Sub(x.effort()).Sub(impact).Add(1), envs.False()
	}}
