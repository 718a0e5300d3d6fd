package study

import (
	"fmt"
	"math"
	"slices"
	"sync"
)

// Options are the settings of a study.
type Options struct {
	Storage    Storage     // nil: in memory
	Directions []Direction // nil: one objective, to be minimized
	Sampler    Sampler     // nil: TPE, of several objectives NSGA-II
	Pruner     Pruner      // nil: none
	Seed       int64
}

// Study is a search for the best parameters. Its methods may be called by several goroutines.
type Study struct {
	Name    string
	options Options
	id      StudyID
	mu      sync.Mutex
	trials  []*FrozenTrial // by ID, as of the last refresh
	byID    map[int64]int  // places in trials
	open    []int64        // IDs of those that were not over
	after   int64          // the highest ID
	claimed map[int64]bool // waiting ones that are asked
	prefix  finishedPrefix // the first trials
	own     map[int64]bool // open ones that this study asked and that are in trials as it wrote them
}

// orDefault returns the value of an option, for which 0 stands for the default.
func orDefault[T int | int64](value, usual T) T {
	if value == 0 {
		return usual
	}
	return value
}

// New opens a study, or makes it if the storage has none of this name.
func New(name string, o Options) (*Study, error) {
	if o.Storage == nil {
		o.Storage = InMemory()
	}
	if len(o.Directions) == 0 {
		o.Directions = []Direction{Minimize}
	}
	if o.Sampler == nil {
		o.Sampler = &TPE{}
		if len(o.Directions) > 1 {
			o.Sampler = &NSGA2{}
		}
	}
	if single, ok := o.Sampler.(interface{ oneObjective() }); ok && single != nil && len(o.Directions) > 1 {
		return nil, fmt.Errorf("sampler %s is for one objective, and the study has %d: take nsga2 or random",
			o.Sampler.Name(), len(o.Directions))
	}
	if o.Pruner != nil && len(o.Directions) > 1 {
		return nil, fmt.Errorf("pruner %s is for one objective, and the study has %d: leave it out", o.Pruner.Name(),
			len(o.Directions))
	}
	if p, ok := o.Pruner.(interface{ check() error }); ok {
		if err := p.check(); err != nil {
			return nil, err
		}
	}
	id, err := o.Storage.Open(name, o.Directions)
	if err != nil {
		return nil, err
	}
	return &Study{Name: name, options: o, id: id, byID: map[int64]int{}, own: map[int64]bool{}}, nil
}

// ID returns the identifier of the study in its storage.
func (s *Study) ID() StudyID { return s.id }

// Storage returns the storage of the study.
func (s *Study) Storage() Storage { return s.options.Storage }

// Directions returns the directions of the objectives.
func (s *Study) Directions() []Direction { return slices.Clone(s.options.Directions) }

// View returns what a trial may see: trials with a number below `sees` as finished if they are, and all others below
// its own number as running.
func (s *Study) View(number, sees int64) (*View, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.refresh(); err != nil {
		return nil, err
	}
	return s.view(number, sees), nil
}

func (s *Study) bare(number int64) *View {
	return &View{Study: s.Name, Seed: s.options.Seed, Number: number, Directions: s.options.Directions,
		Attrs: map[string]any{}}
}

func (s *Study) view(number, sees int64) *View {
	v := s.bare(number)
	below := min(number, sees)
	for k := s.prefix.n; k < len(s.trials) && s.trials[k].Number < below && s.trials[k].State.Finished(); k++ {
		s.prefix.add(s.trials[k])
	}
	k := s.prefix.n
	if k > 0 && s.trials[k-1].Number < below {
		v.prefix, v.Finished = s.prefix, s.trials[:k:k]
		v.prefix.of = &s.prefix
	} else {
		k = 0
	}
	for _, t := range s.trials[k:] {
		switch {
		case t.Number >= number:
		case t.Number < sees && t.State.Finished():
			v.Finished = append(v.Finished, t)
		case t.State != Waiting || t.Number >= sees:
			v.Running = append(v.Running, t)
		}
	}
	return v
}

// All is the `sees` of a view with all finished trials.
const All = math.MaxInt64

// Best returns the best trials: one for one objective, the first of equals; for several objectives all that no other
// trial dominates.
func (s *Study) Best() ([]*FrozenTrial, error) {
	trials, err := s.Trials()
	if err != nil {
		return nil, err
	}
	return Best(trials, s.options.Directions), nil
}

// Best returns the best trials of a list, see Study.Best. Trials that break their constraints do not count.
func Best(trials []*FrozenTrial, directions []Direction) []*FrozenTrial {
	v := &View{Directions: directions, Finished: trials}
	complete := slices.DeleteFunc(v.completed(), func(t *FrozenTrial) bool { return !t.Feasible() })
	if len(complete) == 0 {
		return nil
	}
	if len(directions) > 1 {
		front := v.fronts(complete)[0]
		slices.SortFunc(front, func(a, b *FrozenTrial) int { return int(a.Number - b.Number) })
		return front
	}
	return []*FrozenTrial{slices.MinFunc(complete, v.rank)}
}
