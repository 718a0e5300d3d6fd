package lower

import (
	"testing"

	"xlarun/graph"

	"github.com/stretchr/testify/require"
)

// decision lowers a program for a CPU with kernels and returns the names of the rules that decide, by group.
func decision(t *testing.T, name string, f func(x *graph.Array) *graph.Array, x *graph.Array, u Use) (Codegen,
	map[string]string) {
	t.Helper()
	p, err := graph.Trace("policy", f, x)
	require.NoError(t, err, name)
	l, err := Lower(p, graph.TargetCPUKernels)
	require.NoError(t, err, name)
	c, rules := l.Facts.Codegen(u)
	names := map[string]string{}
	for _, r := range rules {
		names[r.Group] = r.Name
	}
	return c, names
}

// Programs that run alone are compiled another way if they gather numbers or have short inner loops. Programs of
// populations are not.
func TestPolicyOfLoops(t *testing.T) {
	x := func(dims ...int) *graph.Array { return graph.Abstract(graph.ShapeOf(graph.Float32, dims...)) }
	for name, c := range map[string]struct {
		f    func(x *graph.Array) *graph.Array
		x    *graph.Array
		want string // alone
	}{
		"gathered numbers": {func(x *graph.Array) *graph.Array {
			return graph.Mul(graph.Take(x, graph.Rem(graph.Iota(5000), 900), 0), 2)
		}, x(1000), "gathers of single floats"},
		"gathered rows": {func(x *graph.Array) *graph.Array {
			return graph.Mul(graph.Take(x, graph.Rem(graph.Iota(500), 90), 0), 2)
		}, x(100, 50), "whole"},
		"gathered whole numbers": {func(x *graph.Array) *graph.Array {
			return graph.Take(graph.Iota(900), graph.Convert(x, graph.Int32), 0)
		}, x(1000), "whole"},
		"sums of whole numbers along short rows": {func(x *graph.Array) *graph.Array {
			return graph.Sum(graph.Convert(x, graph.Int32), 1)
		}, x(1000, 9), "whole"},
		"short rows": {func(x *graph.Array) *graph.Array { return graph.Sum(graph.Sin(x), 1) }, x(1000, 9), "unrolled"},
		"long rows":  {func(x *graph.Array) *graph.Array { return graph.Sum(graph.Sin(x), 1) }, x(1000, 90), "whole"},
		"windows": {func(x *graph.Array) *graph.Array {
			return graph.ReduceWindow(x, "max", []int{3, 3}, graph.Strides(2, 2))
		}, x(90, 90), "unrolled"},
		"windows that slide": {func(x *graph.Array) *graph.Array {
			return graph.ReduceWindow(x, "max", []int{3, 3})
		}, x(90, 90), "whole"},
		"columns of whole numbers": {func(x *graph.Array) *graph.Array {
			return graph.ReduceMin(graph.Mul(graph.Convert(x, graph.Uint32), graph.Scalar(uint32(7), graph.Uint32)), 0)
		}, x(90, 90), "unrolled"},
		"a loop": {func(x *graph.Array) *graph.Array {
			return graph.ForiLoop(0, 9, func(_, x *graph.Array) *graph.Array { return graph.Sin(x) }, x)
		}, x(90, 90), "unrolled"},
		"a loop of columns": {func(x *graph.Array) *graph.Array {
			return graph.ForiLoop(0, 9, func(_, x *graph.Array) *graph.Array {
				return graph.Add(x,
					graph.Sum(graph.Exp(graph.Mul(x, .1)), 0))
			}, x)
		}, x(90, 90), "whole"},
		"products of small matrices": {func(x *graph.Array) *graph.Array { return graph.Dot(x, graph.Transpose(x)) },
			x(30, 20), "unrolled"},
		"products of matrices": {func(x *graph.Array) *graph.Array { return graph.Dot(x, graph.Transpose(x)) },
			x(90, 50), "whole"},
	} {
		alone, rules := decision(t, name, c.f, c.x, Use{Alone: true})
		require.True(t, alone.Reloads, name)
		require.Equal(t, c.want, rules["loops"], name)
		codegen, rules := decision(t, name, c.f, c.x, Use{})
		require.Equal(t, "whole", rules["loops"], name)
		require.Equal(t, Codegen{WholeLoops: true, Modules: true}, codegen, name)
	}
}

