package evolve

import (
	"maps"
	"math"
	"strings"

	"xlarun/graph"
	"xlarun/rollout/evolve/generation"
	"xlarun/rollout/run"
)

// Names of the arrays that a run with Config.Patience adds to a snapshot.
const (
	patienceBest  = "patience.best"
	patienceSince = "patience.since"
)

// Snapshot copies the state to the host.
func (e *Evolution) Snapshot() (run.Snapshot, error) { return e.withPatience(e.Loop.Snapshot()) }

// InPlace returns the state where it is.
func (e *Evolution) InPlace() (run.Snapshot, error) { return e.withPatience(e.Loop.StateInPlace()) }

// withPatience adds the arrays of a run with patience to a state.
func (e *Evolution) withPatience(s run.Snapshot, err error) (run.Snapshot, error) {
	if err == nil && e.config.Patience > 0 {
		s.Arrays[patienceBest], s.Arrays[patienceSince] = graph.Of(float32(e.patience.Best)),
			graph.Of(int32(e.patience.Since))
	}
	return s, err
}

// Unflatten returns a snapshot as a generation.State.
func (e *Evolution) Unflatten(s run.Snapshot) (any, error) {
	return e.Loop.Unflatten(e.programState(s))
}

// programState returns the part of a snapshot that is the program's state. A snapshot of an early version gets an empty
// hall of fame.
func (e *Evolution) programState(s run.Snapshot) run.Snapshot {
	all := maps.Clone(s.Arrays)
	maps.DeleteFunc(all, func(name string, _ *graph.Array) bool {
		outer := e.outer != "" && strings.HasPrefix(name, e.outer)
		return outer || name == patienceBest || name == patienceSince
	})
	if s.Arrays["hall.fitness"] == nil && len(all) > 0 {
		leaves, tree := graph.Flatten(struct{ Hall generation.Hall }{e.hall})
		for i, a := range leaves {
			all[run.LeafName(tree.Path(i))] = a
		}
	}
	return run.Snapshot{Step: s.Step, Arrays: all}
}

// Restore sets the state to a snapshot.
func (e *Evolution) Restore(s run.Snapshot) error {
	if err := e.Loop.Restore(e.programState(s)); err != nil {
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
	e.patience = generation.Patience{Best: e.bestEver}
	if !math.IsInf(e.bestEver, -1) {
		e.patience.Since = int64(number("best.generation")) + 1
	}
	if _, ok := s.Arrays[patienceBest]; ok {
		e.patience = generation.Patience{Best: number(patienceBest), Since: int64(number(patienceSince))}
	}
	return err
}
