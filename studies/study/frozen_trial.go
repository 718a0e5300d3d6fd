package study

import (
	"cmp"
	"encoding/json"
	"maps"
	"math"
	"slices"
	"time"
)

// State of a trial.
type State string

// States, by the names that they have in storages.
const (
	Running  State = "RUNNING"
	Complete State = "COMPLETE"
	Pruned   State = "PRUNED"
	Fail     State = "FAIL"
	Waiting  State = "WAITING" // enqueued, with parameters that somebody chose
)

// Finished reports whether a trial in this state is complete, pruned or failed.
func (s State) Finished() bool { return s == Complete || s == Pruned || s == Fail }

// Direction says whether an objective is minimized or maximized.
type Direction string

// Directions, by the names that they have in storages.
const (
	Minimize Direction = "MINIMIZE"
	Maximize Direction = "MAXIMIZE"
)

// sign returns the factor that makes an objective one to be minimized.
func (d Direction) sign() float64 {
	if d == Maximize {
		return -1
	}
	return 1
}

// FrozenTrial is what a storage keeps of a trial. It does not change any more once it is Finished.
type FrozenTrial struct {
	ID            int64 // in the storage
	Number        int64 // in the study, from 0
	State         State
	Params        map[string]float64 // as samplers see them: see Distribution
	Distributions map[string]Distribution
	Values        []float64 // one an objective, of a complete trial
	Intermediate  []Reported
	UserAttrs     map[string]json.RawMessage
	SystemAttrs   map[string]json.RawMessage
	Start         time.Time // zero: not yet
	Complete      time.Time
}

// Reported is an intermediate value.
type Reported struct {
	Step  int64
	Value float64
}

// External returns the parameters as users see them.
func (t *FrozenTrial) External() map[string]any {
	all := map[string]any{}
	for name, x := range t.Params {
		all[name] = t.Distributions[name].Value(x)
	}
	return all
}

// Last returns the value reported for the highest step; ok is false if there is none.
func (t *FrozenTrial) Last() (r Reported, ok bool) {
	if len(t.Intermediate) == 0 {
		return r, false
	}
	return t.Intermediate[len(t.Intermediate)-1], true
}

// byStep compares the step of a value with a step.
func byStep(r Reported, step int64) int { return cmp.Compare(r.Step, step) }

// reportedFrom returns the value reported for the first step from `step` on.
func (t *FrozenTrial) reportedFrom(step int64) (float64, bool) {
	i, _ := slices.BinarySearchFunc(t.Intermediate, step, byStep)
	if i == len(t.Intermediate) {
		return 0, false
	}
	return t.Intermediate[i].Value, true
}

// report inserts a value. Of two for one step the first stays.
func (t *FrozenTrial) report(r Reported) bool {
	i, found := slices.BinarySearchFunc(t.Intermediate, r.Step, byStep)
	if !found {
		t.Intermediate = slices.Insert(t.Intermediate, i, r)
	}
	return !found
}

// Reported inserts a value, of two for one step the first, and returns the trial as it was then: with the values up to
// this step.
func (t *FrozenTrial) Reported(r Reported) *FrozenTrial {
	if last, ok := t.Last(); ok && r.Step < last.Step { // earlier views keep theirs
		t.Intermediate = slices.Clip(t.Intermediate)
	}
	t.report(r)
	seen := *t
	i, _ := slices.BinarySearchFunc(t.Intermediate, r.Step+1, byStep)
	seen.Intermediate = t.Intermediate[:i:i]
	return &seen
}

// clone returns a copy that may be changed.
func (t *FrozenTrial) clone() *FrozenTrial {
	c := *t
	c.Params, c.Distributions = maps.Clone(t.Params), maps.Clone(t.Distributions)
	c.Values, c.Intermediate = slices.Clone(t.Values), slices.Clone(t.Intermediate)
	c.UserAttrs, c.SystemAttrs = maps.Clone(t.UserAttrs), maps.Clone(t.SystemAttrs)
	return &c
}

// SetSystem sets a system attribute to a value that JSON can hold.
func (t *FrozenTrial) SetSystem(key string, value any) error {
	text, err := json.Marshal(value)
	if err != nil {
		return err
	}
	if t.SystemAttrs == nil {
		t.SystemAttrs = map[string]json.RawMessage{}
	}
	t.SystemAttrs[key] = text
	return nil
}

// System reads a system attribute; ok is false if there is none of this type.
func System[T any](t *FrozenTrial, key string) (value T, ok bool) {
	text, found := t.SystemAttrs[key]
	return value, found && json.Unmarshal(text, &value) == nil
}

// rank compares trials of one objective: complete ones by their values, then pruned ones by their last step and value.
// NaN is the worst value.
func (v *View) rank(a, b *FrozenTrial) int {
	group := func(t *FrozenTrial) int {
		switch {
		case t.State == Complete && len(t.Values) > 0:
			return 0
		case t.State == Pruned && len(t.Intermediate) > 0:
			return 1
		}
		return 2
	}
	if x, y := group(a), group(b); x != y || x == 2 {
		return x - y
	}
	s := v.Directions[0].sign()
	if a.State == Complete {
		return byValue(s*a.Values[0], s*b.Values[0])
	}
	x, _ := a.Last()
	y, _ := b.Last()
	if x.Step != y.Step {
		return int(min(max(y.Step-x.Step, -1), 1))
	}
	return byValue(s*x.Value, s*y.Value)
}

// value returns the value of an objective; NaN if there is none, as in a trial of another program's.
func (t *FrozenTrial) value(objective int) float64 {
	if objective >= len(t.Values) {
		return math.NaN()
	}
	return t.Values[objective]
}

// byValue compares numbers; NaN comes last.
func byValue(a, b float64) int {
	switch {
	case math.IsNaN(a) && math.IsNaN(b):
		return 0
	case math.IsNaN(a):
		return 1
	case math.IsNaN(b) || a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}
