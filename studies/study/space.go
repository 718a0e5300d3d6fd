package study

import (
	"fmt"
	"maps"
	"slices"
)

// Space is a list of parameters. A parameter comes after those that its condition names.
type Space []Param

// Param is a parameter of a space.
type Param struct {
	Name         string
	Distribution Distribution
	// When holds, by parameter, the values for which this parameter exists; nil: always.
	When map[string][]any
}

// Check returns the first mistake, a *ParamError.
func (s Space) Check() error {
	before := map[string]Distribution{}
	for _, p := range s {
		if p.Name == "" || len(p.Name) > 512 {
			return &ParamError{p.Name, "a name of 1 to 512 letters is wanted"}
		}
		if _, twice := before[p.Name]; twice {
			return &ParamError{p.Name, "it stands twice"}
		}
		if err := p.Distribution.Check(); err != nil {
			return &ParamError{p.Name, "it has " + err.Error()}
		}
		if d := p.Distribution; d.Kind != Categorical && d.Low < d.High && d.single() {
			return &ParamError{p.Name, fmt.Sprintf("it has step %v, want one of at most %v: low is its only value",
				d.Step, d.High-d.Low)}
		}
		for _, on := range slices.Sorted(maps.Keys(p.When)) {
			d, ok := before[on]
			if !ok {
				return &ParamError{p.Name, fmt.Sprintf("its condition names %q, which is no parameter before it", on)}
			}
			if len(p.When[on]) == 0 {
				return &ParamError{p.Name, fmt.Sprintf("its condition on %s has no values", on)}
			}
			for _, value := range p.When[on] {
				if _, ok := d.Of(value); !ok {
					return &ParamError{p.Name, fmt.Sprintf("its condition wants %s to be %v, which it never is", on,
						value)}
				}
			}
		}
		before[p.Name] = p.Distribution
	}
	return nil
}

// ParamError says what is wrong with a parameter of a space.
type ParamError struct{ Param, Problem string }

// Error implements error.
func (e *ParamError) Error() string { return fmt.Sprintf("parameter %q: %s", e.Param, e.Problem) }

// holds reports whether the parameter exists, given those before it.
func (p Param) holds(s Space, chosen map[string]float64) bool {
	for on, values := range p.When {
		x, ok := chosen[on]
		if !ok {
			return false
		}
		i := slices.IndexFunc(s, func(q Param) bool { return q.Name == on })
		if !slices.ContainsFunc(values, func(v any) bool { y, _ := s[i].Distribution.Of(v); return x == y }) {
			return false
		}
	}
	return true
}

// Suggest suggests all parameters of the space that exist.
func (s Space) Suggest(t *Trial) error {
	for _, p := range s {
		if !p.holds(s, t.frozen.Params) {
			continue
		}
		if _, err := t.suggest(p.Name, p.Distribution); err != nil {
			return err
		}
	}
	return nil
}
