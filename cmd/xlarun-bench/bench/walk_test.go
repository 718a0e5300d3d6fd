package bench

import (
	"errors"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/cmd/xlarun-bench/bench/neurobench"
	"xlarun/cmd/xlarun/console"
	_ "xlarun/envs/all"
	"xlarun/internal/long"
	"xlarun/xlabridge"
	"xlarun/xlabridge/fetch"
	"xlarun/xlabridge/topology"
)

// withoutPrograms are suites that compile no program of one process, or run programs of other processes, or whose
// programs take a compiler minutes where there are no kernels.
var withoutPrograms = []string{"study", "machines", "bodies", "python"}

// ownLimits are workloads with a limit of their own that several devices pass, and what the refusal says. The state of
// OpenES is on each device.
var ownLimits = map[string]string{"large openes-1m": "memory: got 160.0 MiB, want a run that fits in memory"}

// Every workload of every suite compiles for a GPU and for a TPU, on one device and on several. XLARUN_WALK chooses the
// rows whose names hold it.
func TestEveryWorkloadCompilesAhead(t *testing.T) {
	long.OnlyAll(t)
	h := &host{Streams: console.Streams{Out: io.Discard, Err: io.Discard, Env: os.Getenv}}
	for _, s := range suites() {
		if strings.Contains(strings.Join(withoutPrograms, " "), s.Name) {
			continue
		}
		for _, name := range []string{"h100", "h100x4", "v5e:2x2 one", "v5e:2x2"} {
			label, one := strings.CutSuffix(name, " one")
			on, err := topology.Parse(label)
			require.NoError(t, err)
			size := neurobench.Size{Population: 256, Hidden: []int{16, 16}, Steps: 50}
			o := Options{Devices: on.Devices, Tune: "off", Size: size}
			if one {
				o.Devices = 1
			}
			for _, w := range s.Workloads(o) {
				row := s.Name + " " + w.Name + " for " + name
				t.Run(row, func(t *testing.T) {
					if w.Start != steady || !strings.Contains(row, os.Getenv("XLARUN_WALK")) {
						t.Skip("the same program as another row, or not chosen")
					}
					compiled := 0
					b, err := xlabridge.Open(t.Context(), xlabridge.Options{Backend: on.Backend, Topology: &on,
						Zeros: true, NoCache: true, Offline: os.Getenv("XLARUN_TOPOLOGIES") == "",
						Compiled: func(*xlabridge.Compiled) { compiled++ }})
					if errors.Is(err, fetch.ErrNotInstalled) {
						t.Skip("the plugin is not installed: xlarun plugin install " + on.Backend)
					}
					require.NoError(t, err)
					defer func() { require.NoError(t, b.Close()) }()
					r, err := w.Open(t.Context(), h, b, o)
					if limit := ownLimits[s.Name+" "+w.Name]; limit != "" && o.Devices > 1 {
						require.ErrorContains(t, err, limit)
						return
					}
					require.NoError(t, err)
					require.NoError(t, r.Close())
					require.Positive(t, compiled, "the workload compiled no program")
				})
			}
		}
	}
}