// What runs on one device gets all cores where each of them has enough to do.
func TestPolicyOfCores(t *testing.T) {
	while := func(x *graph.Array) *graph.Array {
		return graph.While(func(x *graph.Array) *graph.Array { return graph.Lt(graph.Sum(x), 1e9) },
			func(x *graph.Array) *graph.Array { return graph.Sin(x) }, x)
	}
	scan := func(n int) func(x *graph.Array) *graph.Array {
		return func(x *graph.Array) *graph.Array {
			x, _ = graph.Scan(func(x *graph.Array, _ graph.None) (*graph.Array, graph.None) {
				return graph.Sin(x),
					graph.None{}
			}, x, graph.None{}, graph.Length(n))
			return x
		}
	}
	one, alone := Use{OneDevice: true}, Use{Alone: true, OneDevice: true}
	for _, c := range []struct {
		name string
		use  Use
		size int
		f    func(x *graph.Array) *graph.Array
		want bool
	}{
		{"a large array", alone, 1 << 20, scan(1), true},
		{"a large array where each core is a device", Use{Alone: true}, 1 << 20, scan(1), false},
		{"long work on a middle-sized array", alone, 1 << 15, scan(400), true},
		{"short work on it", alone, 1 << 15, scan(150), false},
		{"long work on a small one", alone, 1 << 14, scan(12000), false},
		{"a loop without known iterations", alone, 1 << 15, while, false},
		{"nothing", alone, 0, scan(1 << 20), false},
		{"not by Jit: more work is wanted", one, 1 << 15, scan(400), false},
		{"not by Jit, with more work", one, 1 << 15, scan(4000), true},
	} {
		codegen, _ := decision(t, c.name, c.f, graph.Abstract(graph.ShapeOf(graph.Float32, c.size)), c.use)
		require.Equal(t, c.want, codegen.AllCores, c.name)
	}
}

// Reductions are trees unless nearly all of many long ones have the same result in any order, and the others are short
// sums of float32.
func TestPolicyOfReductions(t *testing.T) {
	for _, s := range []struct {
		name               string
		whole, sums, short int
		dtype              graph.DType // of the sums
		terms              int
		trees              bool
	}{
		{"many of whole numbers", 16, 0, 0, graph.Float32, 100, false},
		{"few", 15, 0, 0, graph.Float32, 100, true},
		{"a fifth of them are sums of floats", 16, 4, 0, graph.Float32, 100, false},
		{"more sums of floats", 16, 5, 0, graph.Float32, 100, true},
		{"short ones", 0, 0, 20, graph.Float32, 100, true},
		{"a sum in float64", 16, 1, 0, graph.Float64, 100, true},
		{"a sum in bfloat16", 16, 1, 0, graph.BFloat16, 100, true},
		{"the longest plain sum", 16, 1, 0, graph.Float32, 128, false},
		{"a longer one", 16, 1, 0, graph.Float32, 129, true},
	} {
		t.Run(s.name, func(t *testing.T) {
			c, _ := decision(t, s.name, func(x *graph.Array) *graph.Array {
				y := graph.Scalar(0)
				for i := range s.whole + s.sums + s.short {
					of := graph.Mul(x, float32(i+1))
					switch {
					case i < s.whole:
						of = graph.Convert(of, graph.Int32)
					case i < s.whole+s.sums:
						of = graph.Convert(of, s.dtype)
					default:
						of = graph.SliceAxis(of, 0, 0, 32)
					}
					y = graph.Add(y, graph.Convert(graph.Sum(of), graph.Float32))
				}
				return y
			}, graph.Abstract(graph.ShapeOf(graph.Float32, s.terms)), Use{})
			require.Equal(t, !s.trees, c.NoTrees)
		})
	}
}
