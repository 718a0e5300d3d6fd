package envs

import "fmt"

// Check finds what no kind of run could use: no ID, no limit of steps, a space that is missing or that has no elements. Make has looked at what it returns.
func (s Spec) Check() error {
	switch {
	case s.ID == "":
		return fmt.Errorf(`envs: the Spec got no ID, wants "Name-vN"`)
	case s.MaxSteps < 1:
		return fmt.Errorf("envs: %s: the Spec got MaxSteps %d, wants the steps of a whole episode, 1 or more", s.ID, s.MaxSteps)
	case s.Players < 0:
		return fmt.Errorf("envs: %s: the Spec got %d Players, wants 1 or more, or 0 for one", s.ID, s.Players)
	}
	for _, of := range []struct {
		name  string
		space Space
	}{{"Observation", s.Observation}, {"Action", s.Action}} {
		if wants := lacks(of.space); wants != "" {
			got := "none"
			if of.space != nil {
				got = of.space.String()
			}
			return fmt.Errorf("envs: %s: the Spec got %s as %s, wants %s", s.ID, got, of.name, wants)
		}
	}
	return nil
}

// lacks is what a space has to have to be one; "" for what is.
func lacks(s Space) string {
	switch s := s.(type) {
	case nil:
		return "a Discrete, a MultiDiscrete or a Box"
	case Discrete:
		if s.N < 1 {
			return "1 or more of them"
		}
	case MultiDiscrete:
		if len(s.N) == 0 {
			return "one choice or more"
		}
		for _, n := range s.N {
			if n < 1 {
				return "1 or more of each choice"
			}
		}
	case Box:
		size := 1
		for _, n := range s.Dims {
			if n < 1 {
				return "dimensions of 1 or more"
			}
			size *= n
		}
		if n := len(s.Low); n != len(s.High) || n != 1 && n != size {
			return fmt.Sprintf("as many lower as upper bounds, %d or a single one", size)
		}
		for i, low := range s.Low {
			if !(low <= s.High[i]) {
				return "lower bounds that are at most the upper ones"
			}
		}
		if int(s.DType) == 0 {
			return "a DType"
		}
	}
	return ""
}
