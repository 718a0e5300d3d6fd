package policy

import (
	"errors"
	"fmt"
	"strings"

	"xlarun/envs"
	"xlarun/graph"
	"xlarun/graph/random"
)

// Build makes a policy and traces one step of it. Its error names the method that returns nil, an output of a wrong
// shape or dtype, or a carry of another structure, shape or dtype.
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
	wrong := func(method, msg string) error { return envs.ResultError(NetworkOf(p), "policy", method, msg) }
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
	traits := p.Traits()
	if msg := envs.CheckReports(traits.Reports, traits.Report != nil); msg != "" {
		panic(wrong("Traits", msg))
	}
	if e, ok := Unwrap(p).(*erased); ok && e.traits.Prepared != nil && e.traits.Prepared.is == nil {
		panic(wrong("Traits", "Prepared has no functions: make it with FormOf"))
	}
	if traits.Prepared != nil {
		params = tree("Prepare", traits.Prepared.Prepare(params))
	}
	carry := tree("Start", p.Start(params))
	next, out := p.Act(params, carry, graph.Zeros(observation.Shape()), key)
	want := graph.ShapeOf(graph.Float32, outputs)
	switch tree("Act", next); {
	case out.Action == nil:
		panic(wrong("Act", "got an Output without an Action, want "+want.String()))
	case out.Action.Rank() != 1 || out.Action.Dim(0) != outputs || !out.Action.DType().IsFloat():
		panic(wrong("Act", fmt.Sprintf("got the Action %s, want %s", out.Action.Shape(), want)))
	}
	if diff := carryDifference(carry, next); diff != "" {
		panic(wrong("Act", diff))
	}
	if traits.Report != nil {
		want := graph.ShapeOf(graph.Float32, len(traits.Reports))
		if got := traits.Report(next); got == nil || !got.Shape().Equal(want) {
			panic(wrong("Traits", fmt.Sprintf("Report returned %s, want %s, a number for each of Reports",
				shapeText(got), want)))
		}
	}
	if traits.Learn != nil {
		learned := tree("Learn", traits.Learn(next, graph.Scalar(0)))
		if diff := carryDifference(next, learned); diff != "" {
			panic(wrong("Learn", diff))
		}
	}
}

func shapeText(a *graph.Array) string {
	if a == nil {
		return "nil"
	}
	return a.Shape().String()
}

// carryDifference says how the carry that a method returns differs from the one that it gets; "" if it does not.
func carryDifference(gets, returns any) string {
	leaves, paths := graph.Flatten(gets)
	_, other := graph.Flatten(returns)
	if d := paths.Difference("carry that it gets", other, "carry that it returns"); d != "" {
		return "the carry that it gets and the carry that it returns differ in structure: " + d
	}
	for i, after := range graph.Leaves(returns) {
		if before := leaves[i].Shape(); !before.Equal(after.Shape()) {
			return fmt.Sprintf("the carry%s goes in as %s and comes out as %s, want the same: convert or reshape it, "+
				"or let Start return it so", strings.TrimPrefix(paths.Path(i), "value"), before, after.Shape())
		}
	}
	return ""
}
