package bench

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// The model has rounds, contention and a coordinator, and its rows say that they were not measured.
func TestParallelModel(t *testing.T) {
	m := parallelModel{trial: 1}
	require.Equal(t, 10., m.seconds(10, 1))
	require.Equal(t, 1., m.seconds(10, 20), "10 trials have no use for more workers")
	require.Equal(t, 5., m.seconds(100, 20))
	require.Equal(t, 9., m.seconds(100, 12), "8 rounds are full, the last has 4 trials")
	m.contention = .1
	require.InDelta(t, 10*1.9, m.seconds(100, 10), 1e-12)
	require.InDelta(t, 1.9, m.seconds(10, 20), 1e-12, "10 of 20 workers have a trial")
	m = parallelModel{trial: 1, coordination: .2}
	require.Equal(t, 20., m.seconds(100, 100), "one coordinator hands them out")

	peer := "pool"
	table := parallelSummary([]row{{Name: "small-10-1-loop", Ours: 3, Processor: 4}, {Name: "small-10-2-pool",
		What: "two", Ours: 2, Processor: 4.2, Peer: &peer}, {Name: "coordination", Ours: .001}})
	require.Len(t, table, 3, "the row of one worker has another name")
	loop := "loop"
	table[0].Peer = &loop
	table = parallelSummary(table)
	require.Len(t, table, 9)
	require.InDelta(t, 1.5, table[1].Gain, 1e-12)
	last := table[8]
	require.Equal(t, "model-100-20", last.Name)
	require.Contains(t, last.What, "not measured")
	require.InDelta(t, 5*(.4*(1+.05*19)+.001), last.Ours, 1e-12)
	require.InDelta(t, 100*(.4+.001)/last.Ours, last.Gain, 1e-12)
}

// The gain of a step of the journey is over the step before, where that was measured.
func TestGains(t *testing.T) {
	table := gains([]row{{Name: "loop", Rate: 10, Ours: 1, Processor: 2}, {Name: "host", Rate: 50, Ours: 2,
		Processor: 4}, {Name: "batched", Rate: 100}, {Name: "single", Rate: 5}})
	require.Equal(t, []row{{Name: "loop", Rate: 10, Ours: 1, Processor: 2, There: 50},
		{Name: "host", Rate: 50, Ours: 2, Processor: 4, Gain: 5, GainCPU: 5, There: 500, GainThere: 10},
		{Name: "batched", Rate: 100, There: 8000, GainThere: 8000 / 3000.},
		{Name: "single", Rate: 5, GainThere: .5}}, table)
}
