package bench

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/cmd/xlarun-bench/bench/aotbench"
	"xlarun/xlabridge/topology"
)

// The table of what was measured replaces the one before it, and nothing else of the page.
func TestWriteMeasured(t *testing.T) {
	on, ok := topology.OfKind("NVIDIA H100 80GB HBM3", 1)
	require.True(t, ok)
	page := filepath.Join(t.TempDir(), "page.md")
	require.NoError(t, os.WriteFile(page, []byte("before\n\n"+measuredBegin+"\nold\n"+measuredEnd+"\n\nafter\n"),
		0o600))
	rows := []aotRow{
		{What: "a step", Results: []aotbench.Result{{Kernels: 4.5, Temporaries: 1e6, Device: &aotbench.OnDevice{
			Kernels: 5, Temporaries: 2e6, Peak: 3e9, Round: .0015}}}},
		{What: "no rounds", Results: []aotbench.Result{{Kernels: 7, Temporaries: 1e6, Device: &aotbench.OnDevice{
			Kernels: 7, Temporaries: 1e6}}}},
		{What: "not run", Results: []aotbench.Result{{Kernels: 7}}},
	}
	for range 2 {
		require.NoError(t, writeMeasured(page, on, rows))
		text, err := os.ReadFile(page)
		require.NoError(t, err)
		require.Equal(t, "before\n\n"+measuredBegin+"\n\n"+
			"| on h100 (NVIDIA H100 80GB HBM3) | kernels: predicted, compiled there | temporary memory | most in use "+
			"| a "+
			"round |\n| --- | --- | --- | --- | --- |\n"+
			"| a step | 4.5, 5 | 1 MB, 2 MB | 3 GB | 1.5 ms |\n| no rounds | 7, 7 | 1 MB, 1 MB | – | – |\n\n"+
			measuredEnd+"\n\nafter\n", string(text))
	}
	require.NoError(t, os.WriteFile(page, []byte("nothing\n"), 0o600))
	require.ErrorContains(t, writeMeasured(page, on, rows), "between which the table is written")
}

// The devices of this machine are not those that --topologies names.
func TestBackendWithTopologies(t *testing.T) {
	cmd := aotCommand(&host{})
	cmd.SetArgs([]string{"--backend", "cuda", "--topologies", "h100"})
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	require.ErrorContains(t, cmd.Execute(), "--topologies got h100 and --backend cuda, which compiles for the devices "+
		"of this machine: leave one of them out")
}
