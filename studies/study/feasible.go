package study

import (
	"encoding/json"
	"slices"
	"strings"
)

// constraintsAttr is the attribute with the constraints of a trial. None may be above 0. Optuna uses the same name: one
// list (up to Optuna 4), or one attribute for each constraint, whose name begins with it and a colon.
const constraintsAttr = "constraints"

// Feasible reports whether a trial keeps its constraints. A trial that does not is never the best.
func (t *FrozenTrial) Feasible() bool {
	// Optuna writes null, or NaN, which is not JSON, for NaN
	bad := func(x *float64) bool { return x == nil || !(*x <= 0) }
	for key, text := range t.SystemAttrs {
		switch {
		case key == constraintsAttr:
			var all []*float64
			if string(text) != "null" && (json.Unmarshal(text, &all) != nil || slices.ContainsFunc(all, bad)) {
				return false
			}
		case strings.HasPrefix(key, constraintsAttr+":"):
			var x *float64
			if json.Unmarshal(text, &x) != nil || bad(x) {
				return false
			}
		}
	}
	return true
}
