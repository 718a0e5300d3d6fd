package study

import (
	"slices"
	"time"
)

// Trials are all trials as they are now, by ID. They are not to be changed.
func (s *Study) Trials() ([]*FrozenTrial, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.take(s.open, nil); err != nil {
		return nil, err
	}
	return slices.Clone(s.trials), nil
}

// Followed are the trials after the first so many, as Trials gives them, but without what those that this study has asked with a space report while they are under way. What it costs
// depends on how many there are after the first, and on what is new, alone.
func (s *Study) Followed(after int) ([]*FrozenTrial, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.refresh(); err != nil {
		return nil, err
	}
	return slices.Clone(s.trials[min(after, len(s.trials)):]), nil
}

// refresh reads what is new: its cost depends on that alone.
func (s *Study) refresh() error {
	var listed, running []int64
	s.open = slices.DeleteFunc(s.open, func(id int64) bool { return s.trials[s.byID[id]].State.Finished() })
	for _, id := range s.open {
		if s.whole[id] {
			running = append(running, id)
		} else {
			listed = append(listed, id)
		}
	}
	return s.take(listed, running)
}

// take takes in what the storage has of trials that were not over, and what is new.
func (s *Study) take(listed, running []int64) error {
	news, err := s.options.Storage.News(s.id, s.after, listed, running)
	if err != nil || len(news) == 0 {
		return err
	}
	for _, t := range news {
		if t.State.Finished() {
			delete(s.whole, t.ID)
		}
		s.place(t)
	}
	s.open = slices.DeleteFunc(s.open, func(id int64) bool { return s.trials[s.byID[id]].State.Finished() })
	return nil
}

// Over takes in how a trial that this study has asked with a space has ended, and what it has reported beside its result, where its storage was told so just now: the study does not read it again.
func (s *Study) Over(trial int64, r Result, beside []Reported) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.whole[trial] {
		return nil // it is read
	}
	t := s.trials[s.byID[trial]].clone()
	for _, x := range beside {
		t.report(x)
	}
	if err := t.end(r, time.Now()); err != nil {
		return err
	}
	delete(s.whole, trial)
	s.place(t)
	return nil
}

// place puts a trial in its place.
func (s *Study) place(t *FrozenTrial) {
	if i, ok := s.byID[t.ID]; ok {
		s.trials[i] = t
		return
	}
	s.byID[t.ID] = len(s.trials)
	s.trials, s.open, s.after = append(s.trials, t), append(s.open, t.ID), max(s.after, t.ID)
}

// asked puts a trial in its place as the storage has it by now. Of one that was asked with a space nothing changes any more that others see, until it is over.
func (s *Study) asked(f *FrozenTrial, space Space) {
	s.place(f.clone())
	if space != nil {
		s.whole[f.ID] = true
	}
}
