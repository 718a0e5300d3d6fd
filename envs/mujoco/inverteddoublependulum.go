package mujoco

import (
	"xlarun/envs/bodies"
	"xlarun/envs/draw"
	"xlarun/graph"
)

func init() { register(InvertedDoublePendulum) }

// InvertedDoublePendulum-v5 balances two poles, one on top of the other, on a cart, by a force of 500 N times the
// action within ±1.
//
// Observation f32[9]: the cart's position, sines and cosines of the two angles, velocities within ±10, and the force of
// the cart's limit within ±10. Reward: 10, less a penalty of the tip's distance from (0, 2) and one of the poles'
// velocities. The episode ends where the tip is at most 1 m high.
var InvertedDoublePendulum = Task{ID: "InvertedDoublePendulum-v5", Model: model("inverteddoublependulum.xml"),
	Engine:    4,
	FrameSkip: 5, MaxSteps: 1000, RewardThreshold: 9100, Frames: bodies.Places | bodies.JointForce, Start: noise(true),
	Params: Params{HealthyReward: graph.Scalar(10), ResetNoiseScale: graph.Scalar(.1)},
	Observation: func(_ Task, s State) []*graph.Array {
		angles := cut(s.Data.Q, 1, 3)
		within := func(x *graph.Array) *graph.Array { return graph.Clamp(graph.Scalar(-10), x, graph.Scalar(10)) }
		return []*graph.Array{cut(s.Data.Q, 0, 1), angles.Sin(), angles.Cos(), within(s.Data.V),
			within(cut(s.Frames.Constraint, 0, 1))}
	},
	Width: func(Task) int { return 9 },
	View:  [2]draw.Point{draw.At(-1.5, -.4), draw.At(1.5, 1.6)},
	Reward: func(x Transition) (reward, terminated *graph.Array) {
		f := x.After.Frames
		site := x.Task.Model().Sites[0] // the tip, as it was evaluated last
		tip := f.Pos.Index(site.Body).Add(graph.MatMul(f.Rot.Index(site.Body),
			graph.Of(site.Pos[:]).Convert(graph.Float32)))
		px, py := tip.Index(0), tip.Index(2)
		terminated = py.Le(1)
		v := x.After.Data.V
		penalty := px.Square().Mul(.01).Add(py.Sub(2).Square())
		penalty = penalty.Add(v.Index(1).Square().Mul(1e-3)).Add(v.Index(2).Square().Mul(5e-3))
		return graph.Select(terminated, graph.Scalar(0), x.Params.HealthyReward).Sub(penalty), terminated
	}}
