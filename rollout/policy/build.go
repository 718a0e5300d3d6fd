package policy

import (
	"errors"
	"fmt"

	"xlarun/envs"
	"xlarun/graph"
	"xlarun/graph/random"
)

// Build makes a policy and traces one step of it. Its error names the method that returns nil, an output of a wrong
// shape, or a carry of another structure.
func Build(m Maker, observation envs.Space, outputs int) (Policy, error) {
	p, err := m.Make(observation, outputs)
	if err != nil {
		return nil, err
	}
	if p == nil {
		return nil, envs.ResultError(m, "policy", "Make", "got nil, want a policy")
	}
	return p, graph.Try(func() { checkStep(p, observation, outputs) })
}

// checkStep traces the first step of an episode, and panics with an error if a method's result cannot be used.
func checkStep(p Policy, observation envs.Space, outputs int) {
	key := random.New(0)
	wrong := func(method, msg string) error { return envs.ResultError(p, "policy", method, msg) }
	tree := func(method string, result any) any {
		if result == nil {
			panic(wrong(method, "got nil, want a tree of arrays, graph.None{} for an empty one"))
		}
		var bad *graph.Error
		if errors.As(graph.Try(func() { graph.Leaves(result) }), &bad) {
			panic(wrong(method, bad.Msg))
		}
		return result
	}
	params := tree("Init", p.Init(key))
	if prepared, ok := p.(Preparer); ok {
		params = tree("Prepare", prepared.Prepare(params))
	}
	carry := tree("Start", p.Start(params))
	next, out := p.Act(params, carry, graph.Zeros(observation.Shape()), key)
	want := graph.ShapeOf(graph.Float32, outputs)
	switch tree("Act", next); {
	case out.Action == nil:
		panic(wrong("Act", "got an Output without an Action, want "+want.String()))
	case out.Action.Rank() != 1 || out.Action.Dim(0) != outputs:
		panic(wrong("Act", fmt.Sprintf("got the Action %s, want %s", out.Action.Shape(), want)))
	}
	first := func(a, _ *graph.Array) *graph.Array { return a }
	if graph.Try(func() { graph.MapTree2(first, carry, next) }) != nil {
		panic(wrong("Act", "the carry that it gets and the carry that it returns differ in structure"))
	}
}
