package graph

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The loop over a population's tiles counted to an input on accelerators, too: a GPU asked the host after each turn,
// and the compiler did not know how many kernels a round launches.
func TestTurns(t *testing.T) {
	loop := func(known bool) *Program {
		type carry struct{ I, X *Array }
		args := []any{Abstract(ShapeOf(Int32)), Abstract(ShapeOf(Float32, 3))}
		p, err := TraceArgs("tiles", args, TraceOptions{}, func(in []any) any {
			n, x := in[0].(*Array), in[1].(*Array)
			if known {
				n = Turns(n, 77)
			}
			return While(func(c carry) *Array { return Lt(c.I, n) }, func(c carry) carry {
				return carry{Add(c.I, 1), Sin(c.X)}
			}, carry{Zeros(ShapeOf(Int32)), x}).X
		})
		require.NoError(t, err)
		return p
	}
	for _, target := range Targets {
		known, err := Lower(loop(true), target)
		require.NoError(t, err)
		input, err := Lower(loop(false), target)
		require.NoError(t, err)
		require.Equal(t, target.Accelerator(), strings.Contains(known.StableHLO, "dense<77>"), "%s", target)
		require.Equal(t, !target.Accelerator(), known.StableHLO == input.StableHLO, "%s", target)
	}
}
