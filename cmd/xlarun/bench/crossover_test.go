package bench

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/cmd/xlarun/console"
)

// Every width is timed with every density and both kinds of masks.
func TestCrossover(t *testing.T) {
	b := newBed(t)
	grid := crossover{widths: []int{4, 8}, densities: []float64{.5, 1}, block: 2, members: 2, steps: 2}
	work := newBench(b.host, flags{commonFlags: commonFlags{repeats: 1}})
	cells, err := work.crossover(context.Background(), grid)
	require.NoError(t, err)
	require.Len(t, cells, 2*2*2)
	require.Equal(t, "crossover-4-0.5-shared", cells[0].Name)
	require.Equal(t, "crossover-8-1-own", cells[7].Name)
	require.NoError(t, grid.print(work, cells))
	require.Contains(t, b.out.String(), "blocks of 2, masks own: times faster than dense\n")
}

func TestCrossoverRefuses(t *testing.T) {
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"--repeats", "0"}, "--repeats got 0, wants 1 or more"},
		{[]string{"--widths", "30"}, "a multiple of policy.block, 32"},
		{[]string{"--block", "0", "--widths", "32"}, "block"},
	} {
		b := newBed(t)
		require.NotEqual(t, console.StatusOK, b.do(append([]string{"crossover"}, c.args...)...), c.want)
		require.Contains(t, b.err.String(), c.want)
	}
}
