package episode

import (
	"slices"

	"xlarun/graph"
	"xlarun/graph/random"
	"xlarun/rollout/policy"
	"xlarun/xlabridge"
)

// ActingEvaluator is a Evaluator that plays each member in all ways to act that its policy has.
type ActingEvaluator struct {
	*Evaluator
	Ways   []string // see policy.WaysOf
	shapes []graph.Shape
}

// NewActingEvaluator compiles the program that plays so many members like example, each in all ways to act. Members of
// at least `large` bytes are played one by one, without a copy: a stack of them would take a multiple of their memory.
func NewActingEvaluator(b xlabridge.Backend, r *Rollout, example any, members, episodes, large int,
	purpose string) (*ActingEvaluator, error) {
	j := &ActingEvaluator{Ways: policy.WaysOf(r.Policy)}
	size := 0
	for _, a := range graph.Leaves(example) {
		j.shapes = append(j.shapes, a.Shape())
		size += a.Shape().Bytes()
	}
	acting := policy.Acting(example, j.Ways[0])
	var err error
	if size >= large {
		j.Evaluator, err = NewSingleEvaluator(b, r, acting, episodes, purpose)
	} else {
		j.Evaluator, err = NewEvaluator(b, r, acting, members*len(j.Ways), episodes, purpose)
	}
	if err != nil {
		return nil, err
	}
	return j, nil
}

// Fits reports whether the program plays members of this member's shapes.
func (j *ActingEvaluator) Fits(member any) bool {
	return slices.EqualFunc(graph.Leaves(member), j.shapes, func(a *graph.Array, s graph.Shape) bool {
		return a.Shape().Equal(s)
	})
}

// PlayAll plays any number of members, as many together as the program takes, and returns a judgement for each way to
// act of each member. Episode e of each has the key FoldIn(key, e).
func (j *ActingEvaluator) PlayAll(members []any, key random.Key) ([][]EvalResult, error) {
	var players []any
	for _, m := range members {
		for _, way := range j.Ways {
			players = append(players, policy.Acting(m, way))
		}
	}
	var judgements []EvalResult
	for len(players) > 0 {
		n := min(j.members, len(players))
		round := slices.Concat(players[:n], slices.Repeat(players[n-1:n], j.members-n)) // filled up with its last
		played, err := j.Play(round, key)
		if err != nil {
			return nil, err
		}
		judgements, players = append(judgements, played[:n]...), players[n:]
	}
	return slices.Collect(slices.Chunk(judgements, len(j.Ways))), nil
}
