package xlabridge

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/graph"
	"xlarun/internal/long"
)

// Every collective, and its gradient, means on 1, 2, 4 and 8 devices what it means on one; the short form takes 4.
func TestCollectivesOnDevices(t *testing.T) {
	client := open(t, Options{Devices: 8})
	x := graph.Reshape(graph.Sin(graph.IotaAxis(graph.ShapeOf(graph.Float32, 8*8*2), 0)), 8, 8, 2)
	type fn = func(*graph.Array) *graph.Array
	for _, c := range []struct {
		name    string
		in, out graph.Spec
		f       func(n int) fn
	}{
		{"PSum", graph.Spec{"d"}, nil, func(int) fn {
			return func(v *graph.Array) *graph.Array { return graph.PSum(graph.Sum(graph.Sin(v), 0), "d") }
		}},
		{"PMean", graph.Spec{"d"}, graph.Spec{"d"}, func(int) fn {
			return func(v *graph.Array) *graph.Array { return graph.Mul(v, graph.PMean(graph.Mean(v, 0), "d")) }
		}},
		{"PMax", graph.Spec{"d"}, graph.Spec{"d"}, func(int) fn {
			return func(v *graph.Array) *graph.Array { return graph.Mul(v, graph.PMax(graph.ReduceMax(v, 0), "d")) }
		}},
		{"PMin", graph.Spec{"d"}, nil, func(int) fn {
			return func(v *graph.Array) *graph.Array { return graph.PMin(graph.ReduceMin(v, 0), "d") }
		}},
		{"AllGather", graph.Spec{"d"}, graph.Spec{"d"}, func(int) fn {
			return func(v *graph.Array) *graph.Array {
				all := graph.AllGather(v, "d")
				return graph.Mul(v, graph.Sum(graph.Mul(all, all)))
			}
		}},
		{"PPermute", graph.Spec{"d"}, graph.Spec{"d"}, func(n int) fn {
			return func(v *graph.Array) *graph.Array {
				return graph.Mul(v, graph.PPermute(v, "d", graph.Ring(n, 1)...))
			}
		}},
		{"AllToAll", graph.Spec{"d"}, graph.Spec{"", "d"}, func(n int) fn {
			return func(v *graph.Array) *graph.Array { // rows cut to columns cut
				y := graph.AllToAll(graph.Reshape(v, v.Dim(0), n, 8/n, 2), "d", 1, 0)
				return graph.Reshape(y, 8, 8/n, 2)
			}
		}},
		{"AllGatherTiled", graph.Spec{"d"}, graph.Spec{"d"}, func(int) fn {
			return func(v *graph.Array) *graph.Array {
				all := graph.AllGatherTiled(v, "d", 1)
				return graph.Mul(v, graph.Sum(graph.Mul(all, all)))
			}
		}},
		{"AllToAllTiled", graph.Spec{"d"}, graph.Spec{"", "d"}, func(int) fn {
			return func(v *graph.Array) *graph.Array { return graph.Sin(graph.AllToAllTiled(v, "d", 1, 0)) }
		}},
		{"PSumScatter", graph.Spec{"d"}, graph.Spec{"d"}, func(n int) fn {
			return func(v *graph.Array) *graph.Array {
				return graph.PSumScatter(graph.Reshape(graph.Sum(graph.Sin(v), 0), n, 8/n, 2), "d", 0)
			}
		}},
		{"PSumScatterTiled", graph.Spec{"d"}, graph.Spec{"d"}, func(int) fn {
			return func(v *graph.Array) *graph.Array {
				return graph.PSumScatterTiled(graph.Sum(graph.Sin(v), 0), "d", 0)
			}
		}},
		{"AxisIndex", graph.Spec{"d"}, graph.Spec{"d"}, func(int) fn {
			return func(v *graph.Array) *graph.Array { return graph.Mul(v, graph.Add(graph.AxisIndex("d"), 1)) }
		}},
		{"OrderedPSum", graph.Spec{"d"}, nil, func(int) fn {
			return func(v *graph.Array) *graph.Array { return graph.OrderedPSum(v, "d") }
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var ordered []*graph.Array
			for _, n := range []int{1, 2, 4, 8} {
				if n != 4 && c.name != "OrderedPSum" && !long.On() {
					continue
				}
				m := graph.Mesh{{Name: "d", Size: n}}
				f := c.f(n)
				want, err := Jit1(&Reference{}, graph.ShardMap(f, m, c.in, c.out))(x)
				require.NoError(t, err)
				got, err := ShardMap(client, f, m, c.in, c.out)(x)
				require.NoError(t, err)
				closeArrays(t, want, got, 1e-5, fmt.Sprint(n, " devices"))
				ordered = append(ordered, got)

				// The gradient of the sum of the result over all devices, taken inside and outside of the device
				// function.
				loss := func(f fn) fn { return func(v *graph.Array) *graph.Array { return graph.Sum(f(v)) } }
				grad := func(v *graph.Array) *graph.Array { return graph.Grad(loss(f))(v) }
				wantGrad, err := Jit1(&Reference{}, graph.ShardMap(grad, m, c.in, c.in))(x)
				require.NoError(t, err)
				gotGrad, err := ShardMap(client, grad, m, c.in, c.in)(x)
				require.NoError(t, err)
				closeArrays(t, wantGrad, gotGrad, 1e-4, fmt.Sprint(n, " devices, gradient"))
			}
			if c.name != "OrderedPSum" {
				return
			}
			first, err := ordered[0].Data()
			require.NoError(t, err)
			b0, err := first.HostBytes()
			require.NoError(t, err)
			for _, o := range ordered[1:] {
				d, err := o.Data()
				require.NoError(t, err)
				b, err := d.HostBytes()
				require.NoError(t, err)
				require.Equal(t, b0, b, "an ordered sum does not depend on the number of devices")
			}
		})
	}
}

