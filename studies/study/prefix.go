package study

import (
	"maps"
	"reflect"
)

// finishedPrefix summarizes the first trials of a study, up to the first one that has not finished. These trials do not
// change any more: each is read once, and asking a trial costs the same in a study of many trials.
type finishedPrefix struct {
	n         int // number of trials
	notFailed int // trials that are complete or pruned
	complete  int // trials that are complete
	// space holds the parameters that all trials that have not failed have, with the newest distributions. It is never
	// written to.
	space map[string]Distribution
	of    *finishedPrefix // of the study: it tells prefixes of one study from those of another
}

// add adds the next trial.
func (s *finishedPrefix) add(t *FrozenTrial) {
	s.n++
	if t.State == Fail {
		return
	}
	s.notFailed++
	if t.State == Complete {
		s.complete++
	}
	if s.space == nil {
		s.space = maps.Clone(t.Distributions)
		return
	}
	var next map[string]Distribution
	for name, old := range s.space {
		d, found := t.Distributions[name]
		if found && d.same(old) {
			continue
		}
		if next == nil {
			next = maps.Clone(s.space)
		}
		if next[name] = d; !found {
			delete(next, name)
		}
	}
	if next != nil {
		s.space = next
	}
}

// same reports whether two distributions are equal in every field.
func (d Distribution) same(e Distribution) bool {
	return d.Kind == e.Kind && d.Low == e.Low && d.High == e.High && d.Step == e.Step && d.Log == e.Log &&
		(len(d.Choices) == 0 && len(e.Choices) == 0 || reflect.DeepEqual(d.Choices, e.Choices))
}

// summary summarizes all finished trials of a view.
func (v *View) summary() finishedPrefix {
	s := v.prefix
	for _, t := range v.Finished[s.n:] {
		s.add(t)
	}
	return s
}

// cursor is how far a sampler has read the finished trials of a study.
type cursor struct {
	of *finishedPrefix
	n  int
}

// newTrials returns the finished trials of a view that were not in the prefix at the last call with this cursor: some
// are returned again. If the view is of another study, restarted is true and all trials are returned.
func (v *View) newTrials(c *cursor) (all []*FrozenTrial, restarted bool) {
	if v.prefix.of == nil { // the view has no prefix
		*c = cursor{}
		return v.Finished, true
	}
	if restarted = c.of != v.prefix.of; restarted {
		*c = cursor{of: v.prefix.of}
	}
	all = v.Finished[c.n:]
	c.n = v.prefix.n
	return all, restarted
}
