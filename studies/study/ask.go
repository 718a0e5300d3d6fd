package study

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"
)

// Ask returns a new trial. Enqueued trials come first.
func (s *Study) Ask() (*Trial, error) { return s.ask(All, nil) }

// AskSpace returns a new trial with the parameters of a space, which are stored in one step. sees bounds what the
// sampler sees of other trials, see View.
func (s *Study) AskSpace(space Space, sees int64) (*Trial, error) { return s.ask(sees, space) }

func (s *Study) ask(sees int64, space Space) (*Trial, error) {
	all, err := s.AskSpaces(1, space, func(int64) int64 { return sees })
	if err != nil {
		return nil, err
	}
	return all[0], nil
}

// AskSpaces returns up to n new trials, the same as n calls of AskSpace, and stores them in one step. sees is a
// function of the number of the trial. An enqueued trial comes alone. If the sampler is exhausted there are fewer
// trials; ErrExhausted: there is none.
func (s *Study) AskSpaces(n int, space Space, sees func(number int64) int64) ([]*Trial, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		if err := s.refresh(); err != nil {
			return nil, err
		}
		next := int64(0)
		if len(s.trials) > 0 {
			next = s.trials[len(s.trials)-1].Number + 1
		}
		if t, err := s.waiting(sees(next), space); err != nil {
			return nil, err
		} else if t != nil {
			return []*Trial{t}, nil
		}
		asked, frozen, err := s.prepareAll(next, n, space, sees)
		if err != nil && (len(asked) == 0 || !errors.Is(err, ErrExhausted)) {
			return nil, err
		}
		err = s.options.Storage.Add(s.id, next, frozen...)
		if f, ok := s.options.Sampler.(interface{ forget() }); ok && err != nil {
			f.forget() // what it has seen was not stored
		}
		if errors.Is(err, ErrMoved) {
			continue
		}
		if err != nil {
			return nil, err
		}
		for _, t := range asked {
			t.written = len(t.frozen.Params)
			s.putAsked(t.frozen)
		}
		return asked, nil
	}
}

// prepareAll prepares new trials from the number next on. Each sees those before it. After an error it returns those
// that were prepared.
func (s *Study) prepareAll(next int64, n int, space Space,
	sees func(number int64) int64) (asked []*Trial, frozen []*FrozenTrial, err error) {
	stored := len(s.trials)
	defer func() { s.trials = s.trials[:stored] }()
	for number := next; number < next+int64(n); number++ {
		f := &FrozenTrial{State: Running, Number: number, Params: map[string]float64{},
			Distributions: map[string]Distribution{}, Start: time.Now()}
		t, err := s.prepare(f, sees(number), space)
		if err != nil {
			return asked, frozen, err
		}
		asked, frozen = append(asked, t), append(frozen, f)
		s.trials = append(s.trials, f.clone()) // as the next one sees it
	}
	return asked, frozen, nil
}

// prepare samples a new trial, with the parameters of the space.
func (s *Study) prepare(f *FrozenTrial, sees int64, space Space) (*Trial, error) {
	v := s.bare(f.Number)
	if needsOf(s.options.Sampler) != needsNothing { // to list all trials for each costs more than the rest of it
		v = s.view(f.Number, sees)
	}
	t := &Trial{study: s, frozen: f, view: v}
	var err error
	var readable bool
	if t.fixed, readable = fixedOf(f); !readable {
		if err := t.ignore(fmt.Sprintf("what was enqueued, %s, cannot be read as parameters: all are sampled",
			shorten(string(f.SystemAttrs[fixedAttr])))); err != nil {
			return nil, err
		}
	}
	if t.relative, err = s.options.Sampler.Relative(v); err != nil {
		return nil, err
	}
	if err := space.Suggest(t); err != nil {
		return nil, err
	}
	for _, name := range slices.Sorted(maps.Keys(t.fixed)) {
		if space != nil && !slices.ContainsFunc(space, func(p Param) bool { return p.Name == name }) {
			if err := t.ignore(fmt.Sprintf("parameter %s was enqueued as %s, but there is none of that name: it is "+
				"left out", name, shorten(t.fixed[name]))); err != nil {
				return nil, err
			}
		}
	}
	for key, value := range v.Attrs {
		if err := f.SetSystem(key, value); err != nil {
			return nil, err
		}
	}
	return t, f.SetSystem(SeesAttr, min(sees, f.Number))
}

// SeesAttr is the attribute of a trial with the number below which its sampler and pruner see results.
const SeesAttr = "xlarun:sees"

// waiting takes a trial that was enqueued; nil if there is none.
func (s *Study) waiting(sees int64, space Space) (*Trial, error) {
	for _, id := range s.open {
		f := s.trials[s.byID[id]]
		if f.State != Waiting || s.claimed[id] {
			continue
		}
		if s.claimed == nil {
			s.claimed = map[int64]bool{}
		}
		s.claimed[id] = true
		f = f.clone()
		f.State, f.Start = Running, time.Now()
		if f.Params == nil {
			f.Params, f.Distributions = map[string]float64{}, map[string]Distribution{}
		}
		t, err := s.prepare(f, sees, space)
		if err != nil {
			return nil, err
		}
		t.written = len(f.Params)
		ok, err := s.options.Storage.Take(f)
		if err != nil {
			return nil, err
		}
		if ok {
			s.putAsked(f)
			return t, nil
		}
	}
	return nil, nil
}

// Enqueue adds a trial with chosen values of parameters. Other parameters are sampled.
func (s *Study) Enqueue(params map[string]any) error {
	f := &FrozenTrial{State: Waiting}
	if err := f.SetSystem(fixedAttr, params); err != nil {
		return err
	}
	return s.options.Storage.Add(s.id, -1, f)
}
