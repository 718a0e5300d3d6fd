package xlabridge

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/graph"
	"xlarun/xlabridge/cache"
	"xlarun/xlabridge/fetch"
	"xlarun/xlabridge/internal/pjrt"
	"xlarun/xlabridge/topology"
)

// openTopology opens a client for devices that are not there, or skips the test if the plugin is not installed.
func openTopology(t *testing.T, name string, o Options) *Client {
	t.Helper()
	on, err := topology.Parse(name)
	require.NoError(t, err)
	o.Backend, o.Topology, o.Offline = on.Backend, &on, os.Getenv("XLARUN_TOPOLOGIES") == ""
	c, err := Open(t.Context(), o)
	if errors.Is(err, fetch.ErrNotInstalled) {
		t.Skip("the plugin is not installed: xlarun plugin install " + on.Backend + ", or XLARUN_TOPOLOGIES=1")
	}
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.Close()) })
	return c
}

func TestTopologyOfAnotherBackend(t *testing.T) {
	on, err := topology.Parse("h100")
	require.NoError(t, err)
	_, err = Open(t.Context(), Options{Backend: "tpu", Topology: &on})
	require.EqualError(t, err, "backend tpu: the topology h100 is one of cuda; use --backend cuda")
}

// A topology compiles, keeps programs in the cache, and runs nothing.
func TestTopology(t *testing.T) {
	for _, name := range []string{"h100", "h100x8", "v5e:2x2"} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			c := openTopology(t, name, Options{CacheDir: dir})
			require.Equal(t, c.Topology().Devices, c.NumDevices())
			all, err := c.NumGlobalDevices()
			require.NoError(t, err)
			require.Equal(t, c.NumDevices(), all)
			require.Equal(t, c.Backend(), c.Platform())
			require.Regexp(t, `^1\.\d+\.\d+$`, c.StableHLO())
			devices := min(4, c.NumDevices())
			p, err := graph.TraceArgs("sum", []any{graph.Abstract(graph.ShapeOf(graph.Float32, 8, 64))},
				graph.TraceOptions{Replicas: devices}, func(args []any) any {
					x := args[0].(*graph.Array)
					if devices > 1 {
						x = graph.PSum(x, graph.DeviceAxis)
					}
					return x.Tanh().Sum()
				})
			require.NoError(t, err)
			var infos []CompileInfo
			for range 2 {
				x, err := c.Compile(p, CompileOptions{})
				require.NoError(t, err)
				infos = append(infos, x.Executable.Info())
				m, err := x.Executable.Memory()
				require.NoError(t, err)
				require.GreaterOrEqual(t, m.Arguments, int64(8*64*4), "the memory comes with the "+
					"cached program, too")
				_, err = x.Call([]*graph.Array{graph.Ones(graph.ShapeOf(graph.Float32, 8, 64))})
				require.ErrorContains(t, err, "program sum was compiled for "+name+", which is not on this machine, "+
					"so it did not run", "the call itself fails, not the first read of its result")
				_, err = x.Executable.execute(nil, nil)
				require.ErrorContains(t, err, "did not run")
			}
			require.Equal(t, cache.Miss, infos[0].Cache)
			require.Equal(t, cache.Hit, infos[1].Cache, "%s", infos[1].Reason)
			require.Equal(t, infos[0].Bytes, infos[1].Bytes)
			entries, err := c.Cache().List()
			require.NoError(t, err)
			require.Len(t, entries, 1)
			require.NotEmpty(t, entries[0].Meta.Ahead, "the entry is marked")
			uncached, err := c.Compile(p, CompileOptions{NoCache: true})
			require.NoError(t, err)
			loops, err := uncached.Executable.Loops()
			require.NoError(t, err)
			require.NotEmpty(t, loops[0].Kernels)
			require.Equal(t, devices > 1, len(loops[0].Collectives) > 0)
			_, err = c.CompileText("broken", "module {", CompileOptions{})
			require.ErrorContains(t, err, "compile broken for "+name)
		})
	}
}

// With Options.Zeros a call returns zeros. Without it the call of a Jit function is an error, as is reading an array
// that was put on the device.
func TestTopologyCalls(t *testing.T) {
	square := func(x *graph.Array) *graph.Array { return x.Square() }
	x := graph.Ones(graph.ShapeOf(graph.Float32, 8))
	for _, zeros := range []bool{false, true} {
		c := openTopology(t, "v5e:2x2", Options{NoCache: true, Zeros: zeros})
		y, err := Jit(c, square)(x)
		if !zeros {
			require.ErrorContains(t, err, "program jit was compiled for v5e:2x2")
			require.Nil(t, y)
			d, err := Put(c, 1, x)
			require.NoError(t, err)
			_, err = graph.Floats(d)
			require.ErrorContains(t, err, "so it has no elements")
			continue
		}
		require.NoError(t, err)
		got := floats(t, y)
		require.Equal(t, make([]float64, 8), got)
	}
}

