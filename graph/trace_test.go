package graph_test

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	. "xlarun/graph"
	"xlarun/internal/long"
)

// updateLike is a program of the size of a PPO update: a policy and value network, a rollout by scan, advantages by a
// reverse scan, and the gradient of a clipped loss over minibatches, layers times over.
func updateLike(layers int) (func(w []*Array, x *Array) []*Array, []*Array, *Array) {
	const width = 8
	w := make([]*Array, layers)
	for i := range w {
		w[i] = Abstract(ShapeOf(Float32, width, width))
	}
	net := func(w []*Array, x *Array) *Array {
		for _, m := range w {
			h := Dot(x, m)
			h = Add(Mul(h, Logistic(h)), Tanh(Sub(x, Mean(x, -1))))
			x = Div(h, Sqrt(Add(Mean(Square(h)), 1e-5)))
		}
		return x
	}
	update := func(w []*Array, x *Array) []*Array {
		state, obs := Scan(func(s, _ *Array) (*Array, *Array) {
			a := VMap(func(v *Array) *Array { return net(w, v) })(s)
			return Clamp(-1, Add(s, Mul(a, .1)), 1), s
		}, x, Iota(16))
		_, adv := Scan(func(c, r *Array) (*Array, *Array) {
			c = Add(r, Mul(c, .99))
			return c, c
		}, Scalar(0), Mean(obs, 1, 2), ReverseScan())
		loss := func(w []*Array, mb [2]*Array) *Array {
			y := VMap(VMap(func(v *Array) *Array { return net(w, v) }))(mb[0])
			ratio := Exp(Sub(Mean(y, 1, 2), 1))
			return Neg(Mean(Min(Mul(ratio, mb[1]), Mul(Clamp(.8, ratio, 1.2), mb[1]))))
		}
		w, _ = Scan(func(w []*Array, mb [2]*Array) ([]*Array, None) {
			g := Grad2(loss)(w, mb)
			return MapTree2(func(p, d *Array) *Array { return Sub(p, Mul(d, 1e-3)) }, w, g), None{}
		}, w, [2]*Array{Reshape(obs, 4, 4, 4, width), Reshape(adv, 4, 4)})
		return append(w, state)
	}
	return update, w, Abstract(ShapeOf(Float32, 4, width))
}

// Tracing leaves nothing behind. Long form, 10,000 traces of a 1,000-op program:
// XLARUN_LONG=1 go test ./graph -run TracesLeaveMemoryFlat
func TestTracesLeaveMemoryFlat(t *testing.T) {
	update, w, x := updateLike(20)
	rounds := 60
	if long.On() {
		rounds = 10000
	}
	heap := func() uint64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	var before uint64
	for i := range rounds {
		p, err := Trace2("update", update, w, x)
		require.NoError(t, err)
		require.Greater(t, p.Graph.Count(), 500)
		if i == 10 {
			before = heap()
		}
	}
	require.Less(t, heap(), before+1<<20, "heap after %d traces", rounds)
	require.Zero(t, OpenTraces(), "open traces")
}
