package envs

import (
	"fmt"
	"math"
)

// Layout says where the elements of an observation lie, and where the actions lead, for policies whose weights follow
// from places (HyperNEAT).
type Layout struct {
	Elements []Place // of the elements of the observation, row-major
	Outputs  []Place // of a policy's outputs: Space.FlatDim of the actions
}

// Place is a point of a sheet. Things of one kind, such as a layer of a view, share a sheet. The coordinates of things
// that belong together, such as a visible cell and the step to it, are equal.
type Place struct {
	Sheet int     // from 0 on; of outputs 0
	X, Y  float64 // from -1 to 1, to the right and up
}

// Sheets returns the number of sheets of the observation.
func (l *Layout) Sheets() int {
	n := 0
	for _, p := range l.Elements {
		n = max(n, p.Sheet+1)
	}
	return n
}

// check returns the first error in the layout of an observation of so many elements.
func (l *Layout) check(elements int) error {
	if len(l.Elements) != elements {
		return fmt.Errorf("got a Layout of %d elements, want the places of all %d elements of the observation",
			len(l.Elements), elements)
	}
	for _, list := range []struct {
		name   string
		places []Place
		sheets int
	}{{"Elements", l.Elements, elements}, {"Outputs", l.Outputs, 1}} {
		for i, p := range list.places {
			if !(math.Abs(p.X) <= 1 && math.Abs(p.Y) <= 1) {
				return fmt.Errorf("got the place (%g, %g) in %s[%d] of the Layout, want coordinates from -1 to 1", p.X,
					p.Y, list.name, i)
			}
			if p.Sheet < 0 || p.Sheet >= list.sheets {
				return fmt.Errorf("got sheet %d in %s[%d] of the Layout, want 0 to %d", p.Sheet, list.name, i,
					list.sheets-1)
			}
		}
	}
	return nil
}
