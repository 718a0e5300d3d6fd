package xlabridge

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"xlarun/graph"
	"xlarun/xlabridge/kernels"
)

// eachSet runs a test with each instruction set for products of a type that this processor has.
func eachSet(t *testing.T, narrow kernels.Narrow, f func(t *testing.T)) {
	defer kernels.UseNarrowSet(narrow, -1)
	for i, name := range kernels.NarrowSets(narrow) {
		t.Run(name, func(t *testing.T) {
			kernels.UseNarrowSet(narrow, i)
			f(t)
		})
	}
}

// halves makes bfloat16 numbers from -1 to 1.
func halves(r *rand.Rand, dims ...int) *graph.Array {
	return graph.Case{Lo: -1, Hi: 1}.Input(r, graph.ShapeOf(graph.BFloat16, dims...))
}

// product is an Einsum of two bfloat16 arrays.
type product struct {
	spec string
	x, y []int
}

// products to test have sizes that leave a part of a register, a tile, a panel, a block or a piece empty.
var products = []product{
	{"ij,jk->ik", []int{1, 1}, []int{1, 1}},
	{"ij,jk->ik", []int{3, 7}, []int{7, 5}},
	{"ij,jk->ik", []int{15, 33}, []int{33, 17}},
	{"ji,jk->ik", []int{33, 15}, []int{33, 17}},
	{"ij,kj->ik", []int{15, 33}, []int{17, 33}},
	{"ji,kj->ik", []int{33, 15}, []int{17, 33}},
	{"ij,jk->ik", []int{70, 600}, []int{600, 90}},
	{"ji,jk->ik", []int{1031, 45}, []int{1031, 31}},
	{"ij,kj->ik", []int{260, 64}, []int{290, 64}},
	{"ji,kj->ik", []int{513, 261}, []int{31, 513}},
	{"ij,jk->ik", []int{1, 512}, []int{512, 257}},
	{"ij,jk->ik", []int{257, 514}, []int{514, 1}},
	{"ij,jk->ik", []int{30, 511}, []int{511, 290}}, // the last pair has one element
	{"j,jk->k", []int{40}, []int{40, 50}},
	{"ij,j->i", []int{40, 50}, []int{50}},
	{"i,j->ij", []int{40}, []int{50}},
	{"i,i->", []int{700}, []int{700}},
	{"bij,bjk->bik", []int{3, 20, 40}, []int{3, 40, 36}},
	{"ibj,jbk->bik", []int{20, 3, 40}, []int{40, 3, 36}},
	{"bji,bkj->bik", []int{5, 40, 20}, []int{5, 36, 40}},
	{"bcij,cbjk->cbik", []int{2, 3, 9, 16}, []int{3, 2, 16, 33}},
	{"abij,jck->abick", []int{2, 3, 9, 16}, []int{16, 4, 11}},
	{"iajb,bjk->iak", []int{7, 5, 6, 9}, []int{9, 6, 13}},
	{"iajb,kbj->aik", []int{7, 5, 6, 9}, []int{13, 9, 6}},
	{"sbi,sbo->io", []int{40, 30, 17}, []int{40, 30, 35}},
	{"ji,jk->ik", []int{9001, 20}, []int{9001, 17}}, // parts of the contracted axis
}

// Products of bfloat16 are what the reference interpreter gives, up to the rounding of float32 sums and of the result,
// for every instruction set, the emulated tiles included.
func TestBF16Dot(t *testing.T) {
	t.Parallel()
	c := always(open(t, Options{}))
	r := rand.New(rand.NewPCG(1, 2))
	var in [][2]*graph.Array
	for _, p := range products {
		in = append(in, [2]*graph.Array{halves(r, p.x...), halves(r, p.y...)})
	}
	all := func(in [][2]*graph.Array) (out []*graph.Array) {
		for i, p := range products {
			out = append(out, graph.Einsum(p.spec, in[i][0], in[i][1]))
		}
		return out
	}
	lowered := lowered(t, c.Target(), all, in)
	require.True(t, lowered.Graph.Uses("custom_call"))
	require.False(t, lowered.Graph.Uses("dot_general"))
	exact, err := Jit(&Reference{}, func(in [][2]*graph.Array) []*graph.Array {
		for i := range in {
			in[i] = [2]*graph.Array{graph.Convert(in[i][0], graph.Float64), graph.Convert(in[i][1], graph.Float64)}
		}
		return all(in)
	})(in)
	require.NoError(t, err)
	run := Jit(c, all)
	eachSet(t, kernels.BF16, func(t *testing.T) {
		out, err := run(in)
		require.NoError(t, err)
		for i, p := range products {
			what := fmt.Sprintf("%s of %v and %v", p.spec, p.x, p.y)
			require.Equal(t, exact[i].Dims(), out[i].Dims(), what)
			want, got := floats(t, exact[i]), floats(t, out[i])
			terms := float64(in[i][0].Size()*in[i][1].Size()) / float64(max(1, len(want))) // no fewer than there are
			for k := range want {
				bound := math.Abs(want[k])*0x1p-8 + math.Sqrt(terms)*0x1p-20
				require.InDelta(t, want[k], got[k], bound, "%s, element %d", what, k)
			}
		}
	})
}

