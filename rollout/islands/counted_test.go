package islands

import (
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/internal/long"
	"xlarun/xlabridge/xlatest"
)

// The tiles of all islands are counted in each generation, those of islands that are mapped together once.
func TestTilesOfIslandsAreCounted(t *testing.T) {
	for name, policy := range map[string]string{"large matrices": "mlp:64,64", "small ones": "mlp:32"} {
		if name != "small ones" && !long.On() {
			continue
		}
		c := exploring()
		c.Policy, c.EvalEvery = policy, 4
		a := archipelago(t, xlatest.Open(t, 2), c)
		for g := range 3 {
			_, err := a.Step(t.Context())
			require.NoError(t, err)
			each := 2
			if c.EvalDue(int64(g + 1)) {
				each += a.lanes.Search.Groups.ExtraTiles()
			}
			require.EqualValues(t, 2*each, a.Counter().Begun(), "%s: two tiles of islands, of two tiles each: "+
				"generation %d", name, g+1)
		}
	}
}
