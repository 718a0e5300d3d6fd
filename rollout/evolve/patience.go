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
}

func openPatience(context.Context, *Evolution) (feature, error) {
	return &patience{Patience: generation.NewPatience()}, nil
}

func (p *patience) after(ctx context.Context, e *Evolution, m *run.Metrics) error {
	m.Stalled = p.Update(e.last.Best, m.Step, e.config.PatienceSettings)
	return nil
}

func (p *patience) ending(e *Evolution, last run.Metrics) string {
	if !last.Stalled || last.Done {
		return ""
	}
	return fmt.Sprintf(", and no better best than %s for %s", generation.Number(p.Best),
		quantity.Count(e.config.Patience, "generation", "generations"))
}

func (p *patience) save(arrays map[string]*graph.Array) {
	arrays[patienceBest], arrays[patienceSince] = graph.Of(float32(p.Best)), graph.Of(int32(p.Since))
}

// load takes the best member for the last improvement if the snapshot is of a run without patience.
func (p *patience) load(s run.Snapshot) (other bool, err error) {
	number := func(name string) (x float64) {
		if a, ok := s.Arrays[name]; ok && err == nil {
			x, err = graph.Float(a)
		}
		return x
	}
	p.Patience = generation.Patience{Best: number("best.fitness")}
	if !math.IsInf(p.Best, -1) {
		p.Since = int64(number("best.generation")) + 1
	}
	if _, ok := s.Arrays[patienceBest]; ok {
		p.Patience = generation.Patience{Best: number(patienceBest), Since: int64(number(patienceSince))}
	}
	return false, err
}