// The sums of an element depend on its operands alone: not on the rows and columns around it, nor on how many threads
// work on them.
func TestBF16DotSumsInOneOrder(t *testing.T) {
	c := always(open(t, Options{}))
	r := rand.New(rand.NewPCG(3, 4))
	for inner, rows := range map[int]int{1100: 300, 9001: 100} { // few rows of many terms are shared by their parts
		x, y := halves(r, rows, inner), halves(r, inner, 90)
		eachSet(t, kernels.BF16, func(t *testing.T) {
			whole, err := Jit2(c, graph.Dot)(x, y)
			require.NoError(t, err)
			parts, err := Jit2(c, func(x, y *graph.Array) (out []*graph.Array) {
				whole := graph.Dot(x, y)
				for _, p := range [][4]int{{0, 1, 0, 1}, {13, 27, 5, 40}, {rows - 45, rows, 30, 40}, {0, rows, 31,
					33}} {
					part := func(x *graph.Array, axis int) *graph.Array {
						return graph.SliceAxis(x, axis, p[2*axis], p[2*axis+1])
					}
					out = append(out, graph.Dot(part(x, 0), part(y, 1)), part(part(whole, 0), 1))
				}
				return append(out, whole)
			})(x, y)
			require.NoError(t, err)
			for i := 0; i+1 < len(parts); i += 2 {
				assert.Equal(t, floats(t, parts[i+1]), floats(t, parts[i]), "%d terms, part %d", inner, i/2)
			}
			assert.Equal(t, floats(t, whole), floats(t, parts[len(parts)-1]))
		})
	}
}

// NaN and infinities reach the elements that they belong to and no others, also where operands are filled up with
// zeros. Numbers below the least normal one count as zero.
func TestBF16DotOfExtremes(t *testing.T) {
	c := always(open(t, Options{}))
	inf, nan := math.Inf(1), math.NaN()
	rows := [][]float64{{1, 2, 3}, {nan, 1, 1}, {inf, 1, 1}, {-inf, 1, 1}, {inf, -inf, 0}, {3e38, 3e38, 3e38},
		{1e-39, 0, 0}, {0, 0, 0}, {-1, -2, -3}, {1e-30, 1e-30, 1e-30}}
	want := []float64{6, nan, inf, -inf, nan, inf, 0, 0, -6, 3e-30}
	flat := make([]float64, 0, 3*len(rows))
	for _, row := range rows {
		flat = append(flat, row...)
	}
	x := graph.Convert(graph.Float64s(flat, len(rows), 3), graph.BFloat16)
	var calls []sample
	for _, columns := range []int{1, 5, 33} {
		y := graph.Ones(graph.ShapeOf(graph.BFloat16, 3, columns))
		calls = append(calls, sample{fmt.Sprintf("%d columns", columns), func(in []*array) []*array {
			return []*array{graph.Dot(in[0], in[1])}
		}, []*array{x, y}}, sample{fmt.Sprintf("%d columns, transposed", columns), func(in []*array) []*array {
			return []*array{graph.Einsum("ji,jk->ik", in[0], in[1])}
		}, []*array{graph.Transpose(x, 1, 0), y}})
	}
	eachSet(t, kernels.BF16, func(t *testing.T) {
		for k, got := range together(t, c, calls) {
			columns := got[0].Dim(1)
			for i, v := range floats(t, got[0]) {
				w, what := want[i/columns], fmt.Sprintf("row %d of %s", i/columns, calls[k].name)
				switch {
				case math.IsNaN(w):
					assert.True(t, math.IsNaN(v), "%s is %v", what, v)
				case math.IsInf(w, 0):
					assert.Equal(t, w, v, what)
				default:
					assert.InDelta(t, w, v, 1e-2*math.Abs(w), what)
				}
			}
		}
	})
}

