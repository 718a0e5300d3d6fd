package study

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"sync"
	"time"
)

// Options of a study.
type Options struct {
	Storage    Storage     // nil: in memory
	Directions []Direction // nil: one objective, to be minimised
	Sampler    Sampler     // nil: TPE, of several objectives NSGA-II
	Pruner     Pruner      // nil: none
	Seed       int64
}

// Study is a search. Its methods may be called by several goroutines.
type Study struct {
	Name    string
	options Options
	id      StudyID
	mu      sync.Mutex
	trials  []*FrozenTrial // by ID, as of the last refresh
	byID    map[int64]int  // places in trials
	open    []int64        // IDs of those that were not over
	after   int64          // the highest ID
	taken   map[int64]bool // waiting ones that are asked
	settled settled        // first trials that are over
	whole   map[int64]bool // of open ones, those that this study asked with all their parameters
}

// New opens a study, or makes it.
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
		return nil, fmt.Errorf("sampler %s is for one objective, and the study has %d: take nsga2 or random", o.Sampler.Name(), len(o.Directions))
	}
	if o.Pruner != nil && len(o.Directions) > 1 {
		return nil, fmt.Errorf("pruner %s is for one objective, and the study has %d: leave it out", o.Pruner.Name(), len(o.Directions))
	}
	id, err := o.Storage.Open(name, o.Directions)
	if err != nil {
		return nil, err
	}
	return &Study{Name: name, options: o, id: id, byID: map[int64]int{}, whole: map[int64]bool{}}, nil
}

// ID is the study's in its storage.
func (s *Study) ID() StudyID { return s.id }

// Storage is where the study is kept.
func (s *Study) Storage() Storage { return s.options.Storage }

// Directions of the objectives.
func (s *Study) Directions() []Direction { return slices.Clone(s.options.Directions) }

// View is what is seen for a trial of a number: as finished those with a smaller number than `sees` that are over, as running
// all others below its own number.
func (s *Study) View(number, sees int64) (*View, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.refresh(); err != nil {
		return nil, err
	}
	return s.view(number, sees), nil
}

func (s *Study) bare(number int64) *View {
	return &View{Study: s.Name, Seed: s.options.Seed, Number: number, Directions: s.options.Directions, Attrs: map[string]any{}}
}

func (s *Study) view(number, sees int64) *View {
	v := s.bare(number)
	below := min(number, sees)
	for k := s.settled.n; k < len(s.trials) && s.trials[k].Number < below && s.trials[k].State.Finished(); k++ {
		s.settled.take(s.trials[k])
	}
	k := s.settled.n
	if k > 0 && s.trials[k-1].Number < below {
		v.first, v.Finished = s.settled, s.trials[:k:k]
		v.first.started = &s.settled
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

// All is the `sees` of a view of all trials that are over.
const All = math.MaxInt64

// Ask gives a new trial, or one that is waiting: what is enqueued comes first.
func (s *Study) Ask() (*Trial, error) { return s.ask(All, nil) }

// AskSpace gives a new trial with the parameters of a space; it and its parameters are stored in one step. sees bounds what
// the sampler sees of others, see View.
func (s *Study) AskSpace(space Space, sees int64) (*Trial, error) { return s.ask(sees, space) }

func (s *Study) ask(sees int64, space Space) (*Trial, error) {
	all, err := s.AskSpaces(1, space, func(int64) int64 { return sees })
	if err != nil {
		return nil, err
	}
	return all[0], nil
}

// AskSpaces gives up to n new trials as AskSpace gives them one after the other, and stores them in one step; sees is of a trial's number. A trial that is waiting comes alone. Where the sampler
// is exhausted they are fewer; ErrExhausted: there is none.
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
			s.asked(t.frozen, space)
		}
		return asked, nil
	}
}

// prepareAll prepares new trials from a number on, each of which sees those before it. What was prepared before an error is given with it.
func (s *Study) prepareAll(next int64, n int, space Space, sees func(number int64) int64) (asked []*Trial, frozen []*FrozenTrial, err error) {
	stored := len(s.trials)
	defer func() { s.trials = s.trials[:stored] }()
	for number := next; number < next+int64(n); number++ {
		f := &FrozenTrial{State: Running, Number: number, Params: map[string]float64{}, Distributions: map[string]Distribution{}, Start: time.Now()}
		t, err := s.prepare(f, sees(number), space)
		if err != nil {
			return asked, frozen, err
		}
		asked, frozen = append(asked, t), append(frozen, f)
		s.trials = append(s.trials, f.clone()) // as the next one sees it
	}
	return asked, frozen, nil
}

