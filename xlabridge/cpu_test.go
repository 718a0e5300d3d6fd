package xlabridge

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/graph"
)

type array = graph.Array

// rewriteAll has programs rewritten for the CPU whatever their size, so that small ones test it.
func rewriteAll(t *testing.T) {
	t.Helper()
	update, dot := smallUpdate, leastTurned
	smallUpdate, leastTurned = 0, 0
	t.Cleanup(func() { smallUpdate, leastTurned = update, dot })
}

// stacked is a scan that stacks its steps' arrays, in reverse order too.
func stacked(o ...graph.ScanOption) func(x *array) *array {
	return func(x *array) *array {
		c, ys := graph.Scan(func(c, x *array) (*array, *array) {
			c = graph.Add(graph.Mul(c, .5), x)
			return c, graph.Sin(c)
		}, graph.Index(x, 0), x, o...)
		return graph.Add(ys, c)
	}
}

func TestChooseEmitters(t *testing.T) {
	write := func(rows, columns int) func(x *array) *array {
		return func(x *array) *array {
			return graph.DynamicUpdateSlice(x, graph.Ones(graph.ShapeOf(graph.Float32, rows, columns)), []*array{graph.Of(int32(3)), graph.Of(int32(0))})
		}
	}
	for _, c := range []struct {
		name  string
		f     func(x *array) *array
		calls int
		older bool
	}{
		{"elementwise", func(x *array) *array { return graph.Sin(x) }, 0, true},
		{"stacked", stacked(), 1, true},
		{"rows of a large array", write(2, 20), 1, true},
		{"columns of a large array", write(2, 19), 0, false},
		{"a small array", func(x *array) *array { return write(2, 19)(graph.Slice(x, []int{0, 0}, []int{10, 20})) }, 0, true},
		{"scatter", func(x *array) *array {
			return graph.Grad(func(x *array) *array { return graph.Sum(graph.Take(x, graph.Of([]int32{1, 1, 3}), 0)) })(x)
		}, 0, false},
		{"a whole-numbered place", func(x *array) *array {
			return graph.DynamicUpdateSlice(x, graph.Ones(graph.ShapeOf(graph.Float32, 1, 20)), []*array{graph.Of(int64(3)), graph.Of(int64(0))})
		}, 0, false},
	} {
		p, err := graph.Trace("choose", c.f, graph.Abstract(graph.ShapeOf(graph.Float32, 100, 20)))
		require.NoError(t, err, c.name)
		text, options := chooseEmitters(p.StableHLO)
		require.Equal(t, c.calls, strings.Count(text, rowsTarget), "%s: %s", c.name, text)
		require.Equal(t, c.older, options != nil, "%s: %s", c.name, p.StableHLO)
		if c.calls == 0 {
			require.Equal(t, p.StableHLO, text, c.name)
		}
	}
	pretty := `%1 = stablehlo.dynamic_update_slice %0, %2, %3 : (tensor<9000xf32>, tensor<1xf32>, tensor<i32>) -> tensor<9000xf32>`
	text, options := chooseEmitters(pretty)
	require.Equal(t, pretty, text)
	require.Nil(t, options)
}

// Rows written by the kernel are those that the reference writes: of every type, at places outside too, and never into
// an array that is used elsewhere.
func TestWriteRows(t *testing.T) {
	c := open(t, Options{})
	for _, dtype := range []graph.DType{graph.Float32, graph.Float64, graph.Int32, graph.Int8, graph.Bool, graph.BFloat16, graph.Float16, graph.Uint64} {
		n := 2 * smallUpdate / 20
		x := graph.Convert(graph.Gt(graph.Sin(graph.Reshape(graph.Iota(n*20), n, 20)), 0), dtype)
		f := func(x, at *array) []*array {
			rows := graph.Slice(graph.Reverse(x, 0), []int{0, 0}, []int{3, 20})
			y := graph.DynamicUpdateSlice(x, rows, []*array{at, graph.Of(int32(2))})
			return []*array{y, x, graph.DynamicUpdateSlice(y, x, []*array{at, at}), graph.DynamicUpdateSlice(x, graph.Slice(y, []int{0, 0}, []int{1, 20}), []*array{at, at})}
		}
		p, err := graph.Trace2("rows", f, x, graph.Of(int32(1)))
		require.NoError(t, err)
		text, _ := chooseEmitters(p.StableHLO)
		require.Equal(t, 3, strings.Count(text, rowsTarget))
		compiled := Jit2(c, f)
		for _, at := range []int32{1, 0, -5, int32(n - 3), int32(n - 1), 1 << 30} {
			want := f(x, graph.Of(at))
			got, err := compiled(x, graph.Of(at))
			require.NoError(t, err)
			for i := range want {
				require.Equal(t, floats(t, want[i]), floats(t, got[i]), "%s at %d, result %d", dtype, at, i)
			}
		}
	}
	for _, o := range [][]graph.ScanOption{nil, {graph.ReverseScan()}, {graph.Unroll(3)}} {
		f := stacked(o...)
		x := graph.Sin(graph.Reshape(graph.Iota(5000), 500, 10))
		got, err := Jit1(c, f)(x)
		require.NoError(t, err)
		want := floats(t, f(x))
		for i, v := range floats(t, got) {
			require.InDelta(t, want[i], v, 1e-5)
		}
	}
}

