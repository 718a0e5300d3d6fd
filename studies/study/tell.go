package study

import (
	"fmt"
	"math"
	"slices"
)

// Tell writes the values of a complete trial, one per objective. With NaN the trial has failed.
func (s *Study) Tell(t *Trial, values ...float64) error {
	if len(values) != len(s.options.Directions) {
		return fmt.Errorf("trial %d got %d values, the study has %d objectives", t.Number(), len(values),
			len(s.options.Directions))
	}
	if slices.ContainsFunc(values, math.IsNaN) {
		return s.TellFailed(t, fmt.Sprintf("the objective is not a number: %v", values))
	}
	return s.finish(t, Result{State: Complete, Values: values})
}

// TellPruned ends a pruned trial. Its value is the last one that it reported.
func (s *Study) TellPruned(t *Trial) error {
	r := Result{State: Pruned}
	if last, ok := t.frozen.Last(); ok && !math.IsNaN(last.Value) {
		r.Values = []float64{last.Value}
	}
	return s.finish(t, r)
}

// TellFailed ends a trial that has failed, with the reason.
func (s *Study) TellFailed(t *Trial, reason string) error {
	return s.finish(t, Result{State: Fail, Reason: reason})
}

func (s *Study) finish(t *Trial, r Result) error {
	r.Intermediate = t.frozen.Intermediate
	var err error
	if t.written == len(t.frozen.Params) {
		err = s.options.Storage.Finish(t.frozen.ID, r)
	} else {
		t.written = len(t.frozen.Params)
		err = s.options.Storage.End(t.frozen, r)
	}
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, d := range t.frozen.Distributions {
		if d.Kind == Categorical { // choices have other types in a storage: it is read from there
			return nil
		}
	}
	if !s.own[t.frozen.ID] { // it was read
		return nil
	}
	return s.end(t.frozen, r)
}
