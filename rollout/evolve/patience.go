package evolve

import (
	"context"
	"fmt"
	"math"

	"xlarun/graph"
	"xlarun/internal/quantity"
	"xlarun/rollout/evolve/generation"
	"xlarun/rollout/run"
)

// Names of the arrays that a run with Config.Patience adds to a snapshot.
const (
	patiencePrefix = "patience."
	patienceBest   = patiencePrefix + "best"
	patienceSince  = patiencePrefix + "since"
)

// patience ends a run that no longer improves.
type patience struct {
	idle
	generation.Patience
	search *generation.Search // the settings of the run
}

func openPatience(_ context.Context, e *Evolution) (feature, error) {
	return &patience{Patience: generation.NewPatience(), search: &e.config.Search}, nil
}

func (p *patience) after(ctx context.Context, e *Evolution, m *run.Metrics) error {
	m.Stalled = p.Update(e.config.Progress(*m), m.Step, e.config.PatienceSettings)
	return nil
}

func (p *patience) ending(e *Evolution, last run.Metrics) string {
	if !last.Stalled || last.Done {
		return ""
	}
	what := "best"
	if e.config.EvalEnvs > 0 {
		what = "evaluation"
	}
	return fmt.Sprintf(", and no better %s than %s for %s", what, generation.Number(p.Best),
		quantity.Count(e.config.Patience, "generation", "generations"))
}

func (p *patience) save(arrays map[string]*graph.Array) {
	arrays[patienceBest], arrays[patienceSince] = graph.Float64s([]float64{p.Best}), graph.Of(int32(p.Since))
}

// load takes the best member for the last improvement if the snapshot is of a run without patience. Of its evaluations
// a snapshot says nothing.
func (p *patience) load(s run.Snapshot) (other bool, err error) {
	number := func(name string) (x float64) {
		if a, ok := s.Arrays[name]; ok && err == nil {
			var numbers []float64
			if numbers, err = graph.Floats(a); err == nil {
				x = numbers[0]
			}
		}
		return x
	}
	p.Patience = generation.NewPatience()
	if best := number("best.fitness"); p.search.EvalEnvs == 0 && !math.IsInf(best, -1) {
		p.Best = best
		p.Since = int64(number("best.generation")) + 1
	}
	if _, ok := s.Arrays[patienceBest]; ok {
		p.Patience = generation.Patience{Best: number(patienceBest), Since: int64(number(patienceSince))}
	}
	return false, err
}
