package study

import (
	"slices"
	"time"
)

// Trials returns all trials, by ID. They must not be changed.
func (s *Study) Trials() ([]*FrozenTrial, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.take(s.open, nil); err != nil {
		return nil, err
	}
	return slices.Clone(s.trials), nil
}

// TrialsFrom returns all trials after the first n, without the intermediate values of running trials that this study
// has asked. Its cost depends on the number of returned trials and of new results.
func (s *Study) TrialsFrom(after int) ([]*FrozenTrial, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.refresh(); err != nil {
		return nil, err
	}
	return slices.Clone(s.trials[min(after, len(s.trials)):]), nil
}

// refresh reads new trials and results. Its cost depends only on their number.
func (s *Study) refresh() error {
	var listed, running []int64
	s.open = slices.DeleteFunc(s.open, func(id int64) bool { return s.trials[s.byID[id]].State.Finished() })
	for _, id := range s.open {
		if s.own[id] {
			running = append(running, id)
		} else {
			listed = append(listed, id)
		}
	}
	return s.take(listed, running)
}

// take reads new trials and changes of open ones.
func (s *Study) take(listed, running []int64) error {
	news, err := s.options.Storage.Updates(s.id, s.after, listed, running)
	if err != nil || len(news) == 0 {
		return err
	}
	for _, t := range news {
		if t.State.Finished() {
			delete(s.own, t.ID)
		}
		s.put(t)
	}
	s.open = slices.DeleteFunc(s.open, func(id int64) bool { return s.trials[s.byID[id]].State.Finished() })
	return nil
}

// MarkFinished records a result and reports that the caller has just written to the storage: the study does not read
// them again.
func (s *Study) MarkFinished(trial int64, r Result) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.own[trial] {
		return nil // it is read
	}
	return s.end(s.trials[s.byID[trial]], r)
}

// end puts a trial of this study, with the result that it has written, into the list.
func (s *Study) end(t *FrozenTrial, r Result) error {
	t = t.clone()
	if err := t.end(r, time.Now()); err != nil {
		return err
	}
	delete(s.own, t.ID)
	s.put(t)
	return nil
}

// put stores a trial in the list.
func (s *Study) put(t *FrozenTrial) {
	if i, ok := s.byID[t.ID]; ok {
		s.trials[i] = t
		return
	}
	s.byID[t.ID] = len(s.trials)
	s.trials, s.open, s.after = append(s.trials, t), append(s.open, t.ID), max(s.after, t.ID)
}

// putAsked stores a trial that was just asked.
func (s *Study) putAsked(f *FrozenTrial) {
	s.put(f.clone())
	s.own[f.ID] = true
}
