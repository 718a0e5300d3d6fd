package graphtest_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	. "xlarun/graph"
	"xlarun/graph/fft"
	"xlarun/graph/graphtest"
	"xlarun/xlabridge"
	"xlarun/xlabridge/xlatest"
)

// The transpose of a linear function multiplies by the transpose of its matrix.
func TestLinearTranspose(t *testing.T) {
	type pair struct{ X, Y *Array }
	w := Float32s([]float32{1, 2, 3, 4, 5, 6}, 3, 2)
	like := pair{Abstract(ShapeOf(Float32, 2)), Abstract(ShapeOf(Float32, 3))}
	back := LinearTranspose(func(p pair) *Array { return Add(Mul(CumSum(Dot(w, p.X), 0), 2), p.Y.Neg()) }, like)
	ct := Float32s([]float32{1, 10, 100})
	got := back(ct)
	graphtest.Same(t, Mul(2, Dot(Float32s([]float32{111, 110, 100}), w)), got.X, graphtest.Both(1e-6))
	graphtest.Same(t, ct.Neg(), got.Y, graphtest.Tolerance{})

	one := Abstract(ShapeOf(Float32, 2))
	loop := LinearTranspose(func(x *Array) *Array {
		c, _ := Scan(func(c, k *Array) (*Array, None) {
			return Add(Mul(c, k), x), None{}
		}, Mul(x, 3), Float32s([]float32{2, 5}))
		return c
	}, one)
	// 5 (2·3 + 1) + 1
	graphtest.Same(t, Float32s([]float32{36, 72}), loop(Float32s([]float32{1, 2})), graphtest.Both(1e-6))

	conj := LinearTranspose(func(z *Array) *Array { return Mul(fft.FFT(z), 1i) }, Abstract(ShapeOf(Complex64, 2)))
	graphtest.Same(t, Complex64s([]complex64{3i, 1i}), conj(Complex64s([]complex64{2, 1})), graphtest.Both(1e-6))

	for _, c := range []struct {
		f    func(x *Array) *Array
		want string
	}{
		{func(x *Array) *Array { return Sin(x) }, "LinearTranspose: the function is not linear: " +
			"its derivative depends on the point, by cos at lineartranspose_test.go"},
		{func(x *Array) *Array { return Mul(x, x) }, "not linear"},
		{func(x *Array) *Array { return Max(x, 0) }, "not linear"},
		{func(x *Array) *Array { return Sum(x) }, "want equal shapes"},
	} {
		err := Try(func() { LinearTranspose(c.f, one)(Zeros(one.Shape())) })
		require.ErrorContains(t, err, c.want)
	}
}

// A function of the host that knows no lanes is called for each of them.
func TestEachLane(t *testing.T) {
	calls := 0
	RegisterHostFunction("half_sum", EachLane(func(args []*Array) ([]*Array, error) {
		calls++
		if args[0].Rank() != 1 {
			return nil, errors.New("got lanes")
		}
		return []*Array{Div(Sum(args[0]), 2), args[1]}, nil
	}))
	f := VMap(func(x *Array) []*Array {
		return HostCall("half_sum", []Shape{ShapeOf(Float32), ShapeOf(Int32)}, x, Of(int32(7)))
	})
	for _, b := range []xlabridge.Backend{&xlabridge.Reference{}, xlatest.OpenCPU(t, 0)} {
		calls = 0
		got, err := xlabridge.Jit(b, f)(Float32s([]float32{1, 2, 3, 4, 5, 6}, 3, 2))
		require.NoError(t, err)
		graphtest.Same(t, Float32s([]float32{1.5, 3.5, 5.5}), got[0], graphtest.Tolerance{})
		graphtest.Same(t, Of([]int32{7, 7, 7}), got[1], graphtest.Tolerance{})
		require.Equal(t, 3, calls)
		got, err = xlabridge.Jit(b, f)(Zeros(ShapeOf(Float32, 0, 2)))
		require.NoError(t, err)
		require.Equal(t, []int{0}, got[0].Dims())
	}
	RegisterHostFunction("ragged", EachLane(func(args []*Array) ([]*Array, error) {
		n, err := Float(args[0])
		return args[:int(n)], err
	}))
	_, err := xlabridge.Jit(&xlabridge.Reference{}, VMap(func(x *Array) []*Array {
		return HostCall("ragged", []Shape{x.Shape()}, x)
	}))(Float32s([]float32{1, 0}))
	require.ErrorContains(t, err, "lane 1 has 0 results, lane 0 has 1")
}
