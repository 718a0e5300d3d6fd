package xlabridge

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/graph"
	"xlarun/graph/lower"
	"xlarun/xlabridge/kernels"
)

// randomBytes makes an array of bytes, many of them the least and the largest ones.
func randomBytes(r *rand.Rand, d graph.DType, dims ...int) *graph.Array {
	s := graph.ShapeOf(d, dims...)
	data := make([]byte, s.Size())
	for i := range data {
		switch r.IntN(6) {
		case 0:
			data[i] = 0x80
		case 1:
			data[i] = 0x7f
		case 2:
			data[i] = 0xff
		default:
			data[i] = byte(r.Uint32())
		}
	}
	return graph.FromBytes(s, data)
}

// int8Dot is a product of bytes by the axes of an Einsum of two arrays, with the result's axes in StableHLO's order.
func int8Dot(spec string, x, y *graph.Array) *graph.Array {
	left, rest := spec[:x.Rank()], spec[x.Rank()+1:]
	right, out := rest[:y.Rank()], rest[y.Rank()+2:]
	var xBatch, yBatch, xContract, yContract []int
	for i, letter := range left {
		for k, other := range right {
			if letter != other {
				continue
			}
			kept := false
			for _, o := range out {
				kept = kept || o == letter
			}
			if kept {
				xBatch, yBatch = append(xBatch, i), append(yBatch, k)
			} else {
				xContract, yContract = append(xContract, i), append(yContract, k)
			}
		}
	}
	return graph.DotGeneral(x, y, xBatch, yBatch, xContract, yContract, graph.PreferredDType(graph.Int32))
}

// Products of bytes are exactly what the reference interpreter gives, for every instruction set, the emulated tiles
// included: odd sizes, operands that lie across, -128 and 127, with a sign on both sides and on the right only.
func TestInt8Dot(t *testing.T) {
	t.Parallel()
	c := always(open(t, Options{}))
	r := rand.New(rand.NewPCG(28, 100))
	var in [][2]*graph.Array
	var specs []string
	for _, left := range []graph.DType{graph.Int8, graph.Uint8} {
		for _, p := range products {
			specs = append(specs, p.spec)
			in = append(in, [2]*graph.Array{randomBytes(r, left, p.x...), randomBytes(r, graph.Int8, p.y...)})
		}
	}
	all := func(in [][2]*graph.Array) (out []*graph.Array) {
		for i, spec := range specs {
			out = append(out, int8Dot(spec, in[i][0], in[i][1]))
		}
		return out
	}
	lowered := lowered(t, c.Target(), all, in)
	require.True(t, lowered.Graph.Uses("custom_call"))
	require.False(t, lowered.Graph.Uses("dot_general"))
	want, err := Jit(&Reference{}, all)(in)
	require.NoError(t, err)
	run := Jit(c, all)
	eachSet(t, kernels.Int8, func(t *testing.T) {
		got, err := run(in)
		require.NoError(t, err)
		for i, spec := range specs {
			require.Equal(t, floats(t, want[i]), floats(t, got[i]), "%s of %v", spec, in[i][0].Shape())
		}
	})
}

