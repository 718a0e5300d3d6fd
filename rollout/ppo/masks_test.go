package ppo

import (
	"xlarun/envs"
	"xlarun/graph"
	"xlarun/graph/random"
)

// shelf is an environment of one step: of four actions the one after the state's number is right, the one before it
// illegal.
type shelf struct{}

func init() { envs.MustRegister[*graph.Array, graph.None](shelf{}) }

func (shelf) Spec() envs.Spec {
	return envs.Spec{ID: "Shelf-v0", Observation: envs.Discrete{N: 4}, Action: envs.Discrete{N: 4}, MaxSteps: 1,
		LegalMask: true}
}

func (shelf) DefaultParams() graph.None { return graph.None{} }

func (e shelf) Reset(key random.Key, p graph.None) (state, obs *graph.Array) {
	state = random.Randint(key, graph.ShapeOf(graph.Int32), 0, 4)
	return state, e.Observe(state, p)
}

func (shelf) Observe(s *graph.Array, _ graph.None) *graph.Array { return s }

func (shelf) Legal(s *graph.Array, _ graph.None) *graph.Array {
	return graph.Ne(graph.Iota(4), graph.Rem(graph.Add(s, 3), 4))
}

func (e shelf) Step(_ random.Key, s, action *graph.Array,
	p graph.None) (next, obs, reward, terminated, truncated *graph.Array) {
	right := graph.Eq(action, graph.Rem(graph.Add(s, 1), 4))
	illegal := graph.Eq(action, graph.Rem(graph.Add(s, 3), 4))
	reward = graph.Select(illegal, -1000., graph.Convert(right, graph.Float32))
	return s, e.Observe(s, p), reward, graph.Scalar(true), graph.Scalar(false)
}