// Sums of two parts of a long axis that come to less than the least normal number are zero, and NaN stays.
func TestBF16DotOfSmallParts(t *testing.T) {
	c := always(open(t, Options{}))
	const terms = 9001
	x := make([]float64, 3*terms)
	x[0], x[terms-1] = 0x1.8p-126, -0x1.4p-126
	x[terms], x[2*terms-1] = 0x1.8p-126, 0x1.4p-126
	x[2*terms], x[3*terms-1] = math.NaN(), 1
	eachSet(t, kernels.BF16, func(t *testing.T) {
		got, err := Jit2(c, graph.Dot)(graph.Convert(graph.Float64s(x, 3, terms), graph.BFloat16),
			graph.Ones(graph.ShapeOf(graph.BFloat16, terms, 2)))
		require.NoError(t, err)
		v := floats(t, got)
		assert.Equal(t, []float64{0, 0, 0x1.6p-125, 0x1.6p-125}, v[:4])
		assert.True(t, math.IsNaN(v[4]) && math.IsNaN(v[5]), "got %v", v)
	})
}

// The gradients of a mapped dense layer in bfloat16 call the kernel, for its results, its inputs and its weights, and
// are close to those in float64.
func TestBF16DotInGradients(t *testing.T) {
	c := always(open(t, Options{}))
	r := rand.New(rand.NewPCG(5, 6))
	loss := func(w [2]*graph.Array, x *graph.Array) *graph.Array {
		return graph.Mean(graph.VMap(func(x *graph.Array) *graph.Array {
			return graph.Sum(graph.Square(graph.Dot(graph.Tanh(graph.Dot(x, w[0])), w[1])))
		})(x))
	}
	in := [3]*graph.Array{halves(r, 24, 40), halves(r, 40, 9), halves(r, 50, 24)}
	grad := func(in [3]*graph.Array) [2]*graph.Array {
		return graph.Grad(func(w [2]*graph.Array) *graph.Array { return loss(w, in[2]) })([2]*graph.Array{in[0],
			in[1]})
	}
	want, err := Jit(&Reference{}, func(in [3]*graph.Array) [2]*graph.Array {
		for i := range in {
			in[i] = graph.Convert(in[i], graph.Float64)
		}
		return grad(in)
	})(in)
	require.NoError(t, err)
	l := lowered(t, c.Target(), grad, in)
	require.False(t, l.Graph.Uses("dot_general"))
	eachSet(t, kernels.BF16, func(t *testing.T) {
		got, err := Jit(c, grad)(in)
		require.NoError(t, err)
		for i := range want {
			w, g := floats(t, want[i]), floats(t, got[i])
			largest := max(slices.Max(w), -slices.Min(w))
			for k := range w {
				require.InDelta(t, w[k], g[k], 3e-2*largest, "gradient %d, element %d", i, k)
			}
		}
	})
}

func TestKernelSwitches(t *testing.T) {
	for _, c := range []struct {
		list string
		want kernelSwitches
		err  string
	}{
		{"", kernelSwitches{}, ""},
		{"none", kernelSwitches{none: true}, ""},
		{"-bf16", kernelSwitches{noBF16: true}, ""},
		{"-amx, -bf16", kernelSwitches{noBF16: true, noAMX: true}, ""},
		{"bf16", kernelSwitches{}, `XLARUN_KERNELS: got "bf16", want none, or some of -bf16, -int8 and -amx ` +
			`separated by commas`},
		{"-int8", kernelSwitches{noInt8: true}, ""},
		{"-bf16,", kernelSwitches{}, `XLARUN_KERNELS: got "-bf16,", want none`},
	} {
		got, err := readSwitches(c.list)
		if c.err != "" {
			require.ErrorContains(t, err, c.err)
			continue
		}
		require.NoError(t, err)
		assert.Equal(t, c.want, got, c.list)
	}
}

// A client lowers products of bfloat16 for what its processor has, and for what the variable leaves it.
func TestTargetOfSwitches(t *testing.T) {
	type products struct{ bf16, int8 bool }
	has := func(t kernels.Narrow) bool { return len(kernels.NarrowSets(t)) > 1 }
	for list, off := range map[string]products{"": {}, "-amx": {}, "-bf16": {bf16: true}, "-int8": {int8: true},
		"-bf16,-int8": {true, true}, "none": {true, true}, "none,-bf16": {true, true}} {
		here := products{has(kernels.BF16) && !off.bf16, has(kernels.Int8) && !off.int8}
		want := graph.Target{Platform: "cpu", Kernels: graph.WithKernels, BF16: here.bf16, Int8: here.int8,
			NoNormals: len(kernels.VectorSets()) < 2}
		if strings.HasPrefix(list, "none") {
			want = graph.TargetCPU
		}
		t.Setenv(kernels.Env, list)
		c := open(t, Options{})
		kernels.UseNarrowSet(kernels.BF16, -1)
		kernels.UseNarrowSet(kernels.Int8, -1)
		assert.Equal(t, want, c.Target(), list)
		assert.Equal(t, here, products{c.BF16Method() != "", c.Int8Method() != ""}, list)
	}
	t.Setenv(kernels.Env, "all")
	_, err := Open(t.Context(), Options{})
	require.ErrorContains(t, err, `got "all"`)
}

