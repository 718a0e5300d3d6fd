package envs

import (
	"fmt"
	"regexp"
	"slices"

	"xlarun/graph"
)

// Check returns the first error in a Spec: a missing field or a contradiction. envtest.Check compares the Spec with the
// environment.
func (s Spec) Check() error {
	wrong := func(where, got, wants string, args ...any) error {
		return fmt.Errorf("the Spec of %q: %s: got %s, want %s", s.ID, where, got, fmt.Sprintf(wants, args...))
	}
	switch {
	case s.ID == "":
		return wrong("ID", `""`, `a name, as "CartPole-v1"`)
	case s.MaxSteps < 1:
		return wrong("MaxSteps", fmt.Sprint(s.MaxSteps), "the step limit of an episode, 1 or more, at which Step "+
			"returns truncated")
	case s.Players < 0:
		return wrong("Players", fmt.Sprint(s.Players), "how many play, 0 or more")
	}
	for _, space := range []struct {
		name string
		is   Space
	}{{"Observation", s.Observation}, {"Action", s.Action}} {
		switch x := space.is.(type) {
		case nil:
			return wrong(space.name, "none", "a space: envs.Discrete, envs.MultiDiscrete or envs.Box")
		case Discrete:
			if x.N < 1 {
				return wrong(space.name, x.String(), "1 choice or more")
			}
		case MultiDiscrete:
			if len(x.N) == 0 || slices.Min(x.N) < 1 {
				return wrong(space.name, x.String(), "one or more, each of 1 choice or more")
			}
		case Box:
			if err := x.Check(); err != nil {
				return fmt.Errorf("the Spec of %q: %s: %w", s.ID, space.name, err)
			}
		}
	}
	if _, box := s.Action.(Box); box && s.LegalMask {
		return wrong("LegalMask", fmt.Sprintf("true beside the actions %s", s.Action), "actions that are Discrete or "+
			"MultiDiscrete, or no LegalMask")
	}
	if box, ok := s.Observation.(Box); ok && box.Substrate != nil {
		if places, actions := len(box.Substrate.Outputs), s.Action.FlatDim(); places != actions {
			return wrong("Observation", fmt.Sprintf("a Substrate of %d outputs", places), "%d: one for each choice, "+
				"or each element, of the actions %s", actions, s.Action)
		}
	}
	if msg := CheckReports(s.Reports, len(s.Reports) > 0); msg != "" {
		return fmt.Errorf("the Spec of %q: %s", s.ID, msg)
	}
	if len(s.Descriptor.Dims) == 0 {
		return nil
	}
	if len(s.Descriptor.Dims) > 1 || s.Descriptor.DType != graph.Float32 {
		return wrong("Descriptor", s.Descriptor.String(), "f32[d]")
	}
	if n := len(s.Descriptors); n > 0 && n != s.Descriptor.Dims[0] {
		return wrong("Descriptors", fmt.Sprintf("%d names", n), "one for each of the %d elements of the Descriptor, "+
			"or none", s.Descriptor.Dims[0])
	}
	if err := s.Descriptor.Check(); err != nil {
		return fmt.Errorf("the Spec of %q: Descriptor: %w", s.ID, err)
	}
	return nil
}

// reportName is how metrics are named.
var reportName = regexp.MustCompile(`^[a-z][a-z0-9_]*$`)

// CheckReports says what is wrong with the Reports of an environment, a policy or a strategy, given whether there is
// the function Report; "" if nothing is.
func CheckReports(names []string, report bool) string {
	for i, name := range names {
		if !reportName.MatchString(name) || slices.Contains(names[:i], name) {
			return fmt.Sprintf("got the name %q in Reports %q, want different names of lower-case letters, digits and "+
				"_, as in \"spike_rate_hz\"", name, names)
		}
	}
	if report != (len(names) > 0) {
		return fmt.Sprintf("got %d names in Reports and a function Report: %t, want both or none", len(names), report)
	}
	return ""
}

// DescriptorTexts returns the name and the bounds of each number of the descriptor, as "mean speed (m/s) 0 to 3".
func (s Spec) DescriptorTexts() []string {
	if len(s.Descriptor.Dims) == 0 {
		return nil
	}
	all := make([]string, 0, s.Descriptor.Dims[0])
	for i := range s.Descriptor.Dims[0] {
		name, bound := fmt.Sprintf("number %d", i+1), min(i, len(s.Descriptor.Low)-1)
		if len(s.Descriptors) > 0 {
			name = s.Descriptors[i]
		}
		all = append(all, fmt.Sprintf("%s %g to %g", name, s.Descriptor.Low[bound], s.Descriptor.High[bound]))
	}
	return all
}

// Check returns the first error in a Box.
func (b Box) Check() error {
	if b.DType == 0 {
		return fmt.Errorf("got a Box without a DType, want one, as graph.Float32")
	}
	n := 1
	for _, d := range b.Dims {
		if d < 1 {
			return fmt.Errorf("got a Box of the dims %v, want each 1 or more", b.Dims)
		}
		n *= d
	}
	if len(b.Low) != len(b.High) || len(b.Low) != 1 && len(b.Low) != n {
		return fmt.Errorf("got %d lower and %d upper bounds for %s, want one for each element, or a single one; "+
			"±envs.Unbounded is none", len(b.Low), len(b.High), b.Shape())
	}
	for i, low := range b.Low {
		if !(low <= b.High[i]) {
			return fmt.Errorf("got the bounds %g and %g of element %d, want the lower one first and no NaN", low,
				b.High[i], i)
		}
	}
	if b.Substrate != nil {
		return b.Substrate.check(n)
	}
	return nil
}
