package xlabridge

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"xlarun/internal/hardware"
	"xlarun/xlabridge/internal/ctest"
	"xlarun/xlabridge/plugin"
)

// cc compiles C text with the repository's ABI header and returns the result's path.
var cc = ctest.Compile

// fakeTable is a plugin that has nothing but a table's head.
func fakeTable(t *testing.T, structSize string, major, minor int) string {
	return cc(t, fmt.Sprintf(`#include "pjrt_abi.h"
static struct { xp_api api; void *fn[200]; } table = {{ %s, 0, { sizeof(xp_version), 0, %d, %d } }};
const xp_api *GetPjrtApi(void) { return &table.api; }`, structSize, major, minor), "-shared", "-fPIC")
}

// TestNoPlugin opens what is no plugin of ours: one sentence each, naming the file and what to do.
func TestNoPlugin(t *testing.T) {
	dir := t.TempDir()
	text := filepath.Join(dir, "text.so")
	require.NoError(t, os.WriteFile(text, []byte("not a library"), 0o644))
	cases := []struct{ name, path, want string }{
		{"text", text, "not a shared library that can be loaded"},
		{"no entry point", cc(t, "int x;", "-shared", "-fPIC"), "no PJRT plugin (it has no GetPjrtApi)"},
		{"no table", cc(t, "void *GetPjrtApi(void) { return 0; }", "-shared", "-fPIC"), "GetPjrtApi returned no table"},
		{"other major version", fakeTable(t, "sizeof table", 1, 3), "it speaks PJRT 1.3, wanted major version 0"},
		{"old table", fakeTable(t, "offsetof(xp_api, fn) + 96 * sizeof(void *)", 0, 20),
			"it speaks PJRT 0.20, whose table has 808 bytes, too old"},
		{"absurd size", fakeTable(t, "(size_t)-1", 0, 104), "which is no table of this ABI"},
		{"tiny size", fakeTable(t, "8", 0, 104), "which is no table of this ABI"},
	}
	opened := func() int {
		libraries.Lock()
		defer libraries.Unlock()
		return len(libraries.all)
	}
	before := opened()
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			for range 2 {
				_, err := Open(t.Context(), Options{PluginPath: tc.path, NoCache: true})
				require.ErrorContains(t, err, tc.want)
				require.ErrorContains(t, err, tc.path)
				require.ErrorContains(t, err, "--plugin")
				require.NotContains(t, err.Error(), "\n")
			}
		})
	}
	for _, path := range []string{filepath.Join(dir, "absent.so"), dir} {
		_, err := Open(t.Context(), Options{PluginPath: path, NoCache: true})
		require.ErrorContains(t, err, path)
		require.NotContains(t, err.Error(), "\n")
		_, err = pluginFile(path)
		require.ErrorContains(t, err, "plugin "+path)
	}
	require.Equal(t, before, opened(), "files that are refused take no place")
}

func TestOpenErrors(t *testing.T) {
	cases := []struct {
		name string
		o    Options
		want string
	}{
		{"devices", Options{Devices: -1}, "got -1 devices"},
		{"too many devices", Options{Devices: 5000}, "got 5000 devices, wanted 1 to 256"},
		{"backend", Options{Backend: "abacus"}, "abacus"},
		{"client option's type", Options{Client: map[string]any{"x": struct{}{}}}, "backend cpu: plugin"},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			_, err := Open(t.Context(), tc.o)
			require.ErrorContains(t, err, tc.want)
			require.NotContains(t, err.Error(), "\n")
		})
	}
	c := open(t, Options{})
	_, err := Open(t.Context(), Options{Backend: "cuda", PluginPath: c.PluginPath()})
	require.ErrorContains(t, err, `is one for "cpu"`)
}

// TestOpenTwice opens one plugin under two names: one library, many clients.
func TestOpenTwice(t *testing.T) {
	a := open(t, Options{})
	link := filepath.Join(t.TempDir(), "link.so")
	require.NoError(t, os.Symlink(a.PluginPath(), link))
	b := open(t, Options{PluginPath: link, Devices: 2})
	require.Same(t, a.lib, b.lib)
	require.NotSame(t, a.inner, b.inner)
	require.Equal(t, 1, a.NumDevices())
	require.Equal(t, 2, b.NumDevices())
	require.Equal(t, a.Fingerprint(), b.Fingerprint())
	require.NotEmpty(t, a.Fingerprint())
	major, minor := a.PluginAPI()
	require.Zero(t, major)
	require.Positive(t, minor)
	require.Equal(t, "cpu", a.Platform())
	lines, err := b.DeviceDescriptions()
	require.NoError(t, err)
	require.Len(t, lines, 2)
	require.NoError(t, b.Close())
	_, err = b.DeviceDescriptions()
	require.ErrorIs(t, err, errClosed)
	runAxpy(t, a, compile(t, a, axpyText, CompileOptions{}))
}

