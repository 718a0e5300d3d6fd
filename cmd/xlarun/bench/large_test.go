package bench

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/cmd/xlarun/console"
	_ "xlarun/envs/all"
	"xlarun/graph"
	"xlarun/xlabridge"
)

func TestBenchLargeRefuses(t *testing.T) {
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"low-rang"}, `there is no workload "low-rang", did you mean low-rank?; there are low-rank, openes-1m, low-rank-100m`},
		{[]string{"--repeats", "0"}, "--repeats got 0, wants 1 or more"},
		{[]string{"--one", "low-rank"}, "--one got low-rank, wants a workload of memory: openes-1m, low-rank-100m"},
		{[]string{"openes-1m", "--backend", "reference"}, "whose memory says nothing"},
	} {
		b := newBed(t)
		require.Equal(t, console.StatusUsage, b.do(append([]string{"large"}, c.args...)...), c.want)
		require.Contains(t, b.err.String(), c.want)
	}
}

// The memory of a run is that of two generations of it.
func TestBenchLargeRunsOne(t *testing.T) {
	b := newBed(t)
	require.Equal(t, console.StatusOK, b.do("large", "--one", "low-rank-100m"), b.err.String())
	require.Equal(t, 2, b.engine.done)
	require.Equal(t, "sgd", b.engine.config.Parted["strategy.optimizer"])
	require.Equal(t, 1, b.engine.config.Devices)
}

// Speeds are ratios of generations and inferences that ran in turn.
func TestBenchLargeSpeeds(t *testing.T) {
	b := newBed(t)
	work := newBench(b.host, flags{commonFlags: commonFlags{repeats: 2}})
	lines, err := work.lowRank(context.Background(), largeSize{population: 4, hidden: 3, steps: 2})
	require.NoError(t, err)
	require.Len(t, lines, 3)
	for i, name := range []string{"low-rank-openes", "low-rank-share", "openes-share"} {
		require.Equal(t, name, lines[i].Name)
		require.Positive(t, lines[i].Ours)
		require.Positive(t, lines[i].ClockRatio)
	}
	require.InDelta(t, *lines[0].PeerSeconds, lines[2].Ours, 1e-12)
}

// Inference of all lanes is the same however they are cut into tiles, up to what the tiles' order adds to the observations.
func TestInferenceRuns(t *testing.T) {
	size := largeSize{population: 8, hidden: 3, steps: 2}
	var sums []float64
	for _, lanes := range []int{4, 8} {
		i, err := newInference(&xlabridge.Reference{}, size, 1, lanes)
		require.NoError(t, err)
		out, err := i.program.Call(i.args)
		require.NoError(t, err)
		v, err := graph.Float(out[0])
		require.NoError(t, err)
		sums = append(sums, v)
		i.Close()
	}
	require.InEpsilon(t, sums[0], sums[1], 1e-3)
}
