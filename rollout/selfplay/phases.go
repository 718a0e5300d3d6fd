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
	PhaseBatch = "batch"         // draw, index, unpack and show a batch by symmetries, as a training step does
	PhaseMatch = "match"         // one of an evaluation
)

// stepsPerCall is how many training steps are timed in one call.
const stepsPerCall = 16

// batchesPerCall is how many batches of n positions are timed in one call: an iteration trains in one call too, from
// tens of thousands of positions, so that what a call costs by itself (some 0.3 ms) is spread as it is there.
func batchesPerCall(n int) int { return max(64, 1<<15/n) }

// Phases times the parts of an iteration, each `repeats` times after a first one, and leaves the state as it was.
func (t *Training) Phases(repeats int) ([]run.Phase, error) {
	return t.PhasesOf(repeats, PhaseGames, PhaseStep, PhaseBatch, PhaseMatch)
}

// PhasesOf is Phases of those with these names.
func (t *Training) PhasesOf(repeats int, names ...string) (phases []run.Phase, err error) {
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
		if !slices.Contains(names, name) {
			return nil
		}
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
	if err := timed(PhaseStep, stepsPerCall, func() error {
		_, err := t.learn(t.keys()[2], number, stepsPerCall)
		return err
	}); err != nil {
		return nil, err
	}
	if t.config.OptimizedTraining && slices.Contains(names, PhaseBatch) {
		prepare, err := t.batches()
		if err != nil {
			return nil, err
		}
		defer prepare.close()
		count := batchesPerCall(t.config.TrainingBatchSize)
		err = timed(PhaseBatch, count, func() error {
			out, err := prepare.call(t.replay, t.keys()[2], graph.Of(int32(count)), t.layout.batchTiles.Count())
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
		err = timed(PhaseMatch, 1, func() error {
			_, err := t.playMatch(networkPlayer(w), networkPlayer(w), t.keys()[3])
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return phases, nil
}

// batches prepares so many batches, one after the other, as training does: each device its parts of every batch. The
// last part is kept.
func (t *Training) batches() (*stage[example], error) {
	p, l, n := t.program, t.layout, t.config.TrainingBatchSize
	inputs := []any{t.replay, random.New(0), graph.Of(int32(0)), l.batchTiles.Count()}
	return newStage(t.backend, "batches", t.config.Purpose(), t.options, &t.busy, nil, inputs, func(a []any) example {
		r, key, count, parts := a[0].(replay), a[1].(random.Key), a[2].(*graph.Array), a[3].(*graph.Array)
		positions := graph.Max(graph.Sum(r.Length), 1)
		parts = graph.Min(parts, graph.Sub(l.batchTiles.Items, l.batchTiles.First()))
		batch := func(i *graph.Array, last example) example {
			at, symmetry := p.sample(random.FoldIn(key, i), n, positions)
			return graph.ForiLoop(0, parts, func(local *graph.Array, _ example) example {
				return p.minibatch(l, r, at, symmetry, local)
			}, last)
		}
		none := graph.Zeros(graph.ShapeOf(graph.Int32, n))
		return graph.ForiLoop(0, count, batch, p.minibatch(l, r, none, none, graph.Of(int32(0))))
	})
}
