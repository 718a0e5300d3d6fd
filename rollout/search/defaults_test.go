package search

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// The defaults are mctx's: muzero_policy, whose Dirichlet noise and constants are AlphaZero's, and
// gumbel_muzero_policy with qtransform_completed_by_mix_value.
func TestDefaultsAreThoseOfMctx(t *testing.T) {
	puct := DefaultPUCT(50)
	require.Equal(t, 50, puct.Simulations)
	require.Equal(t, []float64{.25, .3, 1.25, 19652}, []float64{puct.Fraction, puct.Alpha, puct.Init, puct.Base})
	gumbel := DefaultGumbel(50)
	require.Equal(t, 50, gumbel.Simulations)
	require.Equal(t, 16, gumbel.Considered)
	require.Equal(t, 1., gumbel.Scale)
}