// prepare makes of a new trial one that can be asked for parameters, and asks it for those of the space.
func (s *Study) prepare(f *FrozenTrial, sees int64, space Space) (*Trial, error) {
	v := s.bare(f.Number)
	if sightOf(s.options.Sampler) != sightNone { // to list all trials for each costs more than the rest of it
		v = s.view(f.Number, sees)
	}
	t := &Trial{study: s, frozen: f, view: v}
	var err error
	var legible bool
	if t.fixed, legible = fixedOf(f); !legible {
		if err := t.ignore(fmt.Sprintf("what was enqueued, %s, cannot be read as parameters: all are sampled", shown(string(f.SystemAttrs[fixedAttr])))); err != nil {
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
			if err := t.ignore(fmt.Sprintf("parameter %s was enqueued as %s, but there is none of that name: it is left out", name, shown(t.fixed[name]))); err != nil {
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

// SeesAttr of a trial is the number below which its sampler and pruner see how others ended.
const SeesAttr = "xlarun:sees"

// waiting takes a trial that somebody enqueued; nil: there is none.
func (s *Study) waiting(sees int64, space Space) (*Trial, error) {
	for _, id := range s.open {
		f := s.trials[s.byID[id]]
		if f.State != Waiting || s.taken[id] {
			continue
		}
		if s.taken == nil {
			s.taken = map[int64]bool{}
		}
		s.taken[id] = true
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
			s.asked(f, space)
			return t, nil
		}
	}
	return nil, nil
}

// Enqueue adds a trial that waits, with values of parameters as users see them. Others are sampled.
func (s *Study) Enqueue(params map[string]any) error {
	f := &FrozenTrial{State: Waiting}
	if err := f.SetSystem(fixedAttr, params); err != nil {
		return err
	}
	return s.options.Storage.Add(s.id, -1, f)
}

// Tell writes the values of a trial that is complete, one an objective. NaN makes it a failed one.
func (s *Study) Tell(t *Trial, values ...float64) error {
	if len(values) != len(s.options.Directions) {
		return fmt.Errorf("trial %d got %d values, the study has %d objectives", t.Number(), len(values), len(s.options.Directions))
	}
	if slices.ContainsFunc(values, math.IsNaN) {
		return s.Failed(t, fmt.Sprintf("the objective is not a number: %v", values))
	}
	return s.finish(t, Result{State: Complete, Values: values})
}

// TellPruned ends a trial that was pruned. Its value is the last that it reported.
func (s *Study) TellPruned(t *Trial) error {
	r := Result{State: Pruned}
	if last, ok := t.frozen.Last(); ok && !math.IsNaN(last.Value) {
		r.Values = []float64{last.Value}
	}
	return s.finish(t, r)
}

// Failed ends a trial with a reason.
func (s *Study) Failed(t *Trial, reason string) error {
	return s.finish(t, Result{State: Fail, Reason: reason})
}

func (s *Study) finish(t *Trial, r Result) error {
	r.Intermediate = t.frozen.Intermediate
	if t.written == len(t.frozen.Params) {
		return s.options.Storage.Finish(t.frozen.ID, r)
	}
	t.written = len(t.frozen.Params)
	return s.options.Storage.End(t.frozen, r)
}

// Optimize runs an objective on so many trials, some of them at a time. A trial whose objective returns ErrPruned is pruned, one that returns
// another error or panics has failed; the study goes on.
func (s *Study) Optimize(ctx context.Context, trials, parallel int, objective func(*Trial) ([]float64, error)) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var wait sync.WaitGroup
	jobs := make(chan struct{})
	for range max(1, parallel) {
		wait.Go(func() {
			for range jobs {
				if err := s.one(objective); err != nil {
					cancel(err)
				}
			}
		})
	}
	for range trials {
		select {
		case jobs <- struct{}{}:
			continue
		case <-ctx.Done():
		}
		break
	}
	close(jobs)
	wait.Wait()
	if err := context.Cause(ctx); err != nil && !errors.Is(err, ErrExhausted) {
		return err
	}
	return nil
}

// ErrPruned is what an objective returns for a trial that is to end.
var ErrPruned = errors.New("the trial is pruned")

func (s *Study) one(objective func(*Trial) ([]float64, error)) error {
	t, err := s.Ask()
	if err != nil {
		return err
	}
	values, err := guarded(objective, t)
	switch {
	case errors.Is(err, ErrPruned):
		return s.TellPruned(t)
	case err != nil:
		return s.Failed(t, err.Error())
	}
	return s.Tell(t, values...)
}

// guarded makes an error of a panic.
func guarded(objective func(*Trial) ([]float64, error), t *Trial) (values []float64, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("the objective panicked: %v", r)
		}
	}()
	return objective(t)
}

