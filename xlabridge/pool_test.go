package xlabridge

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gomlx/compute/dtypes"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"xlarun/graph"
	"xlarun/internal/long"
	"xlarun/xlabridge/internal/hostmemory"
)

// largePages reports whether the kernel is asked to map an address by large pages.
func largePages(t *testing.T, address uintptr) bool {
	text, err := os.ReadFile("/proc/self/smaps")
	require.NoError(t, err)
	inside := false
	for line := range strings.Lines(string(text)) {
		var from, to uintptr
		if n, _ := fmt.Sscanf(line, "%x-%x ", &from, &to); n == 2 {
			inside = from <= address && address < to
		}
		if inside && strings.HasPrefix(line, "VmFlags:") {
			return slices.Contains(strings.Fields(line), "hg")
		}
	}
	require.Fail(t, "no mapping has the address")
	return false
}

// Buffers of the sizes that the pool takes lie in it, are given back when they are closed, and hold what was put into
// them, while others come and go on all threads. The pool counts for the whole process, so the test has one of its own,
// and another in which glibc is tuned. Nearly all of the time goes to memory that is touched first, so only the long
// form has the largest blocks, and fills what the pool keeps.
func TestPool(t *testing.T) {
	if os.Getenv("XLARUN_TEST_POOL") == "" {
		for _, tunables := range []string{"", "glibc.malloc.arena_max=3"} {
			cmd := exec.Command(os.Args[0], "-test.run", "^TestPool$", "-test.v")
			cmd.Env = append(os.Environ(), "XLARUN_TEST_POOL=1", "GLIBC_TUNABLES="+tunables)
			out, err := cmd.CombinedOutput()
			require.NoError(t, err, "%q: %s", tunables, out)
			if bytes.Contains(out, []byte("--- SKIP")) {
				t.Skipf("%s", out)
			}
		}
		return
	}
	c := open(t, Options{})
	if os.Getenv("GLIBC_TUNABLES") != "" {
		require.False(t, c.lib.pooled, "whoever tunes glibc keeps it")
	} else if !c.lib.pooled {
		t.Skip("there is no pool for this C library or kind of processor")
	}
	// The plugin lets go of memory on threads of its own, a moment after a buffer is closed.
	settled := func(blocks, used int64, message string, args ...any) {
		t.Helper()
		require.Eventuallyf(t, func() bool {
			b, u, _ := hostmemory.Pooled()
			return b == blocks && u == used
		}, time.Minute, time.Millisecond, message, args...)
	}
	sizes := []int{16, 64<<10 - 4, 64 << 10, 64<<10 + 4, 100_000, 1 << 20, 5<<20 + 12, 32 << 20, 256<<20 - 4, 256 << 20}
	if !c.lib.pooled {
		sizes = sizes[2:6]
	} else if !long.On() {
		sizes = sizes[:8]
	}
	for i, size := range sizes {
		pooledSize := c.lib.pooled && size >= 64<<10 && size < 256<<20
		blocks, used, _ := hostmemory.Pooled()
		pattern := make([]float32, 1021)
		for j := range pattern {
			pattern[j] = float32(i + j)
		}
		data := bytes.Repeat(f32Bytes(pattern...), size/(4*1021)+1)[:size]
		b, err := c.toDevice(data, dtypes.Float32, []int{size / 4}, 0)
		require.NoError(t, err)
		back, err := b.Bytes()
		require.NoError(t, err)
		require.True(t, bytes.Equal(data, back), "%d bytes", size)
		if pooledSize {
			require.Eventually(t, func() bool {
				now, _, _ := hostmemory.Pooled()
				return now == blocks+1
			}, time.Minute, time.Millisecond, "%d bytes", size)
			_, more, _ := hostmemory.Pooled()
			require.GreaterOrEqual(t, more-used, int64(size), "%d bytes", size)
			require.LessOrEqual(t, more-used, int64(size)*5/4+64<<10, "%d bytes", size)
			_, without := os.Stat("/sys/kernel/mm/transparent_hugepage")
			if p, err := b.inner.UnsafePointer(); err == nil && without == nil {
				require.Equal(t, size >= 8<<20, largePages(t, uintptr(p)), "%d bytes", size)
			}
		} else {
			settled(blocks, used, "%d bytes", size)
		}
		require.NoError(t, b.Close())
		settled(blocks, used, "%d bytes", size)
		if _, _, kept := hostmemory.Pooled(); pooledSize {
			require.GreaterOrEqual(t, kept, int64(size), "%d bytes", size)
		}
	}
	blocks, used, _ := hostmemory.Pooled()
	if !c.lib.pooled {
		return
	}
	if long.On() { // what is kept is bounded
		var large []*buffer
		zeros := make([]byte, 30<<20)
		for range 18 {
			b, err := c.toDevice(zeros, dtypes.Float32, []int{30 << 18}, 0)
			require.NoError(t, err)
			large = append(large, b)
		}
		for _, b := range large {
			require.NoError(t, b.Close())
		}
		settled(blocks, used, "18 large blocks are free")
		_, _, kept := hostmemory.Pooled()
		require.LessOrEqual(t, kept, int64(512<<20))
		require.Greater(t, kept, int64(400<<20))
	}
	_, _, kept := hostmemory.Pooled()
	data := make([]float32, 4<<18)
	for i := range data {
		data[i] = float32(i % 97)
	}
	for range 8 {
		all := []*buffer{f32(t, c, 0, data...), f32(t, c, 0, data...), f32(t, c, 0, data...)}
		for _, b := range all {
			require.True(t, slices.Equal(data, host(t, b)))
		}
		for _, b := range all {
			require.NoError(t, b.Close())
		}
	}
	settled(blocks, used, "24 blocks are free")
	_, _, after := hostmemory.Pooled()
	require.LessOrEqual(t, after, int64(512<<20))
	if long.On() {
		require.NotEqual(t, kept, after, "a large block made room")
	} else {
		require.Equal(t, kept+3*4<<20, after, "blocks of one size are used again")
	}
	program := Jit(c, func(x *graph.Array) *graph.Array {
		return graph.Add(graph.CumSum(graph.Sin(x), 0), graph.Sort(x, 0))
	})
	calls := 10
	if long.On() {
		calls = 40
	}
	var all sync.WaitGroup
	for g := range 8 {
		all.Go(func() {
			for i := range calls {
				n := 20_000 << ((g + i) % 3)
				x := make([]float32, n)
				for j := range x {
					x[j] = float32(g)
				}
				out, err := program(graph.Float32s(x, n))
				if !assert.NoError(t, err) {
					return
				}
				v, err := graph.Floats(out)
				if !assert.NoError(t, err) {
					return
				}
				if want := float64(g) + math.Sin(float64(g)); math.Abs(v[0]-want) > 1e-5 {
					t.Errorf("got %v of %d", v[0], g)
				}
				Free(out)
			}
		})
	}
	all.Wait()
	settled(blocks, used, "all that was freed is free again")
}
