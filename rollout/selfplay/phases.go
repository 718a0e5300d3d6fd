package selfplay

import (
	"slices"

	"xlarun/graph"
	"xlarun/graph/random"
	"xlarun/rollout/run"
	"xlarun/xlabridge"
)

// Names of the phases.
const (
	PhaseGames = "games"         // all games of an iteration
	PhaseStep  = "training step" // one, its batch included
	PhaseBatch = "batch"         // drawing and preparing a batch, as in a training step
	PhaseMatch = "match"         // one match of an evaluation
)

// stepsPerCall is the number of training steps that are timed in one call.
const stepsPerCall = 16

// batchesPerCall returns the number of batches of n positions that are timed in one call. Training also prepares many
// batches in a call, so the overhead of a call (about 0.3 ms) is spread in the same way.
func batchesPerCall(n int) int { return max(64, 1<<15/n) }

// Phases times the parts of an iteration, each `repeats` times after a warm-up. It does not change the state.
func (t *Training) Phases(repeats int) ([]run.Phase, error) {
	return t.PhasesOf(repeats, PhaseGames, PhaseStep, PhaseBatch, PhaseMatch)
}

// PhasesOf times the phases with these names.
func (t *Training) PhasesOf(repeats int, names ...string) (phases []run.Phase, err error) {
	before, err := t.Snapshot()
	if err != nil {
		return nil, err
	}
	last := t.last
	defer func() {
		t.last = last
		if bad := t.Restore(before); err == nil {
			err = bad
		}
	}()
	keys, number := t.keys(), graph.Of(int32(t.step))
	if t.step == 0 { // there is nothing to learn from yet
		if _, err := t.games(keys[1], number); err != nil {
			return nil, err
		}
	}
	weights, err := onHost(t.state.Learner.Weights)
	if err != nil {
		return nil, err
	}
	var prepare *stage[graph.None, batchInputs, example]
	defer func() { prepare.close() }()
	batches := batchesPerCall(t.config.TrainingBatchSize)
	for _, p := range []struct {
		name  string
		count int // per call
		skip  bool
		call  func() error
	}{
		{PhaseGames, 1, false, func() error {
			_, err := t.games(keys[1], number)
			return err
		}},
		{PhaseStep, stepsPerCall, false, func() error {
			_, err := t.learn(keys[2], number, stepsPerCall)
			return err
		}},
		{PhaseBatch, batches, !t.config.OptimizedTraining, func() (err error) {
			if prepare == nil {
				if prepare, err = t.compileBatches(); err != nil {
					return err
				}
			}
			out, err := prepare.call(graph.None{}, batchInputs{t.state.Replay, keys[2], graph.Of(int32(batches)),
				t.layout.batchTiles.Count()})
			if err == nil {
				xlabridge.Free(out)
			}
			return err
		}},
		{PhaseMatch, 1, t.arena == nil, func() error {
			_, err := t.playMatch(networkPlayer(weights), networkPlayer(weights), keys[3])
			return err
		}},
	} {
		if p.skip || !slices.Contains(names, p.name) {
			continue
		}
		phase, err := run.TimePhase(p.name, repeats, p.count, p.call)
		if err != nil {
			return nil, err
		}
		phases = append(phases, phase)
	}
	return phases, nil
}

// batchInputs are the inputs of the program that prepares batches.
type batchInputs struct {
	Replay replay
	Key    random.Key
	Count  *graph.Array // i32[]: batches
	Parts  *graph.Array // i32[]: parts of a batch per device
}

// compileBatches compiles a program that prepares batches, one after the other, as training does: each device prepares
// its parts of every batch. Its result is the last part.
func (t *Training) compileBatches() (*stage[graph.None, batchInputs, example], error) {
	p, l, n := t.program, t.layout, t.config.TrainingBatchSize
	c := t.compiler()
	c.profile = nil
	inputs := batchInputs{t.state.Replay, random.New(0), graph.Of(int32(0)), l.batchTiles.Count()}
	return newStage(c, "batches", graph.None{}, inputs, func(_ graph.None, in batchInputs) example {
		positions := in.Replay.Length.Sum().Max(1)
		parts := in.Parts.Min(graph.Sub(l.batchTiles.Items, l.batchTiles.First()))
		prepare := func(i *graph.Array, last example) example {
			b := p.sample(random.FoldIn(in.Key, i), positions)
			return graph.ForiLoop(0, parts, func(local *graph.Array, _ example) example {
				return p.minibatch(l, in.Replay, b, local)
			}, last)
		}
		none := graph.Zeros(graph.ShapeOf(graph.Int32, n))
		first := p.minibatch(l, in.Replay, batch{none, none}, graph.Of(int32(0)))
		return graph.ForiLoop(0, in.Count, prepare, first)
	})
}
