package xlabridge

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/graph"
)

// A function keeps the programs of the shapes that it was called with last, and compiles again what it let go.
func TestPrograms(t *testing.T) {
	c := open(t, Options{})
	programs := &Programs{Most: 2}
	traced := 0
	f := func(x *array) *array { traced++; return graph.Add(x, 1) }
	double := Jit(c, func(x *array) *array { return graph.Mul(x, 2) }, JitOptions{Programs: programs})
	run := Jit(c, f, JitOptions{Programs: programs})
	call := func(f func(*array) (*array, error), n int, want float64) {
		t.Helper()
		y, err := f(graph.Ones(graph.ShapeOf(graph.Float32, n)))
		require.NoError(t, err)
		require.Equal(t, want, floats(t, y)[n-1])
	}
	for i, s := range []struct {
		description             string
		n, wantTraced, wantKept int
	}{
		{"1: the first", 1, 1, 1}, {"2: the same again", 1, 1, 1}, {"3: another shape", 2, 2, 2},
		{"4: the first is still there", 1, 2, 2},
		{"5: one too many", 3, 3, 2}, {"6: the one used last is there", 1, 3, 2}, {"7: the one used longest ago went",
			2, 4, 2},
	} {
		call(run, s.n, 2)
		require.Equal(t, s.wantTraced, traced, "case %d %s", i, s.description)
		require.Equal(t, s.wantKept, programs.Len(), "case %d %s", i, s.description)
	}
	call(double, 2, 2) // of the same shape, but another function
	require.Equal(t, 2, programs.Len())
	require.NoError(t, programs.Close())
	require.Zero(t, programs.Len())
	require.NoError(t, programs.Close())
	call(run, 2, 2)
	require.Equal(t, 5, traced)
	require.Equal(t, 1, programs.Len())

	var unset Programs
	for n := range 200 {
		unset.put(programKey{shapes: fmt.Sprint(n)}, &Compiled{})
	}
	require.Equal(t, 128, unset.Len())
	require.NotNil(t, unset.get(programKey{shapes: "72"}))
	require.Nil(t, unset.get(programKey{shapes: "71"}))
}

type noBytes struct{}

func (noBytes) HostBytes() ([]byte, error) { return nil, errors.New("gone") }

// Put frees what it has moved when a later leaf cannot be.
func TestPutFreesOnError(t *testing.T) {
	c := open(t, Options{})
	before := len(c.live)
	x := graph.Ones(graph.ShapeOf(graph.Float32, 1000))
	_, err := Put(c, 1, []*array{x, x, graph.FromData(x.Shape(), noBytes{})})
	require.ErrorContains(t, err, "gone")
	c.mu.Lock()
	defer c.mu.Unlock()
	require.Len(t, c.live, before)
}

// An array that is nil is an error of Put and ShardMap, not a panic.
func TestNilArrays(t *testing.T) {
	c := open(t, Options{})
	values := []*array{graph.Iota(3), nil}
	_, err := Put(c, 1, values)
	require.ErrorContains(t, err, "leaf [1] is a nil *Array")
	first := func(a []*array) *array { return a[0] }
	_, err = ShardMap(c, first, graph.Mesh{{Name: "d", Size: 1}}, graph.Spec{"d"}, graph.Spec{"d"})(values)
	require.ErrorContains(t, err, "leaf [1] is a nil *Array")
}

