package xlabridge

import (
	"testing"

	"github.com/gomlx/compute/dtypes"
	"github.com/stretchr/testify/require"
)

func TestTransfer(t *testing.T) {
	c := open(t, Options{Devices: 2})
	cases := []struct {
		name  string
		dtype dtypes.DType
		dims  []int
	}{
		{"scalar", dtypes.Float32, nil},
		{"vector", dtypes.Float64, []int{5}},
		{"matrix", dtypes.Int32, []int{3, 4}},
		{"bool", dtypes.Bool, []int{7}},
		{"int8", dtypes.Int8, []int{3}},
		{"int16", dtypes.Int16, []int{3}},
		{"int64", dtypes.Int64, []int{3}},
		{"uint8", dtypes.Uint8, []int{2, 2, 2}},
		{"uint16", dtypes.Uint16, []int{3}},
		{"uint32", dtypes.Uint32, []int{3}},
		{"uint64", dtypes.Uint64, []int{3}},
		{"float16", dtypes.Float16, []int{3, 5}},
		{"bfloat16", dtypes.BFloat16, []int{3, 5}},
		{"empty", dtypes.Float32, []int{0}},
		{"empty matrix", dtypes.Float32, []int{3, 0, 2}},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			data := make([]byte, tc.dtype.SizeForDimensions(tc.dims...))
			for i := range data {
				data[i] = byte(i % 2)
			}
			b, err := c.toDevice(data, tc.dtype, tc.dims, 1)
			require.NoError(t, err)
			require.Equal(t, 1, b.device)
			dtype, dims, err := b.Shape()
			require.NoError(t, err)
			require.Equal(t, tc.dtype, dtype)
			require.Equal(t, len(tc.dims), len(dims))
			got, err := b.Bytes()
			require.NoError(t, err)
			require.Equal(t, data, got)
			require.NoError(t, b.Close())
		})
	}
}

func TestTransferErrors(t *testing.T) {
	c := open(t, Options{})
	cases := []struct {
		name   string
		data   []byte
		dtype  dtypes.DType
		dims   []int
		device int
		want   string
	}{
		{"device", make([]byte, 4), dtypes.Float32, nil, 1, "transfer to device 1, but there are 1"},
		{"negative device", make([]byte, 4), dtypes.Float32, nil, -1, "transfer to device -1"},
		{"too short", make([]byte, 11), dtypes.Float32, []int{3}, 0, "got 11 bytes, wanted 12"},
		{"too long", make([]byte, 13), dtypes.Float32, []int{3}, 0, "got 13 bytes, wanted 12"},
		{"negative dimension", nil, dtypes.Float32, []int{-3}, 0, "must not be negative"},
		{"no type", nil, dtypes.InvalidDType, nil, 0, "no element type"},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			_, err := c.toDevice(tc.data, tc.dtype, tc.dims, tc.device)
			require.ErrorContains(t, err, tc.want)
		})
	}
	b := f32(t, c, 0, 1, 2)
	require.ErrorContains(t, b.ToHost(make([]byte, 4)), "got room for 4 bytes, wanted 8")
	require.NoError(t, b.Close())
	require.ErrorContains(t, b.ToHost(make([]byte, 8)), "the buffer was closed")
	_, err := (*buffer)(nil).Bytes()
	require.ErrorContains(t, err, "the buffer is nil")
	require.NoError(t, (*buffer)(nil).Close())
}

func TestMemory(t *testing.T) {
	c := open(t, Options{})
	m, err := c.Memory(0)
	require.NoError(t, err)
	require.True(t, m.Process)
	require.Greater(t, m.InUse, int64(1<<20))
	require.GreaterOrEqual(t, m.Peak, m.InUse)
	require.Greater(t, m.Limit, m.Peak)
	_, err = c.Memory(1)
	require.ErrorContains(t, err, "device 1, but there are 1")

	e := compile(t, c, axpyText, CompileOptions{})
	p, err := e.Memory()
	require.NoError(t, err)
	require.EqualValues(t, 24, p.Arguments)
	require.GreaterOrEqual(t, p.Outputs, int64(24))
	require.GreaterOrEqual(t, p.Total(), p.Arguments+p.Outputs)
	// The CPU plugin counts no cost; that has to be an error with the plugin's code for it.
	cost, err := e.Cost()
	var unimplemented *PluginError
	require.ErrorAs(t, err, &unimplemented)
	require.Equal(t, 12, unimplemented.Code)
	require.Nil(t, cost)
	format, code, err := e.Optimized()
	require.NoError(t, err)
	require.Contains(t, []string{"hlo", "hlo_with_config", "mlir"}, format)
	require.Contains(t, string(code), "axpy")
}
