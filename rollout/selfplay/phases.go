package selfplay

import (
	"slices"
	"time"

	"xlarun/graph"
	"xlarun/graph/random"
	"xlarun/rollout/run"
	"xlarun/xlabridge"
)

// Names of the phases.
const (
	PhaseGames = "games"         // all games of an iteration
	PhaseStep  = "training step" // one, its batch included
	PhaseBatch = "batch"         // draw, index, unpack and show a batch by symmetries
	PhaseMatch = "match"         // one of an evaluation
)

// stepsTimed and batchesTimed are how many are timed in one call.
const (
	stepsTimed   = 16
	batchesTimed = 64
)

// Phases times the parts of an iteration, each `repeats` times after a first one, and leaves the state as it was.
func (t *Training) Phases(repeats int) (phases []run.Phase, err error) {
	before, err := t.Snapshot()
	if err != nil {
		return nil, err
	}
	kept := t.last
	defer func() {
		t.last = kept
		if bad := t.Restore(before); err == nil {
			err = bad
		}
	}()
	if t.step == 0 { // there is nothing to learn from yet
		if _, err := t.games(t.keys()[1], graph.Of(int32(0))); err != nil {
			return nil, err
		}
	}
	timed := func(name string, per int, f func() error) error {
		var seconds []float64
		for i := range repeats + 1 {
			start := time.Now()
			if err := f(); err != nil {
				return err
			}
			if i > 0 {
				seconds = append(seconds, time.Since(start).Seconds()/float64(per))
			}
		}
		slices.Sort(seconds)
		phases = append(phases, run.Phase{Name: name, Seconds: seconds[len(seconds)/2], Best: seconds[0]})
		return nil
	}
	number := graph.Of(int32(t.step))
	if err := timed(PhaseGames, 1, func() error { _, err := t.games(t.keys()[1], number); return err }); err != nil {
		return nil, err
	}
	if err := timed(PhaseStep, stepsTimed, func() error { _, err := t.learn(t.keys()[2], number, stepsTimed); return err }); err != nil {
		return nil, err
	}
	if t.config.OptimizedTraining {
		prepare, err := t.batches()
		if err != nil {
			return nil, err
		}
		defer prepare.close()
		err = timed(PhaseBatch, batchesTimed, func() error {
			out, err := prepare.call(t.replay, t.keys()[2], graph.Of(int32(batchesTimed)))
			if err == nil {
				xlabridge.Free(out)
			}
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	if t.arena != nil {
		w, err := onHost(t.learner.Weights)
		if err != nil {
			return nil, err
		}
		err = timed(PhaseMatch, 1, func() error { _, err := t.against(trained(w), trained(w), t.keys()[3]); return err })
		if err != nil {
			return nil, err
		}
	}
	return phases, nil
}

// batches prepares so many batches, one after the other, on each device a whole one, and keeps the last.
func (t *Training) batches() (*stage[example], error) {
	p, n := t.program, t.config.TrainingBatchSize
	return newStage(t.backend, "batches", t.config.Purpose(), t.options, &t.busy, nil, []any{t.replay, random.New(0), graph.Of(int32(0))}, func(a []any) example {
		r, key, count := a[0].(replay), a[1].(random.Key), a[2].(*graph.Array)
		positions := graph.Max(graph.Sum(r.Length), 1)
		one := func(i *graph.Array) example {
			keys := random.SplitN(random.FoldIn(key, i), 2)
			at := random.Randint(keys[0], graph.ShapeOf(graph.Int32, n), 0, positions)
			symmetry := random.Randint(keys[1], graph.ShapeOf(graph.Int32, n), 0, max(1, p.game.symmetries.count()))
			drawn := graph.Barrier(at, symmetry)
			return graph.VMap2(p.example)(graph.Barrier(p.batch(r, drawn[0]))[0], drawn[1])
		}
		return graph.ForiLoop(0, count, func(i *graph.Array, _ example) example { return one(i) }, one(graph.Of(int32(0))))
	})
}
