package xlabridge_test

import (
	"context"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"math"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/xlabridge/internal/ctest"
	"xlarun/xlabridge/internal/pjrt"
	"xlarun/xlabridge/plugin"
)

// initialized opens the plugin for CPUs.
var initialized = sync.OnceValues(func() (*pjrt.Plugin, error) {
	found, err := plugin.Find(context.Background(), plugin.Request{Backend: "cpu"})
	if err != nil {
		return nil, err
	}
	path, err := filepath.EvalSymlinks(found.Path)
	if err != nil {
		return nil, err
	}
	p, err := pjrt.Open(path)
	if err != nil {
		return nil, err
	}
	return p, errors.Join(os.Setenv("TF_CPP_MIN_LOG_LEVEL", "3"), p.Initialize())
})

// open makes a client of the plugin for CPUs. cgo panics where a structure of arguments has the address of memory of Go
// that is not pinned. It does not look at what that memory points to. At the end, every object of the test is closed.
func open(t *testing.T, devices int) *pjrt.Client {
	t.Helper()
	p, err := initialized()
	require.NoError(t, err)
	alive := pjrt.Alive()
	c, err := p.NewClient(map[string]any{"cpu_device_count": devices}, nil)
	require.NoError(t, err)
	t.Cleanup(func() {
		require.NoError(t, c.Close())
		require.Equal(t, alive, pjrt.Alive())
	})
	return c
}

// axpy adds in the place of its first argument.
const axpy = `module @axpy {
  func.func public @main(%x: tensor<3xf32> {tf.aliasing_output = 0 : i32}, %y: tensor<3xf32>)
    -> (tensor<3xf32>, tensor<3xf32>) {
    %0 = stablehlo.add %x, %y : tensor<3xf32>
    return %0, %y : tensor<3xf32>, tensor<3xf32>
  }
}`

const float32Type = 11 // XLA's number

func vector(t *testing.T, c *pjrt.Client, device int, values ...float32) *pjrt.Buffer {
	t.Helper()
	data := make([]byte, 0, 4*len(values))
	for _, v := range values {
		data = binary.LittleEndian.AppendUint32(data, math.Float32bits(v))
	}
	b, err := c.FromHost(c.Devices[device], data, float32Type, []int{len(values)})
	require.NoError(t, err)
	return b
}

func floats(t *testing.T, b *pjrt.Buffer) []float32 {
	t.Helper()
	dtype, dims, err := b.Shape()
	require.NoError(t, err)
	require.Equal(t, float32Type, dtype)
	require.Len(t, dims, 1)
	data := make([]byte, 4*dims[0])
	require.NoError(t, b.ToHost(data, 1))
	out := make([]float32, dims[0])
	for i := range out {
		out[i] = math.Float32frombits(binary.LittleEndian.Uint32(data[4*i:]))
	}
	return out
}

