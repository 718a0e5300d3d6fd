package xlabridge

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/gomlx/compute/dtypes"
	"github.com/stretchr/testify/require"

	"xlarun/xlabridge/cache"
)

func TestExecute(t *testing.T) {
	c := open(t, Options{})
	e := compile(t, c, axpyText, CompileOptions{})
	require.Equal(t, 2, e.outputs)
	require.Equal(t, 1, e.replicas)
	for range 3 {
		out, err := e.execute([][]*buffer{{f32(t, c, 0, 1, 2, 3), f32(t, c, 0, 10, 20, 30)}}, nil)
		require.NoError(t, err)
		require.Len(t, out, 1)
		require.Equal(t, []float32{11, 42, 93}, host(t, out[0][0]))
		require.Equal(t, []float32{-9, -18, -27}, host(t, out[0][1]))
		dtype, dims, err := out[0][1].Shape()
		require.NoError(t, err)
		require.Equal(t, dtypes.Float32, dtype)
		require.Equal(t, []int{3}, dims)
	}
}

// TestExecuteOnDevice runs a program of one replica on the device that holds its arguments.
func TestExecuteOnDevice(t *testing.T) {
	c := open(t, Options{Devices: 3})
	require.Equal(t, 3, c.NumDevices())
	e := compile(t, c, axpyText, CompileOptions{})
	for device := range 3 {
		out, err := e.execute([][]*buffer{{f32(t, c, device, 1, 2, 3), f32(t, c, device, 1, 1, 1)}}, nil)
		require.NoError(t, err)
		require.Equal(t, device, out[0][0].device)
		require.Equal(t, []float32{2, 4, 6}, host(t, out[0][0]))
	}
}

func TestReplicasGather(t *testing.T) {
	c := openAlone(t, Options{Devices: 2})
	for _, cached := range []string{cache.Miss, cache.Hit} {
		e, err := c.CompileText("gather", gatherText, CompileOptions{Replicas: 2})
		require.NoError(t, err)
		require.Equal(t, cached, e.Info().Cache, e.Info().Reason)
		for range 20 {
			out, err := e.execute([][]*buffer{{f32(t, c, 0, 1, 2)}, {f32(t, c, 1, 3, 4)}}, nil)
			require.NoError(t, err)
			require.Len(t, out, 2)
			for device := range 2 {
				require.Equal(t, []float32{1, 2, 3, 4}, host(t, out[device][0]))
				require.Equal(t, device, out[device][0].device)
			}
		}
		require.NoError(t, e.Close())
	}
}

func TestDonation(t *testing.T) {
	for _, replicas := range []int{1, 2} {
		t.Run(fmt.Sprint(replicas, " replicas"), func(t *testing.T) {
			c := open(t, Options{Devices: replicas})
			e := compile(t, c, donateText, CompileOptions{Replicas: replicas})
			var inputs [][]*buffer
			for r := range replicas {
				inputs = append(inputs, []*buffer{f32(t, c, r, float32(r), 1, 2), f32(t, c, r, 1, 1, 1)})
			}
			// A chain: each result is the next call's donated argument.
			for step := range 5 {
				given := inputs[0][0]
				out, err := e.execute(inputs, []int{0})
				require.NoError(t, err)
				for r := range replicas {
					inputs[r][0] = out[r][0]
					require.Equal(t, []float32{float32(r + step + 1), float32(step + 2), float32(step + 3)},
						host(t, out[r][0]))
					require.Equal(t, []float32{1, 1, 1}, host(t, inputs[r][1]), "not donated")
				}
				_, err = given.Bytes()
				require.ErrorContains(t, err, "was donated to program")
				_, err = e.execute([][]*buffer{{given, inputs[0][1]}, inputs[replicas-1]}[:replicas], nil)
				require.ErrorContains(t, err, "argument 0 of replica 0 was donated to program")
				require.NoError(t, given.Close(), "closing what was donated is fine")
			}
			memory, err := e.Memory()
			require.NoError(t, err)
			require.EqualValues(t, 12, memory.Aliases, "the result lies in the donated argument")
		})
	}
}

// TestDonationRefused leaves the arguments of a call that was refused as they were.
func TestDonationRefused(t *testing.T) {
	c := open(t, Options{})
	e := compile(t, c, donateText, CompileOptions{})
	x, short := f32(t, c, 0, 1, 2, 3), f32(t, c, 0, 1)
	_, err := e.execute([][]*buffer{{x, x}}, []int{0})
	require.ErrorContains(t, err, "argument 1 of replica 0 is another argument of the call too, and donated")
	_, err = e.execute([][]*buffer{{x, x}}, []int{1})
	require.ErrorContains(t, err, "argument 1 of replica 0 is another argument of the call too, and donated")
	_, err = e.execute([][]*buffer{{x, short}}, []int{0})
	require.ErrorContains(t, err, "xlabridge: run TestDonationRefused:")
	require.Equal(t, []float32{1, 2, 3}, host(t, x))
	out, err := e.execute([][]*buffer{{x, x}}, nil)
	require.NoError(t, err, "the same buffer twice is fine where it is not donated")
	require.Equal(t, []float32{2, 4, 6}, host(t, out[0][0]))
	require.Equal(t, []float32{1, 2, 3}, host(t, x), "not written over")
}

