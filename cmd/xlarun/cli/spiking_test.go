package cli

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/cmd/internal/runtest"
	"xlarun/cmd/internal/shelltest"
	"xlarun/graph/safetensors"
)

// What metrics, play and export say of the spikes of a run whose programs TestGolden compiles.
func TestSpikingRun(t *testing.T) {
	shelltest.ShareCache(t)
	t.Chdir(t.TempDir())
	r := onCPU.Result(t, runtest.Small(t, "spiking", "--out", "run")...)
	for _, name := range []string{"spike_rate_hz", "synaptic_operations", "energy_nj"} {
		require.Positive(t, r[name], name)
	}
	require.InEpsilon(t, r["synaptic_operations"].(float64)*23.6e-3, r["energy_nj"], 1e-4)
	played := onCPU.Result(t, "play", "run", "--episodes", "2", "--steps", "8", "--backend", "reference")
	require.Len(t, played["reports"], 3)
	require.Positive(t, played["reports"].(map[string]any)["spike_rate_hz"])
	require.FileExists(t, filepath.Join("run", "play.gif"))
	onCPU.Do(t, "export", "run", "--out", "member.safetensors")
	file, err := safetensors.Open("member.safetensors")
	require.NoError(t, err)
	defer func() { require.NoError(t, file.Close()) }()
	require.Contains(t, file.Names(), "Layers.0.Threshold")
	require.Equal(t, "fast", file.Metadata()["dynamics"])
}