// A plugin that is loaded ahead is the one that Open finds; what fails ahead is said by Open.
func TestLoadedAhead(t *testing.T) {
	c := open(t, Options{})
	Options{Backend: "cpu", PluginPath: c.PluginPath()}.Preload()
	require.Same(t, c.lib, open(t, Options{PluginPath: c.PluginPath()}).lib)
	bad := cc(t, "int nothing;", "-shared", "-fPIC")
	for _, path := range []string{bad, filepath.Join(t.TempDir(), "absent.so")} {
		Options{Backend: "cpu", PluginPath: path}.Preload()
		_, err := Open(t.Context(), Options{PluginPath: path})
		require.ErrorContains(t, err, path)
	}
}

func TestPreload(t *testing.T) {
	// second needs first's symbol; in the order of their names first does not come first.
	dir := t.TempDir()
	first := cc(t, "int xlarun_test_symbol = 7;", "-shared", "-fPIC")
	second := cc(t, "extern int xlarun_test_symbol; int *xlarun_test_user(void) { return &xlarun_test_symbol; }",
		"-shared", "-fPIC")
	require.NoError(t, os.Rename(first, filepath.Join(dir, "b.so.1")))
	require.NoError(t, os.Rename(second, filepath.Join(dir, "a.so")))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "c.so"), []byte("no library"), 0o644))
	// RTLD_NOW refuses a data reference that nobody defines.
	require.Equal(t, []string{filepath.Join(dir, "a.so")}, preload([]string{filepath.Join(dir, "a.so")}))
	preloadAll([]string{dir, filepath.Join(dir, "absent")})
	require.Empty(t, preload([]string{filepath.Join(dir, "a.so"), filepath.Join(dir, "b.so.1")}))
}

func TestFileFingerprint(t *testing.T) {
	dir := t.TempDir()
	write := func(name string, data []byte) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, data, 0o644))
		f, err := fileFingerprint(path)
		require.NoError(t, err)
		return f
	}
	data := []byte(strings.Repeat("0123456789abcdef", 50_000))
	a := write("a", data)
	require.Equal(t, a, write("b", data), "the name does not count")
	require.NotEqual(t, a, write("c", data[:len(data)-1]))
	data[len(data)-1]++
	require.NotEqual(t, a, write("d", data))
	require.NotEqual(t, a, write("e", nil))
	_, err := fileFingerprint(filepath.Join(dir, "absent"))
	require.Error(t, err)
	require.NotContains(t, hardware.Fingerprint(), "unknown")
}

func TestFoundPluginIsOpened(t *testing.T) {
	found, err := plugin.Find(t.Context(), plugin.Request{Backend: "cpu"})
	require.NoError(t, err)
	c := open(t, Options{})
	real, err := filepath.EvalSymlinks(found.Path)
	require.NoError(t, err)
	require.Equal(t, real, c.PluginPath())
	require.Equal(t, found.SHA256, c.Fingerprint())
}

// A plugin that never answers, as one for an absent TPU does, is given up; what is written to stderr is seen again.
func TestStuckPluginIsGivenUp(t *testing.T) {
	limit := startLimit
	t.Cleanup(func() { startLimit = limit })
	cases := []struct {
		number     int
		what, text string
	}{
		{1, "while it loads", `#include <unistd.h>
void *GetPjrtApi(void) { for (;;) pause(); }`},
		{2, "while it makes a client", `#include <unistd.h>
#include "pjrt_abi.h"
static void *nothing(void *args) { (void)args; return 0; }
static void *forever(void *args) { (void)args; for (;;) pause(); }
static struct { xp_api api; void *fn[200]; } table = {{ sizeof table, 0, { sizeof(xp_version), 0, 0, 104 } }};
const xp_api *GetPjrtApi(void) {
  for (int i = 0; i < 200; i++) table.api.fn[i] = (void *)nothing;
  table.api.fn[XP_CLIENT_CREATE] = (void *)forever;
  return &table.api;
}`},
	}
	for _, tc := range cases {
		t.Run(tc.what, func(t *testing.T) {
			path := cc(t, tc.text, "-shared", "-fPIC")
			startLimit = 50 * time.Millisecond
			for range 2 {
				_, err := Open(t.Context(), Options{Backend: "tpu", PluginPath: path, NoCache: true})
				require.ErrorContains(t, err, "did not answer within 50ms", tc.number)
				require.ErrorContains(t, err, "--backend cpu", tc.number)
				require.NotContains(t, err.Error(), "\n", tc.number)
			}
			startLimit = time.Hour
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			_, err := Open(ctx, Options{Backend: "tpu", PluginPath: cc(t, tc.text, "-shared", "-fPIC"), NoCache: true})
			require.ErrorIs(t, err, context.Canceled, tc.number)
			target, err := os.Readlink("/proc/self/fd/2")
			require.NoError(t, err)
			require.NotContains(t, target, "xlarun-stderr", tc.number)
		})
	}
}

