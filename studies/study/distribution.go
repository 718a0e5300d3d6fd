package study

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
)

// Kind is the kind of a distribution.
type Kind string

// Kinds, named as in storages.
const (
	Float       Kind = "FloatDistribution"
	Int         Kind = "IntDistribution"
	Categorical Kind = "CategoricalDistribution"
)

// Distribution is the set of values of a parameter. In samplers and storages a value is a float64; for a categorical
// parameter it is the index of the choice.
type Distribution struct {
	Kind      Kind
	Low, High float64 // both are values; high is one only where it is a number of steps above low
	Step      float64 // between values; 0: none, of a Float
	Log       bool    // equal ratios are equally likely
	Choices   []any   // of a Categorical: nil, bool, int64, float64, string
}

// largestInt is the largest number up to which float64 holds every integer.
const largestInt = 1 << 53

// Check returns what is wrong with the distribution, in a few words.
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
			return fmt.Errorf("bound or step %v, want a finite %s number", x, map[Kind]string{
				Float: "real", Int: "whole"}[d.Kind])
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

// slack returns the part of a step by which a number of steps may be wrong because numbers and their difference are
// rounded; at least the tolerance of Optuna.
func (d Distribution) slack() float64 {
	return min(max(1e-8, 0x1p-51*(math.Abs(d.Low)+math.Abs(d.High))/d.Step), .25)
}

// steps returns the number of steps from low to the highest value.
func (d Distribution) steps() float64 {
	if d.Kind == Int {
		return (d.High - d.Low - math.Mod(d.High-d.Low, d.Step)) / d.Step
	}
	return math.Floor((d.High-d.Low)/d.Step + d.slack())
}

// step returns the value k steps above low. It is high itself where high is a value: 0.1 + 6 * 0.1 is above 0.7.
func (d Distribution) step(k float64) float64 {
	last := d.steps()
	if k = min(max(k, 0), last); k > 0 && k == last && d.onStep(d.High) {
		return d.High
	}
	return d.Low + k*d.Step
}

// top returns the highest value.
func (d Distribution) top() float64 {
	if d.Step > 0 {
		return d.step(d.steps())
	}
	return d.High
}

// single reports whether there is only one value.
func (d Distribution) single() bool {
	if d.Kind == Categorical {
		return len(d.Choices) == 1
	}
	return d.top() == d.Low
}

// size returns the number of values; +Inf for a continuum.
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

// contains reports whether x is within the bounds. Earlier versions stored the sum of low and all steps, which rounding
// may carry beyond high: that is the highest value, too.
func (d Distribution) contains(x float64) bool {
	if d.Kind == Categorical {
		return x == math.Trunc(x) && x >= 0 && x < float64(len(d.Choices))
	}
	return x >= d.Low && (x <= d.High || d.Step > 0 && x == d.Low+d.steps()*d.Step)
}

// onStep reports whether x is an integer number of steps above low, but for rounding.
func (d Distribution) onStep(x float64) bool {
	if d.Kind == Categorical || d.Step == 0 {
		return true
	}
	k := (x - d.Low) / d.Step
	return math.Abs(k-math.Round(k)) < d.slack()
}

// Round returns the value nearest to x.
func (d Distribution) Round(x float64) float64 {
	if d.Kind == Categorical {
		return min(max(math.Round(x), 0), float64(len(d.Choices)-1))
	}
	if d.Step > 0 {
		return d.step(math.Round((x - d.Low) / d.Step))
	}
	return min(max(x, d.Low), d.High)
}

// scaled returns x on the scale of the distribution, and the bounds on that scale. Numbers with steps have half a step
// on both sides.
func (d Distribution) scaled(x float64) float64 {
	if d.Log {
		return math.Log(x)
	}
	return x
}

func (d Distribution) scaledBounds() (low, high float64) {
	return d.scaled(d.Low - d.Step/2), d.scaled(d.top() + d.Step/2)
}

// unit scales a value to 0 … 1, and fromUnit does the reverse.
func (d Distribution) unit(x float64) float64 {
	low, high := d.scaledBounds()
	return (d.scaled(x) - low) / (high - low)
}

func (d Distribution) fromUnit(u float64) float64 {
	low, high := d.scaledBounds()
	if u >= 1 { // where the sum may be less than high
		return d.top()
	}
	return d.unscaled(low + u*(high-low))
}

// unscaled returns the value nearest to x on the scale of the distribution. At the bounds it is the lowest and the
// highest value, to which the exponential of the logarithm is not equal.
func (d Distribution) unscaled(x float64) float64 {
	switch low, high := d.scaledBounds(); {
	case x <= low:
		return d.Low
	case x >= high:
		return d.top()
	case d.Log:
		return d.Round(math.Exp(x))
	}
	return d.Round(x)
}

// At returns the quantile u of the distribution, u in 0 … 1.
func (d Distribution) At(u float64) float64 {
	switch {
	case d.Kind == Categorical:
		return min(math.Floor(u*float64(len(d.Choices))), float64(len(d.Choices)-1))
	case d.Log:
		return d.fromUnit(u)
	case d.Step > 0:
		return d.step(math.Floor(u * (d.steps() + 1)))
	}
	return d.fromUnit(u)
}

func (d Distribution) random(r *rand.Rand) float64 { return d.At(r.Float64()) }

// Value returns x as users and runs get it: a float64, an int64 or a choice.
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

// Of is the inverse of Value; ok is false if there is no such value.
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
	return min(x, d.High), d.contains(x) && (d.Kind == Float || x == math.Trunc(x))
}

// index returns the index of a choice. Integers equal floats, as in JSON.
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

// equal reports whether two distributions have the same kind, bounds, step, scale and choices.
func (d Distribution) equal(e Distribution) bool {
	if d.Kind != e.Kind || d.Low != e.Low || d.High != e.High || d.Step != e.Step || d.Log != e.Log || len(d.Choices) !=
		len(e.Choices) {
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

// MarshalJSON writes the distribution as Optuna does.
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

// UnmarshalJSON reads the format of Optuna.
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

// plainJSON reads a scalar; integers are int64.
func plainJSON(text []byte) (any, error) {
	var n int64
	if json.Unmarshal(text, &n) == nil && string(text) != "null" {
		return n, nil
	}
	var v any
	err := json.Unmarshal(text, &v)
	return v, err
}