// Closing the programs does not disturb calls that are under way, and later ones compile again.
func TestProgramsCloseWhileCalled(t *testing.T) {
	c := open(t, Options{})
	weights := graph.Ones(graph.ShapeOf(graph.Float32, 100)) // large enough to be captured
	for i, s := range []struct {
		description string
		call        func(p *Programs) func(x *array) (*array, error)
	}{
		{"1: Jit", func(p *Programs) func(x *array) (*array, error) {
			return Jit(c, func(x *array) *array { return graph.Add(x, graph.Sum(weights)) }, JitOptions{Programs: p})
		}},
		{"2: ShardMap", func(p *Programs) func(x *array) (*array, error) {
			return ShardMap(c, func(x *array) *array {
				return graph.Add(x, graph.Sum(weights))
			}, graph.Mesh{{Name: "d", Size: 1}}, graph.Spec{"d"}, graph.Spec{"d"}, JitOptions{Programs: p})
		}},
	} {
		t.Run(s.description, func(t *testing.T) {
			programs := &Programs{}
			run := s.call(programs)
			var calls sync.WaitGroup
			var running atomic.Int32
			running.Store(3)
			for range 3 {
				calls.Go(func() {
					defer running.Add(-1)
					for range 20 {
						y, err := run(graph.Float32s([]float32{1, 2}))
						if err != nil {
							t.Errorf("case %d: %v", i+1, err)
							return
						}
						if v, err := graph.Floats(y); err != nil || v[1] != 102 {
							t.Errorf("case %d: %v, %v", i+1, v, err)
							return
						}
					}
				})
			}
			for running.Load() > 0 {
				if err := programs.Close(); err != nil {
					t.Error(err)
				}
			}
			calls.Wait()
		})
	}

	// 3: a program that was closed while somebody had it is freed by its last user.
	programs := &Programs{}
	j := newJit(c, []JitOptions{{Programs: programs}}, func(args []any) any {
		return graph.Add(args[0].(*array), graph.Sum(weights))
	})
	args := []any{graph.Ones(graph.ShapeOf(graph.Float32, 3))}
	x, err := j.program("3", args)
	require.NoError(t, err)
	require.NoError(t, programs.Close())
	_, err = x.Call([]*array{args[0].(*array)})
	require.ErrorContains(t, err, "was closed")
	outs, err := x.run([]*deviceData{onOne(t, c, args[0].(*array))})
	require.NoError(t, err)
	require.Equal(t, []float64{101, 101, 101}, floats(t, graph.FromData(x.Program.Outputs[0], outs[0])))
	x.release()
	_, err = x.run([]*deviceData{onOne(t, c, args[0].(*array))})
	require.ErrorContains(t, err, "was closed")
}

func onOne(t *testing.T, c *Client, a *array) *deviceData {
	t.Helper()
	d, err := c.put(a, 1)
	require.NoError(t, err)
	return d
}

// slowBackend is the interpreter with compilations that wait for a signal of the test.
type slowBackend struct {
	Reference
	started, compile chan struct{}
	compiled         atomic.Int32
}

func (b *slowBackend) Compile(p *graph.Program, o CompileOptions) (*Compiled, error) {
	if p.Inputs[0].Size() > 1 {
		b.started <- struct{}{}
		<-b.compile
	}
	b.compiled.Add(1)
	return b.Reference.Compile(p, o)
}

// While one shape is compiled, calls of others go on; who wants the same waits and gets the same program.
func TestCompileOutsideOfTheLock(t *testing.T) {
	b := &slowBackend{started: make(chan struct{}, 9), compile: make(chan struct{})}
	panics := false
	run := Jit(b, func(x *array) *array {
		if panics {
			panic("mine")
		}
		return graph.Add(x, 1)
	})
	one, many := graph.Ones(graph.ShapeOf(graph.Float32, 1)), graph.Ones(graph.ShapeOf(graph.Float32, 2))
	_, err := run(one)
	require.NoError(t, err)
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() {
			if y, err := run(many); err != nil || y.Size() != 2 {
				t.Error(y, err)
			}
		})
	}
	<-b.started

	// 1: of a shape that is compiled already.
	_, err = run(one)
	require.NoError(t, err)
	// 2: of a shape that is not.
	_, err = run(graph.Scalar(1))
	require.NoError(t, err)
	// 3: three callers, one compilation.
	close(b.compile)
	wg.Wait()
	require.EqualValues(t, 3, b.compiled.Load())
	// 4: a panic of the function leaves nothing locked.
	panics = true
	for range 2 {
		require.PanicsWithValue(t, "mine", func() { _, _ = run(graph.Ones(graph.ShapeOf(graph.Float32, 3))) })
	}
	panics = false
	y, err := run(graph.Ones(graph.ShapeOf(graph.Float32, 3)))
	require.NoError(t, err)
	require.Equal(t, 3, y.Size())
}

// A Jit that is called with what is being traced, by itself even, says what to do.
func TestJitOfTracedValues(t *testing.T) {
	c := open(t, Options{})
	inner := Jit(c, func(x *graph.Array) *graph.Array { return graph.Sin(x) })
	outer := Jit(c, func(x *graph.Array) *graph.Array {
		y, err := inner(x)
		if err != nil {
			graph.Throw("inner", "%v", err)
		}
		return y
	})
	_, err := outer(graph.Scalar(1))
	require.ErrorContains(t, err, "call the function itself there, not its Jit", "another")
	var sum func(x *graph.Array) (*graph.Array, error)
	sum = Jit(c, func(x *graph.Array) *graph.Array {
		half, err := sum(graph.SliceAxis(x, 0, 0, 1))
		if err != nil {
			graph.Throw("sum", "%v", err)
		}
		return half
	})
	_, err = sum(graph.Float32s([]float32{1, 2}, 2))
	require.ErrorContains(t, err, "call the function itself there, not its Jit", "itself")
}
