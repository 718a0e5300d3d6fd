package lower

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/graph"
	"xlarun/graph/graphtest"
	"xlarun/graph/linalg"
	"xlarun/internal/long"
)

// checkPasses runs a program after each pass for each target: it is well-formed and gives what it gave before, with
// the same bits after exact passes. A graph that several passes or targets leave is run once. If twice, Lower gives
// that program, too, and gives it again.
func checkPasses(t *testing.T, p *graph.Program, in []*graph.Tensor, tol float64, twice bool) {
	t.Helper()
	want := runProgram(t, p, in)
	ran := map[string][]*graph.Tensor{} // what programs give
	for _, target := range graph.Targets {
		g := p.Graph
		last := want
		for _, pass := range Passes {
			before := g
			if g = pass.Apply(g, target); g == before {
				continue // it had nothing to do
			}
			require.NoError(t, g.Verify(), "%s, %s", target, pass.Name)
			text := g.String()
			got := ran[text]
			if got == nil {
				var err error
				got, err = graph.Interpret(g, in, nil)
				require.NoError(t, err, "%s, %s", target, pass.Name)
				ran[text] = got
			}
			for i := range want {
				near(t, want[i], got[i], tol, "%s, %s", target, pass.Name)
				if pass.Keeps == Exact {
					require.Equal(t, last[i].V, got[i].V, "%s, %s: an exact pass changes bits", target, pass.Name)
				}
			}
			last = got
		}
		for _, n := range g.Nodes {
			require.NotNil(t, n.Op.Emit, "%s is left for %s", n.Op.Name, target)
		}
		if !twice {
			continue
		}
		l, err := Lower(p, target)
		require.NoError(t, err)
		require.True(t, g.StableHLO(p.Name, p.Donated, p.Replicas) == l.StableHLO,
			"lowering gives the same each time")
		again, err := Lower(p, target)
		require.NoError(t, err)
		require.Same(t, l, again)
	}
}

// Each pass comes after those that it names, and says what it does.
func TestPassOrder(t *testing.T) {
	before := map[string]bool{}
	for _, p := range Passes {
		require.NotEmpty(t, p.Doc, p.Name)
		require.False(t, before[p.Name], "two passes are named %s", p.Name)
		for _, a := range p.After {
			require.True(t, before[a.Pass], "%s comes after %s: %s", p.Name, a.Pass, a.Why)
			require.NotEmpty(t, a.Why)
		}
		before[p.Name] = true
	}
}

// Every sample of every op, plain and vmapped, is the same after each pass for each target. The short form leaves out
// float64 where a factorisation is lowered to a long program, which is the same for float32, and Lower of what is
// mapped.
func TestPassesKeepResults(t *testing.T) {
	forEachCase(t, func(t *testing.T, c graph.Case, r *rand.Rand) {
		_, name, _ := strings.Cut(t.Name(), "/")
		if op, _, _ := strings.Cut(name, "/"); (op == "eig" || op == "svd") && c.Inputs[0].DType == graph.Float64 {
			long.Only(t)
		}
		args := make([]*graph.Array, len(c.Inputs))
		for i, s := range c.Inputs {
			args[i] = graph.Abstract(s)
		}
		p, err := graph.Trace("case", c.Fn, args)
		require.NoError(t, err)
		in := make([]*graph.Tensor, len(c.Inputs))
		for i, s := range c.Inputs {
			in[i] = randomInput(t, r, s, c)
		}
		tol := max(c.Tol, 1e-4) // what a factorisation is lowered to is another algorithm than its reference
		checkPasses(t, p, in, tol, true)
		wide := make([]*graph.Tensor, len(in))
		shapes := make([]*graph.Array, len(in))
		for i, s := range c.Inputs {
			wide[i] = randomInput(t, r, graph.ShapeOf(s.DType, append([]int{2}, s.Dims...)...), c)
			shapes[i] = graph.Abstract(wide[i].Shape)
		}
		if len(in) == 0 {
			return
		}
		p, err = graph.Trace("lanes", graph.VMap(c.Fn), shapes)
		require.NoError(t, err)
		checkPasses(t, p, wide, tol, long.On())
	})
}

