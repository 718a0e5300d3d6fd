package xlabridge

import (
	"fmt"
	"math"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"xlarun/internal/long"
	"xlarun/xlabridge/internal/hostmemory"
	"xlarun/xlabridge/internal/pjrt"
)

// resident is the process's resident memory in bytes.
func resident(t *testing.T) int64 {
	t.Helper()
	debug.FreeOSMemory() // so that what Go has freed before is not given back within a stretch
	data, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		t.Skip("the kernel does not tell the process's size")
	}
	var total, pages int64
	_, err = fmt.Sscan(string(data), &total, &pages)
	require.NoError(t, err)
	return pages * int64(os.Getpagesize())
}

// TestNoGrowth compiles, runs and closes a program hundreds of times over, in the long form thousands, with a cache and
// with donated and undonated arguments: memory stays within 9 KiB a round, and every object of the plugin is destroyed.
// An allocator grows now and then, a leak grows in every stretch of rounds.
func TestNoGrowth(t *testing.T) {
	const stretches = 4
	warm, rounds, allowed := 50, 50, 50*9<<10
	if long.On() {
		warm, rounds, allowed = 500, 500, 1<<20
	}
	c := open(t, Options{})
	alive := pjrt.Alive()
	round := func(i int) {
		e, err := c.CompileText("round", donateText, CompileOptions{})
		require.NoError(t, err)
		x, y := f32(t, c, 0, 1, 2, 3), f32(t, c, 0, 4, 5, 6)
		out, err := e.execute([][]*buffer{{x, y}}, []int{0}[:i%2])
		require.NoError(t, err)
		require.Equal(t, []float32{5, 7, 9}, host(t, out[0][0]))
		_, err = e.Memory()
		require.NoError(t, err)
		require.NoError(t, out[0][0].Close())
		require.NoError(t, x.Close())
		require.NoError(t, y.Close())
		require.NoError(t, e.Close())
	}
	for i := range warm {
		round(i)
	}
	// A stretch is measured from the end of the one before: what a collection gives back at its end is not what the
	// next one grows by.
	least, before := int64(math.MaxInt64), resident(t)
	for range stretches {
		for i := range rounds {
			round(i)
		}
		after := resident(t)
		least, before = min(least, after-before), after
	}
	require.Empty(t, c.live)
	require.Equal(t, alive, pjrt.Alive())
	t.Logf("resident memory grew by %d KiB in %d rounds", least>>10, rounds)
	require.Less(t, least, int64(allowed))
}

// TestClientsComeAndGo opens and closes clients: their threads and the plugin's objects go with them.
func TestClientsComeAndGo(t *testing.T) {
	alive := pjrt.Alive()
	dir := t.TempDir()
	round := func() {
		c, err := Open(t.Context(), Options{CacheDir: dir, Devices: 2})
		require.NoError(t, err)
		e, err := c.CompileText("round", axpyText, CompileOptions{})
		require.NoError(t, err)
		out, err := e.execute([][]*buffer{{f32(t, c, 0, 1, 2, 3), f32(t, c, 0, 4, 5, 6)}}, nil)
		require.NoError(t, err)
		require.Len(t, out[0], 2)
		require.NoError(t, c.Close(), "closes the rest")
		require.NoError(t, out[0][0].Close())
		require.NoError(t, e.Close())
	}
	round()
	require.Equal(t, alive, pjrt.Alive())
	threads := func() int {
		entries, err := os.ReadDir("/proc/self/task")
		if err != nil {
			t.Skip("the kernel does not tell the process's threads")
		}
		return len(entries)
	}
	before := threads()
	for range 30 {
		round()
	}
	require.Equal(t, alive, pjrt.Alive())
	require.LessOrEqual(t, threads(), before+10, "a client has several threads of its own")
}

// TestDroppedObjects leaves buffers and programs to the garbage collector.
func TestDroppedObjects(t *testing.T) {
	c := open(t, Options{})
	alive := pjrt.Alive()
	func() {
		e, err := c.CompileText("dropped", axpyText, CompileOptions{})
		require.NoError(t, err)
		for range 10 {
			_, err := e.execute([][]*buffer{{f32(t, c, 0, 1, 2, 3), f32(t, c, 0, 4, 5, 6)}}, nil)
			require.NoError(t, err)
		}
	}()
	require.Eventually(t, func() bool {
		runtime.GC()
		c.mu.Lock()
		defer c.mu.Unlock()
		return len(c.live) == 0 && pjrt.Alive() == alive
	}, time.Minute, 10*time.Millisecond)
}

// The C library accepts the settings for kept memory before any thread has an arena. Settings of the user stay.
func TestMemoryIsKept(t *testing.T) {
	if os.Getenv("XLARUN_TEST_TUNED") != "" {
		require.False(t, hostmemory.Kept())
		return
	}
	require.True(t, hostmemory.Kept())
	for i, setting := range []string{"GLIBC_TUNABLES=glibc.rtld.nns=2:glibc.malloc.arena_max=3", "MALLOC_ARENA_MAX=3"} {
		cmd := exec.Command(os.Args[0], "-test.run", "^TestMemoryIsKept$")
		cmd.Env = append(os.Environ(), "XLARUN_TEST_TUNED=1", setting)
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "case %d: %s", i+1, out)
	}
}
