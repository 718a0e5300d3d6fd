package bench_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/cmd/xlarun-bench/bench/neurobench"
	"xlarun/cmd/xlarun-bench/bench/spikingbench"
	_ "xlarun/envs/all"
	"xlarun/internal/long"
	"xlarun/xlabridge/xlatest"
)

// What `echo 1 | spiking_jax.py jax …` and `… spyx …` printed with JAX 0.10.2 and Spyx 1.0.0: the same to the last
// digit but one.
var theirs = map[string]float64{"members": 65.23277282714844, "gradient": 100.44477844238281}

// Workloads have the peers' results on two devices, and in the long form on one. The workload with a batch differs only
// in the batch.
func TestSpikingWorkloadsAreThePeers(t *testing.T) {
	for _, devices := range long.Sample([]int{2, 1}, func(int) string { return "" }) {
		b := xlatest.OpenCPU(t, devices)
		for name, want := range theirs {
			w := named(t, name)
			r, err := w.Open(t.Context(), b, neurobench.Options{Devices: devices})
			require.NoError(t, err, name)
			seconds, got, err := r.Run(2)
			require.NoError(t, err, name)
			require.Len(t, seconds, 2, name)
			require.InEpsilon(t, want, got, 1e-3, "%s on %d devices", name, devices)
			require.NoError(t, r.Close())
		}
	}
}

func named(t *testing.T, name string) spikingbench.Workload {
	t.Helper()
	i := slices.IndexFunc(spikingbench.All(), func(w spikingbench.Workload) bool { return w.Name == name })
	require.GreaterOrEqual(t, i, 0, name)
	return spikingbench.All()[i]
}
