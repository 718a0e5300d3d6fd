package graph

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"xlarun/internal/long"
)

// composed are sample calls of functions that are made of ops: the tests that are derived from the op table's cases run
// for them, too: those of graphtest.Composed, and those that call what is not exported.
var composed []Case

// VMap of a composed function is the function run lane by lane; its derivatives agree with differences, with each
// other, under VMap, inside Scan and checkpointed.
func TestComposed(t *testing.T) {
	for i, c := range composed {
		t.Run(fmt.Sprint(i, " ", c.Name), func(t *testing.T) {
			if c.Tol == 0 {
				c.Tol = 1e-5
			}
			r := rand.New(rand.NewPCG(uint64(i), 7))
			single := traceCase(t, c, c.Inputs)
			for mask := 1; mask < 1<<len(c.Inputs); mask++ {
				checkVMap(t, c, r, single, mask, 3, 0, Case.tensor)
				checkVMap(t, c, r, single, mask, 3, -1, Case.tensor, BatchLast())
				checkVMap(t, c, r, single, mask, 0, 0, Case.tensor)
			}
			if c.Rough || len(floatInputs(c)) == 0 {
				return
			}
			all := wrappings
			if !long.On() && slices.Contains([]string{"BetaInc", "GammaInc"}, c.Name) {
				all = all[:1] // long loops
			}
			for _, w := range all {
				checkDerivative(t, double(c), w, r)
			}
		})
	}
}
