package study

import (
	"encoding/json"
	"fmt"
)

// Trial is a trial that runs. It is for one goroutine.
type Trial struct {
	study    *Study
	frozen   *FrozenTrial
	view     *View
	relative map[string]float64
	fixed    map[string]any
	written  int      // parameters that the storage has
	ignored  []string // see Ignored
}

// Number returns the number of the trial in its study, from 0.
func (t *Trial) Number() int64 { return t.frozen.Number }

// ID returns the identifier of the trial in the storage.
func (t *Trial) ID() int64 { return t.frozen.ID }

// Params returns the values that were suggested.
func (t *Trial) Params() map[string]any { return t.frozen.External() }

// SuggestFloat suggests a number from low to high.
func (t *Trial) SuggestFloat(name string, low, high float64) (float64, error) {
	return t.suggest(name, Distribution{Kind: Float, Low: low, High: high})
}

// SuggestLog suggests a number from low to high on a log scale.
func (t *Trial) SuggestLog(name string, low, high float64) (float64, error) {
	return t.suggest(name, Distribution{Kind: Float, Low: low, High: high, Log: true})
}

// SuggestInt suggests an integer from low to high.
func (t *Trial) SuggestInt(name string, low, high int64) (int64, error) {
	x, err := t.suggest(name, Distribution{Kind: Int, Low: float64(low), High: float64(high), Step: 1})
	return int64(x), err
}

// SuggestCategorical suggests one of several numbers, texts or booleans.
func (t *Trial) SuggestCategorical(name string, choices ...any) (any, error) {
	d := Distribution{Kind: Categorical, Choices: choices}
	x, err := t.suggest(name, d)
	return d.Value(x), err
}

// Suggest suggests a value of a distribution.
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
	_, enqueued := t.fixed[name]
	ok = ok && d.onStep(x)
	if enqueued && !ok {
		if err := t.ignore(fmt.Sprintf("parameter %s was enqueued as %s, want %s: it is sampled instead", name,
			shorten(t.fixed[name]), d.describe())); err != nil {
			return 0, err
		}
	}
	if !enqueued || !ok {
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
	if err := t.study.options.Storage.Suggest(t.frozen); err != nil {
		return err
	}
	t.study.mu.Lock()
	defer t.study.mu.Unlock()
	if t.study.own[t.frozen.ID] { // other trials see its parameters from here on
		t.study.put(t.frozen.clone())
	}
	return nil
}

// Report reports the objective at a step. Of two reports for one step the first counts.
func (t *Trial) Report(step int64, value float64) error {
	if err := t.flush(); err != nil {
		return err
	}
	if !t.frozen.report(Reported{step, value}) {
		return nil
	}
	return t.study.options.Storage.Report(t.frozen.ID, Reported{step, value})
}

// ShouldPrune reports whether the pruner stops the trial.
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

// SetUserAttr stores an attribute with the trial, when its parameters are stored.
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
