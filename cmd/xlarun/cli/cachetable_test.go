package cli

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"xlarun/cmd/xlarun/display"
	"xlarun/xlabridge/cache"
)

func TestCacheTable(t *testing.T) {
	entry := func(name, purpose string) cacheEntry {
		return cacheEntry{"program", cache.Entry{Key: "0123456789abcdef", Bytes: 12345, LastUsed: time.Now(),
			Meta: cache.Metadata{Name: name, Purpose: purpose, CompileSeconds: 1.5, Created: time.Now()}}}
	}
	long := "evolve CartPole-v1, 256 x mlp:16,16, openes, 500 steps x 8 episodes, strategy.shaping raw"
	entries := []cacheEntry{entry("generation", long), entry("jit", ""),
		entry("tiles of 1024, batch last, unroll 4 (estimated)", "policy.module "+strings.Repeat("x", 2000))}
	table := newCacheTable(entries, display.Style{Unicode: true})
	// The column FOR was cut at 80 columns, and gone where a name was long.
	for _, columns := range []int{60, 80, 100, 120, 200} {
		lines := table.lines(columns)
		text := strings.Join(strings.Fields(strings.Join(lines, " ")), " ")
		require.Contains(t, text, "FOR")
		require.Contains(t, text, "program generation")
		for _, word := range strings.Fields(long) {
			require.Contains(t, text, word, "%d columns", columns)
		}
		require.Contains(t, text, "xxxx…", "a program that is a setting")
		for _, line := range lines {
			require.LessOrEqual(t, utf8.RuneCountInString(line), columns, line)
		}
	}
	// The table did not say for which device an entry is.
	onDevice := entry("generation", "ppo Pong")
	onDevice.Meta.Platform = "cuda\nNVIDIA H100 80GB HBM3"
	require.Regexp(t, "ppo Pong; on NVIDIA H100 80GB HBM3$", newCacheTable([]cacheEntry{onDevice},
		display.Style{}).lines(0)[1])
	require.Len(t, table.lines(0), 1+len(entries), "a line for each entry where there is no terminal")
	require.Contains(t, table.lines(0)[1], "0123456789ab  "+long)
	require.Regexp(t, `0123456789ab  -$`, table.lines(0)[2])
	require.Greater(t, len(table.lines(1)), len(table.lines(60)), "a terminal of one column")
}
