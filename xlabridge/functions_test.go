package xlabridge

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/graph"
	"xlarun/graph/lower"
	"xlarun/graph/random"
	"xlarun/internal/long"
)

// trained is a learner's update on devices that have a part of the rows each: minibatches in a drawn order, gradients
// that are added up in each iteration.
func trained(x *graph.Array, devices int) []*graph.Array {
	type weights struct{ In, Out *graph.Array }
	type batch struct{ X, Unread *graph.Array }
	cos := func(dims ...int) *graph.Array {
		return graph.Mul(.3, graph.Cos(graph.Reshape(graph.Convert(graph.Iota(dims[0]*dims[1]), graph.Float32),
			dims...)))
	}
	const trips = 4
	order := random.Permutation(random.New(3), x.Dim(0))
	loss := func(w weights, in batch) *graph.Array {
		y := graph.Dot(graph.Tanh(graph.Dot(in.X, w.In)), w.Out)
		return graph.Mean(graph.Square(graph.Sub(graph.Tanh(y), graph.Reshape(graph.Mean(in.X, 1), -1, 1))))
	}
	all := func(g *graph.Array) *graph.Array {
		if devices == 1 {
			return g
		}
		return graph.Mean(graph.AllGather(g, "d"), 0)
	}
	w, losses := graph.Scan(func(w weights, rows *graph.Array) (weights, *graph.Array) {
		in := graph.Take(x, rows, 0)
		l, g := graph.ValueAndGrad2(loss)(w, batch{in, graph.Mul(in, 0)})
		g = graph.MapTree(all, g)
		norm := graph.Sqrt(graph.Add(graph.Sum(graph.Square(g.In)), graph.Sum(graph.Square(g.Out))))
		step := func(w, g *graph.Array) *graph.Array {
			return graph.Sub(w, graph.Mul(g, graph.Div(.5, graph.Max(norm, 1))))
		}
		return graph.MapTree2(step, w, g), all(l)
	}, weights{cos(x.Dim(1), 32), cos(32, 16)}, graph.Reshape(order, trips, x.Dim(0)/trips))
	return []*graph.Array{w.In, w.Out, losses, all(graph.Mean(graph.Take(graph.Dot(x, w.In), order, 0), 0))}
}

// What lies between calls of kernels, and between the places where devices meet, is functions; they compute what the
// interpreter does, call after call.
func TestFunctions(t *testing.T) {
	t.Parallel()
	client := open(t, Options{Devices: 4})
	x := graph.Sin(graph.Reshape(graph.Convert(graph.Iota(256*24), graph.Float32), 256, 24))
	for _, devices := range []int{1, 2, 4} {
		if devices == 2 && !long.On() {
			continue
		}
		m := graph.Mesh{{Name: "d", Size: devices}}
		f := func(x *graph.Array) []*graph.Array {
			out := trained(x, devices)
			for i, a := range out { // the same on all devices: each gives a row
				out[i] = graph.Reshape(a, 1, a.Size())
			}
			return out
		}
		p, err := graph.TraceArgs("train", []any{graph.Abstract(graph.ShapeOf(graph.Float32, 256/devices, 24))},
			graph.TraceOptions{Mesh: m}, func(a []any) any {
				return f(a[0].(*graph.Array))
			})
		require.NoError(t, err)
		l, err := lower.Lower(p, client.Target())
		require.NoError(t, err)
		require.True(t, l.Graph.Uses("function"), "%s", l.Graph)
		cut := graph.Spec{"d"}
		want, err := Jit(&Reference{}, graph.ShardMap(f, m, cut, cut))(x)
		require.NoError(t, err)
		on := ShardMap(client, f, m, cut, cut)
		for range 5 {
			got, err := on(x)
			require.NoError(t, err)
			for i := range want {
				closeArrays(t, want[i], got[i], 1e-4, fmt.Sprintf("result %d on %d devices", i, devices))
			}
		}
	}
}
