package xlabridge

import (
	"errors"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/graph"
)

// A panic of a callback ends the call, with its value and its stack, and leaves the client and the arguments well.
func TestCallbackPanics(t *testing.T) {
	c := open(t, Options{Devices: 2})
	broken := errors.New("broken")
	fail := true
	for i, s := range []struct {
		description string
		panics      func()
		check       func(t *testing.T, panicked any, err error)
	}{
		{"1: a string", func() { panic("my words") }, func(t *testing.T, panicked any, err error) {
			require.Equal(t, "my words", panicked.(*CallbackPanic).Value)
			require.Contains(t, panicked.(*CallbackPanic).Error(), "my words")
			require.Contains(t, panicked.(*CallbackPanic).Error(), "callback_test.go", "the user's stack")
		}},
		{"2: an error", func() { panic(broken) }, func(t *testing.T, panicked any, err error) {
			require.ErrorIs(t, panicked.(error), broken)
		}},
		{"3: of the runtime", func() { var none []int; none[len(none)]++ }, func(t *testing.T, panicked any, err error) {
			var of runtime.Error
			require.ErrorAs(t, panicked.(error), &of)
		}},
		{"4: a *graph.Error is the call's error", func() { graph.Throw("Mine", "got nothing, want something") }, func(t *testing.T, panicked any, err error) {
			require.Nil(t, panicked)
			var wrong *graph.Error
			require.ErrorAs(t, err, &wrong)
			require.Equal(t, "Mine", wrong.Op)
		}},
		{"5: the goroutine is ended", runtime.Goexit, func(t *testing.T, panicked any, err error) {
			require.Nil(t, panicked)
			require.ErrorContains(t, err, "a callback ended its goroutine")
		}},
	} {
		t.Run(s.description, func(t *testing.T) {
			graph.RegisterCallback("test_panics", func([]*graph.Tensor) {
				if fail {
					s.panics()
				}
			})
			run := Jit1(c, func(x *array) *array {
				graph.Callback("test_panics", x)
				return graph.Add(graph.Map(func(e *array) *array { graph.Callback("test_panics", e); return graph.Mul(e, 2) }, x), 1)
			})
			x, err := Put(c, 1, graph.Float32s([]float32{1, 2, 3}))
			require.NoError(t, err)
			for range 100 { // XLA runs at most 32 calls of a device at once: one that is never ended would stop it
				fail = true
				var panicked any
				var err error
				func() {
					defer func() { panicked = recover() }()
					_, err = run(x)
				}()
				s.check(t, panicked, err)
			}
			fail = false
			y, err := run(x)
			require.NoError(t, err, "case %d: the next call", i)
			require.Equal(t, []float64{3, 5, 7}, floats(t, y))
			callbackPanics.Lock()
			defer callbackPanics.Unlock()
			require.Empty(t, callbackPanics.waiting)
		})
	}

	// 6: donated arguments are their owner's after a panic, as after an error.
	graph.RegisterCallback("test_panics", func([]*graph.Tensor) {
		if fail {
			panic("6")
		}
	})
	p, err := graph.TraceArgs("donated", []any{graph.Ones(graph.ShapeOf(graph.Float32, 3))}, graph.TraceOptions{Donate: []int{0}}, func(a []any) any {
		graph.Callback("test_panics", a[0].(*array))
		return graph.Add(a[0].(*array), 1)
	})
	require.NoError(t, err)
	x, err := c.Compile(p, CompileOptions{})
	require.NoError(t, err)
	in, err := Put(c, 1, []*array{graph.Ones(graph.ShapeOf(graph.Float32, 3))})
	require.NoError(t, err)
	fail = true
	require.Panics(t, func() { _, _ = x.Call(in) })
	data, err := in[0].Data()
	require.NoError(t, err)
	h := data.(*deviceData).buffers[0].h
	h.mu.Lock()
	defer h.mu.Unlock()
	require.Zero(t, h.holds)
	require.Empty(t, h.gone)
}
