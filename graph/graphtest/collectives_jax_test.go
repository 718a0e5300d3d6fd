package graphtest_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	. "xlarun/graph"
	"xlarun/graph/graphtest"
	"xlarun/third_party/oracles"
)

// collectivesOfJAX are collectives by their names in third_party/oracles/jax_collectives.py.
var collectivesOfJAX = map[string]func(x *Array, axes []int) *Array{
	"all_gather tiled":   func(x *Array, axes []int) *Array { return AllGatherTiled(x, "lane", axes[0]) },
	"all_to_all tiled":   func(x *Array, axes []int) *Array { return AllToAllTiled(x, "lane", axes[0], axes[1]) },
	"all_to_all":         func(x *Array, axes []int) *Array { return AllToAll(x, "lane", axes[0], axes[1]) },
	"psum_scatter":       func(x *Array, axes []int) *Array { return PSumScatter(x, "lane", axes[0]) },
	"psum_scatter tiled": func(x *Array, axes []int) *Array { return PSumScatterTiled(x, "lane", axes[0]) },
}

// Collectives have the values, shapes and gradients of JAX.
func TestCollectivesAgainstJAX(t *testing.T) {
	var doc struct {
		Cases []struct {
			Op                      string
			Axes                    []int
			Input, Output, Gradient oracles.Array
		}
	}
	require.NoError(t, oracles.Read("../testdata/jax_collectives.json", &doc))
	seen := map[string]bool{}
	for i, c := range doc.Cases {
		seen[c.Op] = true
		t.Run(fmt.Sprint(i, " ", c.Op, c.Axes, c.Input.Shape), func(t *testing.T) {
			f := VMap(func(x *Array) *Array { return collectivesOfJAX[c.Op](x, c.Axes) }, AxisName("lane"))
			x := Float32s(c.Input.Float32s(), c.Input.Shape...)
			graphtest.Same(t, graphtest.FromOracle(c.Output), f(x), graphtest.Both(1e-6))
			graphtest.Same(t, graphtest.FromOracle(c.Gradient),
				Grad(func(x *Array) *Array { return graphtest.Weighted(f(x)) })(x),
				graphtest.Both(1e-6))
		})
	}
	for name := range collectivesOfJAX {
		require.True(t, seen[name], name)
	}
}

// Collectives under ShardMap over 1, 2 and 3 devices have the values and gradients of JAX's shard_map.
func TestShardMapAgainstJAX(t *testing.T) {
	var doc struct {
		Cases []struct {
			Op            string
			Input, Output oracles.Array
			Gradient      *oracles.Array
		}
	}
	require.NoError(t, oracles.Read("../testdata/jax_shard.json", &doc))
	require.NotEmpty(t, doc.Cases)
	for i, c := range doc.Cases {
		n := c.Input.Shape[0]
		of, known := map[string]func(x *Array) *Array{
			"psum":             func(x *Array) *Array { return PSum(x, "lane") },
			"pmean":            func(x *Array) *Array { return PMean(x, "lane") },
			"pmax":             func(x *Array) *Array { return PMax(x, "lane") },
			"pmin":             func(x *Array) *Array { return PMin(x, "lane") },
			"all_gather":       func(x *Array) *Array { return AllGather(x, "lane") },
			"all_gather tiled": func(x *Array) *Array { return AllGatherTiled(x, "lane", 1) },
			"ppermute":         func(x *Array) *Array { return PPermute(x, "lane", Ring(n, 1)...) },
			"ppermute to one":  func(x *Array) *Array { return PPermute(x, "lane", [2]int{0, n - 1}) },
			"all_to_all":       func(x *Array) *Array { return AllToAllTiled(x, "lane", 0, 0) },
			"psum_scatter":     func(x *Array) *Array { return PSumScatterTiled(x, "lane", 0) },
			"axis_index":       func(x *Array) *Array { return Mul(x, Add(1, AxisIndex("lane"))) },
			"psum of a part":   func(x *Array) *Array { return Mul(PSum(Mul(Sin(x), x), "lane"), x) },
		}[c.Op]
		require.True(t, known, c.Op)
		t.Run(fmt.Sprint(i, " ", c.Op, " on ", n), func(t *testing.T) {
			f := ShardMap(func(x *Array) *Array { return ExpandDims(of(Squeeze(x, 0)), 0) },
				Mesh{{Name: "lane", Size: n}}, Spec{"lane"}, Spec{"lane"})
			x := Float32s(c.Input.Float32s(), c.Input.Shape...)
			graphtest.Same(t, graphtest.FromOracle(c.Output), f(x), graphtest.Both(1e-6))
			if c.Gradient != nil {
				graphtest.Same(t, graphtest.FromOracle(*c.Gradient),
					Grad(func(x *Array) *Array { return graphtest.Weighted(f(x)) })(x),
					graphtest.Both(1e-6))
			}
		})
	}
}

func TestTiledCollectivesRefuse(t *testing.T) {
	x := Ones(ShapeOf(Float32, 3, 4, 2))
	for want, f := range map[string]func(*Array) *Array{
		"PSumScatter: axis 0 of f32[4,2] has 4 elements, want 3": func(x *Array) *Array {
			return PSumScatter(x, "lane", 0)
		},
		"PSumScatterTiled: axis 1 of f32[4,2] has 2 elements, want a multiple of 3": func(x *Array) *Array {
			return PSumScatterTiled(x, "lane", 1)
		},
		"AllToAllTiled: axis 0 of f32[4,2] has 4 elements, want a multiple of 3": func(x *Array) *Array {
			return AllToAllTiled(x, "lane", 0, 1)
		},
		"AllGatherTiled": func(x *Array) *Array { return AllGatherTiled(x, "lane", 2) },
	} {
		require.ErrorContains(t, Try(func() { VMap(f, AxisName("lane"))(x) }), want)
	}
}
