package nn_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/graph"
	"xlarun/graph/nn"
	"xlarun/graph/random"
	"xlarun/xlabridge"
	"xlarun/xlabridge/xlatest"
)

// A quantized layer's results equal a loop's that rounds rows and columns to 255 steps.
func TestQuantizedDense(t *testing.T) {
	r := rand.New(rand.NewPCG(28, 112))
	const rows, in, out = 5, 19, 11
	x, w, b := make([]float32, rows*in), make([]float32, in*out), make([]float32, out)
	for _, list := range [][]float32{x, w, b} {
		for i := range list {
			list[i] = float32(r.NormFloat64())
		}
	}
	copy(x[in:], make([]float32, in)) // row 1 is zeros
	for i := range in {
		w[i*out+3] = 0 // and so is column 3
	}
	want := make([]float32, rows*out)
	largest := func(list []float32, first, step, n int) (m float64) {
		for i := range n {
			m = max(m, math.Abs(float64(list[first+i*step])))
		}
		return m
	}
	step := func(v float32, m float64) float64 {
		if m == 0 {
			return 0
		}
		return math.RoundToEven(float64(v / float32(m/127)))
	}
	for i := range rows {
		for k := range out {
			mx, mw, sum := largest(x, i*in, 1, in), largest(w, k, out, in), 0.
			for j := range in {
				sum += step(x[i*in+j], mx) * step(w[j*out+k], mw)
			}
			want[i*out+k] = float32(sum*mx/127*mw/127) + b[k]
		}
	}
	apply := func(d nn.Dense, x *graph.Array) *graph.Array { return d.Quantize().Apply(x) }
	for name, backend := range xlatest.Backends(t) {
		got, err := xlabridge.Jit2(backend, apply)(nn.Dense{W: graph.Float32s(w, in, out), B: graph.Float32s(b, out)},
			graph.Float32s(x, rows, in))
		require.NoError(t, err)
		require.Equal(t, []int{rows, out}, got.Dims())
		for i, v := range floats(t, got) {
			require.InDelta(t, want[i], v, 1e-5, "%s, element %d", name, i)
		}
	}
}

// A quantized network is close to the network, also mapped, and only the rows of NaN and infinities are NaN.
func TestQuantizedMLP(t *testing.T) {
	m := nn.NewMLP(random.New(1), []int{64, 128, 128, 8}, nn.Hidden("relu"))
	x := random.Normal(random.New(2), graph.ShapeOf(graph.Float32, 32, 64))
	bad := graph.Concatenate(0, graph.Full(graph.ShapeOf(graph.Float32, 1, 64), math.NaN()),
		graph.Full(graph.ShapeOf(graph.Float32, 1, 64), math.Inf(1)), x)
	out, err := xlabridge.Jit2(xlatest.Backends(t)["xla"], func(x, bad *graph.Array) [3]*graph.Array {
		q := m.Quantize()
		return [3]*graph.Array{graph.VMap(m.Apply)(x), graph.VMap(q.Apply)(x), q.Apply(bad)}
	})(x, bad)
	require.NoError(t, err)
	exact, mapped, whole := floats(t, out[0]), floats(t, out[1]), floats(t, out[2])
	largest := max(slices.Max(exact), -slices.Min(exact))
	for i, v := range exact {
		require.InDelta(t, v, mapped[i], .03*largest, "element %d", i)
		require.InDelta(t, mapped[i], whole[16+i], 1e-5, "element %d", i)
	}
	for i := range 16 {
		require.True(t, math.IsNaN(whole[i]), "element %d of a row of NaN or infinities", i)
	}
}

// An input of another size is refused in one sentence.
func TestQuantizedDenseRefuses(t *testing.T) {
	_, err := xlabridge.Jit(&xlabridge.Reference{}, func(x *graph.Array) *graph.Array {
		return nn.NewDense(random.New(0), 4, 2).Quantize().Apply(x)
	})(graph.Float32s(make([]float32, 6), 2, 3))
	require.ErrorContains(t, err, "got an input f32[2,3], want a last axis of 4")
}
