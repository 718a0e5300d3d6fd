package graph

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func floatsOf(t *testing.T, a *Array) []float64 {
	t.Helper()
	v, err := Floats(a)
	require.NoError(t, err)
	return v
}

type weights struct {
	W    *Array
	Rows []*Array
	N    *Array // int32
}

func someWeights() weights {
	return weights{Float32s([]float32{1, 2, 3, 4}, 2, 2), []*Array{Float32s([]float32{5, 6}), Scalar(7)}, Of(2)}
}

func (w weights) loss(x *Array) *Array {
	y := Add(Dot(w.W, Mul(x, w.Rows[0])), w.Rows[1])
	return Mul(Sum(Square(y)), Convert(w.N, Float32))
}

func TestGradsBySeveralArguments(t *testing.T) {
	x := Float32s([]float32{1, -1})
	f := func(w weights, x, s *Array) *Array { return Mul(w.loss(x), s) }
	w := someWeights()
	type arguments struct {
		W    weights
		X, S *Array
	}
	v, d := ValueAndGrad(func(a arguments) *Array { return f(a.W, a.X, a.S) })(arguments{w, x, Scalar(2)})
	require.Equal(t, floatsOf(t, f(w, x, Scalar(2))), floatsOf(t, v))
	one := Grad(func(w weights) *Array { return f(w, x, Scalar(2)) })(w)
	require.Equal(t, floatsOf(t, one.W), floatsOf(t, d.W.W))
	require.Equal(t, floatsOf(t, Grad(func(x *Array) *Array { return f(w, x, Scalar(2)) })(x)), floatsOf(t, d.X))
	require.Equal(t, floatsOf(t, w.loss(x)), floatsOf(t, d.S))
	require.Equal(t, []float64{0}, floatsOf(t, d.W.N))
	a, b := Grads2(func(a, b *Array) *Array { return Sum(Mul(Square(a), b)) })(x, Float32s([]float32{3, 4}))
	require.Equal(t, []float64{6, -8}, floatsOf(t, a))
	require.Equal(t, []float64{1, 1}, floatsOf(t, b))
}

// What is not used of several gradients is not computed.
func TestUnusedGradientsAreDropped(t *testing.T) {
	f := func(a, b *Array) *Array { return Sum(Dot(a, b)) }
	nodes := func(g func(a, b *Array) *Array) int {
		p, err := Trace2("g", g, Abstract(ShapeOf(Float32, 3, 4)), Abstract(ShapeOf(Float32, 4, 5)))
		require.NoError(t, err)
		return p.Graph.Count()
	}
	one := nodes(func(a, b *Array) *Array { return Grad2(f)(a, b) })
	require.Equal(t, one, nodes(func(a, b *Array) *Array { da, _ := Grads2(f)(a, b); return da }))
}

func TestGradWhere(t *testing.T) {
	w, x := someWeights(), Float32s([]float32{1, -1})
	f := func(w weights) *Array { return w.loss(x) }
	all := Grad(f)(w)
	v, some := ValueAndGradWhere(func(path string, _ *Array) bool { return path != ".W" }, f)(w)
	require.Equal(t, floatsOf(t, f(w)), floatsOf(t, v))
	require.Equal(t, []float64{0, 0, 0, 0}, floatsOf(t, some.W))
	require.Equal(t, floatsOf(t, all.Rows[0]), floatsOf(t, some.Rows[0]))
	require.Equal(t, floatsOf(t, all.Rows[1]), floatsOf(t, some.Rows[1]))
	require.Equal(t, []float64{0}, floatsOf(t, some.N))
	require.ErrorContains(t, Try(func() {
		GradWhere(func(string, *Array) bool { return false }, f)(w)
	}), "no float leaf of the argument is picked")
}

