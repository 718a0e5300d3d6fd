package nn_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/graph"
	"xlarun/graph/nn"
	"xlarun/internal/long"
	"xlarun/xlabridge"
	"xlarun/xlabridge/xlatest"
)

// Normalized equal elements are 0, however large they are, and a large common part costs no digits. A plain mean of
// equal elements is another number: on XLA up to 8 standard deviations were left of them.
func TestNormsOfEqualElements(t *testing.T) {
	layer := nn.NewLayerNorm(5, nn.Epsilon(1e-12))
	layer.Scale, layer.Bias = nil, nil
	group, batch := nn.GroupNorm{Groups: 1, Epsilon: 1e-12}, nn.BatchNorm{Epsilon: 1e-12}
	lanes := nn.BatchNorm{Epsilon: 1e-12, Axis: "batch"}
	state := nn.BatchNormState{Mean: graph.Zeros(graph.ShapeOf(graph.Float32, 2)),
		Var: graph.Ones(graph.ShapeOf(graph.Float32, 2))}
	trained := func(l nn.BatchNorm, x *graph.Array) *graph.Array { y, _ := l.Train(state, x); return y }
	norms := map[string]func(x *graph.Array) *graph.Array{ // of x [n], in any shape
		"layer": layer.Apply,
		"group": func(x *graph.Array) *graph.Array { return group.Apply(graph.Stack([]*graph.Array{x, x}, 1)) },
		"batch": func(x *graph.Array) *graph.Array { return trained(batch, graph.Stack([]*graph.Array{x, x}, 1)) },
		"batch of lanes": func(x *graph.Array) *graph.Array {
			return graph.VMap(func(x *graph.Array) *graph.Array {
				return trained(lanes, graph.Stack([]*graph.Array{x, x}, 0))
			}, graph.AxisName("batch"))(x)
		},
	}
	large := []float64{0, .1, 1000.1, 60001, -1e6 - 1, 1e8, 1e30}
	type rows struct{ Equal, Apart *graph.Array } // [rows, n]
	for where, backend := range xlatest.Backends(t) {
		var in []rows
		for _, n := range []int{1, 3, 5, 7, 100} {
			if where == "xla" && n != 7 && !long.On() {
				continue
			}
			equal := graph.Float64s(large, len(large), 1).BroadcastTo(len(large), n)
			near := graph.Iota(n).Rem(3).Convert(graph.Float32).Div(16).Add(1e6).Reshape(1, n)
			in = append(in, rows{equal.Convert(graph.Float32), near})
			if where == "reference" {
				in = append(in, rows{equal.Convert(graph.BFloat16), near},
					rows{graph.SliceAxis(equal, 0, 0, 4).Convert(graph.Float16), near})
			}
		}
		got, err := xlabridge.Jit(backend, func(in []rows) map[string][]rows {
			out := map[string][]rows{}
			for name, f := range norms {
				for _, x := range in {
					out[name] = append(out[name], rows{graph.VMap(f)(x.Equal), graph.VMap(f)(x.Apart)})
				}
			}
			return out
		})(in)
		require.NoError(t, err)
		for name, list := range got {
			for i, y := range list {
				for k, v := range floats(t, y.Equal) {
					require.Zero(t, v, "%s %s of %s: %d", where, name, in[i].Equal.Shape(), k)
				}
				x, have := floats(t, in[i].Apart), floats(t, y.Apart)
				mean, square := 0., 0.
				for _, v := range x {
					mean += v / float64(len(x))
				}
				for _, v := range x {
					square += (v - mean) * (v - mean) / float64(len(x))
				}
				for k, v := range have {
					want := (x[k*len(x)/len(have)] - mean) / math.Sqrt(square+1e-12)
					require.InDelta(t, want, v, 1e-5, "%s %s of %d: %d", where, name, len(x), k)
				}
			}
		}
	}
}
