package xlabridge

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/graph"
	"xlarun/internal/long"
)

// deviceFunctions are functions of a part of an array over n devices of the axis "d". Those with a true flag have
// gradients.
func deviceFunctions(n int) map[string]struct {
	of        func(v *graph.Array) *graph.Array
	gradients bool
} {
	type function = struct {
		of        func(v *graph.Array) *graph.Array
		gradients bool
	}
	rows := func(f func(r *graph.Array) *graph.Array) func(v *graph.Array) *graph.Array {
		return func(v *graph.Array) *graph.Array { return graph.VMap(f, graph.AxisName("rows"))(v) }
	}
	on := func(v *graph.Array, shift int) *graph.Array { return graph.PPermute(v, "d", graph.Ring(n, shift)...) }
	all := map[string]function{
		"maximum with NaN": {func(v *graph.Array) *graph.Array {
			return graph.PMax(graph.Select(v.Gt(.9), math.NaN(), v), "d")
		}, true},
		"minimum with -Inf": {func(v *graph.Array) *graph.Array {
			return graph.PMin(graph.Select(v.Gt(.9), math.Inf(-1), v), "d")
		}, false},
		"permute none": {func(v *graph.Array) *graph.Array { return graph.PPermute(v, "d") }, false},
		"permute one":  {func(v *graph.Array) *graph.Array { return graph.PPermute(v, "d", [2]int{n - 1, 0}) }, true},
		"mapped sum": {rows(func(r *graph.Array) *graph.Array {
			return graph.Mul(r, graph.PSum(graph.PMax(graph.Sin(r), "d"), "rows"))
		}), true},
		"mapped gather": {rows(func(r *graph.Array) *graph.Array { return graph.AllGatherTiled(r, "d", 0) }), true},
		"mapped all to all": {rows(func(r *graph.Array) *graph.Array {
			return graph.AllToAllTiled(graph.Outer(r, r), "d", 0, 1)
		}), true},
		"mapped scatter": {rows(func(r *graph.Array) *graph.Array {
			return on(graph.PSumScatterTiled(r, "d", 0), 1)
		}), true},
		"mapped index": {rows(func(r *graph.Array) *graph.Array { return graph.Mul(r, graph.AxisIndex("d")) }), true},
		"scan": {func(v *graph.Array) *graph.Array {
			c, y := graph.Scan(func(c, r *graph.Array) (*graph.Array, *graph.Array) {
				c = graph.Add(graph.Mul(c, .5), on(graph.PMean(graph.Mul(r, c), "d"), 1))
				return c, graph.AllGatherTiled(c, "d", 0)
			}, v.Index(0), v)
			return graph.Concatenate(0, c, graph.Flatten1D(y))
		}, true},
		"loop": {func(v *graph.Array) *graph.Array {
			return graph.While(func(c *graph.Array) *graph.Array {
				return graph.PMax(c, "d").ReduceMax().Lt(30)
			}, func(c *graph.Array) *graph.Array { return c.Abs().Add(graph.PMean(c, "d").Abs()).Add(.1) }, v)
		}, false},
	}
	dtypes := []graph.DType{graph.Float32, graph.Float16, graph.Int32, graph.Bool}
	if long.On() {
		dtypes = append(dtypes, graph.Float64, graph.BFloat16, graph.Uint8, graph.Int8, graph.Uint64, graph.Int64)
	}
	for _, d := range dtypes {
		for name, f := range map[string]func(v *graph.Array) *graph.Array{
			"sum":         func(v *graph.Array) *graph.Array { return graph.PSum(v, "d") },
			"mean":        func(v *graph.Array) *graph.Array { return graph.PMean(v, "d") },
			"maximum":     func(v *graph.Array) *graph.Array { return graph.PMax(v, "d") },
			"minimum":     func(v *graph.Array) *graph.Array { return graph.PMin(v, "d") },
			"ordered sum": func(v *graph.Array) *graph.Array { return graph.OrderedPSum(v, "d") },
			"scatter":     func(v *graph.Array) *graph.Array { return graph.PSumScatterTiled(v, "d", 1) },
			"gather":      func(v *graph.Array) *graph.Array { return graph.AllGatherTiled(v, "d", 1) },
			"ring":        func(v *graph.Array) *graph.Array { return on(v, -1) },
			"all to all":  func(v *graph.Array) *graph.Array { return graph.AllToAllTiled(v, "d", 1, 0) },
		} {
			if d == graph.Bool && !slices.Contains([]string{"gather", "ring", "all to all"}, name) {
				continue
			}
			all[fmt.Sprint(name, " of ", d)] = function{func(v *graph.Array) *graph.Array {
				if d == graph.Bool {
					return f(v.Gt(.3))
				}
				if v = v.Mul(20); d == graph.Uint8 || d == graph.Uint64 {
					v = v.Abs()
				}
				if d == graph.Float16 || d == graph.BFloat16 {
					v = v.Round() // any order of the sum has the same result
				}
				return f(graph.Convert(v, d))
			}, d == graph.Float32}
		}
	}
	return all
}

// Collectives of all dtypes, mapped, in loops and with their gradients, are those of the interpreter on any number of
// devices and on meshes of two axes. The short form has one mesh of 2 x 3 devices.
func TestCollectivesOnMeshes(t *testing.T) {
	client := open(t, Options{Devices: 6})
	x := graph.Sin(graph.Reshape(graph.Convert(graph.Iota(12*6), graph.Float32), 12, 6))
	meshes := []graph.Mesh{{{Name: "e", Size: 2}, {Name: "d", Size: 3}}}
	if long.On() {
		meshes = append(meshes, graph.Mesh{{Name: "d", Size: 1}}, graph.Mesh{{Name: "d", Size: 2}},
			graph.Mesh{{Name: "d", Size: 3}}, graph.Mesh{{Name: "d", Size: 3}, {Name: "e", Size: 2}})
	}
	for _, m := range meshes {
		in, out := graph.Spec{"d"}, graph.Spec{}
		n := m[slices.IndexFunc(m, func(a graph.MeshAxis) bool { return a.Name == "d" })].Size
		if len(m) > 1 {
			in = append(in, "e")
		}
		for _, a := range m {
			out = append(out, a.Name) // the result of each device
		}
		var names []string
		var functions []func(v *graph.Array) *graph.Array
		all := deviceFunctions(n)
		for _, name := range slices.Sorted(maps.Keys(all)) {
			f := all[name]
			names, functions = append(names, name), append(functions, f.of)
			if f.gradients {
				names, functions = append(names, "gradient of "+name), append(functions, graph.Grad(
					func(v *graph.Array) *graph.Array {
						y := graph.Flatten1D(f.of(v))
						return graph.Sum(y.Mul(graph.Sin(graph.Convert(graph.Iota(y.Size()), graph.Float32))))
					}))
			}
		}
		of := func(v *graph.Array) (results []*graph.Array) {
			for _, f := range functions {
				y := f(v)
				results = append(results, y.Reshape(append(slices.Repeat([]int{1}, len(m)), y.Dims()...)...))
			}
			return results
		}
		want, err := Jit(&Reference{}, graph.ShardMap(of, m, in, out))(x)
		require.NoError(t, err)
		got, err := ShardMap(client, of, m, in, out)(x)
		require.NoError(t, err)
		for i, name := range names {
			closeArrays(t, want[i], got[i], 1e-5, fmt.Sprint(name, " on ", m))
		}
	}
}
