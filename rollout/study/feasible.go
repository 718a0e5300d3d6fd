package study

import (
	"encoding/json"
	"slices"
	"strings"
)

// constraintsAttr of a trial are numbers of which none may be above 0; the name is Optuna's: a list under it (up to Optuna 4), or one number under each name that begins with it and a colon.
const constraintsAttr = "constraints"

// Feasible tells whether a trial keeps the constraints that Optuna has left with it, where there are any. One that does not is never the best.
func (t *FrozenTrial) Feasible() bool {
	bad := func(x *float64) bool { return x == nil || !(*x <= 0) } // Optuna writes a number that is none as null, or NaN, which no JSON reads
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
