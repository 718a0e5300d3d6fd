package aotbench

import (
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/xlabridge/topology"
)

// A row on the devices of this machine is compiled and run, as it is on an accelerator: here on the CPU.
func TestMeasureHere(t *testing.T) {
	got, err := Measure(t.Context(), small()[0], topology.Topology{Name: "cpu", Backend: "cpu", Devices: 1},
		Options{Here: true, Tune: "off"})
	require.NoError(t, err)
	require.NotNil(t, got.Device)
	require.Positive(t, got.Device.Round)
	require.Positive(t, got.Device.Peak)
	require.Equal(t, got.Kernels, got.Device.Kernels)
}
