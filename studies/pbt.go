package studies

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"xlarun/rollout/study"
)

// asPBT is the sampler whose trials are rungs of population-based training: each goes on from where another ended. What trials end with is kept in the message server's store. Where that is
// lost, a worker computes it anew, from the parameters of all rungs before, which are in the database.
const asPBT = "pbt"

// checkPBT refuses what population-based training cannot be.
func (s *Spec) checkPBT() error {
	if s.Sampler != asPBT {
		return nil
	}
	members := (&study.PBT{Population: s.Population}).Members()
	switch {
	case s.Pruner != "none":
		return wrong("pruner", "got %s, but pbt goes on from the best in the place of the worst, and ends none: take none", s.Pruner)
	case members < 2:
		return wrong("population", "got %d, wants 2 or more members of pbt", s.Population)
	case s.Window > members:
		return wrong("window", "got %d, wants at most the %d members of pbt (population): a member goes on from its last trial", s.Window, members)
	}
	return nil
}

// checkRungs refuses more trials of pbt than runs whose last step is `last` have rungs for.
func (s *Spec) checkRungs(last int64) error {
	if s.Sampler != asPBT {
		return nil
	}
	members := int64((&study.PBT{Population: s.Population}).Members())
	rungs := (last + s.ReportEvery - 1) / s.ReportEvery
	if last > 0 && int64(s.Trials) > rungs*members {
		return wrong("trials", "got %d, but runs of %d steps are %d rungs of %d (report-every), and those of %d members %d trials: give that, longer runs, or shorter rungs",
			s.Trials, last, rungs, s.ReportEvery, members, rungs*members)
	}
	return nil
}

// pbtJob is what a worker has to know of a trial of population-based training beside what it knows of others.
type pbtJob struct {
	Until   int64 // step at which the trial ends; 0: it is none
	Before  []segment
	Useless []int64 // trials whose ends nobody goes on from any more
}

// segment is a trial from which another comes, the oldest first.
type segment struct {
	Number, Until         int64
	Params, Distributions []byte
}

// pbtJob finds what a trial goes on from.
func (s *Spec) pbtJob(trials []*study.FrozenTrial, t *study.FrozenTrial) (j pbtJob, err error) {
	at, ok := study.PlaceInPBT(t)
	if !ok {
		return j, fmt.Errorf("trial %d is none of population-based training", t.Number)
	}
	j.Until = (at.Rung + 1) * s.ReportEvery
	find := func(number int64) *study.FrozenTrial {
		i, found := slices.BinarySearchFunc(trials, number, func(t *study.FrozenTrial, n int64) int { return int(t.Number - n) })
		if !found {
			return nil
		}
		return trials[i]
	}
	for number := at.Parent; number >= 0; {
		parent := find(number)
		if parent == nil {
			return j, fmt.Errorf("trial %d goes on from trial %d, which is not there", t.Number, number)
		}
		from, _ := study.PlaceInPBT(parent)
		one := segment{Number: number, Until: (from.Rung + 1) * s.ReportEvery}
		if one.Params, err = json.Marshal(parent.Params); err != nil {
			return j, err
		}
		if one.Distributions, err = json.Marshal(parent.Distributions); err != nil {
			return j, err
		}
		j.Before, number = append(j.Before, one), from.Parent
	}
	slices.Reverse(j.Before)
	// All of two rungs before are over, so that nobody goes on from the rung before those.
	for _, old := range trials {
		if p, ok := study.PlaceInPBT(old); ok && p.Member == at.Member && p.Rung == at.Rung-3 {
			j.Useless = append(j.Useless, old.Number)
		}
	}
	return j, nil
}

// endOf is the object of what a trial ended with.
func endOf(number int64) string { return fmt.Sprintf("end/%d", number) }

// leave keeps what a trial has ended with, for those that go on from it. Where it cannot be kept they compute it anew.
func (a *attempt) leave(ctx context.Context, number int64, p *progress) {
	data, err := encoded(p)
	if err == nil {
		short, done := context.WithTimeout(ctx, max(10*time.Second, time.Duration(len(data)/1e6)*time.Second))
		defer done()
		kept, e := a.js.ObjectStore(short, keptName)
		if err = e; err == nil {
			_, err = kept.PutBytes(short, endOf(number), data)
			for _, old := range a.job.PBT.Useless {
				_ = kept.Delete(short, endOf(old)) // it only takes room
			}
		}
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "what trial %d ended with is not kept: %v\n", number, err)
	}
}

// inherited is what the trial begins with: the end of the one that it goes on from; nil where there is none. What is not kept of its line is computed anew.
func (a *attempt) inherited(ctx context.Context) (from *progress, err error) {
	before := a.job.PBT.Before
	k := len(before)
	for ; k > 0 && from == nil; k-- {
		if p, err := a.fetch(ctx, endOf(before[k-1].Number)); err == nil {
			from = p
			break
		}
	}
	for _, one := range before[k:] {
		t := &study.FrozenTrial{}
		if err := errors.Join(json.Unmarshal(one.Params, &t.Params), json.Unmarshal(one.Distributions, &t.Distributions)); err != nil {
			return nil, err
		}
		fmt.Fprintf(os.Stderr, "trial %d goes on from trial %d, whose end is computed anew\n", a.job.Number, one.Number)
		h := hooks{from: from, until: one.Until, end: func(p *progress) { from = p },
			report: func(int64, int64, float64) (bool, error) { return false, nil },
			keep: func(func() (*progress, error)) error {
				a.mu.Lock()
				defer a.mu.Unlock()
				a.moved = time.Now()
				return nil
			}}
		if _, err := a.spec.objective(ctx, a.runs, t.External(), h); err != nil {
			return nil, fmt.Errorf("trial %d, from which it goes on: %w", one.Number, err)
		}
		a.leave(ctx, one.Number, from)
	}
	return from, nil
}