// Best are the best trials: of one objective one, the first of equals; of several all that no other is better than.
func (s *Study) Best() ([]*FrozenTrial, error) {
	trials, err := s.Trials()
	if err != nil {
		return nil, err
	}
	return Best(trials, s.options.Directions), nil
}

// Best of trials, of those that keep their constraints; see Study.Best.
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

// Trial is one under way. It is for one goroutine.
type Trial struct {
	study    *Study
	frozen   *FrozenTrial
	view     *View
	relative map[string]float64
	fixed    map[string]any
	written  int      // parameters that the storage has
	ignored  []string // see Ignored
}

// Number of the trial in its study, from 0.
func (t *Trial) Number() int64 { return t.frozen.Number }

// ID of the trial in the storage.
func (t *Trial) ID() int64 { return t.frozen.ID }

// Params are the values that were suggested.
func (t *Trial) Params() map[string]any { return t.frozen.External() }

// SuggestFloat suggests a number from low to high.
func (t *Trial) SuggestFloat(name string, low, high float64) (float64, error) {
	return t.suggest(name, Distribution{Kind: Float, Low: low, High: high})
}

// SuggestLog suggests a number from low to high, equal ratios being equally likely.
func (t *Trial) SuggestLog(name string, low, high float64) (float64, error) {
	return t.suggest(name, Distribution{Kind: Float, Low: low, High: high, Log: true})
}

// SuggestInt suggests a whole number from low to high.
func (t *Trial) SuggestInt(name string, low, high int64) (int64, error) {
	x, err := t.suggest(name, Distribution{Kind: Int, Low: float64(low), High: float64(high), Step: 1})
	return int64(x), err
}

// SuggestCategorical suggests one of some numbers, texts or truth values.
func (t *Trial) SuggestCategorical(name string, choices ...any) (any, error) {
	d := Distribution{Kind: Categorical, Choices: choices}
	x, err := t.suggest(name, d)
	return d.Value(x), err
}

// Suggest suggests a value of any distribution.
func (t *Trial) Suggest(name string, d Distribution) (any, error) {
	x, err := t.suggest(name, d)
	return d.Value(x), err
}

func (t *Trial) suggest(name string, d Distribution) (float64, error) {
	if old, ok := t.frozen.Distributions[name]; ok {
		if !old.equal(d) {
			return 0, &ParamError{name, "it was suggested before, from another distribution"}
		}
		return t.frozen.Params[name], nil
	}
	if err := d.Check(); err != nil {
		return 0, &ParamError{name, "it has " + err.Error()}
	}
	x, ok := d.Of(t.fixed[name])
	_, has := t.fixed[name]
	ok = ok && d.onStep(x)
	if has && !ok {
		if err := t.ignore(fmt.Sprintf("parameter %s was enqueued as %s, want %s: it is sampled instead", name, shown(t.fixed[name]), d.wants())); err != nil {
			return 0, err
		}
	}
	if !has || !ok {
		if x, ok = t.relative[name]; !ok || !d.contains(x) {
			x = d.At(0)
			if !d.single() {
				var err error
				if x, err = t.study.options.Sampler.Independent(t.view, name, d); err != nil {
					return 0, err
				}
			}
		}
		x = d.Round(x)
	}
	t.frozen.Params[name], t.frozen.Distributions[name] = x, d
	return x, nil
}

// flush stores parameters that are not stored yet.
func (t *Trial) flush() error {
	if t.written == len(t.frozen.Params) {
		return nil
	}
	t.written = len(t.frozen.Params)
	return t.study.options.Storage.Suggest(t.frozen)
}

// Report says what the objective is after a step; of two reports for one step the first counts.
func (t *Trial) Report(step int64, value float64) error {
	if err := t.flush(); err != nil {
		return err
	}
	if !t.frozen.report(Reported{step, value}) {
		return nil
	}
	return t.study.options.Storage.Report(t.frozen.ID, Reported{step, value})
}

// ShouldPrune tells whether the trial is not worth going on with.
func (t *Trial) ShouldPrune() (bool, error) {
	if t.study.options.Pruner == nil {
		return false, nil
	}
	v, err := t.study.View(t.frozen.Number, All)
	if err != nil {
		return false, err
	}
	return t.study.options.Pruner.Prune(v, t.frozen), nil
}

// SetUserAttr keeps something with the trial; it is stored with the parameters.
func (t *Trial) SetUserAttr(key string, value any) error {
	text, err := json.Marshal(value)
	if err != nil {
		return err
	}
	if t.frozen.UserAttrs == nil {
		t.frozen.UserAttrs = map[string]json.RawMessage{}
	}
	t.frozen.UserAttrs[key] = text
	t.written = -1
	return nil
}
