package graph_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/graph"
	"xlarun/graph/fft"
	"xlarun/graph/graphtest"
	"xlarun/xlabridge"
	"xlarun/xlabridge/xlatest"
)

// The transpose of a linear function multiplies by the transpose of its matrix.
func TestLinearTranspose(t *testing.T) {
	type pair struct{ X, Y *graph.Array }
	w := graph.Float32s([]float32{1, 2, 3, 4, 5, 6}, 3, 2)
	like := pair{graph.Abstract(graph.ShapeOf(graph.Float32, 2)), graph.Abstract(graph.ShapeOf(graph.Float32, 3))}
	back := graph.LinearTranspose(func(p pair) *graph.Array {
		return graph.Add(graph.Mul(graph.CumSum(graph.Dot(w, p.X), 0), 2), p.Y.Neg())
	}, like)
	ct := graph.Float32s([]float32{1, 10, 100})
	got := back(ct)
	graphtest.Same(t, graph.Mul(2, graph.Dot(graph.Float32s([]float32{111, 110, 100}), w)), got.X, graphtest.Both(1e-6))
	graphtest.Same(t, ct.Neg(), got.Y, graphtest.Tolerance{})

	one := graph.Abstract(graph.ShapeOf(graph.Float32, 2))
	loop := graph.LinearTranspose(func(x *graph.Array) *graph.Array {
		c, _ := graph.Scan(func(c, k *graph.Array) (*graph.Array, graph.None) {
			return graph.Add(graph.Mul(c, k), x), graph.None{}
		}, graph.Mul(x, 3), graph.Float32s([]float32{2, 5}))
		return c
	}, one)
	// 5 (2·3 + 1) + 1
	graphtest.Same(t, graph.Float32s([]float32{36, 72}), loop(graph.Float32s([]float32{1, 2})), graphtest.Both(1e-6))

	conj := graph.LinearTranspose(func(z *graph.Array) *graph.Array { return graph.Mul(fft.FFT(z), 1i) },
		graph.Abstract(graph.ShapeOf(graph.Complex64, 2)))
	graphtest.Same(t, graph.Complex64s([]complex64{3i, 1i}), conj(graph.Complex64s([]complex64{2, 1})),
		graphtest.Both(1e-6))

	for _, c := range []struct {
		f    func(x *graph.Array) *graph.Array
		want string
	}{
		{func(x *graph.Array) *graph.Array { return graph.Sin(x) }, "LinearTranspose: the function is not linear: " +
			"its derivative depends on the point, by cos at lineartranspose_test.go"},
		{func(x *graph.Array) *graph.Array { return graph.Mul(x, x) }, "not linear"},
		{func(x *graph.Array) *graph.Array { return graph.Max(x, 0) }, "not linear"},
		{func(x *graph.Array) *graph.Array { return graph.Sum(x) }, "want equal shapes"},
	} {
		err := graph.Try(func() { graph.LinearTranspose(c.f, one)(graph.Zeros(one.Shape())) })
		require.ErrorContains(t, err, c.want)
	}
}

// A function of the host that knows no lanes is called for each of them.
func TestEachLane(t *testing.T) {
	calls := 0
	graph.RegisterHostFunction("half_sum", graph.EachLane(func(args []*graph.Array) ([]*graph.Array, error) {
		calls++
		if args[0].Rank() != 1 {
			return nil, errors.New("got lanes")
		}
		return []*graph.Array{graph.Div(graph.Sum(args[0]), 2), args[1]}, nil
	}))
	f := graph.VMap(func(x *graph.Array) []*graph.Array {
		return graph.HostCall("half_sum", []graph.Shape{graph.ShapeOf(graph.Float32), graph.ShapeOf(graph.Int32)}, x,
			graph.Of(int32(7)))
	})
	for _, b := range []xlabridge.Backend{&xlabridge.Reference{}, xlatest.OpenCPU(t, 0)} {
		calls = 0
		got, err := xlabridge.Jit(b, f)(graph.Float32s([]float32{1, 2, 3, 4, 5, 6}, 3, 2))
		require.NoError(t, err)
		graphtest.Same(t, graph.Float32s([]float32{1.5, 3.5, 5.5}), got[0], graphtest.Tolerance{})
		graphtest.Same(t, graph.Of([]int32{7, 7, 7}), got[1], graphtest.Tolerance{})
		require.Equal(t, 3, calls)
		got, err = xlabridge.Jit(b, f)(graph.Zeros(graph.ShapeOf(graph.Float32, 0, 2)))
		require.NoError(t, err)
		require.Equal(t, []int{0}, got[0].Dims())
	}
	graph.RegisterHostFunction("ragged", graph.EachLane(func(args []*graph.Array) ([]*graph.Array, error) {
		n, err := graph.Float(args[0])
		return args[:int(n)], err
	}))
	_, err := xlabridge.Jit(&xlabridge.Reference{}, graph.VMap(func(x *graph.Array) []*graph.Array {
		return graph.HostCall("ragged", []graph.Shape{x.Shape()}, x)
	}))(graph.Float32s([]float32{1, 0}))
	require.ErrorContains(t, err, "lane 1 has 0 results, lane 0 has 1")
}