// A program is compiled, serialized and loaded, and runs on two devices and on one of them. A donated argument holds
// the result.
func TestProgram(t *testing.T) {
	c := open(t, 2)
	require.Equal(t, "cpu", c.Platform)
	require.NotEmpty(t, c.Version)
	require.Len(t, c.Devices, 2)
	require.Equal(t, "cpu", c.Devices[0].Kind)
	text, err := c.Devices[1].Describe()
	require.NoError(t, err)
	require.NotEmpty(t, text)
	n, err := c.NumGlobalDevices()
	require.NoError(t, err)
	require.Equal(t, 2, n)
	attributes, err := c.Plugin.Attributes()
	require.NoError(t, err)
	require.Len(t, attributes["stablehlo_current_version"], 3)
	assigned, err := c.Assignment(2)
	require.NoError(t, err)
	require.Equal(t, []int{0, 1}, assigned)
	for _, devices := range [][]int{{1}, {0, 1}} {
		compiled, err := c.Compile([]byte(axpy), pjrt.CompileOptions(devices...), len(devices))
		require.NoError(t, err)
		serialized, err := compiled.Serialize()
		require.NoError(t, err)
		loaded, err := c.Load(serialized, len(devices))
		require.NoError(t, err)
		for _, p := range []*pjrt.Program{compiled, loaded} {
			require.Equal(t, 2, p.Outputs)
			var args []*pjrt.Buffer
			for _, d := range devices {
				args = append(args, vector(t, c, d, 1, 2, float32(d)), vector(t, c, d, 10, 20, 30))
			}
			given, err := args[0].UnsafePointer()
			require.NoError(t, err)
			outs, err := p.Execute(c.Devices[devices[0]], args, []bool{true, false})
			require.NoError(t, err)
			require.Len(t, outs, 2*len(devices))
			reused, err := outs[0].UnsafePointer()
			require.NoError(t, err)
			require.Equal(t, given, reused)
			for i, d := range devices {
				require.Equal(t, []float32{11, 22, float32(30 + d)}, floats(t, outs[2*i]))
				require.Equal(t, []float32{10, 20, 30}, floats(t, outs[2*i+1]))
			}
			for _, b := range append(args, outs...) {
				require.NoError(t, b.Close())
			}
			m, err := p.Memory()
			require.NoError(t, err)
			require.EqualValues(t, 24, m.Arguments)
			require.EqualValues(t, 12, m.Aliases)
			require.NoError(t, p.Close())
		}
	}
}

// An array of several axes, and one without elements, come back as they went.
func TestTransfers(t *testing.T) {
	c := open(t, 1)
	for _, dims := range [][]int{nil, {6}, {2, 3}, {1, 3, 2}, {0}, {2, 0, 3}} {
		n := 4
		for _, d := range dims {
			n *= d
		}
		data := make([]byte, max(1, n))
		for i := range data {
			data[i] = byte(i)
		}
		b, err := c.FromHost(c.Devices[0], data, float32Type, dims)
		require.NoError(t, err, dims)
		_, got, err := b.Shape()
		require.NoError(t, err)
		require.Equal(t, len(dims), len(got))
		back := make([]byte, n)
		require.NoError(t, b.ToHost(back, len(dims)))
		require.Equal(t, data[:n], back, dims)
		require.NoError(t, b.Close())
	}
}

// The bytes are a part of the keys of users' caches. They are those of go-xla, as TestSharedClient of the module
// xlarun/gomlx shows.
func TestCompileOptions(t *testing.T) {
	require.Equal(t, "1a0f08ffffffffffffffffff01200128012001", hex.EncodeToString(pjrt.CompileOptions(0)))
	require.Equal(t, "1a1d08ffffffffffffffffff012002280130014a0a080210011a040a020001",
		hex.EncodeToString(pjrt.CompileOptions(0, 1)))
}

// What goes wrong is an *Error with the plugin's code and text.
func TestErrors(t *testing.T) {
	c := open(t, 1)
	code := func(err error) int {
		e, ok := errors.AsType[*pjrt.Error](err)
		require.True(t, ok, "%v", err)
		require.NotEmpty(t, e.Message)
		return e.Code
	}
	_, err := c.Compile([]byte("module {"), pjrt.CompileOptions(0), 1)
	require.Equal(t, 2, code(err))
	_, err = c.Load([]byte("no program"), 1)
	require.NotZero(t, code(err))
	_, err = c.Plugin.NewClient(map[string]any{"nonsense": int64(1)}, nil)
	require.Equal(t, 3, code(err))
	_, err = c.Plugin.NewClient(map[string]any{"nonsense": struct{}{}}, nil)
	require.ErrorContains(t, err, `option "nonsense" is a struct {}, wanted`)
	p, err := c.Compile([]byte(axpy), pjrt.CompileOptions(0), 1)
	require.NoError(t, err)
	_, err = p.Cost()
	require.Equal(t, pjrt.Unimplemented, code(err))
	x := vector(t, c, 0, 1, 2, 3)
	_, err = p.Execute(c.Devices[0], []*pjrt.Buffer{x}, []bool{false})
	require.Equal(t, 3, code(err))
	format, text, err := p.Optimized()
	require.NoError(t, err)
	require.NotEmpty(t, format)
	require.Contains(t, string(text), "axpy")
	options, err := p.Options()
	require.NoError(t, err)
	require.NotEmpty(t, options)
	require.NoError(t, x.Close())
	require.NoError(t, p.Close())
	require.False(t, c.Plugin.CanRead())
}

