package evolve

import (
	"math"

	"xlarun/rollout/episode"
	"xlarun/rollout/evolve/generation"
	"xlarun/rollout/plan"
	"xlarun/xlabridge"
)

// build makes a run of a plan, without features.
func (c Config) build(b xlabridge.Backend, x *generation.Setup, choice plan.Choice) (*Evolution, error) {
	s, err := c.compile(b, x, choice)
	if err != nil {
		return nil, err
	}
	return &Evolution{search: s, searches: []*search{s}, config: c, backend: b, bestEver: math.Inf(-1),
		target: c.Goal(x.Rollout.Env.Spec())}, nil
}

// featureOf returns a feature of a run.
func featureOf[F feature](e *Evolution) (f F) {
	for _, x := range e.features {
		if x, ok := x.(F); ok {
			return x
		}
	}
	return f
}

// judgeOf returns the judge of a run's validation.
func judgeOf(e *Evolution) *episode.ActingEvaluator { return featureOf[*validation](e).judge }