// Where no kernel is called, for products of no elements and under VMap, results are the reference's, too.
func TestInt8DotWithoutKernel(t *testing.T) {
	r := rand.New(rand.NewPCG(28, 101))
	dot := func(x, y *graph.Array) *graph.Array { return int8Dot("ij,jk->ik", x, y) }
	var calls []sample
	for _, c := range []struct {
		name string
		x, y []int
		fn   func(x, y *graph.Array) *graph.Array
	}{
		{"no rows", []int{0, 5}, []int{5, 3}, dot},
		{"no terms", []int{9, 0}, []int{0, 12}, dot},
		{"lanes on both sides", []int{4, 9, 33}, []int{4, 33, 17}, graph.VMap2(dot)},
		{"batch last", []int{9, 33, 4}, []int{33, 17, 4}, func(x, y *graph.Array) *graph.Array {
			return graph.VMap2(dot, graph.InAxes(2, 2), graph.BatchLast())(x, y)
		}},
		{"a vector", []int{40, 300}, []int{300}, func(x, y *graph.Array) *graph.Array {
			return int8Dot("ij,j->i", x, y)
		}},
	} {
		calls = append(calls, sample{c.name, func(in []*array) []*array { return []*array{c.fn(in[0], in[1])} },
			[]*array{randomBytes(r, graph.Int8, c.x...), randomBytes(r, graph.Int8, c.y...)}})
	}
	want := together(t, &Reference{}, calls)
	for _, client := range []*Client{open(t, Options{}), always(open(t, Options{}))} {
		for i, got := range together(t, client, calls) {
			require.Equal(t, want[i][0].Shape(), got[0].Shape(), calls[i].name)
			require.Equal(t, floats(t, want[i][0]), floats(t, got[0]), calls[i].name)
		}
	}
}

// Sums beyond int32 wrap around, as those of int32 do.
func TestInt8DotWraps(t *testing.T) {
	c := always(open(t, Options{}))
	const terms = 140000 // of 128 * 128
	least := func(dims ...int) *graph.Array {
		return graph.Full(graph.ShapeOf(graph.Int8, dims...), -128)
	}
	sum := int64(terms) * 128 * 128
	require.Greater(t, sum, int64(math.MaxInt32))
	eachSet(t, kernels.Int8, func(t *testing.T) {
		got, err := Jit2(c, func(x, y *graph.Array) *graph.Array { return int8Dot("ij,jk->ik", x, y) })(
			least(8, terms), least(terms, 8))
		require.NoError(t, err)
		for i, v := range floats(t, got) {
			require.Equal(t, float64(int32(sum)), v, fmt.Sprintf("element %d", i))
		}
	})
}

// Products of bfloat16 with a float32 result have the rounding of float32 sums alone, for every instruction set.
func TestBF16DotToFloat32(t *testing.T) {
	c := always(open(t, Options{}))
	r := rand.New(rand.NewPCG(28, 107))
	dot := func(x, y *graph.Array) *graph.Array {
		return graph.DotGeneral(x, y, nil, nil, []int{1}, []int{0}, graph.PreferredDType(graph.Float32))
	}
	x, y := halves(r, 33, 700), halves(r, 700, 45)
	want, err := Jit2(&Reference{}, func(x, y *graph.Array) *graph.Array {
		return graph.Dot(x.Convert(graph.Float64), y.Convert(graph.Float64))
	})(x, y)
	require.NoError(t, err)
	gradient := func(x, y *graph.Array) [2]*graph.Array {
		return graph.Grad(func(in [2]*graph.Array) *graph.Array {
			return graph.Sum(graph.Square(dot(in[0], in[1])))
		})([2]*graph.Array{x, y})
	}
	p, err := graph.Trace("gradient", func(in [2]*graph.Array) [2]*graph.Array {
		return gradient(in[0], in[1])
	}, [2]*graph.Array{x, y})
	require.NoError(t, err)
	l, err := lower.Lower(p, c.Target())
	require.NoError(t, err)
	require.False(t, l.Graph.Uses("dot_general"), "the gradient's products call the kernel")
	eachSet(t, kernels.BF16, func(t *testing.T) {
		got, err := Jit2(c, dot)(x, y)
		require.NoError(t, err)
		require.Equal(t, graph.Float32, got.DType())
		w := floats(t, want)
		for i, v := range floats(t, got) {
			require.InDelta(t, w[i], v, 2e-4, "element %d", i)
		}
	})
	g, err := Jit2(c, gradient)(x, y)
	require.NoError(t, err)
	require.Equal(t, graph.BFloat16, g[0].DType(), "gradients have the operands' dtype")
	require.Equal(t, graph.BFloat16, g[1].DType())
}
