package studies

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"xlarun/rollout/run"
	"xlarun/studies/study"
)

// samplerPBT is the sampler whose trials are rungs of population-based training: each starts from the state at the end
// of another trial. The coordinator keeps these states. A worker computes a lost state again from the parameters of all
// rungs before, which are in the database.
const samplerPBT = "pbt"

// GoesOn reports whether trials go on from the states of others, so that a run with a trial's settings from the start
// does not repeat it.
func (s *Spec) GoesOn() bool { return s.Sampler == samplerPBT }

// checkPBT returns an error if population-based training cannot have these settings.
func (s *Spec) checkPBT() error {
	if s.Sampler != samplerPBT {
		return nil
	}
	members := (&study.PBT{Population: s.Population}).Members()
	switch {
	case s.Pruner != "none":
		return wrong("pruner", "got %s, but pbt goes on from the best in the place of the worst, and ends none: "+
			"take none", s.Pruner)
	case members < 2:
		return wrong("population", "got %d, wants 2 or more members of pbt", s.Population)
	case s.Window > members:
		return wrong("window", "got %d, wants at most the %d members of pbt (population): a member goes on from its "+
			"last trial", s.Window, members)
	}
	return nil
}

// checkRungs returns an error if there are more trials of pbt than the runs have rungs. last is the last step of the
// runs.
func (s *Spec) checkRungs(last int64) error {
	if s.Sampler != samplerPBT {
		return nil
	}
	members := int64((&study.PBT{Population: s.Population}).Members())
	rungs := (last + s.ReportEvery - 1) / s.ReportEvery
	if last > 0 && int64(s.Trials) > rungs*members {
		return wrong("trials", "got %d, but runs of %d steps are %d rungs of %d (report-every), and those of %d "+
			"members %d trials: give that, longer runs, or shorter rungs",
			s.Trials, last, rungs, s.ReportEvery, members, rungs*members)
	}
	return nil
}

// pbtJob is what a worker needs for a trial of population-based training besides its job.
type pbtJob struct {
	Until  int64 // step at which the trial ends; 0: it is no trial of pbt
	Before []segment
}

// segment is an ancestor of a trial. Ancestors are listed from the oldest.
type segment struct {
	Number, Until         int64
	Params, Distributions []byte
}

// pbtJob returns the ancestors of a trial, and the numbers of trials from which no trial will start any more.
func (s *Spec) pbtJob(trials []*study.FrozenTrial, t *study.FrozenTrial) (j pbtJob, useless []int64, err error) {
	place, ok := study.PlaceInPBT(t)
	if !ok {
		return j, nil, fmt.Errorf("trial %d is none of population-based training", t.Number)
	}
	j.Until = (place.Rung + 1) * s.ReportEvery
	find := func(number int64) *study.FrozenTrial {
		i, found := slices.BinarySearchFunc(trials, number, func(t *study.FrozenTrial, n int64) int {
			return int(t.Number - n)
		})
		if !found {
			return nil
		}
		return trials[i]
	}
	for number := place.Parent; number >= 0; {
		parent := find(number)
		if parent == nil {
			return j, nil, fmt.Errorf("trial %d goes on from trial %d, which is not there", t.Number, number)
		}
		from, _ := study.PlaceInPBT(parent)
		one, err := s.segmentOf(parent)
		if err != nil {
			return j, nil, err
		}
		j.Before, number = append(j.Before, one), from.Parent
	}
	slices.Reverse(j.Before)
	// All trials two rungs before have finished: no trial will start from the rung before those.
	for _, old := range trials {
		if p, ok := study.PlaceInPBT(old); ok && p.Member == place.Member && p.Rung == place.Rung-3 {
			useless = append(useless, old.Number)
		}
	}
	return j, useless, nil
}

// segmentOf returns a trial as an ancestor of others.
func (s *Spec) segmentOf(t *study.FrozenTrial) (one segment, err error) {
	place, _ := study.PlaceInPBT(t)
	one = segment{Number: t.Number, Until: (place.Rung + 1) * s.ReportEvery}
	if one.Params, err = json.Marshal(t.Params); err == nil {
		one.Distributions, err = json.Marshal(t.Distributions)
	}
	return one, err
}