// A mesh of two axes: collectives run along one of them; results stay on the devices for the next call.
func TestMeshOfTwoAxes(t *testing.T) {
	client := open(t, Options{Devices: 8})
	m := graph.Mesh{{Name: "data", Size: 2}, {Name: "model", Size: 4}}
	spec := graph.Spec{"data", "model"}
	x := graph.Reshape(graph.IotaAxis(graph.ShapeOf(graph.Float32, 32), 0), 4, 8)
	f := func(v *graph.Array) *graph.Array {
		rows := graph.PSum(graph.Sum(v, 1), "model")
		return graph.Add(v, graph.ExpandDims(graph.Mul(rows, graph.Add(graph.AxisIndex("data"), 1)), 1))
	}
	twice := func(v *graph.Array) *graph.Array {
		g := graph.ShardMap(f, m, spec, spec)
		return g(g(v))
	}
	want, err := Jit1(&Reference{}, twice)(x)
	require.NoError(t, err)
	step := ShardMap(client, f, m, spec, spec)
	y, err := step(x)
	require.NoError(t, err)
	z, err := step(y)
	require.NoError(t, err)
	closeArrays(t, want, z, 1e-6, "two steps")

	_, err = ShardMap(client, f, graph.Mesh{{Name: "data", Size: 3}, {Name: "model", Size: 1}}, spec, spec)(x)
	require.ErrorContains(t, err, "does not divide")
	_, err = ShardMap(client, f, graph.Mesh{{Name: "data", Size: 4}, {Name: "model", Size: 4}}, spec, spec)(x)
	require.ErrorContains(t, err, "has 8")
}