// stub is a plugin whose table has so many entries. Its serialized programs are overwritten by their deleter.
const stub = `#include <string.h>
#include "ffi_abi.h"
#include "pjrt_abi.h"
static char bytes[] = "a program";
static void delete(void *object) { memset(bytes, '-', sizeof bytes - 1); }
static xp_error *serialize(xp_serialize_args *args) {
  args->bytes = bytes, args->bytes_size = sizeof bytes - 1;
  args->object = bytes, args->deleter = delete;
  return 0;
}
static xp_error *outputs(xp_num_outputs_args *args) { args->num_outputs = 1; return 0; }
static xp_error *nothing(void *args) { return 0; }
static xp_error *fail(void *args) { return (xp_error *)bytes; }
static xf_extension extension = { sizeof extension, XP_EXTENSION_FFI, 0 };
static struct { xp_api api; void *fn[200]; } table = {{ 0, &extension, { sizeof(xp_version), 0, 0, 104 } }};
const xp_api *GetPjrtApi(void) {
  table.api.struct_size = offsetof(xp_api, fn) + ENTRIES * sizeof(void *);
  for (int i = 0; i < 200; i++) table.api.fn[i] = (void *)nothing;
  table.api.fn[XP_EXECUTABLE_SERIALIZE] = (void *)serialize;
  table.api.fn[XP_EXECUTABLE_NUM_OUTPUTS] = (void *)outputs;
  table.api.fn[XP_EXECUTABLE_OPTIMIZED] = 0;
  table.api.fn[XP_EXECUTABLE_COST] = table.api.fn[XP_ERROR_CODE] = (void *)fail;
  return &table.api;
}`

// A table that ends before a function that is needed is refused. Functions behind its end, and those that are NULL, are
// errors. So is an extension that is too short. An error whose code fails is unknown. Bytes of the plugin are copied
// before they are deleted.
func TestOldPlugins(t *testing.T) {
	build := func(entries string) string { return ctest.Compile(t, stub, "-shared", "-fPIC", "-DENTRIES="+entries) }
	path := build("96")
	_, err := pjrt.Open(path)
	require.EqualError(t, err, "plugin "+path+": it speaks PJRT 0.104, whose table has 808 bytes, too old: wanted at "+
		"least 816 bytes; run `xlarun plugin install` for a newer one, or name another with --plugin")
	p, err := pjrt.Open(build("124"))
	require.NoError(t, err)
	c, err := p.NewClient(nil, nil)
	require.NoError(t, err)
	program, err := c.Compile([]byte(axpy), pjrt.CompileOptions(0), 1)
	require.NoError(t, err)
	_, err = program.Options()
	require.Equal(t, &pjrt.Error{Code: 12, Message: "the plugin is too old: its table has no entry 124"}, err)
	_, _, err = program.Optimized()
	require.Equal(t, &pjrt.Error{Code: 12, Message: "the plugin is too old: its table has no entry 48"}, err)
	_, err = program.Cost()
	require.Equal(t, &pjrt.Error{Code: 2}, err)
	takes, err := p.Register("kernel", "Host", nil)
	require.NoError(t, err)
	require.False(t, takes)
	serialized, err := program.Serialize()
	require.NoError(t, err)
	require.Equal(t, "a program", string(serialized))
	again, err := program.Serialize()
	require.NoError(t, err)
	require.Equal(t, "---------", string(again), "the deleter was called")

	p, err = pjrt.Open(build("125"))
	require.NoError(t, err)
	c, err = p.NewClient(nil, nil)
	require.NoError(t, err)
	program, err = c.Compile([]byte(axpy), pjrt.CompileOptions(0), 1)
	require.NoError(t, err)
	_, err = program.Options()
	require.NoError(t, err, "the table has entry 124")
}
