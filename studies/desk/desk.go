// Package desk decides who runs which trial. It has no clock, no messages and no database: `now` is the time since any
// fixed moment. It is not for use by several goroutines at a time.
//
// A trial is free or a worker has it. A worker has a trial until it was silent for a lease. Nothing of this need last:
// a new desk learns from what workers send. Results need no desk, since the first one that the database gets counts.
package desk

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

// Desk knows the open trials and who has them.
type Desk struct {
	lease    time.Duration
	attempts int
	now      time.Duration // when it was asked last
	order    []int64       // open trials, as they are given
	trials   map[int64]*trial
	deaths   []*death        // those that may have the cause of another one
	gone     map[string]bool // workers whose process has ended: what they sent may come later
}

// trial is an open trial.
type trial struct {
	worker  string        // that has it; "": it is free
	heard   time.Duration // when the worker was heard last
	kept    time.Duration // a worker of an earlier desk may have it: it is given from then on
	left    string        // the last worker that gave it back: what that worker sent before may come later
	deaths  Deaths
	changed bool          // Died has not returned the deaths
	settled time.Duration // from then on no other death excuses the last one
}

// Deaths are the numbers of workers that died while they had a trial.
type Deaths struct {
	Blamed  int `json:"blamed"`  // as it seems, of the trial
	Excused int `json:"excused"` // of something else: workers of other trials died at the same time
}

// All is the number of workers that have died.
func (d Deaths) All() int { return d.Blamed + d.Excused }

// death is the end of a worker that had a trial and did not give it back.
type death struct {
	worker  string
	trial   int64
	at      time.Duration
	silent  bool // it fell silent: `at` is when it was heard last
	excused bool
}

// New returns a desk. A worker has its trial for a lease after it was heard. A trial fails when so many workers have
// died of it.
func New(lease time.Duration, attempts int) *Desk {
	return &Desk{lease: lease, attempts: attempts, trials: map[int64]*trial{}, gone: map[string]bool{}}
}

// Update sets the open trials, in the order in which they are given.
func (d *Desk) Update(now time.Duration, open []int64) {
	d.pass(now)
	all := make(map[int64]*trial, len(open))
	for _, id := range open {
		if all[id] = d.trials[id]; all[id] == nil {
			all[id] = &trial{}
		}
	}
	d.order, d.trials = slices.Clone(open), all
}

// Restore sets what is known of an open trial from an earlier desk: who died of it, and whether a worker may have it,
// for which it is kept back for a lease.
func (d *Desk) Restore(now time.Duration, id int64, deaths Deaths, held bool) {
	if t := d.trials[id]; t != nil {
		if t.deaths = deaths; held {
			t.kept = now + d.lease
		}
	}
}

// pass lets time pass: trials of silent workers become free. The time for which the desk itself stood still, and heard
// nobody, is no silence.
func (d *Desk) pass(now time.Duration) {
	if gap := now - d.now; gap > d.lease/2 {
		for _, t := range d.trials {
			t.heard, t.kept = t.heard+gap, t.kept+gap
		}
	}
	d.now = now
	for _, id := range d.order {
		if t := d.trials[id]; t.worker != "" && now-t.heard >= d.lease {
			d.die(t, &death{worker: t.worker, trial: id, at: t.heard, silent: true})
		}
	}
}

// die frees the trial of a worker that is gone. If workers of other trials died at the same time, no trial is the
// likely cause: their machine went down, or somebody ended all processes.
func (d *Desk) die(t *trial, x *death) {
	t.worker = ""
	t.settled = x.at + sameCauseWithin
	if x.silent { // a worker is heard a few times in a lease
		t.settled = x.at + d.lease + d.lease/2
	}
	d.count(x, 1)
	d.deaths = slices.DeleteFunc(d.deaths, func(o *death) bool { return d.now-o.at > 2*d.lease+sameCauseWithin })
	for _, o := range d.deaths {
		within := sameCauseWithin
		if x.silent || o.silent {
			within = d.lease / 2
		}
		if o.trial != x.trial && (o.at-x.at).Abs() < within {
			d.excuse(o)
			d.excuse(x)
		}
	}
	d.deaths = append(d.deaths, x)
}

// count adds a death to those of its trial, or takes it away.
func (d *Desk) count(x *death, n int) {
	t := d.trials[x.trial]
	switch {
	case t == nil: // it is finished
		return
	case x.excused:
		t.deaths.Excused += n
	default:
		t.deaths.Blamed += n
	}
	t.changed = true
}

