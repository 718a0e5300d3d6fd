package xlabridge

import (
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/graph"
	"xlarun/xlabridge/cache"
)

// A program that was compiled without its device is read back: what is cut or changed is no entry.
func TestReadBack(t *testing.T) {
	for _, name := range []string{"h100", "v5e:2x2"} {
		t.Run(name, func(t *testing.T) {
			c := openTopology(t, name, Options{CacheDir: t.TempDir()})
			p, err := graph.Trace("sum", func(x *graph.Array) *graph.Array { return x.Tanh().Sum() },
				graph.Abstract(graph.ShapeOf(graph.Float32, 8, 64)))
			require.NoError(t, err)
			x, err := c.Compile(p, CompileOptions{})
			require.NoError(t, err)
			require.True(t, x.Executable.Info().Stored, "%s", x.Executable.Info().Reason)
			entries, err := c.Cache().List()
			require.NoError(t, err)
			require.Len(t, entries, 1)
			key, err := cache.ParseKey(entries[0].Key)
			require.NoError(t, err)
			payload, _, err := c.Cache().Get(key)
			require.NoError(t, err)
			require.NoError(t, c.readBack(payload, 1))
			require.Error(t, c.readBack(payload[:len(payload)/2], 1), "cut")
			require.EqualError(t, c.readBack([]byte("program"), 1),
				"entry is damaged: it holds no program of a plugin")
			if c.Backend() == "tpu" {
				require.ErrorContains(t, c.readBack(payload, 2), "a program with 1 results in it, not 2")
				changed := append([]byte{}, payload...)
				changed[len(changed)/2] ^= 1
				require.ErrorContains(t, c.readBack(changed, 1), "the plugin cannot read it")
				return
			}
			require.ErrorContains(t, checkCubins(payload, 75),
				"its machine code is not for compute capability 7.5")
		})
	}
}

// Programs that only call libraries, or copy, are read back, too.
func TestReadBackOfSmallPrograms(t *testing.T) {
	for _, name := range []string{"h100", "v5e:2x2"} {
		for what, f := range map[string]func(x *graph.Array) []*graph.Array{
			"a product":   func(x *graph.Array) []*graph.Array { return []*graph.Array{graph.Dot(x, x)} },
			"the input":   func(x *graph.Array) []*graph.Array { return []*graph.Array{x} },
			"two results": func(x *graph.Array) []*graph.Array { return []*graph.Array{x, x.Neg()} },
		} {
			t.Run(name+" "+what, func(t *testing.T) {
				c := openTopology(t, name, Options{CacheDir: t.TempDir()})
				p, err := graph.Trace(what, f, graph.Abstract(graph.ShapeOf(graph.Float32, 1024, 1024)))
				require.NoError(t, err)
				x, err := c.Compile(p, CompileOptions{})
				require.NoError(t, err)
				require.True(t, x.Executable.Info().Stored, x.Executable.Info().Reason)
			})
		}
	}
}
