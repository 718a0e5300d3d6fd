package evolve

import (
	"maps"
	"math"

	"xlarun/graph"
	"xlarun/rollout/run"
)

// patience tells when a run no longer gets better.
type patience struct {
	best  float64 // that has to be exceeded by Config.MinImprovement; -Inf at first
	since int64   // the generation that reached it, from 1
}

// Arrays of a snapshot that are none of the state's: those of a run with Config.Patience.
const (
	patienceBest  = "patience.best"
	patienceSince = "patience.since"
)

// take takes the best fitness of a generation in and tells whether the run is out of patience.
func (p *patience) take(best float64, generation int64, c *Config) (out bool) {
	if best > p.best+c.MinImprovement {
		p.best, p.since = best, generation
	}
	return c.Patience > 0 && generation-p.since >= int64(c.Patience)
}

// Snapshot copies the state to the host.
func (e *Evolution) Snapshot() (run.Snapshot, error) {
	s, err := e.Loop.Snapshot()
	if err == nil && e.config.Patience > 0 {
		s.Arrays[patienceBest], s.Arrays[patienceSince] = graph.Of(float32(e.patience.best)), graph.Of(int32(e.patience.since))
	}
	return s, err
}

// Unflatten is a snapshot as a State.
func (e *Evolution) Unflatten(s run.Snapshot) (any, error) { return e.Loop.Unflatten(e.ofLoop(s)) }

// ofLoop is a snapshot as the loop has it: without what patience adds, and with an empty hall of fame where it was taken by a version
// that had none.
func (e *Evolution) ofLoop(s run.Snapshot) run.Snapshot {
	all := maps.Clone(s.Arrays)
	delete(all, patienceBest)
	delete(all, patienceSince)
	if h := e.hall; h != nil && s.Arrays["hall.fitness"] == nil && len(all) > 0 {
		leaves, tree := graph.Flatten(struct{ Hall *Hall }{h})
		for i, a := range leaves {
			all[run.LeafName(tree.Path(i))] = a
		}
	}
	return run.Snapshot{Step: s.Step, Arrays: all}
}

// Restore goes on from a snapshot.
func (e *Evolution) Restore(s run.Snapshot) error {
	if err := e.Loop.Restore(e.ofLoop(s)); err != nil {
		return err
	}
	var err error
	number := func(name string) (x float64) {
		if a, ok := s.Arrays[name]; ok && err == nil {
			x, err = graph.Float(a)
		}
		return x
	}
	e.bestEver = number("best.fitness")
	e.patience = patience{best: e.bestEver}
	if !math.IsInf(e.bestEver, -1) {
		e.patience.since = int64(number("best.generation")) + 1
	}
	if _, ok := s.Arrays[patienceBest]; ok {
		e.patience = patience{number(patienceBest), int64(number(patienceSince))}
	}
	return err
}
