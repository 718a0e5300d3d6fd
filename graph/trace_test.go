package graph_test

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/graph"
	"xlarun/graph/lower"
	"xlarun/internal/long"
)

// updateLike is a program of the size of a PPO update: a policy and value network, a rollout by scan, advantages by a
// reverse scan, and the gradient of a clipped loss over minibatches, layers times over.
func updateLike(layers int) (func(w []*graph.Array, x *graph.Array) []*graph.Array, []*graph.Array, *graph.Array) {
	const width = 8
	w := make([]*graph.Array, layers)
	for i := range w {
		w[i] = graph.Abstract(graph.ShapeOf(graph.Float32, width, width))
	}
	net := func(w []*graph.Array, x *graph.Array) *graph.Array {
		for _, m := range w {
			h := graph.Dot(x, m)
			h = graph.Add(graph.Mul(h, graph.Logistic(h)), graph.Tanh(graph.Sub(x, graph.Mean(x, -1))))
			x = graph.Div(h, graph.Sqrt(graph.Add(graph.Mean(graph.Square(h)), 1e-5)))
		}
		return x
	}
	update := func(w []*graph.Array, x *graph.Array) []*graph.Array {
		state, obs := graph.Scan(func(s, _ *graph.Array) (*graph.Array, *graph.Array) {
			a := graph.VMap(func(v *graph.Array) *graph.Array { return net(w, v) })(s)
			return graph.Clamp(-1, graph.Add(s, graph.Mul(a, .1)), 1), s
		}, x, graph.Iota(16))
		_, adv := graph.Scan(func(c, r *graph.Array) (*graph.Array, *graph.Array) {
			c = graph.Add(r, graph.Mul(c, .99))
			return c, c
		}, graph.Scalar(0), graph.Mean(obs, 1, 2), graph.ReverseScan())
		loss := func(w []*graph.Array, mb [2]*graph.Array) *graph.Array {
			y := graph.VMap(graph.VMap(func(v *graph.Array) *graph.Array { return net(w, v) }))(mb[0])
			ratio := graph.Exp(graph.Sub(graph.Mean(y, 1, 2), 1))
			return graph.Neg(graph.Mean(graph.Min(graph.Mul(ratio, mb[1]),
				graph.Mul(graph.Clamp(.8, ratio, 1.2), mb[1]))))
		}
		w, _ = graph.Scan(func(w []*graph.Array, mb [2]*graph.Array) ([]*graph.Array, graph.None) {
			g := graph.Grad2(loss)(w, mb)
			return graph.MapTree2(func(p, d *graph.Array) *graph.Array { return graph.Sub(p, graph.Mul(d, 1e-3)) }, w,
				g), graph.None{}
		}, w, [2]*graph.Array{graph.Reshape(obs, 4, 4, 4, width), graph.Reshape(adv, 4, 4)})
		return append(w, state)
	}
	return update, w, graph.Abstract(graph.ShapeOf(graph.Float32, 4, width))
}

// BenchmarkTrace is the time to trace, transform, simplify, lower and emit a program of some 5,000 ops.
func BenchmarkTrace(b *testing.B) {
	update, w, x := updateLike(110)
	for b.Loop() {
		p, err := graph.Trace2("update", update, w, x)
		require.NoError(b, err)
		b.ReportMetric(float64(p.Graph.Count()), "ops")
		l, err := lower.Lower(p, graph.TargetCPUKernels)
		require.NoError(b, err)
		b.ReportMetric(float64(len(l.StableHLO))/1e3, "kB")
		b.ReportMetric(l.Seconds*1e3, "ms-lower")
	}
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
		p, err := graph.Trace2("update", update, w, x)
		require.NoError(t, err)
		require.Greater(t, p.Graph.Count(), 500)
		if i == 10 {
			before = heap()
		}
	}
	require.Less(t, heap(), before+1<<20, "heap after %d traces", rounds)
	require.Zero(t, graph.OpenTraces(), "open traces")
}

// Lowering says the same in a program traced anew, as a cache of compiled programs needs.
func TestLoweringIsStable(t *testing.T) {
	update, w, x := updateLike(2)
	var texts []string
	for range 2 {
		p, err := graph.Trace2("update", update, w, x)
		require.NoError(t, err)
		l, err := lower.Lower(p, graph.TargetCPUKernels)
		require.NoError(t, err)
		texts = append(texts, l.StableHLO)
		require.Len(t, l.Fingerprint, 64)
	}
	require.Equal(t, texts[0], texts[1])
}
