package topology

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The table is whole: each device has what its plugin asks for, within the bounds of what is sold.
func TestTable(t *testing.T) {
	for _, d := range table() {
		t.Run(d.Name, func(t *testing.T) {
			require.NotEmpty(t, d.Source)
			require.NotEmpty(t, d.Kind)
			require.Greater(t, d.Memory, int64(8<<30))
			require.Greater(t, d.Bandwidth, int64(1e11))
			if d.Backend == "tpu" {
				require.NotEmpty(t, d.Slices)
				require.Contains(t, []int{1, 2}, d.PerChip)
				require.Greater(t, d.Flops, 1e14)
				return
			}
			require.Equal(t, "cuda", d.Backend)
			require.NotNil(t, d.limits, "capability %s", d.Capability)
			require.Greater(t, d.Cores, 32)
			require.Less(t, d.limits.SharedBlock, d.limits.Shared)
			text := d.config()
			for _, want := range []string{"core_count: ", "device_description_str: \"" + d.Kind + "\"", "major: "} {
				require.Contains(t, text, want)
			}
			require.NotContains(t, text, ": 0\n")
		})
	}
}

func TestParse(t *testing.T) {
	for _, c := range []struct {
		name, backend, kind string
		devices             int
	}{
		{"h100", "cuda", "NVIDIA H100 80GB HBM3", 1},
		{"h100x8", "cuda", "NVIDIA H100 80GB HBM3", 8},
		{"rtx4090x3", "cuda", "NVIDIA GeForce RTX 4090", 3},
		{"l4", "cuda", "NVIDIA L4", 1},
		{"v5e:2x2", "tpu", "TPU v5 lite", 4},
		{"v5p:2x2x2", "tpu", "TPU v5", 8},
		{"v4:2x2x1", "tpu", "TPU v4", 8}, // two cores of each chip
	} {
		got, err := Parse(c.name)
		require.NoError(t, err, "%s", c.name)
		require.Equal(t, []any{c.name, c.backend, c.kind, c.devices},
			[]any{got.Name, got.Backend, got.Kind, got.Devices})
	}
	for _, name := range Names("") {
		_, err := Parse(name)
		require.NoError(t, err, "%s", name)
	}
	require.True(t, slices.IsSorted([]int{len(Names("tpu")), len(Names(""))}))
	for name, want := range map[string]string{
		"":            `got "", wants a card (h100, h200, a100, l4, rtx4090, b200), a box of cards such as h100x8`,
		"h101":        `got "h101", wants a card`,
		"l40":         `got "l40", wants a card`,
		"h100x0":      "got h100x0, wants 1 to 64 cards, such as h100x8",
		"h100x08":     "got h100x08, wants 1 to 64 cards",
		"h100x-1":     "got h100x-1, wants 1 to 64 cards",
		"h100x999":    "got h100x999, wants 1 to 64 cards",
		"v5e":         "got the slice v5e without its shape, wants one such as v5e:2x2",
		"v5e:3x3":     "got the shape 3x3 of v5e, wants one of 2x2, 2x4",
		"v5ex2":       `got "v5ex2", wants a card`, // a TPU has slices, no boxes
		"v5e:":        "got the shape  of v5e, wants one of",
		"H100":        `such as v5e:2x2, did you mean h100?`,
		"V6E:2x4":     `a slice of TPUs (v4, v5e, v5p, v6e) such as v5e:2x2, did you mean v6e:2x4?`,
		"v5litepod-4": "did you mean v5e:2x2?",
		"v6e-8":       "did you mean v6e:2x4?",
		"v5p-8":       "did you mean v5p:2x2x1?",
		"v4-8":        "did you mean v4:2x2x1?",
		"ring":        `got "ring", wants a card`,
	} {
		_, err := Parse(name)
		require.ErrorContains(t, err, want, "%s", name)
	}
}

// A topology of cards is slices x hosts x cards; that of a slice is its name.
func TestTopology(t *testing.T) {
	box, err := Parse("a100x4")
	require.NoError(t, err)
	name, options := box.Options()
	require.Equal(t, "a100", name)
	require.Equal(t, "1x1x4", options["topology"])
	require.True(t, strings.HasPrefix(options["target_config"], "gpu_device_info {"))
	slice, err := Parse("v6e:2x4")
	require.NoError(t, err)
	name, options = slice.Options()
	require.Equal(t, "v6e:2x4", name)
	require.Empty(t, options)
	for from, want := range map[string]string{"h100": "h100x8", "h100x4": "h100x8", "rtx4090": "rtx4090x8",
		"v5e:2x2": "v5e:2x4", "v4:2x2x1": "v4:2x2x1"} {
		t0, err := Parse(from)
		require.NoError(t, err)
		got, err := t0.With(8)
		require.NoError(t, err)
		require.Equal(t, want, got.Name, "%s", from)
		require.Equal(t, 8, got.Devices)
	}
	_, err = slice.With(1 << 20)
	require.ErrorContains(t, err, "there is no slice of v6e with 1048576 devices")
}

// A device's own name leads back to its target.
func TestOfKind(t *testing.T) {
	for _, name := range Names("") {
		want, err := Parse(name)
		require.NoError(t, err)
		got, ok := OfKind(want.Kind, want.Devices)
		require.True(t, ok, "%s", name)
		require.Equal(t, want.Devices, got.Devices, "%s", name)
		require.Equal(t, want.Kind, got.Kind, "%s", name)
	}
	for kind, n := range map[string]int{"cpu": 1, "": 1, "NVIDIA H100 80GB HBM3": 0} {
		_, ok := OfKind(kind, n)
		require.False(t, ok, "%q", kind)
	}
}