func TestExecuteErrors(t *testing.T) {
	c := open(t, Options{Devices: 2})
	other := open(t, Options{Devices: 2})
	e := compile(t, c, axpyText, CompileOptions{})
	pair := compile(t, c, gatherText, CompileOptions{Replicas: 2})
	x, y := f32(t, c, 0, 1, 2, 3), f32(t, c, 0, 1, 2, 3)
	x1 := f32(t, c, 1, 1, 2, 3)
	closed := f32(t, c, 0, 1, 2, 3)
	require.NoError(t, closed.Close())
	require.NoError(t, closed.Close())
	cases := []struct {
		name   string
		exe    *Executable
		inputs [][]*buffer
		donate []int
		want   string
	}{
		{"too few", e, [][]*buffer{{x}}, nil, "supplied 1 arguments but compiled program expected 2"},
		{"none", e, nil, nil, "supplied 0 arguments but compiled program expected 2"},
		{"size", e, [][]*buffer{{x, f32(t, c, 0, 1)}}, nil, "expected parameter 1 of size 12"},
		{"nil", e, [][]*buffer{{x, nil}}, nil, "argument 1 of replica 0 is nil"},
		{"first nil", e, [][]*buffer{{nil, x}}, nil, "argument 0 of replica 0 is nil"},
		{"closed", e, [][]*buffer{{x, closed}}, nil, "argument 1 of replica 0 was closed"},
		{"other client", e, [][]*buffer{{x, f32(t, other, 0, 1, 2, 3)}}, nil, "belongs to another client"},
		{"other device", e, [][]*buffer{{x, x1}}, nil, "argument 1 of replica 0 is on device 1, wanted on device 0"},
		{"donate past the end", e, [][]*buffer{{x, y}}, []int{2}, "argument 2 is to be donated, but there are 2"},
		{"donate negative", e, [][]*buffer{{x, y}}, []int{-1}, "argument -1 is to be donated"},
		{"replicas too many", e, [][]*buffer{{x, y}, {x1, x1}}, nil, "got arguments for 2 replicas, wanted 1"},
		{"replicas too few", pair, [][]*buffer{{f32(t, c, 0, 1, 2)}}, nil, "got arguments for 1 replicas, wanted 2"},
		{"replicas ragged", pair, [][]*buffer{{f32(t, c, 0, 1, 2)}, {}}, nil,
			"replica 1 got 0 arguments, replica 0 got 1"},
		{"replicas swapped", pair, [][]*buffer{{f32(t, c, 1, 1, 2)}, {f32(t, c, 0, 1, 2)}}, nil,
			"is on device 1, wanted on device 0"},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			_, err := tc.exe.execute(tc.inputs, tc.donate)
			require.ErrorContains(t, err, tc.want)
			out, err := e.execute([][]*buffer{{x, y}}, nil)
			require.NoError(t, err, "the refused call left nothing behind")
			require.Equal(t, []float32{2, 6, 12}, host(t, out[0][0]))
		})
	}
	require.NoError(t, e.Close())
	_, err := e.execute([][]*buffer{{x, y}}, nil)
	require.ErrorContains(t, err, "program TestExecuteErrors was closed")
	_, err = e.Memory()
	require.ErrorContains(t, err, "was closed")
}

// TestConcurrentUse runs one program from many goroutines while others close what it uses.
func TestConcurrentUse(t *testing.T) {
	c := open(t, Options{Devices: 2})
	e := compile(t, c, axpyText, CompileOptions{})
	var wg sync.WaitGroup
	for g := range 4 {
		wg.Go(func() {
			for range 50 {
				x := f32(t, c, g%2, 1, 2, 3)
				var inner sync.WaitGroup
				inner.Go(func() { _ = x.Close() })
				out, err := e.execute([][]*buffer{{x, x}}, nil)
				inner.Wait()
				if err != nil {
					if !strings.Contains(err.Error(), "was closed") {
						t.Error(err)
					}
					continue
				}
				if got := host(t, out[0][0]); got[2] != 12 {
					t.Error(got)
				}
			}
		})
	}
	wg.Wait()
}

// TestCloseWhileRunning closes the client under running calls: they end well or say why not.
func TestCloseWhileRunning(t *testing.T) {
	c := open(t, Options{Devices: 2})
	e := compile(t, c, axpyText, CompileOptions{})
	var wg sync.WaitGroup
	started := make(chan struct{}, 1)
	for g := range 4 {
		x := f32(t, c, g%2, 1, 2, 3)
		wg.Go(func() {
			for {
				out, err := e.execute([][]*buffer{{x, x}}, nil)
				select {
				case started <- struct{}{}:
				default:
				}
				if err != nil {
					if !strings.Contains(err.Error(), "closed") {
						t.Error(err)
					}
					return
				}
				_ = out[0][0].Close()
			}
		})
	}
	<-started
	require.NoError(t, c.Close())
	wg.Wait()
	_, err := c.CompileText("late", axpyText, CompileOptions{})
	require.ErrorIs(t, err, errClosed)
	_, err = c.toDevice(f32Bytes(1), dtypes.Float32, []int{1}, 0)
	require.ErrorIs(t, err, errClosed)
	require.NoError(t, c.Close())
}
