// Package lease decides who runs which trial. It has no clock, no messages and no database: `now` is the time since any
// fixed moment. It is not for use by several goroutines at a time.
//
// A trial is free or a worker has it. A worker has a trial until it was silent for a lease. Nothing of this need last:
// a new table learns from what workers send. Results need no lease, since the first one that the database gets counts.
package lease

import (
	"slices"
	"time"
)

const (
	// sameCauseWithin is the time within which deaths of several workers of a machine have one cause.
	sameCauseWithin = time.Second
	// excusedFactor is how many times as many workers as attempts may die of something else, before the trial fails
	// too: all trials may be of the kind that kills workers.
	excusedFactor = 10
)

// Table knows the open trials and who has them.
type Table struct {
	lease    time.Duration
	attempts int
	now      time.Duration // when it was asked last
	order    []int64       // open trials, as they are given
	trials   map[int64]*trial
	deaths   []*death        // those that may have the cause of another one
	expired  map[string]bool // workers whose process has ended: what they sent may come later
	silent   map[string]int  // how often a worker that had a trial was silent for a lease
}

// trial is an open trial.
type trial struct {
	worker         string        // that has it; "": it is free
	heard          time.Duration // when the worker was heard last
	reservedUntil  time.Duration // a worker of an earlier table may have it: it is given from then on
	releasedBy     string        // the last worker that gave it back: what that worker sent before may come later
	deaths         Deaths
	changed        bool          // ChangedDeaths has not returned the deaths
	excusableUntil time.Duration // from then on no other death excuses the last one
}

// Deaths are the numbers of workers that died while they had a trial.
type Deaths struct {
	Blamed  int `json:"blamed"`            // as it seems, of the trial
	Excused int `json:"excused"`           // of something else: workers of other trials died at the same time
	Stalled int `json:"stalled,omitempty"` // of all these, how often a run stood still
}

// All is the number of workers that have died.
func (n Deaths) All() int { return n.Blamed + n.Excused }

// death is the end of a worker that had a trial and did not give it back.
type death struct {
	worker  string
	trial   int64
	at      time.Duration
	silent  bool // it fell silent: `at` is when it was heard last
	stalled bool // its run stood still, and it lives
	excused bool
}

// New returns a table. A worker has its trial for a lease after it was heard. A trial fails when so many workers have
// died of it.
func New(lease time.Duration, attempts int) *Table {
	return &Table{lease: lease, attempts: attempts, trials: map[int64]*trial{}, expired: map[string]bool{},
		silent: map[string]int{}}
}

// Update sets the open trials, in the order in which they are given.
func (l *Table) Update(now time.Duration, open []int64) {
	l.pass(now)
	all := make(map[int64]*trial, len(open))
	for _, id := range open {
		if all[id] = l.trials[id]; all[id] == nil {
			all[id] = &trial{}
		}
	}
	l.order, l.trials = slices.Clone(open), all
}

// Restore sets what is known of an open trial from an earlier table: who died of it, and whether a worker may have it,
// for which it is kept back for a lease.
func (l *Table) Restore(now time.Duration, id int64, deaths Deaths, held bool) {
	if t := l.trials[id]; t != nil {
		if t.deaths = deaths; held {
			t.reservedUntil = now + l.lease
		}
	}
}

// pass lets time pass: trials of silent workers become free. The time for which the process itself stood still, and
// heard nobody, is no silence.
func (l *Table) pass(now time.Duration) {
	if gap := now - l.now; gap > l.lease/2 {
		for _, t := range l.trials {
			t.heard, t.reservedUntil = t.heard+gap, t.reservedUntil+gap
		}
	}
	l.now = now
	for _, id := range l.order {
		if t := l.trials[id]; t.worker != "" && now-t.heard >= l.lease {
			l.silent[t.worker]++
			l.recordDeath(t, &death{worker: t.worker, trial: id, at: t.heard, silent: true})
		}
	}
}

// Silent returns how often each worker that had a trial was silent for a lease.
func (l *Table) Silent() map[string]int { return l.silent }

// recordDeath frees the trial of a worker that is gone. If workers of other trials died at the same time, no trial is
// the likely cause: their machine went down, or somebody ended all processes.
func (l *Table) recordDeath(t *trial, x *death) {
	t.worker = ""
	t.excusableUntil = x.at + sameCauseWithin
	if x.silent { // a worker is heard a few times in a lease
		t.excusableUntil = x.at + l.lease + l.lease/2
	}
	l.count(x, 1)
	l.deaths = slices.DeleteFunc(l.deaths, func(o *death) bool { return l.now-o.at > 2*l.lease+sameCauseWithin })
	for _, o := range l.deaths {
		within := sameCauseWithin
		if x.silent || o.silent {
			within = l.lease / 2
		}
		if o.trial != x.trial && (o.at-x.at).Abs() < within {
			l.excuse(o)
			l.excuse(x)
		}
	}
	l.deaths = append(l.deaths, x)
}

