package xlabridge

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/graph"
	"xlarun/internal/long"
)

// Every collective, and its gradient, means on 1, 2, 4 and 8 devices what it means on one; the short form takes 4.
// Collectives whose results are cut alike are one program, and those that gather another, since the kernel that gathers
// does so only where it is alone. The gradients are one program.
func TestCollectivesOnDevices(t *testing.T) {
	client := open(t, Options{Devices: 8})
	x := graph.Reshape(graph.Sin(graph.IotaAxis(graph.ShapeOf(graph.Float32, 8*8*2), 0)), 8, 8, 2)
	type fn = func(*graph.Array) *graph.Array
	type collective struct {
		name string
		out  graph.Spec
		f    func(n int) fn
	}
	cut := graph.Spec{"d"}
	all := []collective{
		{"PSum", nil, func(int) fn {
			return func(v *graph.Array) *graph.Array { return graph.PSum(graph.Sum(graph.Sin(v), 0), "d") }
		}},
		{"PMean", cut, func(int) fn {
			return func(v *graph.Array) *graph.Array { return graph.Mul(v, graph.PMean(graph.Mean(v, 0), "d")) }
		}},
		{"PMax", cut, func(int) fn {
			return func(v *graph.Array) *graph.Array { return graph.Mul(v, graph.PMax(graph.ReduceMax(v, 0), "d")) }
		}},
		{"PMin", nil, func(int) fn {
			return func(v *graph.Array) *graph.Array { return graph.PMin(graph.ReduceMin(v, 0), "d") }
		}},
		{"AllGather", cut, func(int) fn {
			return func(v *graph.Array) *graph.Array {
				all := graph.AllGather(v, "d")
				return graph.Mul(v, graph.Sum(graph.Mul(all, all)))
			}
		}},
		{"PPermute", cut, func(n int) fn {
			return func(v *graph.Array) *graph.Array {
				return graph.Mul(v, graph.PPermute(v, "d", graph.Ring(n, 1)...))
			}
		}},
		{"AllToAll", graph.Spec{"", "d"}, func(n int) fn {
			return func(v *graph.Array) *graph.Array { // rows cut to columns cut
				y := graph.AllToAll(graph.Reshape(v, v.Dim(0), n, 8/n, 2), "d", 1, 0)
				return graph.Reshape(y, 8, 8/n, 2)
			}
		}},
		{"AllGatherTiled", cut, func(int) fn {
			return func(v *graph.Array) *graph.Array {
				all := graph.AllGatherTiled(v, "d", 1)
				return graph.Mul(v, graph.Sum(graph.Mul(all, all)))
			}
		}},
		{"AllToAllTiled", graph.Spec{"", "d"}, func(int) fn {
			return func(v *graph.Array) *graph.Array { return graph.Sin(graph.AllToAllTiled(v, "d", 1, 0)) }
		}},
		{"PSumScatter", cut, func(n int) fn {
			return func(v *graph.Array) *graph.Array {
				return graph.PSumScatter(graph.Reshape(graph.Sum(graph.Sin(v), 0), n, 8/n, 2), "d", 0)
			}
		}},
		{"PSumScatterTiled", cut, func(int) fn {
			return func(v *graph.Array) *graph.Array {
				return graph.PSumScatterTiled(graph.Sum(graph.Sin(v), 0), "d", 0)
			}
		}},
		{"AxisIndex", cut, func(int) fn {
			return func(v *graph.Array) *graph.Array { return graph.Mul(v, graph.Add(graph.AxisIndex("d"), 1)) }
		}},
		{"OrderedPSum", nil, func(int) fn {
			return func(v *graph.Array) *graph.Array { return graph.OrderedPSum(v, "d") }
		}},
	}
	var ordered [][]byte
	for _, n := range []int{1, 2, 4, 8} {
		m := graph.Mesh{{Name: "d", Size: n}}
		some := all
		if n != 4 && !long.On() {
			some = all[len(all)-1:]
		}
		// check compares functions whose results have the spec out.
		check := func(what string, names []string, fs []fn, out graph.Spec, tolerance float64) []*graph.Array {
			f := func(v *graph.Array) (results []*graph.Array) {
				for _, f := range fs {
					results = append(results, f(v))
				}
				return results
			}
			want, err := Jit(&Reference{}, graph.ShardMap(f, m, cut, out))(x)
			require.NoError(t, err)
			got, err := ShardMap(client, f, m, cut, out)(x)
			require.NoError(t, err)
			for i := range want {
				closeArrays(t, want[i], got[i], tolerance, fmt.Sprintf("%s%s on %d devices", what, names[i], n))
			}
			return got
		}
		groups := map[string][]collective{}
		var names []string
		var gradients []fn
		for _, c := range some {
			key := fmt.Sprintf("%q %v", c.out, strings.HasPrefix(c.name, "AllGather"))
			groups[key] = append(groups[key], c)
			names = append(names, c.name)
			// The gradient of the sum of the result over all devices, taken inside and outside of the device function.
			f := c.f(n)
			gradients = append(gradients, graph.Grad(func(v *graph.Array) *graph.Array { return graph.Sum(f(v)) }))
		}
		for _, key := range slices.Sorted(maps.Keys(groups)) {
			var names []string
			var fs []fn
			for _, c := range groups[key] {
				names, fs = append(names, c.name), append(fs, c.f(n))
			}
			got := check("", names, fs, groups[key][0].out, 1e-5)
			if i := slices.Index(names, "OrderedPSum"); i >= 0 {
				d, err := got[i].Data()
				require.NoError(t, err)
				b, err := d.HostBytes()
				require.NoError(t, err)
				ordered = append(ordered, b)
			}
		}
		check("the gradient of ", names, gradients, cut, 1e-4)
	}
	require.Len(t, ordered, 4)
	for _, o := range ordered[1:] {
		require.Equal(t, ordered[0], o, "an ordered sum does not depend on the number of devices")
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
	want, err := Jit(&Reference{}, twice)(x)
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
	f := func(in []*graph.Array) (out []*graph.Array) {
		for _, v := range in {
			out = append(out, graph.PMax(v, "d"), graph.PMin(v, "d"))
			if v.DType() == graph.Int32 {
				continue
			}
			// The gradients by what is beside NaN: those by NaN itself are the compiler's, which makes 0 or NaN of
			// 0 times 1/0.
			d := graph.Grad(func(v *graph.Array) *graph.Array { return graph.Sum(both(v)) })(v)
			out = append(out, graph.Select(graph.IsNaN(graph.PMax(v, "d")), 0, d))
		}
		return out
	}
	compiled, interpreted := ShardMap(client, f, m, spec, spec), Jit(&Reference{}, graph.ShardMap(f, m, spec, spec))
	for at := range n {
		rows := []float32{1, 2, inf, -inf, 3, 4, 1, 5, 2, 2, -inf, inf, 4, 4, 0, 1}
		rows[4*at], rows[4*at+2] = nan, nan
		var in []*graph.Array
		for _, d := range []graph.DType{graph.Float32, graph.BFloat16, graph.Float64, graph.Int32} {
			in = append(in, graph.Convert(graph.Reshape(graph.Float32s(rows), n, 4), d))
		}
		want, err := interpreted(in)
		require.NoError(t, err)
		got, err := compiled(in)
		require.NoError(t, err)
		for i := range want {
			require.Equal(t, fmt.Sprint(floats(t, want[i])), fmt.Sprint(floats(t, got[i])),
				"result %d, %s, NaN on device %d", i, got[i].DType(), at)
		}
	}
}