// runSegment runs a trial from a state, nil for the start, and returns the state at its end. after is called after each
// round with what returns the state then.
func (s *Spec) runSegment(ctx context.Context, runs Runs, one segment, from *checkpoint,
	after func(state func() (*checkpoint, error)) error) (end *checkpoint, err error) {
	t := &study.FrozenTrial{}
	if err := errors.Join(json.Unmarshal(one.Params, &t.Params), json.Unmarshal(one.Distributions,
		&t.Distributions)); err != nil {
		return nil, err
	}
	h := hooks{from: from, until: one.Until, end: func(p *checkpoint) { end = p },
		report: func(int64, int64, float64) (bool, error) { return false, nil }, checkpoint: after}
	_, err = s.objective(ctx, runs, t.External(), h)
	return end, err
}

// LastRoundOfPBT runs a trial of population-based training again, after the trials that it goes on from, and returns
// the state of the run of each seed before its last round; nil if that is its first one. What a run saves may depend on
// its last round. trials holds the study's trials by number.
func (s *Spec) LastRoundOfPBT(ctx context.Context, runs Runs, trials []*study.FrozenTrial,
	t *study.FrozenTrial) (before []*run.Snapshot, err error) {
	job, _, err := s.pbtJob(trials, t)
	if err != nil {
		return nil, err
	}
	last, err := s.segmentOf(t)
	if err != nil {
		return nil, err
	}
	var end *checkpoint
	for _, one := range job.Before {
		if end, err = s.runSegment(ctx, runs, one, end, noted(func() {})); err != nil {
			return nil, fmt.Errorf("trial %d: %w", one.Number, err)
		}
	}
	states := make([][2]seedCheckpoint, s.Seeds) // of each seed before its newest round and after it; Step 0: the start
	if end != nil {
		for i, seed := range end.Seeds {
			states[i][1] = seed
		}
	}
	if _, err = s.runSegment(ctx, runs, last, end, func(state func() (*checkpoint, error)) error {
		now, err := state()
		if err != nil {
			return err
		}
		for i, seed := range now.Seeds {
			if seed.Step > states[i][1].Step {
				states[i] = [2]seedCheckpoint{states[i][1], seed}
			}
		}
		return nil
	}); err != nil {
		return nil, fmt.Errorf("trial %d: %w", last.Number, err)
	}
	before = make([]*run.Snapshot, s.Seeds)
	for i, seed := range states {
		if seed[0].Step > 0 {
			snapshot, err := seed[0].snapshot()
			if err != nil {
				return nil, err
			}
			before[i] = &snapshot
		}
	}
	return before, nil
}

// noted returns a function for runSegment that calls f after each round.
func noted(f func()) func(func() (*checkpoint, error)) error {
	return func(func() (*checkpoint, error)) error { f(); return nil }
}

// storeEnd stores the state at the end of a trial for the trials that start from it. If it cannot be stored they
// compute it again.
func (a *attempt) storeEnd(ctx context.Context, number int64, p *checkpoint) {
	if err := a.store(ctx, endFile(number), p, longestStore); err != nil {
		fmt.Fprintf(os.Stderr, "the state at the end of trial %d is not stored, so trials that go on from it compute "+
			"it again: %v\n", number, err)
	}
}

// parentState returns the state that the trial starts from; nil if it has no parent. It computes lost states again.
func (a *attempt) parentState(ctx context.Context) (from *checkpoint, err error) {
	before := a.job.PBT.Before
	k := len(before)
	for ; k > 0 && from == nil; k-- {
		if from, err = a.fetch(ctx, endFile(before[k-1].Number)); err == nil {
			break
		}
	}
	for _, one := range before[k:] {
		fmt.Fprintf(os.Stderr, "trial %d goes on from trial %d, whose end is computed anew\n", a.job.Number, one.Number)
		if from, err = a.spec.runSegment(ctx, a.runs, one, from, noted(a.noteStep)); err != nil {
			return nil, fmt.Errorf("trial %d, from which it goes on: %w", one.Number, err)
		}
		a.storeEnd(ctx, one.Number, from)
	}
	return from, nil
}

// noteStep notes that a round has ended.
func (a *attempt) noteStep() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.lastStep = time.Now()
}
