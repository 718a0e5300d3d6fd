package xlabridge

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/graph"
	"xlarun/graph/graphtest"
	"xlarun/graph/lower"
	"xlarun/internal/long"
	"xlarun/xlabridge/cache"
)

type array = graph.Array

// always has a client call kernels whatever the size, so that small programs test them.
func always(c *Client) *Client {
	noNormals := c.Target().NoNormals
	c.target = graph.TargetCPUKernelsAlways
	c.target.NoNormals = noNormals
	return c
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

// The emitters are chosen by what is left of writes into parts.
func TestEmitters(t *testing.T) {
	c := open(t, Options{})
	for i, s := range []struct {
		description string
		f           func(x *array) *array
		older       bool
	}{
		{"1: elementwise", func(x *array) *array { return graph.Sin(x) }, true},
		{"2: stacked rows", stacked(), true},
		{"3: a block", func(x *array) *array {
			return graph.DynamicUpdateSlice(x, graph.Ones(graph.ShapeOf(graph.Float32, 2, 3)),
				[]*array{graph.Of(int64(3)), graph.Of(int64(0))})
		}, true},
		{"4: a scatter", func(x *array) *array {
			return graph.ScatterAdd(x, graph.Of([]int32{1, 1, 3}), graph.Scalar(1))
		}, true},
		{"5: a scatter that no kernel does", func(x *array) *array {
			return graph.ScatterAdd(graph.Convert(x, graph.BFloat16), graph.Of([]int32{1, 1, 3}), graph.Scalar(1))
		}, false},
	} {
		x := graph.Abstract(graph.ShapeOf(graph.Float32, 100, 20))
		l := lowered(t, c.Target(), s.f, x)
		require.Equal(t, s.older, c.programOptions(l, CompileOptions{})[extraOptions] != nil, "case %d %s: %s", i,
			s.description, l.Graph)
		c.lib.kernels = false
		l = lowered(t, c.Target(), s.f, x)
		require.Equal(t, graph.TargetCPU, l.Target)
		require.Nil(t, c.programOptions(l, CompileOptions{})[extraOptions], "a plugin that takes no kernels")
		c.lib.kernels = true
	}
	_, isSet := c.defaultOptions(CompileOptions{})[extraOptions]
	require.False(t, isSet, "of a text nothing is known")
}

// Blocks written by the kernel are those that the reference writes: of every type and shape, at places outside too, and
// never into an array that is used elsewhere. The short form has one dtype of each size.
func TestWriteKernel(t *testing.T) {
	t.Parallel()
	c := always(open(t, Options{}))
	const n = 40
	places := []int32{1, 0, -5, n - 3, n - 1, 1 << 30}
	var calls []sample // at the first place
	dtypes := []graph.DType{graph.Float32, graph.Float64, graph.Int8, graph.BFloat16, graph.Int32, graph.Bool,
		graph.Float16, graph.Uint64}
	for _, dtype := range long.Sample(dtypes, func(d graph.DType) string { return fmt.Sprint(graph.ItemSize(d)) }) {
		x := graph.Convert(graph.Gt(graph.Sin(graph.Reshape(graph.Iota(n*20), n, 20)), 0), dtype)
		f := func(x, at *array) []*array {
			block := func(x *array, rows, columns int) *array {
				return graph.Slice(x, []int{0, 0}, []int{rows, columns})
			}
			back := graph.Reverse(x, 0)
			y := graph.DynamicUpdateSlice(x, block(back, 3, 20), []*array{at, graph.Of(int32(2))})
			z := graph.DynamicUpdateSlice(y, block(back, 5, 7), []*array{at, at})
			return []*array{y, x, graph.DynamicUpdateSlice(y, x, []*array{at, at}),
				graph.DynamicUpdateSlice(x, block(y, 1, 20), []*array{at, at}), z,
				graph.DynamicUpdateSlice(z, block(x, n, 2), []*array{at, graph.Convert(at, graph.Int32)}),
				graph.DynamicUpdateSlice(x, block(x, 0, 4), []*array{at, at}),
				graph.DynamicUpdateIndex(graph.Reshape(z, 4, 10, 20), graph.Ones(graph.ShapeOf(dtype, 4, 20)), at, 1)}
		}
		l := lowered2(t, c.Target(), f, x, graph.Of(int32(1)))
		require.Equal(t, 6, strings.Count(l.StableHLO, "xlarun_write"), l.StableHLO)
		for _, kind := range []graph.DType{graph.Int32, graph.Int64, graph.Uint32, graph.Int8} {
			calls = append(calls, sample{fmt.Sprint(dtype, " at places of ", kind),
				func(in []*array) []*array { return f(in[0], in[1]) },
				[]*array{x, graph.Convert(graph.Of(places[0]), kind)}})
			if dtype != graph.Float32 {
				break // places of other types once
			}
		}
	}
	for some := range slices.Chunk(calls, 4) {
		compiled := Jit(c, func(in [][]*array) (out [][]*array) {
			for i, call := range some {
				out = append(out, call.f(in[i]))
			}
			return out
		})
		for _, place := range places {
			var in [][]*array
			for _, call := range some {
				in = append(in, []*array{call.in[0], graph.Convert(graph.Of(place), call.in[1].DType())})
			}
			got, err := compiled(in)
			require.NoError(t, err)
			for k, call := range some {
				for i, want := range call.f(in[k]) {
					require.Equal(t, floats(t, want), floats(t, got[k][i]), "%s, at %d, result %d", call.name, place, i)
				}
			}
		}
	}
	var scans []sample
	x := graph.Sin(graph.Reshape(graph.Iota(5000), 500, 10))
	for _, o := range [][]graph.ScanOption{nil, {graph.ReverseScan()}, {graph.Unroll(3)}} {
		scans = append(scans, sample{"", func(in []*array) []*array { return []*array{stacked(o...)(in[0])} },
			[]*array{x}})
	}
	for i, got := range together(t, c, scans) {
		want := floats(t, scans[i].f(scans[i].in)[0])
		for k, v := range floats(t, got[0]) {
			require.InDelta(t, want[k], v, 1e-5)
		}
	}
}

// Scatters by the kernel equal the reference to the bit: all kinds and types, windows and shared axes, no indices,
// indices out of range and repeated ones, NaN and infinities. The short form takes each type with a third of the cases.
func TestScatterKernel(t *testing.T) {
	t.Parallel()
	c := always(open(t, Options{}))
	nan := math.NaN()
	odd := graph.Of([]float32{float32(nan), float32(math.Inf(1)), float32(math.Inf(-1)), 0,
		float32(math.Copysign(0, -1)), 1, -3, 2.5, 1e38, -1e38, 3, 7})
	tame := graph.Of([]float32{float32(nan), float32(math.Copysign(0, -1)), 0, 0, float32(math.Copysign(0, -1)), 1, -3,
		2.5, 1e38, -1e38, 3, 7})
	all := []graph.DType{graph.Float32, graph.Float64, graph.Int8, graph.Int16, graph.Int32, graph.Int64, graph.Uint8,
		graph.Uint16, graph.Uint32, graph.Uint64, graph.Bool, graph.BFloat16, graph.Float16}
	var calls []sample
	rows := graph.GatherDims{Window: []int{1}, Collapsed: []int{0}, Coordinates: []int{0}, Sizes: []int{1, 2}}
	for number, s := range []struct {
		description string
		dims        graph.GatherDims
		x, updates  []int
		indices     *array
	}{
		{"1: rows, some outside, some twice", rows, []int{6, 2}, []int{6, 2},
			graph.Of([][]int32{{1}, {4}, {9}, {-1}, {4}, {0}})},
		{"2: single elements", graph.GatherDims{Collapsed: []int{0, 1}, Coordinates: []int{1, 0}, Sizes: []int{1, 1}},
			[]int{3, 4}, []int{3}, graph.Of([][]int64{{3, 2}, {0, 0}, {3, 3}})},
		{"3: windows of two axes", graph.GatherDims{Window: []int{1, 2}, Coordinates: []int{0, 1}, Sizes: []int{2, 3}},
			[]int{4, 6}, []int{2, 2, 3}, graph.Of([][]int32{{1, 2}, {3, 0}})},
		{"4: a shared axis", graph.GatherDims{Window: []int{1}, Batch: []int{0}, IndexBatch: []int{0},
			Coordinates: []int{1}, Sizes: []int{1, 2}}, []int{3, 4}, []int{3, 2}, graph.Of([][]int32{{1}, {2}, {3}})},
		{"5: windows behind the updates' last axis", graph.GatherDims{Window: []int{0}, Collapsed: []int{1},
			Coordinates: []int{1}, Sizes: []int{3, 1}}, []int{3, 4}, []int{3, 2, 2},
			graph.Of([][][]uint32{{{0}, {3}}, {{3}, {1 << 31}}})},
		{"6: no indices", rows, []int{6, 2}, []int{0, 2}, graph.Zeros(graph.ShapeOf(graph.Int32, 0, 1))},
		{"7: one place for all", graph.GatherDims{Window: []int{0, 1}, Coordinates: []int{0}, Sizes: []int{2, 2}},
			[]int{6, 2}, []int{2, 2}, graph.Of([]int8{3})},
	} {
		for _, kind := range []string{"set", "sum", "prod", "max", "min"} {
			var in []*array
			for n, d := range all {
				if n > 0 && (number+n)%3 != 0 && !long.On() {
					continue
				}
				if float := d == graph.BFloat16 || d == graph.Float16; kind != "set" && (float || d == graph.Bool) {
					continue
				}
				fill := func(dims []int, from int) *array {
					n := graph.ShapeOf(d, dims...).Size()
					choice := odd
					if kind == "max" || kind == "min" {
						choice = tame // of NaN and an infinity
					}
					values := graph.Take(choice, graph.Add(graph.Mul(graph.Iota(n), 5), from), 0, graph.WrapIndex)
					if d != graph.Float32 && d != graph.Float64 {
						values = graph.Add(graph.Mul(graph.Iota(n), 37), 11*from)
					}
					return graph.Reshape(graph.Convert(values, d), dims...)
				}
				in = append(in, fill(s.x, 0), fill(s.updates, 1))
			}
			f := func(in []*array) []*array {
				var out []*array
				for k := 0; k < len(in); k += 2 {
					out = append(out, graph.Scatter(kind, in[k], s.indices, in[k+1], s.dims))
				}
				return out
			}
			l := lowered(t, c.Target(), f, in)
			require.Equal(t, len(in)/2, strings.Count(l.StableHLO, "xlarun_scatter"))
			calls = append(calls, sample{s.description + ", " + kind, f, in})
		}
	}
	for some := range slices.Chunk(calls, 12) {
		for i, got := range together(t, c, some) {
			for k, want := range some[i].f(some[i].in) {
				w, g := floats(t, want), floats(t, got[k])
				for j := range w {
					same := w[j] == g[j] && math.Signbit(w[j]) == math.Signbit(g[j]) || math.IsNaN(w[j]) &&
						math.IsNaN(g[j])
					require.True(t, same, "case %s of %s: element %d is %g, want %g", some[i].name, want.DType(), j,
						g[j], w[j])
				}
			}
		}
	}
}

// What a scan stacks is not cleared first, on CPU; other arrays of zeros are. A plugin that takes no kernels gets
// zeros.
func TestUnset(t *testing.T) {
	f := func(x *array) []*array {
		_, ys := graph.Scan(func(c, x *array) (*array, [2]*array) {
			return c, [2]*array{graph.Sin(x), graph.Cos(x)}
		}, graph.Index(x, 0), x)
		return []*array{ys[0], ys[1], graph.Zeros(x.Shape())}
	}
	x := graph.Sin(graph.Reshape(graph.Iota(5000), 500, 10))
	c := open(t, Options{})
	for _, kernels := range []bool{true, false} {
		c.lib.kernels = kernels
		got, err := Jit(c, f)(x)
		c.lib.kernels = true
		require.NoError(t, err)
		for k, want := range f(x) {
			require.InDeltaSlice(t, floats(t, want), floats(t, got[k]), 1e-5)
		}
	}
}

// floats returns the numbers of an array.
var floats = graphtest.Floats

func TestTransposeKernel(t *testing.T) {
	t.Parallel()
	c := open(t, Options{})
	var calls []sample
	for _, s := range []struct {
		expr string
		x, y []int
	}{
		{"ab,ac->bc", []int{256, 64}, []int{256, 128}}, // the left is transposed
		{"ab,ac->bc", []int{64, 900}, []int{64, 12}},   // the right and the result are
		{"ab,ca->bc", []int{128, 64}, []int{96, 128}},
		{"ab,ac->bc", []int{67, 131}, []int{67, 45}}, // no whole squares, rest of blocks on both sides
		{"ab,ac->bc", []int{3, 1021}, []int{3, 150}},
	} {
		fill := func(dims []int) *array {
			n := graph.ShapeOf(graph.Float32, dims...)
			return graph.Sin(graph.Reshape(graph.Mul(graph.Convert(graph.Iota(n.Size()), graph.Float32), .37), dims...))
		}
		calls = append(calls, sample{fmt.Sprint(s), func(in []*array) []*array {
			return []*array{graph.Einsum(s.expr, in[0], in[1])}
		}, []*array{fill(s.x), fill(s.y)}})
	}
	for k, got := range together(t, c, calls) {
		want := floats(t, calls[k].f(calls[k].in)[0])
		for i, v := range floats(t, got[0]) {
			require.InDelta(t, want[i], v, 1e-3, calls[k].name)
		}
	}
}

// The pinned plugin accepts the extra options, and they change how a program is compiled, not what it does.
func TestExtraOptions(t *testing.T) {
	c := openAlone(t, Options{})
	sizes := map[int]bool{}
	for _, extra := range []string{olderEmitters, "", "xla_cpu_optimize_for_size"} {
		e, err := c.CompileText("axpy", axpyText, CompileOptions{XLA: map[string]any{extraOptions: extra}})
		require.NoError(t, err)
		require.Equal(t, cache.Miss, e.Info().Cache, "options are part of the key")
		runAxpy(t, c, e)
		sizes[e.Info().Bytes] = true
		require.NoError(t, e.Close())
	}
	require.NotEmpty(t, c.lib.options.defaults)
	require.Greater(t, len(sizes), 1)
}

// What is stored is stored under the options that it was compiled with, whatever was wanted.
func TestOptionsThatThePluginDoesNotAccept(t *testing.T) {
	c := openAlone(t, Options{})
	own := c.defaultOptions(CompileOptions{})
	with := func(more map[string]any) map[string]any {
		o := maps.Clone(own)
		maps.Copy(o, more)
		return o
	}
	run := func(defaults map[string]any, o CompileOptions) CompileInfo {
		e, err := c.compileText("axpy", axpyText, defaults, o)
		require.NoError(t, err)
		defer e.Close()
		runAxpy(t, c, e)
		return e.Info()
	}
	c.lib.options = optionCache{fail: func() error { return errors.New("not now") }}
	wanted := map[string]any{extraOptions: olderEmitters}

	// 1: the compiler's own options cannot be learned: compiled without the extra ones, and stored so.
	info := run(with(wanted), CompileOptions{})
	require.Equal(t, cache.Miss, info.Cache)
	require.Contains(t, info.Reason, "compiled without "+olderEmitters+": not now")
	plain := info.Key
	info = run(own, CompileOptions{})
	require.Equal(t, cache.Hit, info.Cache)
	require.Equal(t, plain, info.Key)

	// 2: the failure is not kept, and a program compiled without the options has another key.
	c.lib.options.fail = nil
	info = run(with(wanted), CompileOptions{})
	require.Equal(t, cache.Miss, info.Cache)
	require.NotContains(t, info.Reason, "without")
	require.NotEqual(t, plain, info.Key)
	require.Equal(t, cache.Hit, run(with(wanted), CompileOptions{}).Cache)

	// 3: an option of our own that the plugin does not know, and one whose value it does not take.
	info = run(with(map[string]any{"xla_nonsense": true, "xla_cpu_prefer_vector_width": "wide"}), CompileOptions{})
	require.Equal(t, plain, info.Key, "the key has the options that were taken")
	require.Equal(t, cache.Hit, info.Cache)
	require.Contains(t, info.Reason, "compiled without xla_cpu_prefer_vector_width:")
	require.Contains(t, info.Reason, "compiled without xla_nonsense:")

	// Without a cache, too, the reason names the options that are left out, once.
	info = run(with(map[string]any{"xla_nonsense": true}), CompileOptions{NoCache: true})
	require.Equal(t, cache.Off, info.Cache)
	require.Equal(t, 1, strings.Count(info.Reason, "compiled without xla_nonsense"), info.Reason)

	// 4: the caller's is an error, and so is a program that is wrong with options that are right.
	_, err := c.compileText("axpy", axpyText, own, CompileOptions{XLA: map[string]any{"xla_nonsense": true}})
	require.ErrorContains(t, err, "xla_nonsense")
	_, err = c.compileText("axpy", "module @m {", own, CompileOptions{})
	require.Error(t, err)
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

// What the policy decides, in XLA's words. The caller's options come on top.
func TestFlags(t *testing.T) {
	c := open(t, Options{})
	const older = "xla_cpu_disable_new_fusion_emitters"
	const whole = "xla_cpu_small_while_loop_byte_threshold=1000000000000000"
	for _, s := range []struct {
		codegen lower.Codegen
		want    map[string]any // beside the defaults
	}{
		{lower.Codegen{}, nil},
		{lower.Codegen{AllCores: true}, map[string]any{disabledPasses: ""}},
		{lower.Codegen{NoTrees: true},
			map[string]any{disabledPasses: "cpu-parallel-task-assigner,tree_reduction_rewriter"}},
		{lower.Codegen{NoLibraryConv: true},
			map[string]any{libraryFusions: "LIBRARY_FUSION_TYPE_INDIVIDUAL_DOT,LIBRARY_FUSION_TYPE_REDUCE"}},
		{lower.Codegen{Modules: true}, map[string]any{codegenSplit: min(runtime.GOMAXPROCS(0), 8)}},
		{lower.Codegen{WholeLoops: true},
			map[string]any{extraOptions: older + ",xla_cpu_disable_loop_unrolling," + whole}},
		{lower.Codegen{WholeLoops: true, Unroll: true, Reloads: true},
			map[string]any{extraOptions: older + "," + whole + "," + reloads}},
		{lower.Codegen{WholeLoops: true, Unroll: true}, map[string]any{extraOptions: older + "," + whole}},
		{lower.Codegen{WholeLoops: true, Unroll: true, Tiles: true, NoLibraryConv: true},
			map[string]any{extraOptions: older + "," + whole + "," + tiledProducts, libraryFusions: ""}},
	} {
		want := maps.Clone(cpuDefaults)
		want[disabledPasses] = "cpu-parallel-task-assigner"
		maps.Copy(want, s.want)
		require.Equal(t, want, c.codegenOptions(s.codegen), "%+v", s.codegen)
	}
}

// A program that has a device alone uses all cores where it has enough work; who asks for it gets it in any case.
func TestAllCores(t *testing.T) {
	c, pair := open(t, Options{}), open(t, Options{Devices: 2})
	for _, s := range []struct {
		name    string
		options CompileOptions
		size    int
		want    bool
	}{
		{"a large array", CompileOptions{}.ForJit(c), 1 << 20, true},
		{"a large array where each core is a device", CompileOptions{}.ForJit(pair), 1 << 20, false},
		{"a large array on one device of two", CompileOptions{OneDevice: true}, 1 << 20, true},
		{"a small one", CompileOptions{}.ForJit(c), 100, false},
		{"asked for", CompileOptions{AllCores: true}, 100, true},
	} {
		p, err := graph.Trace("f", func(x *array) *array { return graph.Sin(x) },
			graph.Abstract(graph.ShapeOf(graph.Float32, s.size)))
		require.NoError(t, err)
		l, err := lower.Lower(p, c.Target())
		require.NoError(t, err)
		require.Equal(t, s.want, c.programOptions(l, s.options)[disabledPasses] == "", s.name)
	}
}
