package graph

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/internal/long"
)

// checkPasses runs a program after each pass for each target: it is well-formed and gives what it gave before, with
// the same bits after exact passes. A graph that several passes or targets leave is run once.
func checkPasses(t *testing.T, p *Program, in []*Tensor, tol float64) {
	t.Helper()
	want := runProgram(t, p, in)
	ran := map[string][]*Tensor{} // what programs give
	for _, target := range Targets {
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
				got, err = Interpret(g, in, nil)
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
		l, err := Lower(p, target)
		require.NoError(t, err)
		require.True(t, g.StableHLO(p.Name, p.Donated, p.Replicas) == l.StableHLO,
			"lowering gives the same each time")
		for _, n := range l.Graph.Nodes {
			require.NotNil(t, n.Op.Emit, "%s is left for %s", n.Op.Name, target)
		}
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
// float64 where a factorisation is lowered to a long program, which is the same for float32.
func TestPassesKeepResults(t *testing.T) {
	forEachCase(t, func(t *testing.T, c Case, r *rand.Rand) {
		_, name, _ := strings.Cut(t.Name(), "/")
		if op, _, _ := strings.Cut(name, "/"); (op == "eig" || op == "svd") && c.Inputs[0].DType == Float64 {
			long.Only(t)
		}
		p := traceCase(t, c, c.Inputs)
		in := make([]*Tensor, len(c.Inputs))
		for i, s := range c.Inputs {
			in[i] = randomCaseTensor(r, s, c)
		}
		tol := max(c.Tol, 1e-4) // what a factorisation is lowered to is another algorithm than its reference
		checkPasses(t, p, in, tol)
		wide := make([]*Tensor, len(in))
		shapes := make([]*Array, len(in))
		for i, s := range c.Inputs {
			wide[i] = randomCaseTensor(r, s.insert(0, 2), c)
			shapes[i] = Abstract(wide[i].Shape)
		}
		if len(in) == 0 {
			return
		}
		p, err := Trace("lanes", VMap(c.Fn), shapes)
		require.NoError(t, err)
		checkPasses(t, p, wide, tol)
	})
}

// What each target gets of an op: the ops in its block for it, and none of the others'.
func TestTargets(t *testing.T) {
	half, int8s, narrow := TargetCPUKernels, TargetCPUKernels, TargetCPUKernels
	half.BF16, int8s.Int8 = true, true
	narrow.BF16, narrow.Int8 = true, true
	matrix := func(rows, columns int) *Array { return Abstract(ShapeOf(Float32, rows, columns)) }
	image, kernel := Abstract(ShapeOf(Float32, 2, 3, 8, 8)), Abstract(ShapeOf(Float32, 3, 3, 3, 4))
	for i, c := range []struct {
		description string
		f           func(x, y *Array) *Array
		x, y        *Array
		want        map[Target]map[string]int // how often an op stands in the lowered program
	}{
		{"1: a weight's gradient has an operand turned", func(x, y *Array) *Array {
			return Einsum("ab,ac->bc", x, y)
		}, matrix(256, 64), matrix(256, 128),
			map[Target]map[string]int{TargetCPU: {"custom_call": 0}, TargetCUDA: {"custom_call": 0}, TargetTPU: {
				"custom_call": 0}, TargetCPUKernels: {"custom_call": 1, "transpose": 0}}},
		{"2: the larger operand stays, the smaller and the result are turned", func(x, y *Array) *Array {
			return Einsum("ab,ac->bc", x, y)
		}, matrix(64, 900), matrix(64, 12),
			map[Target]map[string]int{TargetCPU: {"custom_call": 0}, TargetCPUKernels: {"custom_call": 2}}},
		{"3: the right operand is contracted along its columns", func(x, y *Array) *Array {
			return Einsum("ab,ca->bc", x, y)
		}, matrix(128, 64), matrix(96, 128),
			map[Target]map[string]int{TargetCPUKernels: {"custom_call": 1}}},
		{"4: a small product is not worth it", func(x, y *Array) *Array {
			return Einsum("ab,ac->bc", x, y)
		}, matrix(8, 8), matrix(8, 8),
			map[Target]map[string]int{TargetCPUKernels: {"custom_call": 0}, TargetCPUKernelsAlways: {
				"custom_call": 1}}},
		{"5: other products stay", func(x, y *Array) *Array {
			return Einsum("ab,bc->ac", x, y)
		}, matrix(128, 64), matrix(64, 128),
			map[Target]map[string]int{TargetCPUKernelsAlways: {"custom_call": 0, "dot_general": 1}}},
		{"a weight's gradient in bfloat16 calls a kernel where there is one", func(x, y *Array) *Array {
			return Einsum("ab,ac->bc", Convert(x, BFloat16), Convert(y, BFloat16))
		}, matrix(256, 64), matrix(256, 128), map[Target]map[string]int{half: {"custom_call": 1,
			"dot_general": 0, "transpose": 0}, TargetCPUKernels: {"custom_call": 0, "dot_general": 1}, TargetCPU: {
			"custom_call": 0}, TargetCUDA: {"custom_call": 0}}},
		{"with few rows it is not worth it", func(x, y *Array) *Array {
			return Dot(Convert(x, BFloat16), Convert(y, BFloat16))
		}, matrix(2, 256), matrix(256, 256), map[Target]map[string]int{half: {"custom_call": 0},
			TargetCPUKernelsAlways: {"custom_call": 1}}},
		{"bytes with an int32 result call a kernel where there is one", func(x, y *Array) *Array {
			return DotGeneral(Convert(x, Int8), Convert(y, Int8), nil, nil, []int{0}, []int{0}, PreferredDType(Int32))
		}, matrix(256, 64), matrix(256, 128), map[Target]map[string]int{int8s: {"custom_call": 1,
			"dot_general": 0}, narrow: {"custom_call": 1}, half: {"custom_call": 0},
			TargetCPU: {"custom_call": 0, "dot_general": 1}}},
		{"in float32 nothing changes", func(x, y *Array) *Array {
			return Einsum("ab,ac->bc", x, y)
		}, matrix(256, 64), matrix(256, 128), map[Target]map[string]int{half: {"custom_call": 1,
			"dot_general": 1}, TargetCPUKernels: {"custom_call": 1, "dot_general": 1}}},
		{"6: a convolution's layout is the CPU's, and its own elsewhere", func(x, y *Array) *Array {
			return Conv(x, y, Layout("NCHW", "HWIO", "NCHW"))
		}, image, kernel,
			map[Target]map[string]int{TargetCPU: {"transpose": 2, "conv": 1}, TargetCUDA: {"transpose": 0, "conv": 1},
				TargetTPU: {"transpose": 0}}},
		{"7: with a convolution no operand is turned", func(x, y *Array) *Array {
			z := Reshape(Conv(x, y, Layout("NCHW", "HWIO", "NCHW")), 2, -1)
			return Einsum("ab,ac->bc", Concatenate(1, z, z, z, z, z), Concatenate(1, z, z, z, z, z))
		}, image, kernel, map[Target]map[string]int{TargetCPUKernels: {"custom_call": 0}}},
		{"8: what a scan stacks is not cleared, and written by rows where its loop is no function",
			func(x, y *Array) *Array {
				_, ys := Scan(func(c, x *Array) (*Array, *Array) { return c, sortByTwo(x, 0) }, Index(x, 0), x)
				return ys
			}, matrix(500, 10), matrix(1, 1), map[Target]map[string]int{
				TargetCPU: {"custom_call": 0, "dynamic_update_slice": 1, "unset": 0}, TargetTPU: {"custom_call": 0},
				TargetCPUKernels: {"custom_call": 2, "dynamic_update_slice": 0, "unset": 0}}},
		{"9: a small array is copied", func(x, y *Array) *Array {
			return DynamicUpdateSlice(x, y, []*Array{Of(int32(3)), Of(int32(0))})
		}, matrix(10, 20), matrix(2, 19),
			map[Target]map[string]int{TargetCPUKernels: {"dynamic_update_slice": 1}, TargetCPUKernelsAlways: {
				"dynamic_update_slice": 0, "custom_call": 1}}},
		{"10: a block of a large array is written by a kernel", func(x, y *Array) *Array {
			return DynamicUpdateSlice(x, y, []*Array{Of(int32(3)), Of(int32(0))})
		}, matrix(100, 20), matrix(2, 19),
			map[Target]map[string]int{TargetCPUKernels: {"dynamic_update_slice": 0, "custom_call": 1}, TargetCPU: {
				"dynamic_update_slice": 1}}},
		{"11: a block that fills the array is the result", func(x, y *Array) *Array {
			return DynamicUpdateSlice(x, Sin(x), []*Array{Of(int32(3)), Of(int32(0))})
		}, matrix(100, 20), matrix(1, 1), map[Target]map[string]int{
			TargetCPUKernels: {"dynamic_update_slice": 0, "custom_call": 0}}},
		{"12: the gradient of a gather scatters by a kernel", func(x, y *Array) *Array {
			return Grad(func(x *Array) *Array { return Sum(Take(x, Of([]int32{1, 1, 3}), 0)) })(x)
		}, matrix(100, 20), matrix(1, 1), map[Target]map[string]int{TargetCPUKernels: {"scatter": 0, "custom_call": 1},
			TargetCPU: {"scatter": 1}, TargetCUDA: {"scatter": 1}}},
		{"13: one write that no kernel does, and all are left", func(x, y *Array) *Array {
			sums := Convert(ScatterAdd(Convert(x, BFloat16), Of([]int32{1, 1, 3}), Ones(ShapeOf(BFloat16, 3, 20))),
				Float32)
			return DynamicUpdateSlice(x, Slice(sums, []int{0, 0}, []int{4, 20}), []*Array{Of(int32(3)), Of(int32(0))})
		}, matrix(100, 20), matrix(1, 1), map[Target]map[string]int{
			TargetCPUKernels: {"dynamic_update_slice": 1, "custom_call": 0}}},
		{"14: nor one whose call would take as long as the loop's step", func(x, y *Array) *Array {
			x, _ = Scan(func(x, t *Array) (*Array, None) {
				return DynamicUpdateIndex(x, sortByTwo(Index(x, 0), 0), t, 1), None{}
			}, x, Iota(100))
			return x
		}, matrix(100, 100), matrix(1, 1), map[Target]map[string]int{
			TargetCPUKernels: {"dynamic_update_slice": 1, "custom_call": 0}, TargetCPUKernelsAlways: {
				"dynamic_update_slice": 0, "custom_call": 1}}},
		{"15: a longer step is worth it", func(x, y *Array) *Array {
			x, _ = Scan(func(x, t *Array) (*Array, None) {
				return DynamicUpdateIndex(x, sortByTwo(Sum(Tanh(x), 1), 0), t, 1), None{}
			}, x, Iota(100))
			return x
		}, matrix(100, 100), matrix(1, 1), map[Target]map[string]int{
			TargetCPUKernels: {"dynamic_update_slice": 0, "custom_call": 1}}},
		{"16: nor a scatter in a short step", func(x, y *Array) *Array {
			x, _ = Scan(func(x, t *Array) (*Array, None) {
				return ScatterAdd(x, ExpandDims(t, 0), Scalar(1)), None{}
			}, x, Iota(100))
			return x
		}, matrix(100, 100), matrix(1, 1), map[Target]map[string]int{TargetCPUKernels: {"scatter": 1, "custom_call": 0},
			TargetCPUKernelsAlways: {"scatter": 0, "custom_call": 1}}},
		{"17: sums of 16-bit floats are left to the compiler", func(x, y *Array) *Array {
			return Convert(ScatterAdd(Convert(x, BFloat16), Of([]int32{1, 1, 3}), Ones(ShapeOf(BFloat16, 3, 20))),
				Float32)
		}, matrix(100, 20), matrix(1, 1), map[Target]map[string]int{
			TargetCPUKernels: {"scatter": 1, "custom_call": 0}}},
		{"18: linear algebra by kernels, elsewhere by StableHLO", func(x, y *Array) *Array {
			return CholeskySolve(Cholesky(x), y)
		}, matrix(8, 8), matrix(8, 3), map[Target]map[string]int{
			TargetCPUKernels: {"cholesky": 0, "triangular_solve": 0, "custom_call": 3}, TargetCPU: {
				"cholesky": 1, "triangular_solve": 2},
			TargetCUDA: {"cholesky": 1, "custom_call": 0}}},
		{"19: in a batch the smaller operand is copied", func(x, y *Array) *Array {
			return VMap2(func(x, y *Array) *Array {
				return Einsum("ab,ac->bc", x, y)
			})(Reshape(x, 8, 32, 16), Reshape(y, 8, 32, 2))
		}, matrix(256, 16), matrix(256, 2), map[Target]map[string]int{TargetCPU: {"transpose": 1, "dot_general": 1},
			TargetCUDA: {"transpose": 0, "dot_general": 1}}},
	} {
		p, err := Trace2("target", c.f, c.x, c.y)
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

// Calls of one kernel with equal numbers and inputs are one call; of others they are not.
func TestEqualKernelsMerge(t *testing.T) {
	kernel := func(target string) *Kernel {
		return &Kernel{Target: target, Eval: func(in, out []*Tensor) { copy(out[0].V, in[0].V) }}
	}
	p, err := Trace("calls", func(x *Array) []*Array {
		s := []Shape{x.shape}
		return []*Array{CustomCall(kernel("a"), s, x)[0], CustomCall(kernel("a"), s, x)[0],
			CustomCall(kernel("b"), s, x)[0],
			kernelCall(kernel("a"), []int{1}, s, x)[0], kernelCall(kernel("a"), []int{2}, s, x)[0]}
	}, Abstract(ShapeOf(Float32, 3)))
	require.NoError(t, err)
	require.Equal(t, 4, p.Graph.Count(), p.Graph.String())
	require.Same(t, p.Graph.Results[0], p.Graph.Results[1])
}

// Arrays that are left unset are never one array.
func TestUnsetArraysStayApart(t *testing.T) {
	p, err := Trace("stacks", func(x *Array) [2]*Array {
		_, ys := Scan(func(c, x *Array) (*Array, [2]*Array) { return c, [2]*Array{Sin(x), Cos(x)} }, Index(x, 0), x)
		return ys
	}, Abstract(ShapeOf(Float32, 500, 10)))
	require.NoError(t, err)
	l, err := Lower(p, TargetCPUKernels)
	require.NoError(t, err)
	var numbers []int
	for _, n := range l.Graph.Nodes {
		if a, ok := n.Attrs.(customCallAttrs); ok && a.kernel == unsetKernel {
			numbers = append(numbers, a.config...)
		}
	}
	require.Equal(t, []int{1, 2}, numbers, l.Graph.String())
}
