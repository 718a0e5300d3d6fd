package selfplay

import (
	"context"
	"fmt"
	"slices"

	"xlarun/graph"
	"xlarun/graph/random"
	"xlarun/rollout/run"
	"xlarun/xlabridge"
)

// state is the state on the devices. Its leaves are saved under the names of the fields.
type state struct {
	Learner learner
	Replay  replay
}

// newState returns the state before the first iteration.
func (t *Training) newState(key random.Key) (s state, err error) {
	err = graph.Try(func() { s = state{t.program.newLearner(key), t.program.emptyReplay(t.layout)} })
	return s, err
}

// put replaces the state on the devices.
func (t *Training) put(s state) error {
	next, err := xlabridge.Put(t.backend, t.devices, s)
	if err == nil {
		t.free()
		t.state = next
	}
	return err
}

// free frees the state. A failed call may have freed a part of it.
func (t *Training) free() {
	if t.state.Learner.Weights != nil {
		xlabridge.Free(t.state.Learner)
	}
	if t.state.Replay.Rows != nil {
		xlabridge.Free(t.state.Replay)
	}
	t.state = state{}
}

// Snapshot copies the learner, the replay, the pool and what is drawn to the host.
func (t *Training) Snapshot(ctx context.Context) (run.Snapshot, error) {
	if t.gone() {
		return run.Snapshot{}, run.ErrGone
	}
	arrays, err := run.Saved(ctx, t.state)
	if err != nil {
		return run.Snapshot{}, err
	}
	s := run.Snapshot{Step: t.step, Arrays: arrays}
	t.pool.save(s.Arrays)
	s.Arrays[foundName] = graph.Uint32s(slices.Concat(t.found...), len(t.found), t.program.game.stateWords())
	s.Arrays[finalName] = graph.Uint32s(t.last.final)
	return s, nil
}

// Restore replaces the state by a snapshot.
func (t *Training) Restore(ctx context.Context, s run.Snapshot) error {
	if t.closed {
		return run.ErrGone
	}
	want, err := t.newState(random.New(0))
	if err != nil {
		return err
	}
	saved, err := run.Restored(s, want)
	if err != nil {
		return err
	}
	pool, err := loadPool(s.Arrays, t.program.weights.Size())
	if err != nil {
		return err
	}
	found, err := loadFound(s.Arrays, t.program.game.stateWords())
	if err != nil {
		return err
	}
	last, err := t.loadLast(s, saved.Replay)
	if err != nil {
		return err
	}
	if err := t.put(saved); err != nil {
		return err
	}
	t.step, t.pool, t.found, t.last = s.Step, pool, found, last
	return nil
}

// foundName is the name of the solutions of a puzzle in a snapshot: u32[n, words of a state].
const foundName = "found"

func loadFound(arrays map[string]*graph.Array, words int) ([][]uint32, error) {
	a := arrays[foundName]
	if a == nil || a.DType() != graph.Uint32 || a.Rank() != 2 || a.Dim(1) != words {
		return nil, fmt.Errorf("the state has no array %q of rows of %d words, as these settings want: restore what "+
			"the same settings made", foundName, words)
	}
	flat, err := wordsOf(a)
	return slices.Collect(slices.Chunk(flat, words)), err
}

// finalName is the name of the last position of the first game of the newest iteration, whose other positions are in
// the replay: u32[words of a state], or u32[0] before the first iteration.
const finalName = "final"

// loadLast returns the first game of the newest iteration, so that a run that has nothing left to do can draw it.
// Checkpoints of earlier versions have no last position: their game is not drawn.
func (t *Training) loadLast(s run.Snapshot, r replay) (lastGame, error) {
	a := s.Arrays[finalName]
	if a == nil || a.Size() == 0 {
		return lastGame{}, nil
	}
	if n := t.program.game.stateWords(); a.DType() != graph.Uint32 || a.Size() != n {
		return lastGame{}, fmt.Errorf("the state has a last position of %v, and these settings want %d words: restore "+
			"what the same settings made", a.Shape(), n)
	}
	newest := int(s.Step-1) % t.config.Replay
	var read hostReader
	game := lastGame{read.words(r.Rows.Index(newest).Index(0)), int(read.number(r.Length.Index(newest).Index(0))),
		read.words(a)}
	return game, read.err
}