// What a scan stacks is not cleared first, on CPU; other arrays of zeros are.
func TestLeaveUnset(t *testing.T) {
	f := func(x *array) []*array {
		_, ys := graph.Scan(func(c, x *array) (*array, [2]*array) { return c, [2]*array{graph.Sin(x), graph.Cos(x)} }, graph.Index(x, 0), x)
		return []*array{ys[0], ys[1], graph.Zeros(x.Shape())}
	}
	x := graph.Sin(graph.Reshape(graph.Iota(5000), 500, 10))
	p, err := graph.Trace("stacks", f, x)
	require.NoError(t, err)
	text := leaveUnset(p.StableHLO)
	require.Equal(t, 2, strings.Count(text, unsetTarget), text)
	require.NotContains(t, text, graph.UnsetMark)
	c := open(t, Options{})
	for _, kernels := range []bool{true, false} { // a plugin that takes no kernels gets zeros
		c.lib.kernels = kernels
		got, err := Jit1(c, f)(x)
		c.lib.kernels = true
		require.NoError(t, err)
		for k, want := range f(x) {
			require.InDeltaSlice(t, floats(t, want), floats(t, got[k]), 1e-5)
		}
	}
}

func floats(t *testing.T, a *array) []float64 {
	t.Helper()
	v, err := graph.Floats(a)
	require.NoError(t, err)
	return v
}

func TestTurnDots(t *testing.T) {
	c := open(t, Options{})
	for _, s := range []struct {
		expr   string
		x, y   []int
		turned bool
	}{
		{"ab,ac->bc", []int{256, 64}, []int{256, 128}, true}, // the left is turned
		{"ab,ac->bc", []int{64, 900}, []int{64, 12}, true},   // the right and the result are
		{"ab,ca->bc", []int{128, 64}, []int{96, 128}, true},
		{"ab,ac->bc", []int{8, 8}, []int{8, 8}, false},
		{"ab,bc->ac", []int{128, 64}, []int{64, 128}, false},
		{"kab,kac->kbc", []int{3, 64, 64}, []int{3, 64, 64}, false},
	} {
		f := func(x, y *array) *array { return graph.Einsum(s.expr, x, y) }
		fill := func(dims []int) *array {
			n := graph.ShapeOf(graph.Float32, dims...)
			return graph.Sin(graph.Reshape(graph.Mul(graph.Convert(graph.Iota(n.Size()), graph.Float32), .37), dims...))
		}
		x, y := fill(s.x), fill(s.y)
		p, err := graph.Trace2("dot", f, x, y)
		require.NoError(t, err)
		text := turnDots(p.StableHLO)
		require.Equal(t, s.turned, text != p.StableHLO, "%v", s)
		if s.turned {
			require.Contains(t, text, turnTarget)
			require.NotContains(t, text, "lhs_contracting_dimensions = [0]")
		}
		got, err := Jit2(c, f)(x, y)
		require.NoError(t, err)
		want := floats(t, f(x, y))
		for i, v := range floats(t, got) {
			require.InDelta(t, want[i], v, 1e-3, "%v", s)
		}
	}
}

// The pinned plugin takes the extra options, and they change how a program is compiled, not what it does.
func TestExtraOptions(t *testing.T) {
	c := open(t, Options{})
	sizes := map[int]bool{}
	for _, extra := range []string{olderEmitters, "", "xla_cpu_optimize_for_size"} {
		e, err := c.CompileText("axpy", axpyText, CompileOptions{XLA: map[string]any{extraOptions: extra}})
		require.NoError(t, err)
		require.Equal(t, CacheMiss, e.Info().Cache, "options are part of the key")
		runAxpy(t, c, e)
		sizes[e.Info().Bytes] = true
		require.NoError(t, e.Close())
	}
	require.NoError(t, c.lib.debug.err)
	require.NotEmpty(t, c.lib.debug.bytes)
	require.Greater(t, len(sizes), 1)
}

func TestProtoField(t *testing.T) {
	message := []byte{8, 1, 26, 2, 'a', 'b', 26, 1, 'c'}
	v, err := protoField(message, 3)
	require.NoError(t, err)
	require.Equal(t, "c", string(v))
	_, err = protoField(message, 4)
	require.ErrorContains(t, err, "lack field 4")
	for _, broken := range []string{"\x1a\x05a", "\xff", "\x08"} {
		_, err = protoField([]byte(broken), 3)
		require.Error(t, err)
	}
}
