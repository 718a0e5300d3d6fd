package episode

import (
	"slices"

	"xlarun/graph"
	"xlarun/graph/random"
	"xlarun/rollout/policy"
	"xlarun/xlabridge"
)

// ActingEvaluator is an Evaluator that plays each member in all ways to act that its policy has.
type ActingEvaluator struct {
	*Evaluator
	Ways   []string // see policy.WaysOf
	shapes []graph.Shape
}

// NewActingEvaluator compiles the program that plays so many members like example, each in all ways to act. They play
// one by one on the cores of a CPU, which batches are dealt to, and if they have at least `large` bytes: then without a
// copy, as a stack of them would take a multiple of their memory.
func NewActingEvaluator(b xlabridge.Backend, r *Rollout, example any, members, episodes, large int,
	purpose string) (*ActingEvaluator, error) {
	e := &ActingEvaluator{Ways: policy.WaysOf(r.Policy)}
	size := 0
	for _, a := range graph.Leaves(example) {
		e.shapes = append(e.shapes, a.Shape())
		size += a.Shape().Bytes()
	}
	acting := policy.Acting(example, e.Ways[0])
	if dealsBatches(b, r) {
		members = 1
	}
	var err error
	if size >= large {
		e.Evaluator, err = NewSingleEvaluator(b, r, acting, episodes, purpose)
	} else {
		e.Evaluator, err = NewEvaluator(b, r, acting, members*len(e.Ways), episodes, purpose)
	}
	if err != nil {
		return nil, err
	}
	return e, nil
}

// Fits reports whether the program plays members of this member's shapes.
func (e *ActingEvaluator) Fits(member any) bool {
	return slices.EqualFunc(graph.Leaves(member), e.shapes, func(a *graph.Array, s graph.Shape) bool {
		return a.Shape().Equal(s)
	})
}

// PlayAll plays any number of members, as many together as the program takes, and returns a result for each way to
// act of each member. Episode e of each has the key FoldIn(key, e).
func (e *ActingEvaluator) PlayAll(members []any, key random.Key) ([][]EvalResult, error) {
	var players []any
	for _, m := range members {
		for _, way := range e.Ways {
			players = append(players, policy.Acting(m, way))
		}
	}
	n := len(players)
	for len(players)%e.members > 0 {
		players = append(players, players[n-1]) // filled up with the last
	}
	results, err := e.play(players, key)
	if err != nil {
		return nil, err
	}
	return slices.Collect(slices.Chunk(results[:n], len(e.Ways))), nil
}