// count adds a death to those of its trial, or takes it away.
func (l *Table) count(x *death, n int) {
	t := l.trials[x.trial]
	switch {
	case t == nil: // it is finished
		return
	case x.excused:
		t.deaths.Excused += n
	default:
		t.deaths.Blamed += n
	}
	if x.stalled {
		t.deaths.Stalled += n
	}
	t.changed = true
}

// excuse says that a worker died of something else than its trial.
func (l *Table) excuse(x *death) {
	if !x.excused {
		l.count(x, -1)
		x.excused = true
		l.count(x, 1)
	}
}

// hasFailed reports whether too many workers have died of a trial.
func (l *Table) hasFailed(t *trial) bool {
	return t.deaths.Blamed >= l.attempts || t.deaths.Excused >= excusedFactor*l.attempts
}

// Failed returns free trials of which too many workers have died, and how many. Nobody gets them.
func (l *Table) Failed(now time.Duration) map[int64]Deaths {
	l.pass(now)
	all := map[int64]Deaths{}
	for id, t := range l.trials {
		if t.worker == "" && l.hasFailed(t) && now >= t.excusableUntil {
			all[id] = t.deaths
		}
	}
	return all
}

// ChangedDeaths returns the deaths of trials whose numbers have changed since the last call.
func (l *Table) ChangedDeaths() map[int64]Deaths {
	all := map[int64]Deaths{}
	for id, t := range l.trials {
		if t.changed {
			all[id], t.changed = t.deaths, false
		}
	}
	return all
}

// Next returns the trial of a worker: the one that it has, else the first free one, which it gets.
func (l *Table) Next(now time.Duration, worker string) (id int64, ok bool) {
	l.pass(now)
	if l.expired[worker] {
		return 0, false
	}
	if id, ok = l.of(worker); !ok {
		i := slices.IndexFunc(l.order, func(id int64) bool { return l.isFree(l.trials[id]) })
		if i < 0 {
			return 0, false
		}
		id = l.order[i]
	}
	t := l.trials[id]
	t.worker, t.heard, t.releasedBy = worker, now, ""
	return id, true
}

// of returns the trial that a worker has.
func (l *Table) of(worker string) (id int64, ok bool) {
	for _, id := range l.order {
		if l.trials[id].worker == worker {
			return id, true
		}
	}
	return 0, false
}

// Beat notes that a worker runs a trial, and reports whether it has it. A trial that nobody has becomes the worker's:
// a table before this one gave it, or the worker was silent and has not died.
func (l *Table) Beat(now time.Duration, worker string, id int64) bool {
	l.pass(now)
	t := l.trials[id]
	if t == nil {
		return false
	}
	if t.worker == "" && t.releasedBy != worker && !l.expired[worker] {
		if _, other := l.of(worker); other {
			return false
		}
		t.worker = worker
		i := slices.IndexFunc(l.deaths, func(x *death) bool { return x.trial == id && x.worker == worker })
		if i >= 0 {
			l.count(l.deaths[i], -1)
			l.deaths = slices.Delete(l.deaths, i, i+1)
		}
	}
	if t.worker != worker {
		return false
	}
	t.heard = now
	return true
}

// Release frees the trial of a worker that gives it back, and reports whether it had it. Its run may have stood still,
// which counts as a death.
func (l *Table) Release(now time.Duration, worker string, id int64, stalled bool) bool {
	l.pass(now)
	t := l.trials[id]
	if t == nil || t.worker != worker {
		return false
	}
	t.worker, t.releasedBy = "", worker
	if stalled {
		l.recordDeath(t, &death{worker: worker, trial: id, at: now, stalled: true})
	}
	return true
}

// AnyFree reports whether a worker that asks gets a trial.
func (l *Table) AnyFree(now time.Duration) bool {
	l.pass(now)
	return slices.ContainsFunc(l.order, func(id int64) bool { return l.isFree(l.trials[id]) })
}

// isFree reports whether a worker may get a trial.
func (l *Table) isFree(t *trial) bool {
	return t.worker == "" && l.now >= t.reservedUntil && !l.hasFailed(t)
}

// Expire frees the trials of a worker whose process has ended.
func (l *Table) Expire(now time.Duration, worker string) {
	l.pass(now)
	l.expired[worker] = true
	for id, ok := l.of(worker); ok; id, ok = l.of(worker) {
		l.recordDeath(l.trials[id], &death{worker: worker, trial: id, at: now})
	}
}

// Finish removes a trial that has finished, and returns the worker that had it; "" for none.
func (l *Table) Finish(id int64) (worker string) {
	if t := l.trials[id]; t != nil {
		worker = t.worker
	}
	delete(l.trials, id)
	l.order = slices.DeleteFunc(l.order, func(x int64) bool { return x == id })
	return worker
}

// Holders returns the trials that workers have, and who has them.
func (l *Table) Holders() map[int64]string {
	all := map[int64]string{}
	for id, t := range l.trials {
		if t.worker != "" {
			all[id] = t.worker
		}
	}
	return all
}
