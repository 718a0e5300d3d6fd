package graphtest_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	. "xlarun/graph"
	"xlarun/graph/linalg"
	"xlarun/xlabridge"
)

// Linear algebra of matrices without elements, as JAX does it, also under VMap over no lanes.
func TestEmptyMatrices(t *testing.T) {
	empty := func(dims ...int) *Array { return Zeros(ShapeOf(Float32, dims...)) }
	square := []struct {
		name string
		f    func(x *Array) []*Array
		one  []string // the shapes' dims for one matrix [0, 0]
		many []string // for [0, 3, 3]
	}{
		{"Cholesky", func(x *Array) []*Array { return []*Array{linalg.Cholesky(x)} },
			[]string{"f32[0,0]"}, []string{"f32[0,3,3]"}},
		{"Eigh", func(x *Array) []*Array {
			w, v := linalg.Eigh(x)
			return []*Array{w, v}
		}, []string{"f32[0]", "f32[0,0]"}, []string{"f32[0,3]", "f32[0,3,3]"}},
		{"Eig", func(x *Array) []*Array {
			e := linalg.Eig(x)
			return []*Array{e.Re, e.Im, e.VectorsRe, e.VectorsIm}
		}, []string{"f32[0]", "f32[0]", "f32[0,0]", "f32[0,0]"},
			[]string{"f32[0,3]", "f32[0,3]", "f32[0,3,3]", "f32[0,3,3]"}},
		{"LU", func(x *Array) []*Array {
			lu, pivots, order := linalg.LU(x)
			return []*Array{lu, pivots, order}
		}, []string{"f32[0,0]", "i32[0]", "i32[0]"}, []string{"f32[0,3,3]", "i32[0,3]", "i32[0,3]"}},
		{"QR", func(x *Array) []*Array {
			q, r := linalg.QR(x)
			return []*Array{q, r}
		}, []string{"f32[0,0]", "f32[0,0]"}, []string{"f32[0,3,3]", "f32[0,3,3]"}},
		{"SVD", func(x *Array) []*Array {
			u, s, vt := linalg.SVD(x)
			return []*Array{u, s, vt}
		}, []string{"f32[0,0]", "f32[0]", "f32[0,0]"}, []string{"f32[0,3,3]", "f32[0,3]", "f32[0,3,3]"}},
		{"Det", func(x *Array) []*Array { return []*Array{linalg.Det(x)} }, []string{"f32[]"}, []string{"f32[0]"}},
		{"SlogDet", func(x *Array) []*Array {
			sign, log := linalg.SlogDet(x)
			return []*Array{sign, log}
		}, []string{"f32[]", "f32[]"}, []string{"f32[0]", "f32[0]"}},
		{"Inverse", func(x *Array) []*Array { return []*Array{linalg.Inv(x)} },
			[]string{"f32[0,0]"}, []string{"f32[0,3,3]"}},
		{"Expm", func(x *Array) []*Array { return []*Array{linalg.Expm(x)} },
			[]string{"f32[0,0]"}, []string{"f32[0,3,3]"}},
		{"Pinv", func(x *Array) []*Array { return []*Array{linalg.Pinv(x)} },
			[]string{"f32[0,0]"}, []string{"f32[0,3,3]"}},
		{"Solve", func(x *Array) []*Array {
			return []*Array{linalg.Solve(x, empty(x.Dims()...)), linalg.TriangularSolve(x, empty(x.Dims()...))}
		}, []string{"f32[0,0]", "f32[0,0]"}, []string{"f32[0,3,3]", "f32[0,3,3]"}},
	}
	for _, c := range square {
		t.Run(c.name, func(t *testing.T) {
			require.Equal(t, c.one, shapes(c.f(empty(0, 0))))
			require.Equal(t, c.many, shapes(c.f(empty(0, 3, 3))))
			require.Equal(t, c.many, shapes(VMap(c.f)(empty(0, 3, 3))))
			out, err := xlabridge.Jit(&xlabridge.Reference{}, VMap(c.f))(empty(0, 3, 3))
			require.NoError(t, err)
			require.Equal(t, c.many, shapes(out))
		})
	}
	for _, x := range []*Array{linalg.Det(empty(0, 0)), Exp(linalg.LogDet(empty(0, 0)))} {
		v, err := Floats(x)
		require.NoError(t, err)
		require.Equal(t, []float64{1}, v)
	}
	q, r := linalg.QR(empty(3, 0))
	u, s, vt := linalg.SVD(empty(0, 3))
	require.Equal(t, []string{"f32[3,0]", "f32[0,0]", "f32[0,0]", "f32[0]", "f32[0,3]"},
		shapes([]*Array{q, r, u, s, vt}))
	require.Equal(t, "f32[0]", linalg.Solve(empty(0, 0), empty(0)).Shape().String())
	none := VMap(func(b *Array) []*Array {
		eye := Eye(Float32, 3)
		return []*Array{linalg.Solve(eye, b), linalg.TriangularSolve(eye, b)}
	})(empty(0, 3, 2))
	require.Equal(t, []string{"f32[0,3,2]", "f32[0,3,2]"}, shapes(none), "one matrix for no right-hand sides")
	require.Equal(t, "f32[3,0]", linalg.Solve(Eye(Float32, 3), empty(3, 0)).Shape().String())
	require.Equal(t, "f32[0,0]", Grad(func(x *Array) *Array {
		return Sum(linalg.Cholesky(x)).Add(linalg.Det(x))
	})(empty(0, 0)).Shape().String())
	k, i := TopK(empty(2, 0), 0)
	require.Equal(t, []string{"f32[2,0]", "i32[2,0]"}, shapes([]*Array{k, i}))
	require.ErrorContains(t, Try(func() { TopK(empty(2, 2), 3) }), "k is 3 for f32[2,2]; want from 0 to 2")
}

func shapes(arrays []*Array) (out []string) {
	for _, a := range arrays {
		out = append(out, a.Shape().String())
	}
	return out
}
