package envs_test

import (
	"fmt"

	"xlarun/envs"
	"xlarun/envs/envtest"
	"xlarun/graph"
	"xlarun/graph/random"
)

// Corridor is a custom environment: walk from the middle of a corridor to its right end.
type Corridor struct{}

type CorridorParams struct{ Stride, MaxSteps *graph.Array }

type CorridorState struct{ X, Time *graph.Array }

func init() { envs.MustRegister(Corridor{}) }

func (Corridor) Spec() envs.Spec {
	return envs.Spec{ID: "Corridor-v0", Observation: envs.Symmetric(2), Action: envs.Discrete{N: 2}, MaxSteps: 20,
		RewardThreshold: 0.9}
}

func (Corridor) DefaultParams() CorridorParams {
	return CorridorParams{Stride: graph.Scalar(0.25), MaxSteps: envs.Steps(20)}
}

func (c Corridor) Reset(key random.Key, p CorridorParams) (CorridorState, *graph.Array) {
	s := CorridorState{X: random.Uniform(key, graph.ShapeOf(graph.Float32), -0.1, 0.1), Time: envs.Steps(0)}
	return s, c.Observe(s, p)
}

func (c Corridor) Step(_ random.Key, s CorridorState, action *graph.Array,
	p CorridorParams) (next CorridorState, obs, reward, terminated, truncated *graph.Array) {
	envs.CheckAction(c.Spec(), action)
	next.X = s.X.Add(graph.Select(action.Gt(0), p.Stride, p.Stride.Neg()))
	next.Time, truncated = envs.Tick(s.Time, p.MaxSteps)
	return next, c.Observe(next, p), graph.Select(next.X.Ge(1), 1., 0.), next.X.Abs().Ge(1),
		truncated
}

func (Corridor) Observe(s CorridorState, _ CorridorParams) *graph.Array {
	return s.X.Reshape(1)
}

// What is registered, Make and the command line know.
func Example() {
	env, err := envs.Make("Corridor-v0")
	fmt.Println(err, envtest.Check(env))
	state, _ := env.Reset(random.New(0), env.DefaultParams())
	var reward *graph.Array
	for range 4 { // to the right
		state, _, reward, _, _ = env.Step(random.New(1), state, envs.Steps(1), env.DefaultParams())
	}
	fmt.Println(reward)
	// Output: <nil> <nil>
	// f32[] 1
}