// 1: a CPU cut into as many devices as there can be runs a program in which all wait for all.
func TestMostCPUDevices(t *testing.T) {
	c := open(t, Options{Devices: MaxCPUDevices})
	require.Equal(t, MaxCPUDevices, c.NumDevices())
	numbers := make([]string, MaxCPUDevices)
	for i := range numbers {
		numbers[i] = fmt.Sprint(i)
	}
	all := "[[" + strings.Join(numbers, ", ") + "]]"
	text := fmt.Sprintf(`module @sum attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = %d : i32} {
  func.func public @main(%%x: tensor<1xf32>) -> tensor<1xf32> {
    %%y = "stablehlo.all_reduce"(%%x) ({
    ^bb0(%%a: tensor<f32>, %%b: tensor<f32>):
      %%c = stablehlo.add %%a, %%b : tensor<f32>
      stablehlo.return %%c : tensor<f32>
    }) {replica_groups = dense<%v> : tensor<1x%dxi64>} : (tensor<1xf32>) -> tensor<1xf32>
    return %%y : tensor<1xf32>
  }
}`, MaxCPUDevices, all, MaxCPUDevices)
	e := compile(t, c, text, CompileOptions{Replicas: MaxCPUDevices})
	inputs := make([][]*buffer, MaxCPUDevices)
	for i := range inputs {
		inputs[i] = []*buffer{f32(t, c, i, 1)}
	}
	for range 3 {
		out, err := e.execute(inputs, nil)
		require.NoError(t, err)
		require.Equal(t, []float32{MaxCPUDevices}, host(t, out[MaxCPUDevices-1][0]))
	}
}

func TestDeviceReady(t *testing.T) {
	require.NoError(t, deviceReady("cpu"), "1: a CPU is always there")
	require.NoError(t, driverLoads("libc.so.6"), "2: a library that loads")
	err := driverLoads("libxlarun-absent.so.1")
	require.ErrorContains(t, err, "backend cuda: there is an NVIDIA GPU, but its driver's library cannot be loaded",
		"3: one that is not there")
	require.ErrorContains(t, err, "libxlarun-absent.so.1")
	require.ErrorContains(t, err, "--backend cpu")
	if plugin.Device("tpu") != nil {
		_, err = Open(t.Context(), Options{Backend: "tpu"})
		require.ErrorIs(t, err, plugin.ErrNoDevice, "4: said before anything is looked up or downloaded")
	}
}

// A client that the plugin makes after Open was given up is closed. Until then the plugin has the options: they are
// pinned.
func TestLateClientIsClosed(t *testing.T) {
	dir := t.TempDir()
	path := cc(t, `#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "pjrt_abi.h"
#define DIR "`+dir+`"
static void put(const char *path, const char *text, size_t size) {
  FILE *f = fopen(DIR "/new", "w");
  fwrite(text, 1, size, f);
  fclose(f);
  rename(DIR "/new", path);
}
static char seen[64];
static void *nothing(void *args) { (void)args; return 0; }
static void *create(xp_client_create_args *args) {
  put(DIR "/began", "", 0);
  while (access(DIR "/go", F_OK) != 0) usleep(1000);
  const xp_named_value *v = args->create_options;
  for (size_t i = 0; i < args->num_options; i++, v++) {
    strncat(seen, v->name, v->name_size);
    strcat(seen, " ");
    if (v->type == XP_STRING) strncat(seen, v->value.string_value, v->value_size);
  }
  return 0;
}
static void *destroy(void *args) { (void)args; put(DIR "/destroyed", seen, strlen(seen)); return 0; }
static struct { xp_api api; void *fn[200]; } table = {{ sizeof table, 0, { sizeof(xp_version), 0, 0, 104 } }};
const xp_api *GetPjrtApi(void) {
  for (int i = 0; i < 200; i++) table.api.fn[i] = (void *)nothing;
  table.api.fn[XP_CLIENT_CREATE] = (void *)create;
  table.api.fn[XP_CLIENT_DESTROY] = (void *)destroy;
  return &table.api;
}`, "-shared", "-fPIC")
	exists := func(name string) func() bool {
		return func() bool {
			_, err := os.Stat(filepath.Join(dir, name))
			return err == nil
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		for !exists("began")() {
			time.Sleep(time.Millisecond)
		}
		cancel()
	}()
	_, err := Open(ctx, Options{PluginPath: path, NoCache: true, Client: map[string]any{"a_text": "a value"}})
	require.ErrorIs(t, err, context.Canceled)
	for range 3 {
		runtime.GC()
	}
	require.NoError(t, os.WriteFile(filepath.Join(dir, "go"), nil, 0o600))
	require.Eventually(t, exists("destroyed"), time.Minute, time.Millisecond)
	got, err := os.ReadFile(filepath.Join(dir, "destroyed"))
	require.NoError(t, err)
	require.Equal(t, "a_text a valuecpu_device_count ", string(got))
}