// A damaged entry of a topology is reported, as that of a device is, and is replaced.
func TestDamagedEntryOfATopology(t *testing.T) {
	dir := t.TempDir()
	var warned []string
	compile := func() CompileInfo {
		c := openTopology(t, "v5e:2x2", Options{CacheDir: dir, Warn: func(s string) { warned = append(warned, s) }})
		e, err := c.CompileText("least", smallestModule, CompileOptions{})
		require.NoError(t, err)
		return e.Info()
	}
	first := compile()
	require.Empty(t, warned)
	file := filepath.Join(dir, first.Key+".xlaprogram")
	bytes, err := os.ReadFile(file)
	require.NoError(t, err)
	bytes[len(bytes)-1] ^= 1
	require.NoError(t, os.WriteFile(file, bytes, 0o600))
	second := compile()
	require.Equal(t, cache.Miss, second.Cache)
	require.Len(t, warned, 1)
	require.Contains(t, warned[0], "program least was compiled anew: its entry ")
	require.Equal(t, cache.Hit, compile().Cache)
	require.Len(t, warned, 1)
}

// A program that was compiled without its device is a hit that says so, and is compiled again where that is wanted.
func TestCompiledAhead(t *testing.T) {
	dir := t.TempDir()
	c := openAlone(t, Options{CacheDir: dir})
	run := func(c *Client) CompileInfo { return compile(t, c, axpyText, CompileOptions{}).Info() }
	first := run(c)
	key, err := cache.ParseKey(first.Key)
	require.NoError(t, err)
	payload, meta, err := c.Cache().Get(key)
	require.NoError(t, err)
	require.NotEmpty(t, meta.Program)
	meta.Ahead = []byte(`{"outputs":2}`)
	require.NoError(t, c.Cache().Put(key, meta, payload))
	hit := run(c)
	require.Equal(t, []string{cache.Hit, compiledAhead}, []string{hit.Cache, hit.Reason})

	looking := openAlone(t, Options{CacheDir: dir, PlansOnly: true})
	require.Equal(t, cache.Off, run(looking).Cache, "a program is compiled anew")
	require.NotNil(t, looking.Cache(), "and the store of plans is there")

	var warned []string
	renewing := openAlone(t, Options{CacheDir: dir, Renew: true, Warn: func(s string) { warned = append(warned, s) }})
	miss := run(renewing)
	require.Equal(t, []string{cache.Miss, errRenewed.Error()}, []string{miss.Cache, miss.Reason})
	require.True(t, miss.Stored)
	require.Empty(t, warned, "nothing is wrong")
	again := run(renewing)
	require.Equal(t, []string{cache.Hit, ""}, []string{again.Cache, again.Reason}, "it has replaced the other")
}

// A miss of an accelerator says what the same program is there for.
func TestOtherEntries(t *testing.T) {
	store := cache.New(t.TempDir())
	l := &library{fingerprint: "b1"}
	r := &request{store: store}
	code := []byte("module {}")
	h100 := cache.AcceleratorPlatform("cuda", "NVIDIA H100 80GB HBM3")
	h200 := cache.AcceleratorPlatform("cuda", "NVIDIA H200")
	r.overrides = map[string]any{cudaDataDir: "/home/one/cuda"}
	key := r.key(l, code, "mlir", pjrt.CompileOptions(0), h100)
	require.NoError(t, store.Put(key, cache.Metadata{Name: "m", Platform: h100, Plugin: "b1", Program: r.text()},
		[]byte("program")))
	other := &request{store: store, overrides: map[string]any{cudaDataDir: "/home/two/cuda"}}
	require.Equal(t, key, other.key(l, code, "mlir", pjrt.CompileOptions(0), h100),
		"folders are no part of the key")
	require.NotEqual(t, key, other.key(l, code, "mlir", pjrt.CompileOptions(0, 1), h100))
	other.key(l, code, "mlir", pjrt.CompileOptions(0), h200)
	for _, c := range []struct {
		name, platform, plugin, want string
		err                          error
	}{
		{"device", h200, "b1", "; the same program is there for NVIDIA H100 80GB HBM3, this device is NVIDIA H200",
			cache.ErrAbsent},
		{"plugin", h100, "b2", "; the same program is there from another plugin (b1, this is b2)", cache.ErrAbsent},
		{"flags", h100, "b1", "; the same program is there with other XLA_FLAGS", cache.ErrAbsent},
		{"damaged", h200, "b1", "", os.ErrInvalid},
		{"cpu", "cpu\n1\ncpu", "b1", "", cache.ErrAbsent},
	} {
		got := other.similarEntry(&library{fingerprint: c.plugin}, c.platform, c.err)
		require.Equal(t, c.want, got, "%s", c.name)
	}
}
