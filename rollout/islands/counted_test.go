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
		c.Policy = policy
		a := archipelago(t, xlatest.Open(t, 2), c)
		for g := range 2 {
			_, err := a.Step(t.Context())
			require.NoError(t, err)
			require.EqualValues(t, 2*2, a.Counter().Begun(), "%s: two tiles of islands, of two tiles each: "+
				"generation %d", name, g+1)
		}
	}
}
