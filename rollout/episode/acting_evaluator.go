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

// NewActingEvaluator compiles the program that plays so many members like example, each in all ways to act. Members of
// at least `large` bytes are played one by one, without a copy: a stack of them would take a multiple of their memory.
func NewActingEvaluator(b xlabridge.Backend, r *Rollout, example any, members, episodes, large int,
	purpose string) (*ActingEvaluator, error) {
	e := &ActingEvaluator{Ways: policy.WaysOf(r.Policy)}
	size := 0
	for _, a := range graph.Leaves(example) {
		e.shapes = append(e.shapes, a.Shape())
		size += a.Shape().Bytes()
	}
	acting := policy.Acting(example, e.Ways[0])
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
	var results []EvalResult
	for len(players) > 0 {
		n := min(e.members, len(players))
		round := slices.Concat(players[:n], slices.Repeat(players[n-1:n], e.members-n)) // filled up with its last
		played, err := e.Play(round, key)
		if err != nil {
			return nil, err
		}
		results, players = append(results, played[:n]...), players[n:]
	}
	return slices.Collect(slices.Chunk(results, len(e.Ways))), nil
}