// What each target gets of an op: the ops in its block for it, and none of the others'.
func TestTargets(t *testing.T) {
	half, int8s, narrow := graph.TargetCPUKernels, graph.TargetCPUKernels, graph.TargetCPUKernels
	half.BF16, int8s.Int8 = true, true
	narrow.BF16, narrow.Int8 = true, true
	matrix := func(rows, columns int) *graph.Array {
		return graph.Abstract(graph.ShapeOf(graph.Float32, rows, columns))
	}
	image, kernel := graph.Abstract(graph.ShapeOf(graph.Float32, 2, 3, 8, 8)),
		graph.Abstract(graph.ShapeOf(graph.Float32, 3, 3, 3, 4))
	for i, c := range []struct {
		description string
		f           func(x, y *graph.Array) *graph.Array
		x, y        *graph.Array
		want        map[graph.Target]map[string]int // how often an op stands in the lowered program
	}{
		{"1: a weight's gradient has an operand turned", func(x, y *graph.Array) *graph.Array {
			return graph.Einsum("ab,ac->bc", x, y)
		}, matrix(256, 64), matrix(256, 128),
			map[graph.Target]map[string]int{graph.TargetCPU: {"custom_call": 0}, graph.TargetCUDA: {"custom_call": 0},
				graph.TargetTPU: {
					"custom_call": 0}, graph.TargetCPUKernels: {"custom_call": 1, "transpose": 0}}},
		{"2: the larger operand stays, the smaller and the result are turned", func(x, y *graph.Array) *graph.Array {
			return graph.Einsum("ab,ac->bc", x, y)
		}, matrix(64, 900), matrix(64, 12),
			map[graph.Target]map[string]int{graph.TargetCPU: {"custom_call": 0},
				graph.TargetCPUKernels: {"custom_call": 2}}},
		{"3: the right operand is contracted along its columns", func(x, y *graph.Array) *graph.Array {
			return graph.Einsum("ab,ca->bc", x, y)
		}, matrix(128, 64), matrix(96, 128),
			map[graph.Target]map[string]int{graph.TargetCPUKernels: {"custom_call": 1}}},
		{"4: a small product is not worth it", func(x, y *graph.Array) *graph.Array {
			return graph.Einsum("ab,ac->bc", x, y)
		}, matrix(8, 8), matrix(8, 8),
			map[graph.Target]map[string]int{graph.TargetCPUKernels: {"custom_call": 0}, graph.TargetCPUKernelsAlways: {
				"custom_call": 1}}},
		{"5: other products stay", func(x, y *graph.Array) *graph.Array {
			return graph.Einsum("ab,bc->ac", x, y)
		}, matrix(128, 64), matrix(64, 128),
			map[graph.Target]map[string]int{graph.TargetCPUKernelsAlways: {"custom_call": 0, "dot_general": 1}}},
		{"a weight's gradient in bfloat16 calls a kernel where there is one", func(x, y *graph.Array) *graph.Array {
			return graph.Einsum("ab,ac->bc", graph.Convert(x, graph.BFloat16), graph.Convert(y, graph.BFloat16))
		}, matrix(256, 64), matrix(256, 128), map[graph.Target]map[string]int{half: {"custom_call": 1,
			"dot_general": 0, "transpose": 0}, graph.TargetCPUKernels: {"custom_call": 0, "dot_general": 1},
			graph.TargetCPU: {
				"custom_call": 0}, graph.TargetCUDA: {"custom_call": 0}}},
		{"with few rows it is not worth it", func(x, y *graph.Array) *graph.Array {
			return graph.Dot(graph.Convert(x, graph.BFloat16), graph.Convert(y, graph.BFloat16))
		}, matrix(2, 256), matrix(256, 256), map[graph.Target]map[string]int{half: {"custom_call": 0},
			graph.TargetCPUKernelsAlways: {"custom_call": 1}}},
		{"bytes with an int32 result call a kernel where there is one", func(x, y *graph.Array) *graph.Array {
			return graph.DotGeneral(graph.Convert(x, graph.Int8), graph.Convert(y, graph.Int8), nil, nil, []int{0},
				[]int{0}, graph.PreferredDType(graph.Int32))
		}, matrix(256, 64), matrix(256, 128), map[graph.Target]map[string]int{int8s: {"custom_call": 1,
			"dot_general": 0}, narrow: {"custom_call": 1}, half: {"custom_call": 0},
			graph.TargetCPU: {"custom_call": 0, "dot_general": 1}}},
		{"in float32 nothing changes", func(x, y *graph.Array) *graph.Array {
			return graph.Einsum("ab,ac->bc", x, y)
		}, matrix(256, 64), matrix(256, 128), map[graph.Target]map[string]int{half: {"custom_call": 1,
			"dot_general": 1}, graph.TargetCPUKernels: {"custom_call": 1, "dot_general": 1}}},
		{"6: a convolution's layout is the CPU's, and its own elsewhere", func(x, y *graph.Array) *graph.Array {
			return graph.Conv(x, y, graph.Layout("NCHW", "HWIO", "NCHW"))
		}, image, kernel,
			map[graph.Target]map[string]int{graph.TargetCPU: {"transpose": 2, "conv": 1},
				graph.TargetCUDA: {"transpose": 0, "conv": 1},
				graph.TargetTPU:  {"transpose": 0}}},
		{"7: the left operand of a large product is turned", func(x, y *graph.Array) *graph.Array {
			z := graph.Reshape(graph.Conv(x, y, graph.Layout("NCHW", "HWIO", "NCHW")), 2, -1)
			return graph.Einsum("ab,ac->bc", graph.Concatenate(1, z, z, z, z, z), graph.Concatenate(1, z, z, z, z, z))
		}, image, kernel, map[graph.Target]map[string]int{graph.TargetCPUKernels: {"custom_call": 1},
			graph.TargetCPU: {"custom_call": 0, "optimization_barrier": 2, "transpose": 3}}},
		{"8: what a scan stacks is not cleared, and written by rows where its loop is no function",
			func(x, y *graph.Array) *graph.Array {
				_, ys := graph.Scan(func(c, x *graph.Array) (*graph.Array, *graph.Array) { return c, sortByTwo(x, 0) },
					graph.Index(x, 0), x)
				return ys
			}, matrix(500, 10), matrix(1, 1), map[graph.Target]map[string]int{
				graph.TargetCPU:        {"custom_call": 0, "dynamic_update_slice": 1, "unset": 0},
				graph.TargetTPU:        {"custom_call": 0},
				graph.TargetCPUKernels: {"custom_call": 2, "dynamic_update_slice": 0, "unset": 0}}},
		{"9: a small array is copied", func(x, y *graph.Array) *graph.Array {
			return graph.DynamicUpdateSlice(x, y, []*graph.Array{graph.Of(int32(3)), graph.Of(int32(0))})
		}, matrix(10, 20), matrix(2, 19),
			map[graph.Target]map[string]int{graph.TargetCPUKernels: {"dynamic_update_slice": 1},
				graph.TargetCPUKernelsAlways: {
					"dynamic_update_slice": 0, "custom_call": 1}}},
		{"10: a block of a large array is written by a kernel", func(x, y *graph.Array) *graph.Array {
			return graph.DynamicUpdateSlice(x, y, []*graph.Array{graph.Of(int32(3)), graph.Of(int32(0))})
		}, matrix(100, 20), matrix(2, 19),
			map[graph.Target]map[string]int{graph.TargetCPUKernels: {"dynamic_update_slice": 0, "custom_call": 1},
				graph.TargetCPU: {
					"dynamic_update_slice": 1}}},
		{"11: a block that fills the array is the result", func(x, y *graph.Array) *graph.Array {
			return graph.DynamicUpdateSlice(x, graph.Sin(x), []*graph.Array{graph.Of(int32(3)), graph.Of(int32(0))})
		}, matrix(100, 20), matrix(1, 1), map[graph.Target]map[string]int{
			graph.TargetCPUKernels: {"dynamic_update_slice": 0, "custom_call": 0}}},
		{"12: the gradient of a gather scatters by a kernel", func(x, y *graph.Array) *graph.Array {
			return graph.Grad(func(x *graph.Array) *graph.Array {
				return graph.Sum(graph.Take(x,
					graph.Of([]int32{1, 1, 3}), 0))
			})(x)
		}, matrix(100, 20), matrix(1, 1), map[graph.Target]map[string]int{graph.TargetCPUKernels: {"scatter": 0,
			"custom_call": 1},
			graph.TargetCPU: {"scatter": 1}, graph.TargetCUDA: {"scatter": 1}}},
		{"13: one write that no kernel does, and all are left", func(x, y *graph.Array) *graph.Array {
			sums := graph.Convert(graph.ScatterAdd(graph.Convert(x, graph.BFloat16), graph.Of([]int32{1, 1, 3}),
				graph.Ones(graph.ShapeOf(graph.BFloat16, 3, 20))),
				graph.Float32)
			return graph.DynamicUpdateSlice(x, graph.Slice(sums, []int{0, 0}, []int{4, 20}),
				[]*graph.Array{graph.Of(int32(3)), graph.Of(int32(0))})
		}, matrix(100, 20), matrix(1, 1), map[graph.Target]map[string]int{
			graph.TargetCPUKernels: {"dynamic_update_slice": 1, "custom_call": 0}}},
		{"14: nor one whose call would take as long as the loop's step", func(x, y *graph.Array) *graph.Array {
			x, _ = graph.Scan(func(x, t *graph.Array) (*graph.Array, graph.None) {
				return graph.DynamicUpdateIndex(x, sortByTwo(graph.Index(x, 0), 0), t, 1), graph.None{}
			}, x, graph.Iota(100))
			return x
		}, matrix(100, 100), matrix(1, 1), map[graph.Target]map[string]int{
			graph.TargetCPUKernels: {"dynamic_update_slice": 1, "custom_call": 0}, graph.TargetCPUKernelsAlways: {
				"dynamic_update_slice": 0, "custom_call": 1}}},
		{"15: a longer step is worth it", func(x, y *graph.Array) *graph.Array {
			x, _ = graph.Scan(func(x, t *graph.Array) (*graph.Array, graph.None) {
				return graph.DynamicUpdateIndex(x, sortByTwo(graph.Sum(graph.Tanh(x), 1), 0), t, 1), graph.None{}
			}, x, graph.Iota(100))
			return x
		}, matrix(100, 100), matrix(1, 1), map[graph.Target]map[string]int{
			graph.TargetCPUKernels: {"dynamic_update_slice": 0, "custom_call": 1}}},
		{"16: nor a scatter in a short step", func(x, y *graph.Array) *graph.Array {
			x, _ = graph.Scan(func(x, t *graph.Array) (*graph.Array, graph.None) {
				return graph.ScatterAdd(x, graph.ExpandDims(t, 0), graph.Scalar(1)), graph.None{}
			}, x, graph.Iota(100))
			return x
		}, matrix(100, 100), matrix(1, 1), map[graph.Target]map[string]int{graph.TargetCPUKernels: {"scatter": 1,
			"custom_call": 0},
			graph.TargetCPUKernelsAlways: {"scatter": 0, "custom_call": 1}}},
		{"17: sums of 16-bit floats are left to the compiler", func(x, y *graph.Array) *graph.Array {
			return graph.Convert(graph.ScatterAdd(graph.Convert(x, graph.BFloat16), graph.Of([]int32{1, 1, 3}),
				graph.Ones(graph.ShapeOf(graph.BFloat16, 3, 20))),
				graph.Float32)
		}, matrix(100, 20), matrix(1, 1), map[graph.Target]map[string]int{
			graph.TargetCPUKernels: {"scatter": 1, "custom_call": 0}}},
		{"18: linear algebra by kernels, elsewhere by StableHLO", func(x, y *graph.Array) *graph.Array {
			return linalg.CholeskySolve(linalg.Cholesky(x), y)
		}, matrix(8, 8), matrix(8, 3), map[graph.Target]map[string]int{
			graph.TargetCPUKernels: {"cholesky": 0, "triangular_solve": 0, "custom_call": 3}, graph.TargetCPU: {
				"cholesky": 1, "triangular_solve": 2},
			graph.TargetCUDA: {"cholesky": 1, "custom_call": 0}}},
		{"19: in a batch the smaller operand is copied", func(x, y *graph.Array) *graph.Array {
			return graph.VMap2(func(x, y *graph.Array) *graph.Array {
				return graph.Einsum("ab,ac->bc", x, y)
			})(graph.Reshape(x, 8, 32, 16), graph.Reshape(y, 8, 32, 2))
		}, matrix(256, 16), matrix(256, 2), map[graph.Target]map[string]int{graph.TargetCPU: {"transpose": 1,
			"dot_general": 1},
			graph.TargetCUDA: {"transpose": 0, "dot_general": 1}}},
	} {
		p, err := graph.Trace2("target", c.f, c.x, c.y)
		require.NoError(t, err)
		for target, ops := range c.want {
			l, err := Lower(p, target)
			require.NoError(t, err)
			counts := map[string]int{}
			for _, o := range Ops(l.Graph) {
				counts[o.Op] = o.Count
			}
			for op, n := range ops {
				require.Equal(t, n, counts[op], "case %d %s: %s for %s\n%s", i, c.description, op, target, l.Graph)
			}
		}
	}
}

