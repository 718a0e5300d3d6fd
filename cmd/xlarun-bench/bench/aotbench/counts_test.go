package aotbench

import (
	"errors"
	"os"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/internal/long"
	"xlarun/xlabridge/fetch"
	"xlarun/xlabridge/topology"
)

// reached are the kernels and the temporary bytes that rows have come down to: as docs/notes/accelerators.md has them,
// bytes rounded up. A change that needs more of them is seen here.
var reached = []struct {
	row, target string
	kernels     float64
	temporaries int64 // 0: not checked
}{
	{"play-1024", "h100", 3.5, 600_000},
	{"play-1024", "v5e:2x2", 4.5, 400_000},
	{"play-65536", "h100", 4, 10_000_000},
	{"play-65536", "v5e:2x2", 5, 900_000},
	{"forage", "h100", 10.5, 0},
	{"forage", "v5e:2x2", 28.5, 0},
	{"spiking", "h100", 15, 0},
	{"spiking", "v5e:2x2", 25.5, 0},
	{"breakout", "h100", 12.5, 0},
	{"breakout", "v5e:2x2", 32, 0},
	{"ppo-cartpole", "h100", 1979, 0},
	{"ppo-cartpole", "v5e:2x2", 3350, 0},
	{"search", "h100", 26, 0},
	{"search", "v5e:2x2", 62, 0},
	{"generation-openes", "h100", 30, 0},
	{"generation-openes", "v5e:2x2", 72, 0},
	{"whole-openes", "h100", 1780, 0},
	{"whole-openes", "v5e:2x2", 2572, 0},
	{"generation-eggroll", "h100", 46, 0},
	{"generation-eggroll", "v5e:2x2", 91, 0},
	{"generation-cmaes", "h100", 898, 0},
	{"generation-cmaes", "v5e:2x2", 98, 0},
}

// No row needs more kernels or memory than it has come down to.
func TestReachedCounts(t *testing.T) {
	long.OnlyAll(t)
	rows := Rows()
	for _, c := range reached {
		t.Run(c.row+" for "+c.target, func(t *testing.T) {
			at := slices.IndexFunc(rows, func(r Row) bool { return r.Name == c.row })
			require.GreaterOrEqual(t, at, 0)
			on, err := topology.Parse(c.target)
			require.NoError(t, err)
			o := Options{Offline: os.Getenv("XLARUN_TOPOLOGIES") == "", Tune: "off"}
			got, err := Measure(t.Context(), rows[at], on, o)
			if errors.Is(err, fetch.ErrNotInstalled) {
				t.Skip("the plugin is not installed: xlarun plugin install " + on.Backend)
			}
			require.NoError(t, err)
			require.Positive(t, got.Kernels)
			require.LessOrEqual(t, got.Kernels, c.kernels, "its kernels are %s", got.Parts)
			if c.temporaries > 0 {
				require.LessOrEqual(t, got.Temporaries, c.temporaries)
			}
		})
	}
}
