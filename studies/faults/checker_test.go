package faults

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"xlarun/studies/internal/decision"
)

// event is an answer of a coordinator to a worker.
type event struct {
	decision.Decision
	Coordinator int           // its process
	At          time.Duration // by the clock that nobody sets
}

// change is a change of a trial's row in the database, in the order of the changes.
type change struct {
	Trial    int64
	From, To string // states; "": there is no row
}

// record is what remains of a history.
type record struct {
	Trials  int // of the study
	Lease   time.Duration
	Return  time.Duration // in which workers are heard after the last fault; 0: any
	Events  []event
	Changes []change
	// Results and Undisturbed have a line for each trial, in the order of their numbers.
	Results, Undisturbed []string
	// Started are the times at which coordinators started, which know no leases at first.
	Started []time.Duration
	// Strangers are workers of another version: ":PID:" of their names.
	Strangers []string
	Healed    time.Duration // when the last fault was over
	Workers   []string      // that were alive then: ":PID:" of their names
}

// Kinds of Decision.
const next, result, release = "next", "result", "release"

// violations says what is wrong with a history. Each begins with the name of a rule.
func (r *record) violations() (all []string) {
	return slices.Concat(r.toldOnce(), r.budget(), r.values(), r.oneOwner(), r.oneCoordinator(), r.back(),
		r.oneVersion())
}

// finished reports whether a trial in this state is over.
func finished(state string) bool {
	return slices.Contains([]string{"COMPLETE", "PRUNED", "FAIL"}, state)
}

// toldOnce: each trial finishes once, and no row is removed.
func (r *record) toldOnce() (all []string) {
	told := map[int64]int{}
	for _, c := range r.Changes {
		told[c.Trial] += 0
		switch {
		case c.To == "":
			all = append(all, fmt.Sprintf("lost: the row of trial %d was removed", c.Trial))
		case finished(c.From):
			all = append(all, fmt.Sprintf("told: trial %d was %s and became %s", c.Trial, c.From, c.To))
		}
		if finished(c.To) {
			told[c.Trial]++
		}
	}
	for trial, n := range told {
		if n != 1 {
			all = append(all, fmt.Sprintf("told: trial %d was told %d times", trial, n))
		}
	}
	return all
}

// budget: the study has as many trials as its spec says.
func (r *record) budget() (all []string) {
	begun := map[int64]bool{}
	for _, c := range r.Changes {
		if c.From == "" {
			begun[c.Trial] = true
		}
	}
	if len(begun) != r.Trials {
		all = append(all, fmt.Sprintf("budget: %d trials were asked, the spec has %d", len(begun), r.Trials))
	}
	for _, e := range r.Events {
		if e.Granted && !begun[e.Trial] {
			all = append(all, fmt.Sprintf("invented: a worker has trial %d, which is in no row", e.Trial))
		}
	}
	return all
}

// values: all trials have the results of an undisturbed run, to the bit.
func (r *record) values() (all []string) {
	if len(r.Results) != len(r.Undisturbed) {
		all = append(all, fmt.Sprintf("lost: %d trials have results, %d in the undisturbed run", len(r.Results),
			len(r.Undisturbed)))
	}
	for i := range min(len(r.Results), len(r.Undisturbed)) {
		if r.Results[i] != r.Undisturbed[i] {
			all = append(all, fmt.Sprintf("values: got %s, want %s", r.Results[i], r.Undisturbed[i]))
		}
	}
	return all
}

// oneOwner: a worker gets the trial of another one only after a lease of silence, unless that gave it back or another
// coordinator started meanwhile. A result counts whoever sends it.
func (r *record) oneOwner() (all []string) {
	type owner struct {
		worker string
		last   time.Duration // when something of it was accepted
	}
	owners := map[int64]owner{}
	over := map[int64]bool{}
	for _, e := range r.Events {
		if !e.Granted || over[e.Trial] {
			continue
		}
		was, owned := owners[e.Trial]
		switch {
		case e.Kind == result:
			over[e.Trial] = true
		case owned && was.worker != e.Worker && e.At-was.last < r.Lease && !r.started(was.last, e.At):
			all = append(all, fmt.Sprintf("owners: %s of trial %d by %s was accepted %v after %s, whose lease lasted, "+
				"was heard", e.Kind, e.Trial, e.Worker, e.At-was.last, was.worker))
		}
		owners[e.Trial] = owner{e.Worker, e.At}
		if e.Kind == release {
			delete(owners, e.Trial)
		}
	}
	return all
}

// oneVersion: nothing of a worker of another version is accepted.
func (r *record) oneVersion() (all []string) {
	for _, e := range r.Events {
		if slices.ContainsFunc(r.Strangers, func(w string) bool { return strings.Contains(e.Worker, w) }) {
			all = append(all, fmt.Sprintf("version: %s of %s, which is of another version, was answered", e.Kind,
				e.Worker))
		}
	}
	return all
}

// started reports whether a coordinator started between two times.
func (r *record) started(from, to time.Duration) bool {
	return slices.ContainsFunc(r.Started, func(at time.Duration) bool { return at >= from && at <= to })
}

// oneCoordinator: no coordinator answers after its successor has begun.
func (r *record) oneCoordinator() (all []string) {
	var seen []int
	for _, e := range r.Events {
		if i := slices.Index(seen, e.Coordinator); i >= 0 && i != len(seen)-1 {
			return []string{fmt.Sprintf("coordinators: %d answered after %d had begun", e.Coordinator,
				seen[len(seen)-1])}
		} else if i < 0 {
			seen = append(seen, e.Coordinator)
		}
	}
	return nil
}

// back: each worker is heard in time after the last fault was over, if the study lasted so long. A worker that waits
// for a trial is heard too.
func (r *record) back() (all []string) {
	until := r.Healed + r.Return
	if n := len(r.Events); r.Return == 0 || n == 0 || r.Events[n-1].At < until {
		return nil
	}
	for _, w := range r.Workers {
		at := slices.IndexFunc(r.Events, func(e event) bool { return e.At > r.Healed && strings.Contains(e.Worker, w) })
		switch {
		case at < 0:
			all = append(all, fmt.Sprintf("back: worker %s is not heard after the last fault", w))
		case r.Events[at].At > until:
			all = append(all, fmt.Sprintf("back: worker %s is heard %v after the last fault, more than %v", w,
				r.Events[at].At-r.Healed, r.Return))
		}
	}
	return all
}
