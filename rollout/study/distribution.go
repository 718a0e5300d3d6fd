package study

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
)

// Kind of a distribution.
type Kind string

// Kinds, by the names that they have in storages.
const (
	Float       Kind = "FloatDistribution"
	Int         Kind = "IntDistribution"
	Categorical Kind = "CategoricalDistribution"
)

// Distribution is the set of values of a parameter. In samplers and storages a value is a float64: of a categorical one the
// index of the choice.
type Distribution struct {
	Kind      Kind
	Low, High float64 // both are values; high is one only where it is a number of steps above low
	Step      float64 // between values; 0: none, of a Float
	Log       bool    // equal ratios are equally likely
	Choices   []any   // of a Categorical: nil, bool, int64, float64, string
}

// largestInt is up to where float64 counts one by one.
const largestInt = 1 << 53

// Check finds what is wrong with the distribution, in a few words; nil for nothing.
func (d Distribution) Check() error {
	if d.Kind == Categorical {
		if len(d.Choices) == 0 {
			return fmt.Errorf("no choices, want one or more")
		}
		for i, c := range d.Choices {
			if _, ok := d.index(c); !ok {
				return fmt.Errorf("choice %d is %v, want a number, a text, true or false", i+1, c)
			}
			if j, _ := d.index(c); j != i {
				return fmt.Errorf("choice %v twice", c)
			}
		}
		return nil
	}
	if d.Kind != Float && d.Kind != Int {
		return fmt.Errorf("kind %q, want %s, %s or %s", d.Kind, Float, Int, Categorical)
	}
	for _, x := range []float64{d.Low, d.High, d.Step} {
		if math.IsNaN(x) || math.IsInf(x, 0) || d.Kind == Int && (x != math.Trunc(x) || math.Abs(x) > largestInt) {
			return fmt.Errorf("bound or step %v, want a finite %s number", x, map[Kind]string{Float: "real", Int: "whole"}[d.Kind])
		}
	}
	switch {
	case d.Low > d.High:
		return fmt.Errorf("low %v above high %v: give the smaller one as low", d.Low, d.High)
	case math.IsInf(d.High-d.Low, 0):
		return fmt.Errorf("bounds %v and %v, too far from each other to be subtracted", d.Low, d.High)
	case d.Step < 0 || d.Kind == Int && d.Step == 0:
		return fmt.Errorf("step %v, want one above 0", d.Step)
	case d.Step > 0 && (d.High-d.Low)/d.Step > largestInt:
		return fmt.Errorf("step %v, too small to be counted from %v to %v", d.Step, d.Low, d.High)
	case d.Log && d.Low <= 0:
		return fmt.Errorf("low %v of a log scale, want one above 0", d.Low)
	case d.Log && d.Kind == Float && d.Step != 0 || d.Log && d.Kind == Int && d.Step != 1:
		return fmt.Errorf("step %v of a log scale, want none", d.Step)
	}
	return nil
}

// steps is the number of steps from low to the highest value; of distributions with a step.
func (d Distribution) steps() float64 { return math.Floor((d.High-d.Low)/d.Step + 1e-8) }

// top is the highest value.
func (d Distribution) top() float64 {
	if d.Step > 0 {
		return d.Low + d.steps()*d.Step
	}
	return d.High
}

// single tells whether there is only one value.
func (d Distribution) single() bool {
	if d.Kind == Categorical {
		return len(d.Choices) == 1
	}
	return d.top() == d.Low
}

// size is the number of values; +Inf for a continuum.
func (d Distribution) size() float64 {
	switch {
	case d.Kind == Categorical:
		return float64(len(d.Choices))
	case d.single():
		return 1
	case d.Step == 0:
		return math.Inf(1)
	}
	return d.steps() + 1
}

// contains tells whether x is a value, or lies between two.
func (d Distribution) contains(x float64) bool {
	if d.Kind == Categorical {
		return x == math.Trunc(x) && x >= 0 && x < float64(len(d.Choices))
	}
	return x >= d.Low && x <= d.High
}

// onStep tells whether a value of it is a whole number of steps above its least one, as near as Optuna wants it.
func (d Distribution) onStep(x float64) bool {
	if d.Kind == Categorical || d.Step == 0 {
		return true
	}
	k := (x - d.Low) / d.Step
	return math.Abs(k-math.Round(k)) < 1e-8
}

// Round is the value nearest to x.
func (d Distribution) Round(x float64) float64 {
	if d.Kind == Categorical {
		return min(max(math.Round(x), 0), float64(len(d.Choices)-1))
	}
	if d.Step > 0 {
		x = d.Low + math.Round((x-d.Low)/d.Step)*d.Step
	}
	return min(max(x, d.Low), d.top())
}

