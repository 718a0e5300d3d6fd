package study

import (
	"maps"
	"reflect"
)

// settled is what is known of the first trials of a study, as far as all of them are over: nothing of it changes any more, so that it is looked at once, and a trial costs no more in a study of
// many.
type settled struct {
	n       int // trials
	alive   int // of these, those that have not failed, and those that are complete
	ended   int
	space   map[string]Distribution // the parameters that all of these have, with the newest distributions; never written to
	started *settled                // tells prefixes of one study from those of another
}

// take takes in the next trial.
func (s *settled) take(t *FrozenTrial) {
	s.n++
	if t.State == Fail {
		return
	}
	s.alive++
	if t.State == Complete {
		s.ended++
	}
	if s.space == nil {
		s.space = maps.Clone(t.Distributions)
		return
	}
	var next map[string]Distribution
	for name, old := range s.space {
		d, has := t.Distributions[name]
		if has && d.same(old) {
			continue
		}
		if next == nil {
			next = maps.Clone(s.space)
		}
		if next[name] = d; !has {
			delete(next, name)
		}
	}
	if next != nil {
		s.space = next
	}
}

// same tells whether two distributions are alike in everything.
func (d Distribution) same(e Distribution) bool {
	return d.Kind == e.Kind && d.Low == e.Low && d.High == e.High && d.Step == e.Step && d.Log == e.Log &&
		(len(d.Choices) == 0 && len(e.Choices) == 0 || reflect.DeepEqual(d.Choices, e.Choices))
}

// all is what is known of all trials of a view that are over.
func (v *View) all() settled {
	s := v.first
	for _, t := range v.Finished[s.n:] {
		s.take(t)
	}
	return s
}

// mark is how far somebody has looked at a study's trials that are over.
type mark struct {
	of *settled
	n  int
}

// news are the trials of a view that are over and were not settled when it was looked at last: some may be seen again. anew: the view is of another study, and all are given.
func (v *View) news(m *mark) (all []*FrozenTrial, anew bool) {
	if v.first.started == nil { // nothing is known of it
		*m = mark{}
		return v.Finished, true
	}
	if anew = m.of != v.first.started; anew {
		*m = mark{of: v.first.started}
	}
	all = v.Finished[m.n:]
	m.n = v.first.n
	return all, anew
}
