package xlabridge

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
)

// If the plugin makes no client, the error is one sentence. Each case names where its words come from: a file of XLA's
// sources, or a report of a user of JAX.
func TestDeviceErrors(t *testing.T) {
	for _, c := range []struct{ source, reason, chatter, want string }{
		{"xla/pjrt/gpu/gpu_helpers.cc", "FAILED_PRECONDITION: No visible GPU devices.", "",
			"backend cuda: the plugin finds no device (FAILED_PRECONDITION: No visible GPU devices): make one " +
				"visible to " +
				"this process, or use --backend cpu"},
		{"xla/service/platform_util.cc", "INTERNAL: no supported devices found for platform CUDA", "",
			"backend cuda: the plugin finds no device (INTERNAL: no supported devices found for platform CUDA): make " +
				"one " +
				"visible to this process, or use --backend cpu"},
		{"xla/stream_executor/cuda/cuda_diagnostics.cc, jax-ml/jax issue 15961",
			"FAILED_PRECONDITION: No visible GPU devices.",
			"failed call to cuInit: CUDA_ERROR_NO_DEVICE: no CUDA-capable device is detected\nkernel version " +
				"470.182.3 " +
				"does not match DSO version 520.61.5 -- cannot find working devices in this configuration\n",
			"backend cuda: the device's driver is too old for the plugin, or another one than its library (kernel " +
				"version 470.182.3 does not match DSO version 520.61.5 -- cannot find working devices in this " +
				"configuration): install a newer driver, restart after its update, or use --backend cpu"},
		{"xla/stream_executor/cuda/cuda_dnn.cc", "INTERNAL: cudnn library could not create a handle: " +
			"CUDNN_STATUS_NOT_INITIALIZED", "Possibly insufficient driver version: 515.86.1\n",
			"backend cuda: the device's driver is too old for the plugin, or another one than its library (Possibly " +
				"insufficient driver version: 515.86.1): install a newer driver, restart after its update, or use " +
				"--backend cpu"},
		{"xla/service/platform_util.cc, when another process has the memory",
			"INTERNAL: no supported devices found for platform CUDA",
			"unable to create StreamExecutor for CUDA:0: failed call to cuDevicePrimaryCtxRetain: " +
				"CUDA_ERROR_OUT_OF_MEMORY: out of memory; total memory reported: 25396838400\n",
			"backend cuda: the device has too little free memory (unable to create StreamExecutor for CUDA:0: failed " +
				"call to cuDevicePrimaryCtxRetain: CUDA_ERROR_OUT_OF_MEMORY: out of memory; total memory reported: " +
				"25396838400): end other programs on it, or take less with --memory-fraction 0.3 or " +
				"--preallocate=false"},
		{"any other", "UNKNOWN: the moon is full.", "",
			"backend cuda: UNKNOWN: the moon is full; use --backend cpu, or make the device visible to this process"},
	} {
		require.EqualError(t, deviceError("cuda", c.reason, c.chatter), c.want, "%s", c.source)
	}
	require.ErrorContains(t, deviceError("tpu", "FAILED_PRECONDITION: No TPU platform available.", ""),
		"backend tpu: the plugin finds no device (", "libtpu")
	require.EqualError(t, deviceError("tpu", "RESOURCE_EXHAUSTED: TPU out of memory.", ""), "backend tpu: the device "+
		"has too little free memory (RESOURCE_EXHAUSTED: TPU out of memory): end other programs on it",
		"a TPU has no option for less")
	require.ErrorContains(t, deviceError("tpu", "ABORTED: The TPU is already in use by process with pid 4242. Not "+
		"attempting to load libtpu.so in this process.", ""), "backend tpu: another program uses the device (",
		"libtpu, pytorch/xla and jax-ml/jax")
}

// Too little memory is one sentence with the sizes, from the compiler for TPUs or from the GPU's allocator.
func TestOutOfMemory(t *testing.T) {
	tpu := &PluginError{Code: 8, Message: "XLA:TPU compile permanent error. Ran out of memory in memory space hbm. " +
		"Used 21.95G of 15.48G hbm. Exceeded hbm capacity by 6.47G.\n\nTotal hbm usage >= 22.47G:"}
	c := &Client{backend: "tpu"}
	err := c.outOfMemory("generation", tpu, nil)
	require.EqualError(t, err, "backend tpu: out of memory for program generation: it needs 23.6 GB on a device, and "+
		"there are 16.6 GB (the plugin says: XLA:TPU compile permanent error. Ran out of memory in memory space hbm. "+
		"Used 21.95G of 15.48G hbm. Exceeded hbm capacity by 6.47G)")
	words, ok := errors.AsType[*PluginError](err)
	require.True(t, ok)
	require.Equal(t, 8, words.Code)

	gpu := &OutOfMemoryError{Backend: "cuda", Program: "update", Need: 12e9, Have: 8e9, Plugin: &PluginError{Code: 8,
		Message: "Out of memory while trying to allocate 4770354232 bytes.\nBufferAssignment OOM Debugging.\n"}}
	require.EqualError(t, gpu, "backend cuda: out of memory for program update: it needs 12 GB on a device, and there "+
		"are 8 GB (the plugin says: Out of memory while trying to allocate 4770354232 bytes)",
		"xla/pjrt, jax-ml/jax issue 13428")
	require.NoError(t, c.outOfMemory("update", &PluginError{Code: 3, Message: "Ran out of memory"}, nil),
		"another code")
	require.NoError(t, c.outOfMemory("update", errors.New("any"), nil))
	for _, text := range []string{"", "Used 1..2G of 3G hbm", "Used 1G of 2G vmem", "Used G of G hbm"} {
		need, _ := sizesOf(text)
		require.Zero(t, need, "%q", text)
	}
	need, have := sizesOf("Used 512.0K of 2M hbm")
	require.Equal(t, []int64{512 << 10, 2 << 20}, []int64{need, have})
}

// Options of a GPU's memory are refused for other backends and outside of their range.
func TestDeviceMemoryOptions(t *testing.T) {
	for _, c := range []struct {
		backend string
		m       DeviceMemoryOptions
		wrong   string
	}{
		{"cpu", DeviceMemoryOptions{}, ""},
		{"cuda", DeviceMemoryOptions{Fraction: .5, OnDemand: true}, ""},
		{"rocm", DeviceMemoryOptions{Fraction: 1}, ""},
		{"cuda", DeviceMemoryOptions{Fraction: 1.5}, "memory-fraction got 1.5, wants a number above 0 and at most 1"},
		{"cuda", DeviceMemoryOptions{Fraction: -1}, "memory-fraction got -1, wants"},
		{"cpu", DeviceMemoryOptions{Fraction: .5}, "memory-fraction got 0.5, wants no value: only cuda and rocm take"},
		{"tpu", DeviceMemoryOptions{OnDemand: true}, "preallocate got false, wants no value: only"},
	} {
		err := c.m.Check(c.backend, false)
		if c.wrong == "" {
			require.NoError(t, err, "%+v", c)
		} else {
			require.ErrorContains(t, err, c.wrong, "%+v", c)
		}
	}
	for _, m := range []DeviceMemoryOptions{{Fraction: .5}, {OnDemand: true}} {
		require.ErrorContains(t, m.Check("cuda", true), "wants no value for a topology", "%+v", m)
	}
	require.NoError(t, DeviceMemoryOptions{}.Check("tpu", true))
	got := map[string]any{}
	DeviceMemoryOptions{Fraction: .25, OnDemand: true}.set(got)
	require.Equal(t, map[string]any{"memory_fraction": float32(.25), "preallocate": false}, got)
}
