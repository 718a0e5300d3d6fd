package main

import (
	"embed"
	"sync"

	"xlarun/envs"
	"xlarun/envs/bodies"
	"xlarun/envs/bodies/mjcf"
	"xlarun/envs/draw"
	"xlarun/envs/mujoco"
	"xlarun/graph"
	"xlarun/graph/random"
)

//go:embed furuta.xml
var models embed.FS

func init() { envs.MustRegister(Furuta) }

// Furuta swings a pole up that hangs from the end of a turning arm, the rotary pendulum of Furuta (1992), by a torque
// on the arm.
//
// Observation f32[5]: sine and cosine of the pole's angle, which is 0 where it hangs, the arm's angle, and the two
// angular velocities. Reward: the height of the pole's end, from -1 to 1, less a cost of the arm's angle and of speed.
var Furuta = mujoco.Task{ID: "Furuta-v0", Engine: 4, FrameSkip: 4, MaxSteps: 300, RewardThreshold: 150,
	Params: mujoco.Params{CtrlCostWeight: graph.Scalar(.01), ResetNoiseScale: graph.Scalar(.1)},
	Model: sync.OnceValue(func() *bodies.Model {
		m, err := mjcf.Read(models, "furuta.xml")
		if err != nil {
			panic(err)
		}
		return m
	}),
	Start: func(_ mujoco.Task, key random.Key, p mujoco.Params) (q, v *graph.Array) {
		noise := random.Normal(key, graph.ShapeOf(graph.Float32, 2, 2)).Mul(p.ResetNoiseScale)
		return noise.Index(0), noise.Index(1)
	},
	Observation: func(_ mujoco.Task, s mujoco.State) []*graph.Array {
		arm, pole := s.Data.Q.Index(0), s.Data.Q.Index(1)
		return []*graph.Array{graph.Stack([]*graph.Array{pole.Sin(), pole.Cos(), arm}, 0), s.Data.V}
	},
	Width: func(mujoco.Task) int { return 5 },
	Reward: func(x mujoco.Transition) (reward, terminated *graph.Array) {
		q, v := x.After.Data.Q, x.After.Data.V
		cost := q.Index(0).Square().Mul(.05).Add(v.Square().Sum().Mul(.001))
		cost = cost.Add(x.Action.Square().Sum().Mul(x.Params.CtrlCostWeight))
		return q.Index(1).Cos().Neg().Sub(cost), envs.False()
	},
	View: [2]draw.Point{draw.At(-.6, -.5), draw.At(.6, .4)}}
