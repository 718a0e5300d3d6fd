package xlabridge

import (
	"context"
	"os"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// mapped returns the bytes of a file's mappings that are in memory.
func mapped(t *testing.T, file string) (bytes int64) {
	text, err := os.ReadFile("/proc/self/smaps")
	require.NoError(t, err)
	inside := false
	for line := range strings.Lines(string(text)) {
		if fields := strings.Fields(line); !strings.HasSuffix(fields[0], ":") {
			inside = fields[len(fields)-1] == file
		} else if inside && fields[0] == "Rss:" {
			n, err := kilobytes(line, "Rss:")
			require.NoError(t, err)
			bytes += n
		}
	}
	return bytes
}

// 28.44: of the 65 MB of the plugin's file that opening it maps, few stay mapped, and what was given back works.
func TestOpeningGivesMemoryBack(t *testing.T) {
	if runtime.GOOS != "linux" || !keptMemory() {
		t.Skip("the memory of the C library is not ours")
	}
	c, err := Open(context.Background(), Options{Backend: "cpu", NoCache: true})
	require.NoError(t, err)
	defer c.Close()
	require.Less(t, mapped(t, c.PluginPath()), int64(30<<20))
	x, err := c.CompileText("least", smallestModule, CompileOptions{})
	require.NoError(t, err)
	c.ReturnMemory()
	out, err := x.Execute(nil, nil)
	require.NoError(t, err)
	b, err := out[0][0].Bytes()
	require.NoError(t, err)
	require.Equal(t, make([]byte, 4), b)
	require.NoError(t, x.Close())
}
