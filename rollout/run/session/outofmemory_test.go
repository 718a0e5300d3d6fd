package session_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	_ "xlarun/envs/all"
	_ "xlarun/rollout/evolve"
	_ "xlarun/rollout/islands"
	_ "xlarun/rollout/ppo"
	_ "xlarun/rollout/qd"
	"xlarun/rollout/run"
	_ "xlarun/rollout/selfplay"
	"xlarun/rollout/settings"
	_ "xlarun/rollout/sparse"
	"xlarun/xlabridge"
)

// The error of a device that is too small for a program ends with the largest size that fits.
func TestOutOfMemorySaysWhatFits(t *testing.T) {
	words := &xlabridge.PluginError{Code: 8, Message: "Out of memory while trying to allocate 4770354232 bytes.\nmore"}
	full := func(need, have int64) error {
		return fmt.Errorf("generation 1: %w", &xlabridge.OutOfMemoryError{Backend: "cuda", Program: "generation",
			Need: need, Have: have, Plugin: words})
	}
	onTPU := &xlabridge.OutOfMemoryError{Backend: "tpu", Program: "update", Plugin: words}
	for _, c := range []struct {
		kind, name, size string
		err              error
		ends             string
	}{
		{"evolve", "pop", "1000", full(20e9, 10e9), "; the largest --pop that fits is about 500"},
		{"evolve", "pop", "2", full(20e9, 5e9), "; no --pop fits: make the network smaller"},
		{"ppo", "envs", "64", full(16e9, 8e9), "; the largest --envs that fits is about 32"},
		{"selfplay", "game-batch-size", "64", full(16e9, 12e9), "; the largest --game-batch-size that fits is about " +
			"48"},
		{"qd", "batch", "256", full(20e9, 10e9), "; the largest --batch that fits is about 128"},
		{"sparse", "pop", "64", full(20e9, 10e9), "; the largest --pop that fits is about 32"},
		{"ppo", "envs", "64", full(0, 10e9), "bytes); make --envs smaller, or end other programs on the device"},
		{"islands", "pop", "1000", full(5e9, 10e9), "; make --pop smaller, or end other programs on the device"},
		{"pqn", "envs", "64", onTPU, "4770354232 bytes); make --envs smaller"},
		{"evolve", "pop", "1000", errors.New("another"), "another"},
	} {
		kind, ok := run.Lookup(c.kind)
		require.True(t, ok)
		e := kind.New()
		f, ok := settings.Lookup(e, c.name)
		require.True(t, ok)
		require.NoError(t, f.Set(c.size))
		err := run.OutOfMemory(c.err, e, e.Job())
		require.ErrorIs(t, err, c.err)
		require.Regexp(t, `.*\Q`+c.ends+`\E$`, err.Error(), "%s", c.kind)
		require.NotContains(t, err.Error(), "\n", "one sentence")
	}
}
