package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/cmd/xlarun/console"
)

func TestPeakOfAProgram(t *testing.T) {
	// The kernel counts this process's memory as the program's too, so there is no upper bound to check here.
	for _, c := range []struct {
		name, script, failed string
		least                int64
	}{
		{"small", "true", "", 1 << 18},
		{"one that holds 100 MB", "head -c 100000000 /dev/zero | tail -c 100000000 >/dev/null", "", 100_000_000},
		{"one that fails", "exit 3", "exit status 3", 1 << 18},
	} {
		t.Run(c.name, func(t *testing.T) {
			var report bytes.Buffer
			require.NoError(t, peakOf(exec.CommandContext(context.Background(), "sh", "-c", c.script), &report))
			var r peakReport
			require.NoError(t, json.Unmarshal(report.Bytes(), &r))
			require.Equal(t, c.failed, r.Failed)
			require.GreaterOrEqual(t, r.PeakBytes, c.least)
		})
	}
}

func TestPeakOfNoProgram(t *testing.T) {
	var report bytes.Buffer
	require.NoError(t, peakOf(exec.CommandContext(context.Background(), "/nowhere/program"), &report))
	require.Contains(t, report.String(), "no such file or directory")
}

func TestTableOfSpeedAndMemory(t *testing.T) {
	mb := func(n int64) *int64 { n *= 1_000_000; return &n }
	fast := row{Name: "rollouts-small", Ours: .004}.against("gymnax", .03)
	fast.PeakBytes, fast.CachedPeakBytes, fast.PeerPeakBytes = mb(300), mb(150), mb(450)
	start := row{Name: "start-warm", Ours: .1}.against("evosax", 5)
	start.CachedPeakBytes, start.PeerPeakBytes = mb(100), mb(500)
	alone := row{Name: "odd", Ours: .05, note: "odd: a note\n"}
	var out strings.Builder
	require.NoError(t, summary{Workloads: []row{fast, start, alone}}.print(&out))
	require.Equal(t, `WORKLOAD        OURS    PEER           RATIO  NEEDED  AIM  OUR PEAK MEMORY  FROM THE CACHE  PEER'S  RATIO
rollouts-small  4 ms    30 ms  gymnax  7.5    5       10   300 MB           150 MB          450 MB  1.5
start-warm      100 ms  5 s    evosax  50     30      100  -                100 MB          500 MB  5
odd             50 ms   -              -      -       -    -                -               -       -
odd: a note
`, out.String())
	out.Reset()
	require.NoError(t, summary{Workloads: []row{alone}}.print(&out))
	require.NotContains(t, out.String(), "MEMORY")
}

func TestBenchOddSizes(t *testing.T) {
	b := newBed(t)
	require.Equal(t, console.StatusOK, b.do("odd", "--backend", "reference", "--repeats", "1", "--json"), "%s", b.err)
	require.Equal(t, "simplega", b.engine.config.Strategy, "it samples members one by one")
	lines := b.result(t)["workloads"].([]any)
	require.Len(t, lines, 3)
	first := lines[0].(map[string]any)
	require.Equal(t, "odd", first["name"])
	require.InDelta(t, first["ours_seconds"].(float64)/(777*333), first["member_step_seconds"], 1e-12)
	beside := first["beside"].([]any)
	require.Len(t, beside, 2)
	require.Equal(t, "768 x mlp:48,48 x 333", beside[0].(map[string]any)["size"])
	require.Positive(t, beside[1].(map[string]any)["times"])
	require.Contains(t, b.out.String(), "odd: 777 x mlp:48,48 x 333 takes ")
}
