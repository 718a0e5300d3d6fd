package tasks

import (
	"xlarun/envs"
	"xlarun/graph"
	"xlarun/graph/random"
)

func init() { envs.MustRegister(ZDT1{size{"dimensions", 30}}) }

// ZDT1 is the first problem of Zitzler, Deb and Thiele, "Comparison of multiobjective evolutionary algorithms:
// empirical results" (2000). Of the action x, f32[dimensions], clipped to [0, 1], the objectives are minus f₁ = x₁ and
// minus f₂ = g·(1 - √(f₁/g)), where g = 1 + 9·mean(x₂, x₃, …). On the best front g is 1. The reward is the mean of
// both.
type ZDT1 struct{ size }

// ZDT1State is the state of ZDT1.
type ZDT1State struct {
	Time       *graph.Array // i32[]: steps played
	Objectives *graph.Array // f32[2]: of the last action; 0 before the first step
}

// Spec of ZDT1-v0.
func (z ZDT1) Spec() envs.Spec {
	return envs.Spec{ID: "ZDT1-v0", Observation: envs.Symmetric(1), Action: z.action(), MaxSteps: 1,
		Objectives: []string{"minus_f1", "minus_f2"}}
}

// Resize returns the problem with another number of dimensions.
func (z ZDT1) Resize(name string, value int) (envs.Environment, error) {
	s, err := z.resized(name, value)
	return envs.Erase[ZDT1State, Params](ZDT1{s}), err
}

// Reset has no choice.
func (ZDT1) Reset(random.Key, Params) (ZDT1State, *graph.Array) {
	return ZDT1State{envs.Steps(0), graph.Float32s([]float32{0, 0})}, nothing()
}

// Observe is 0: there is nothing to see.
func (ZDT1) Observe(ZDT1State, Params) *graph.Array { return nothing() }

// Step evaluates the problem.
func (z ZDT1) Step(_ random.Key, s ZDT1State, action *graph.Array,
	p Params) (next ZDT1State, obs, reward, terminated, truncated *graph.Array) {
	envs.CheckAction(z.Spec(), action)
	x := graph.Clamp(0., action, 1.)
	f1 := x.Index(0)
	g := graph.SliceAxis(x, 0, 1, z.n).Mean().Mul(9).Add(1)
	f2 := g.Mul(graph.Sub(1, f1.Div(g).Sqrt()))
	next.Objectives = graph.Stack([]*graph.Array{f1.Neg(), f2.Neg()}, 0)
	next.Time, truncated = envs.Tick(s.Time, p.MaxSteps)
	return next, nothing(), next.Objectives.Mean(), envs.True(), truncated
}

// Objectives are minus f₁ and minus f₂.
func (ZDT1) Objectives(s ZDT1State, _ Params) *graph.Array { return s.Objectives }