// Inside of a device function the gradient of a mean over the devices is each device's own part of it; their mean is
// the gradient that is taken from outside, and the gradient on one device.
func TestGradientOfMeanOverDevices(t *testing.T) {
	const n = 4
	client := open(t, Options{Devices: n})
	m := graph.Mesh{{Name: "d", Size: n}}
	x := graph.Float32s([]float32{1, 2, 3, 4})
	w := graph.Scalar(2) // the same on all devices
	loss := func(w, x *graph.Array) *graph.Array {
		return graph.PMean(graph.Sum(graph.Mul(w, graph.Square(x))), "d")
	}
	own := func(x *graph.Array) *graph.Array {
		return graph.Reshape(graph.Grad(func(w *graph.Array) *graph.Array { return loss(w, x) })(w), 1)
	}
	mean := func(x *graph.Array) *graph.Array { return graph.PMean(own(x), "d") }
	for _, c := range []struct {
		number int
		what   string
		f      func(*graph.Array) *graph.Array
		want   []float64
	}{
		{1, "each device has the gradient of its part", own, []float64{1, 4, 9, 16}},
		{2, "their mean is the gradient of the mean", mean, []float64{7.5, 7.5, 7.5, 7.5}},
	} {
		got, err := ShardMap(client, c.f, m, graph.Spec{"d"}, graph.Spec{"d"})(x)
		require.NoError(t, err)
		require.InDeltaSlice(t, c.want, floats(t, got), 1e-5, "%d: %s", c.number, c.what)
		closeArrays(t, graph.ShardMap(c.f, m, graph.Spec{"d"}, graph.Spec{"d"})(x), got, 1e-6, c.what)
	}
	outside := graph.Grad(func(w *graph.Array) *graph.Array {
		return graph.ShardMap(func(x *graph.Array) *graph.Array { return loss(w, x) }, m, graph.Spec{"d"}, nil)(x)
	})
	require.InDeltaSlice(t, []float64{7.5}, floats(t, outside(w)), 1e-5)
	var err error
	graph.Grad(func(x *graph.Array) *graph.Array {
		_, err = ShardMap(client, mean, m, graph.Spec{"d"}, graph.Spec{"d"})(x)
		return graph.Sum(x)
	})(x)
	require.ErrorContains(t, err, "ShardMap: leaf value of the argument is a traced f32[4], but the call runs at "+
		"once and cannot be compiled, mapped or differentiated")
}

// 1: the largest and smallest value over devices are NaN if one value is. The other gradients equal those of lanes on
// one device.
func TestExtremesOverDevicesKeepNaN(t *testing.T) {
	const n = 4
	client := open(t, Options{Devices: n})
	m, spec := graph.Mesh{{Name: "d", Size: n}}, graph.Spec{"d"}
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	both := func(v *graph.Array) *graph.Array {
		return graph.Add(graph.PMax(v, "d"), graph.Mul(2, graph.PMin(v, "d")))
	}
	for _, d := range []graph.DType{graph.Float32, graph.BFloat16, graph.Float64, graph.Int32} {
		for at := range n {
			rows := []float32{1, 2, inf, -inf, 3, 4, 1, 5, 2, 2, -inf, inf, 4, 4, 0, 1}
			rows[4*at], rows[4*at+2] = nan, nan
			x := graph.Convert(graph.Reshape(graph.Float32s(rows), n, 4), d)
			fs := []func(*graph.Array) *graph.Array{
				func(v *graph.Array) *graph.Array { return graph.PMax(v, "d") },
				func(v *graph.Array) *graph.Array { return graph.PMin(v, "d") },
			}
			if d != graph.Int32 {
				// The gradients by what is beside NaN: those by NaN itself are the compiler's, which makes 0 or NaN of
				// 0 times 1/0.
				fs = append(fs, func(v *graph.Array) *graph.Array {
					d := graph.Grad(func(v *graph.Array) *graph.Array { return graph.Sum(both(v)) })(v)
					return graph.Select(graph.IsNaN(graph.PMax(v, "d")), 0, d)
				})
			}
			for i, f := range fs {
				want, err := Jit1(&Reference{}, graph.ShardMap(f, m, spec, spec))(x)
				require.NoError(t, err)
				got, err := ShardMap(client, f, m, spec, spec)(x)
				require.NoError(t, err)
				w, err := graph.Floats(want)
				require.NoError(t, err)
				g, err := graph.Floats(got)
				require.NoError(t, err)
				require.Equal(t, fmt.Sprint(w), fmt.Sprint(g), "function %d, %s, NaN on device %d", i, d, at)
			}
		}
	}
}