// excuse says that a worker died of something else than its trial.
func (d *Desk) excuse(x *death) {
	if !x.excused {
		d.count(x, -1)
		x.excused = true
		d.count(x, 1)
	}
}

// hopeless reports whether too many workers have died of a trial.
func (d *Desk) hopeless(t *trial) bool {
	return t.deaths.Blamed >= d.attempts || t.deaths.Excused >= excusedFactor*d.attempts
}

// Hopeless returns free trials of which too many workers have died, and how many. Nobody gets them.
func (d *Desk) Hopeless(now time.Duration) map[int64]Deaths {
	d.pass(now)
	all := map[int64]Deaths{}
	for id, t := range d.trials {
		if t.worker == "" && d.hopeless(t) && now >= t.settled {
			all[id] = t.deaths
		}
	}
	return all
}

// Died returns the deaths of trials whose numbers have changed since the last call.
func (d *Desk) Died() map[int64]Deaths {
	all := map[int64]Deaths{}
	for id, t := range d.trials {
		if t.changed {
			all[id], t.changed = t.deaths, false
		}
	}
	return all
}

// Next returns the trial of a worker: the one that it has, else the first free one, which it gets.
func (d *Desk) Next(now time.Duration, worker string) (id int64, ok bool) {
	d.pass(now)
	if d.gone[worker] {
		return 0, false
	}
	if id, ok = d.of(worker); !ok {
		i := slices.IndexFunc(d.order, func(id int64) bool { return d.free(d.trials[id]) })
		if i < 0 {
			return 0, false
		}
		id = d.order[i]
	}
	t := d.trials[id]
	t.worker, t.heard, t.left = worker, now, ""
	return id, true
}

// of returns the trial that a worker has.
func (d *Desk) of(worker string) (id int64, ok bool) {
	for _, id := range d.order {
		if d.trials[id].worker == worker {
			return id, true
		}
	}
	return 0, false
}

// Beat notes that a worker runs a trial, and reports whether it has it. A trial that nobody has becomes the worker's:
// a desk before this one gave it, or the worker was silent and has not died.
func (d *Desk) Beat(now time.Duration, worker string, id int64) bool {
	d.pass(now)
	t := d.trials[id]
	if t == nil {
		return false
	}
	if t.worker == "" && t.left != worker && !d.gone[worker] {
		if _, other := d.of(worker); other {
			return false
		}
		t.worker = worker
		i := slices.IndexFunc(d.deaths, func(x *death) bool { return x.trial == id && x.worker == worker })
		if i >= 0 {
			d.count(d.deaths[i], -1)
			d.deaths = slices.Delete(d.deaths, i, i+1)
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
func (d *Desk) Release(now time.Duration, worker string, id int64, stalled bool) bool {
	d.pass(now)
	t := d.trials[id]
	if t == nil || t.worker != worker {
		return false
	}
	t.worker, t.left = "", worker
	if stalled {
		d.die(t, &death{worker: worker, trial: id, at: now})
	}
	return true
}

// Free reports whether a worker that asks gets a trial.
func (d *Desk) Free(now time.Duration) bool {
	d.pass(now)
	return slices.ContainsFunc(d.order, func(id int64) bool { return d.free(d.trials[id]) })
}

// free reports whether a worker may get a trial.
func (d *Desk) free(t *trial) bool { return t.worker == "" && d.now >= t.kept && !d.hopeless(t) }

// Gone frees the trials of a worker whose process has ended.
func (d *Desk) Gone(now time.Duration, worker string) {
	d.pass(now)
	d.gone[worker] = true
	for id, ok := d.of(worker); ok; id, ok = d.of(worker) {
		d.die(d.trials[id], &death{worker: worker, trial: id, at: now})
	}
}

// Finish removes a trial that has finished, and returns the worker that had it; "" for none.
func (d *Desk) Finish(id int64) (worker string) {
	if t := d.trials[id]; t != nil {
		worker = t.worker
	}
	delete(d.trials, id)
	d.order = slices.DeleteFunc(d.order, func(x int64) bool { return x == id })
	return worker
}

// Held returns the trials that workers have, and who has them.
func (d *Desk) Held() map[int64]string {
	all := map[int64]string{}
	for id, t := range d.trials {
		if t.worker != "" {
			all[id] = t.worker
		}
	}
	return all
}