func TestInAxesAt(t *testing.T) {
	w := someWeights()
	lanes := w
	lanes.W = Stack([]*Array{w.W, Mul(w.W, 2), Mul(w.W, 3)}, 2)    // mapped along the last axis
	lanes.Rows = []*Array{w.Rows[0], Float32s([]float32{7, 8, 9})} // not mapped, mapped
	x := Float32s([]float32{1, -1, 2, -2, 3, -3}, 3, 2)            // mapped
	f := func(w weights, x *Array) *Array { return w.loss(x) }     //
	at := []VMapOption{InAxes(Unmapped, 0), InAxesAt(0, ".W", -1), InAxesAt(0, ".Rows", 0),
		InAxesAt(0, ".Rows[0]", Unmapped)}
	got := floatsOf(t, VMap2(f, at...)(lanes, x))
	for i := range 3 {
		one := weights{Mul(w.W, i+1), []*Array{w.Rows[0], Scalar(float64(7 + i))}, w.N}
		require.Equal(t, floatsOf(t, f(one, Index(x, i))), []float64{got[i]}, "lane %d", i)
	}
	for i, c := range []struct {
		want string
		opts []VMapOption
	}{
		{"InAxesAt names \".Row\", but argument 0 has no leaf there: it has .W, .Rows[0], .Rows[1], .N", []VMapOption{
			InAxesAt(0, ".Row", 0)}},
		{"InAxesAt names argument 2 of a function of 2 arguments", []VMapOption{InAxesAt(2, "", 0)}},
	} {
		require.ErrorContains(t, Try(func() { VMap2(f, c.opts...)(lanes, x) }), c.want, i+1)
	}
}

// Jacobians and Hessians of trees consist of those of single arrays.
func TestJacobiansOfTrees(t *testing.T) {
	w, x := someWeights(), Float32s([]float32{1, -1})
	type result struct{ Y, Z, Best *Array }
	f := func(w weights) result {
		y := Tanh(Mul(Dot(w.W, Mul(x, w.Rows[0])), w.Rows[1]))
		return result{y, Sum(Square(w.W)), ArgMax(y, 0)}
	}
	forward, reverse := JacFwdTree(f)(w), JacRevTree(f)(w)
	require.Len(t, forward, 3)
	require.Len(t, reverse, 3)
	for i, j := range forward {
		a, tree := Flatten(j)
		for k, b := range Leaves(reverse[i]) {
			require.Equal(t, a[k].Shape().String(), b.Shape().String())
			require.InDeltaSlice(t, floatsOf(t, a[k]), floatsOf(t, b), 1e-5, "%d %s", i, tree.Path(k))
		}
	}
	byW := func(m *Array) *Array { v := w; v.W = m; return f(v).Y }
	require.Equal(t, []int{2, 2, 2}, forward[0].W.Dims())
	require.InDeltaSlice(t, floatsOf(t, JacFwd(byW)(w.W)), floatsOf(t, forward[0].W), 1e-6)
	require.Equal(t, []int{2, 2}, forward[0].Rows[0].Dims())
	require.Equal(t, []int{2}, forward[0].Rows[1].Dims())
	require.Equal(t, []int{2, 2}, forward[1].W.Dims())
	for _, l := range Leaves(forward[2]) {
		for _, v := range floatsOf(t, l) {
			require.Zero(t, v)
		}
	}
	loss := func(w weights) *Array { return w.loss(x) }
	h := HessianTree(loss)(w)
	require.Equal(t, []int{2, 2, 2, 2}, h[0].W.Dims())
	require.Equal(t, []int{2, 2, 2}, h[0].Rows[0].Dims())
	require.InDeltaSlice(t, floatsOf(t, Hessian(func(m *Array) *Array {
		v := w
		v.W = m
		return loss(v)
	})(w.W)), floatsOf(t, h[0].W), 1e-3)
	cross := JacRev(func(m *Array) *Array {
		v := w
		v.W = m
		return Grad(func(r *Array) *Array { u := v; u.Rows = []*Array{r, w.Rows[1]}; return loss(u) })(w.Rows[0])
	})(w.W)
	require.InDeltaSlice(t, floatsOf(t, cross), floatsOf(t, h[1].W), 1e-3)
	none := JacFwdTree(func(i *Array) *Array { return Mul(i, 2) })(Iota(3))
	require.Equal(t, []int{3, 3}, none[0].Dims())
}