// Convolutions of bfloat16, of any layout, strides, padding and dilation, and the gradients of images and of weights,
// are what the reference interpreter gives, for every instruction set.
func TestBF16Conv(t *testing.T) {
	t.Parallel()
	c := always(open(t, Options{}))
	r := rand.New(rand.NewPCG(7, 8))
	type sample struct {
		name string
		fn   func(in []*graph.Array) *graph.Array
		in   []*graph.Array
	}
	var samples []sample
	for _, name := range []string{"conv", "conv_images", "conv_images_input", "conv_images_weights"} {
		for _, s := range graph.Table[name].Cases() {
			if s.Inputs[0].DType != graph.Float32 {
				continue
			}
			var in []*graph.Array
			for _, shape := range s.Inputs {
				in = append(in, halves(r, shape.Dims...))
			}
			samples = append(samples, sample{name + " " + s.Name, s.Fn, in})
		}
	}
	for _, s := range []struct {
		x, w []int
		opts []graph.WindowOption
	}{
		{[]int{7, 12, 11, 16}, []int{3, 3, 16, 37}, []graph.WindowOption{graph.SamePadding()}},
		{[]int{3, 9, 9, 3}, []int{4, 4, 3, 16}, []graph.WindowOption{graph.Strides(2, 3)}},
		{[]int{2, 20, 33}, []int{5, 33, 9}, []graph.WindowOption{graph.WindowDilation(2), graph.Padding([2]int{9, 1})}},
		{[]int{40, 6, 5, 1}, []int{3, 3, 1, 16}, []graph.WindowOption{graph.SamePadding()}},
		{[]int{2, 3, 9, 8}, []int{8, 3, 3, 3}, []graph.WindowOption{graph.Layout("NCHW", "OIHW", "NCHW")}},
	} {
		for _, gradient := range []int{-1, 0, 1} {
			samples = append(samples, sample{fmt.Sprintf("%v with %v, gradient of %d", s.x, s.w, gradient),
				func(in []*graph.Array) *graph.Array {
					f := func(x, w *graph.Array) *graph.Array { return graph.Conv(x, w, s.opts...) }
					if gradient < 0 {
						return f(in[0], in[1])
					}
					y, back := graph.Vjp(func(in [2]*graph.Array) *graph.Array {
						return f(in[0], in[1])
					}, [2]*graph.Array(in))
					return back(graph.Convert(graph.Sin(graph.Convert(graph.Reshape(graph.Iota(y.Size()),
						y.Dims()...), graph.Float32)), y.DType()))[gradient]
				}, []*graph.Array{halves(r, s.x...), halves(r, s.w...)}})
		}
	}
	var in [][]*graph.Array
	for _, s := range samples {
		in = append(in, s.in)
	}
	all := func(in [][]*graph.Array) (out []*graph.Array) {
		for i, s := range samples {
			out = append(out, s.fn(in[i]))
		}
		return out
	}
	exact, err := Jit(&Reference{}, func(in [][]*graph.Array) []*graph.Array {
		for _, row := range in {
			for i := range row {
				row[i] = graph.Convert(row[i], graph.Float64)
			}
		}
		return all(in)
	})(in)
	require.NoError(t, err)
	for i, s := range samples {
		l := lowered(t, c.Target(), s.fn, in[i])
		require.Equal(t, strings.Contains(s.name, "groups"), l.Graph.Uses("conv"), s.name)
		if s.name != "conv cut away" { // there all windows see zeros
			require.Equal(t, !l.Graph.Uses("conv"), l.Graph.Uses("custom_call"), s.name)
		}
	}
	run := Jit(c, all)
	eachSet(t, kernels.BF16, func(t *testing.T) {
		out, err := run(in)
		require.NoError(t, err)
		for i, s := range samples {
			require.Equal(t, exact[i].Dims(), out[i].Dims(), s.name)
			want, got := floats(t, exact[i]), floats(t, out[i])
			largest := 1.
			for _, v := range want {
				largest = max(largest, math.Abs(v))
			}
			for k := range want {
				require.InDelta(t, want[k], got[k], largest*0x1p-7, "%s, element %d", s.name, k)
			}
		}
	})
}