// Arrays that are left unset are never one array.
func TestUnsetArraysStayApart(t *testing.T) {
	p, err := graph.Trace("stacks", func(x *graph.Array) [2]*graph.Array {
		_, ys := graph.Scan(func(c, x *graph.Array) (*graph.Array, [2]*graph.Array) {
			return c, [2]*graph.Array{graph.Sin(x), graph.Cos(x)}
		}, graph.Index(x, 0), x)
		return ys
	}, graph.Abstract(graph.ShapeOf(graph.Float32, 500, 10)))
	require.NoError(t, err)
	l, err := Lower(p, graph.TargetCPUKernels)
	require.NoError(t, err)
	var numbers []any
	for _, n := range l.Graph.Nodes {
		if k := n.Kernel(); k != nil && k.Target == "xlarun_unset" {
			numbers = append(numbers, n.Attrs)
		}
	}
	require.Len(t, numbers, 2)
	require.NotEqual(t, fmt.Sprint(numbers[0]), fmt.Sprint(numbers[1]), l.Graph.String())
}

// Passes for a platform compared the whole target: they left out one with instructions for products.
func TestPassesForAPlatform(t *testing.T) {
	for _, target := range []graph.Target{graph.TargetCUDA, graph.TargetTPU} {
		with := target
		with.BF16 = true
		for _, pass := range Passes {
			if pass.For != nil {
				require.Equal(t, pass.For(target), pass.For(with), "%s for %s", pass.Name, with)
			}
		}
	}
	require.True(t, passEnded.For(graph.Target{Platform: "cuda", Int8: true}))
	require.True(t, passCollectives.For(graph.Target{Platform: "tpu", Int8: true}))
}

// Lowering says the same in a program traced anew, as a cache of compiled programs needs.
func TestLoweringIsStable(t *testing.T) {
	var texts []string
	for range 2 {
		f := graphtest.Random(3, true).Fn
		p, err := graph.Trace("random", func(in []*graph.Array) []*graph.Array {
			slope := graph.Grad(func(x *graph.Array) *graph.Array {
				return f([]*graph.Array{in[0], x, in[2], in[3]})[0].Sum()
			})
			return append(f(in), slope(in[1]))
		}, graphtest.Values(rand.New(rand.NewPCG(1, 2))))
		require.NoError(t, err)
		l, err := Lower(p, graph.TargetCPUKernels)
		require.NoError(t, err)
		texts = append(texts, l.StableHLO)
		require.Len(t, l.Fingerprint(), 64)
	}
	require.Equal(t, texts[0], texts[1])
}
