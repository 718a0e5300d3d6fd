package xlabridge

import (
	"errors"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"xlarun/graph"
	"xlarun/xlabridge/internal/callback"
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
		{"3: of the runtime", func() {
			var none []int
			none[len(none)]++
		}, func(t *testing.T, panicked any, err error) {
			var of runtime.Error
			require.ErrorAs(t, panicked.(error), &of)
		}},
		{"4: a *graph.Error is the call's error", func() {
			graph.Throw("Mine", "got nothing, want something")
		}, func(t *testing.T, panicked any, err error) {
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
			run := Jit(c, func(x *array) *array {
				graph.Callback("test_panics", x)
				return graph.Add(graph.Map(func(e *array) *array {
					graph.Callback("test_panics", e)
					return graph.Mul(e, 2)
				}, x), 1)
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
			require.Zero(t, callback.Pending())
		})
	}

	// 6: donated arguments are their owner's after a panic, as after an error.
	graph.RegisterCallback("test_panics", func([]*graph.Tensor) {
		if fail {
			panic("6")
		}
	})
	p, err := graph.TraceArgs("donated", []any{graph.Ones(graph.ShapeOf(graph.Float32, 3))}, graph.TraceOptions{
		Donate: []int{0}}, func(a []any) any {
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

	// 7: on one device of several, while the others wait for its part of a sum.
	fail = true
	graph.RegisterCallback("test_panics_somewhere", func(args []*graph.Tensor) {
		if fail && args[0].F(0) > 1 {
			panic("on one device")
		}
	})
	sum := ShardMap(c, func(x *array) *array {
		graph.Callback("test_panics_somewhere", x)
		return graph.PSum(x, "d")
	}, graph.Mesh{{Name: "d", Size: 2}}, graph.Spec{"d"}, graph.Spec{})
	both := graph.Float32s([]float32{1, 2}, 2)
	for range 20 {
		require.PanicsWithError(t, "on one device", func() {
			defer func() {
				if p, ok := recover().(*CallbackPanic); ok {
					panic(errors.New(p.Value.(string)))
				}
			}()
			_, _ = sum(both)
		})
	}
	fail = false
	y, err := sum(both)
	require.NoError(t, err, "the next call")
	require.Equal(t, []float64{3}, floats(t, y))
}

// Callbacks may print, register, say where to print, and run programs; calls of one name come one at a time.
func TestCallbackUsesGraph(t *testing.T) {
	c := open(t, Options{})
	x := graph.Float32s([]float32{1, 2})
	for _, s := range []struct {
		description string
		f           func()
	}{
		{"1: Debugf", func() { graph.Debugf("inside %v", graph.Scalar(2)) }},
		{"2: RegisterCallback", func() { graph.RegisterCallback("test_other", func([]*graph.Tensor) {}) }},
		{"3: SetDebugOutput", func() { graph.SetDebugOutput(graph.SetDebugOutput(&strings.Builder{})) }},
		{"4: another callback", func() { graph.Callback("test_quiet", x) }},
		{"5: a program that prints", func() {
			_, err := Jit(&Reference{}, func(x *array) *array { graph.Debugf("inside %v", x); return x })(x)
			if err != nil {
				panic(err)
			}
		}},
		{"6: a compiled program that prints", func() {
			_, err := Jit(c, func(x *array) *array { graph.Debugf("inside %v", x); return graph.Add(x, 1) })(x)
			if err != nil {
				panic(err)
			}
		}},
		{"7: itself", func() { graph.Callback("test_quiet", x) }},
	} {
		t.Run(s.description, func(t *testing.T) {
			graph.RegisterCallback("test_quiet", func([]*graph.Tensor) {})
			deep := false
			graph.RegisterCallback("test_nested", func([]*graph.Tensor) {
				if s.description[0] == '7' && !deep {
					deep = true
					graph.Callback("test_nested", x)
					return
				}
				s.f()
			})
			for name, b := range map[string]Backend{"reference": &Reference{}, "xla": c} {
				done := make(chan error, 1)
				old := graph.SetDebugOutput(&strings.Builder{})
				go func() {
					_, err := Jit(b, func(x *array) *array {
						graph.Callback("test_nested", x)
						return graph.Add(x, 1)
					})(x)
					done <- err
				}()
				select {
				case err := <-done:
					require.NoError(t, err, name)
				case <-time.After(time.Minute):
					require.FailNow(t, "the callback waits for itself", name)
				}
				graph.SetDebugOutput(old)
			}
		})
	}
}
