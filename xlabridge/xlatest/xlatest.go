// Package xlatest opens clients for tests. All tests of a machine share one cache of compiled programs, so that a
// program is compiled once and not again for each test. That is safe: an entry is keyed by the program's text, the
// options, the plugin and the machine. Tests of the cache itself use folders of their own.
package xlatest

import (
	"os"
	"path/filepath"
	"runtime/debug"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/graph"
	"xlarun/internal/budget"
	"xlarun/internal/floatmode"
	"xlarun/internal/programs"
	"xlarun/xlabridge"
	"xlarun/xlabridge/fetch"
	"xlarun/xlabridge/internal/inside"
)

func init() {
	inside.Observe = programs.Observe
	if os.Getenv("GOGC") == "" { // collecting the garbage of tracing and of the interpreter takes a tenth of the time
		debug.SetGCPercent(400)
	}
}

// CacheDir returns the cache folder that tests share: $XLARUN_TEST_CACHE, or "tests" in the user's cache folder of
// xlarun. It makes the folder if it does not exist.
func CacheDir(t testing.TB) string {
	t.Helper()
	dir := os.Getenv("XLARUN_TEST_CACHE")
	if dir == "" {
		base, err := fetch.CacheDir()
		require.NoError(t, err)
		dir = filepath.Join(base, "tests")
	}
	require.NoError(t, os.MkdirAll(dir, 0o700))
	return dir
}

// envBackend names the backend that tests run on instead of the CPU, for a machine with an accelerator.
const envBackend = "XLARUN_TEST_BACKEND"

// Open opens the CPU, or the backend that XLARUN_TEST_BACKEND names, with the shared cache and a number of devices; 0
// means one for each core. It skips the test if the backend has fewer devices. It closes the client when the test ends.
func Open(t testing.TB, devices int) *xlabridge.Client {
	t.Helper()
	return open(t, backend(), devices, CacheDir(t))
}

// OpenCPU opens the CPU as Open does, whatever XLARUN_TEST_BACKEND says: for tests whose tolerances are the CPU's.
func OpenCPU(t testing.TB, devices int) *xlabridge.Client {
	t.Helper()
	return open(t, "cpu", devices, CacheDir(t))
}

// Backends returns what a result should be the same on: the reference interpreter, and XLA on the CPU.
func Backends(t testing.TB) map[string]xlabridge.Backend {
	t.Helper()
	return map[string]xlabridge.Backend{"reference": &xlabridge.Reference{}, "xla": OpenCPU(t, 0)}
}

// backend returns the backend that tests run on.
func backend() string {
	if name := os.Getenv(envBackend); name != "" {
		return name
	}
	return "cpu"
}

func open(t testing.TB, backend string, devices int, cache string) *xlabridge.Client {
	t.Helper()
	options := xlabridge.Options{Backend: backend, Devices: devices, CacheDir: cache}
	if backend != "cpu" {
		options.Devices, options.DeviceMemory.OnDemand = 0, backend != "tpu" // tests of several packages share a GPU
	}
	c, err := xlabridge.Open(t.Context(), options)
	require.NoError(t, err)
	if c.NumDevices() < devices {
		require.NoError(t, c.Close())
		t.Skipf("the test wants %d devices, and %s has %d", devices, backend, c.NumDevices())
	}
	t.Cleanup(func() {
		require.NoError(t, c.Close())
		require.Zero(t, floatmode.Sampled(), "threads of Go that take small numbers for zero")
		require.NoError(t, budget.Programs(programs.Seen()))
	})
	return c
}

// CompiledWith says what a client would compile a program with: the target, the compiler's options, and the key in the
// cache, separated by tabs. It is the same on all machines: the processor, its cores and the plugin are made up.
func CompiledWith(t testing.TB, c *xlabridge.Client, p *graph.Program, o xlabridge.CompileOptions) string {
	t.Helper()
	line, err := inside.CompiledWith(c, p, o)
	require.NoError(t, err)
	return line
}
