package xlabridge

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"xlarun/graph"
	"xlarun/xlabridge/internal/hostmemory"
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
			n, err := strconv.ParseInt(fields[1], 10, 64)
			require.NoError(t, err)
			bytes += n << 10
		}
	}
	return bytes
}

// Of the 65 MB of the plugin's file that opening it maps, few stay mapped, and what was given back works.
func TestOpeningGivesMemoryBack(t *testing.T) {
	if runtime.GOOS != "linux" || !hostmemory.Kept() {
		t.Skip("the memory of the C library is not ours")
	}
	c, err := Open(context.Background(), Options{Backend: "cpu", NoCache: true})
	require.NoError(t, err)
	defer c.Close()
	require.Less(t, mapped(t, c.PluginPath()), int64(30<<20))
	x, err := c.CompileText("least", smallestModule, CompileOptions{})
	require.NoError(t, err)
	c.ReturnMemory()
	out, err := x.execute(nil, nil)
	require.NoError(t, err)
	b, err := out[0][0].Bytes()
	require.NoError(t, err)
	require.Equal(t, make([]byte, 4), b)
	require.NoError(t, x.Close())
}

// What compiling maps of the plugin's file stays until arrays need the memory. A small program does not
// need it. A large array does. So does a program with large results. After ReturnMemory nothing
// is left to give back.
func TestCompilingGivesMemoryBackWhenNeeded(t *testing.T) {
	if runtime.GOOS != "linux" || !hostmemory.Kept() {
		t.Skip("the memory of the C library is not ours")
	}
	after := hostmemory.ReturnAfter
	hostmemory.ReturnAfter = time.Hour // this test is about memory, not time
	t.Cleanup(func() {
		hostmemory.ReturnAfter = after
		hostmemory.ReturnFor(1 << 62)
	})
	c, err := Open(context.Background(), Options{Backend: "cpu", NoCache: true})
	require.NoError(t, err)
	defer c.Close()
	run := func(elements int) {
		x, err := c.CompileText("iota", fmt.Sprintf(`module @iota {
  func.func @main() -> tensor<%[1]dxf32> {
    %%0 = stablehlo.iota dim = 0 : tensor<%[1]dxf32>
    return %%0 : tensor<%[1]dxf32>
  }
}`, elements), CompileOptions{})
		require.NoError(t, err)
		require.True(t, hostmemory.Left())
		out, err := x.execute(nil, nil)
		require.NoError(t, err)
		b, err := out[0][0].Bytes()
		require.NoError(t, err)
		require.Len(t, b, 4*elements)
		require.NoError(t, out[0][0].Close())
		require.NoError(t, x.Close())
	}
	run(3)
	require.True(t, hostmemory.Left())
	c.ReturnMemory()
	require.False(t, hostmemory.Left())
	run(3)
	large, err := Put(c, 1, graph.Zeros(graph.ShapeOf(graph.Float32, hostmemory.ReturnBefore)))
	require.NoError(t, err)
	require.False(t, hostmemory.Left())
	Free(large)
	require.Less(t, mapped(t, c.PluginPath()), int64(30<<20))
	run(hostmemory.ReturnBefore / 4)
	require.False(t, hostmemory.Left())
	require.Less(t, mapped(t, c.PluginPath()), int64(30<<20))
}