// At is the value at u of 0 … 1 of the distribution: its quantile.
func (d Distribution) At(u float64) float64 {
	switch {
	case d.Kind == Categorical:
		return min(math.Floor(u*float64(len(d.Choices))), float64(len(d.Choices)-1))
	case d.Log && d.Kind == Int:
		low, high := math.Log(d.Low-.5), math.Log(d.top()+.5)
		return d.Round(math.Exp(low + u*(high-low)))
	case d.Log:
		low, high := math.Log(d.Low), math.Log(d.High)
		return d.Round(math.Exp(low + u*(high-low)))
	case d.Step > 0:
		return d.Low + min(math.Floor(u*(d.steps()+1)), d.steps())*d.Step
	}
	return d.Round(d.Low + u*(d.High-d.Low))
}

func (d Distribution) random(r *rand.Rand) float64 { return d.At(r.Float64()) }

// Value is what users and runs get for x: a float64, an int64 or a choice.
func (d Distribution) Value(x float64) any {
	switch d.Kind {
	case Int:
		return int64(x)
	case Categorical:
		if !d.contains(x) {
			return nil
		}
		return d.Choices[int(x)]
	}
	return x
}

// Of is the opposite of Value; ok is false for what is no value.
func (d Distribution) Of(value any) (x float64, ok bool) {
	if d.Kind == Categorical {
		i, ok := d.index(value)
		return float64(i), ok
	}
	switch v := value.(type) {
	case int64:
		x = float64(v)
	case int:
		x = float64(v)
	case float64:
		x = v
	default:
		return 0, false
	}
	return x, d.contains(x) && (d.Kind == Float || x == math.Trunc(x))
}

// index is that of a choice. Whole numbers are equal to floats, as in JSON.
func (d Distribution) index(value any) (int, bool) {
	plain := func(v any) any {
		switch x := v.(type) {
		case int:
			return float64(x)
		case int64:
			return float64(x)
		case nil, bool, float64, string:
			return x
		}
		return reflect.TypeOf(v)
	}
	v := plain(value)
	if _, bad := v.(reflect.Type); bad {
		return 0, false
	}
	for i, c := range d.Choices {
		if plain(c) == v {
			return i, true
		}
	}
	return 0, false
}

// equal tells whether two distributions are the same; ranges may differ where they are not.
func (d Distribution) equal(e Distribution) bool {
	if d.Kind != e.Kind || d.Low != e.Low || d.High != e.High || d.Step != e.Step || d.Log != e.Log || len(d.Choices) != len(e.Choices) {
		return false
	}
	for i, c := range e.Choices {
		if j, ok := d.index(c); !ok || i != j {
			return false
		}
	}
	return true
}

type attributes struct {
	Step    *json.Number      `json:"step,omitempty"`
	Low     *json.Number      `json:"low,omitempty"`
	High    *json.Number      `json:"high,omitempty"`
	Log     *bool             `json:"log,omitempty"`
	Choices []json.RawMessage `json:"choices,omitempty"`
}

// MarshalJSON writes it as Optuna's storages have it.
func (d Distribution) MarshalJSON() ([]byte, error) {
	a := map[string]any{"choices": d.Choices}
	if d.Kind != Categorical {
		number := func(x float64) any {
			if d.Kind == Int {
				return int64(x)
			}
			return x
		}
		a = map[string]any{"low": number(d.Low), "high": number(d.High), "log": d.Log, "step": nil}
		if d.Step > 0 {
			a["step"] = number(d.Step)
		}
	}
	return json.Marshal(map[string]any{"name": d.Kind, "attributes": a})
}

// UnmarshalJSON reads what Optuna writes.
func (d *Distribution) UnmarshalJSON(text []byte) error {
	var in struct {
		Name       Kind       `json:"name"`
		Attributes attributes `json:"attributes"`
	}
	if err := json.Unmarshal(text, &in); err != nil {
		return err
	}
	*d = Distribution{Kind: in.Name}
	for _, c := range in.Attributes.Choices {
		v, err := plainJSON(c)
		if err != nil {
			return err
		}
		d.Choices = append(d.Choices, v)
	}
	for _, f := range []struct {
		to   *float64
		from *json.Number
	}{{&d.Low, in.Attributes.Low}, {&d.High, in.Attributes.High}, {&d.Step, in.Attributes.Step}} {
		if f.from == nil {
			continue
		}
		x, err := f.from.Float64()
		if err != nil {
			return err
		}
		*f.to = x
	}
	d.Log = in.Attributes.Log != nil && *in.Attributes.Log
	return d.Check()
}

// plainJSON reads a scalar; whole numbers are int64.
func plainJSON(text []byte) (any, error) {
	var n int64
	if json.Unmarshal(text, &n) == nil && string(text) != "null" {
		return n, nil
	}
	var v any
	err := json.Unmarshal(text, &v)
	return v, err
}
