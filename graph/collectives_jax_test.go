package graph_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/graph"
	"xlarun/graph/graphtest"
	"xlarun/third_party/oracles"
)

// collectivesOfJAX are collectives by their names in third_party/oracles/jax_collectives.py.
var collectivesOfJAX = map[string]func(x *graph.Array, axes []int) *graph.Array{
	"all_gather tiled": func(x *graph.Array,
		axes []int) *graph.Array {
		return graph.AllGatherTiled(x, "lane", axes[0])
	},
	"all_to_all tiled": func(x *graph.Array,
		axes []int) *graph.Array {
		return graph.AllToAllTiled(x, "lane", axes[0], axes[1])
	},
	"all_to_all": func(x *graph.Array,
		axes []int) *graph.Array {
		return graph.AllToAll(x, "lane", axes[0], axes[1])
	},
	"psum_scatter": func(x *graph.Array,
		axes []int) *graph.Array {
		return graph.PSumScatter(x, "lane", axes[0])
	},
	"psum_scatter tiled": func(x *graph.Array,
		axes []int) *graph.Array {
		return graph.PSumScatterTiled(x, "lane", axes[0])
	},
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
	require.NoError(t, oracles.Read("testdata/jax_collectives.json", &doc))
	seen := map[string]bool{}
	for i, c := range doc.Cases {
		seen[c.Op] = true
		t.Run(fmt.Sprint(i, " ", c.Op, c.Axes, c.Input.Shape), func(t *testing.T) {
			f := graph.VMap(func(x *graph.Array) *graph.Array { return collectivesOfJAX[c.Op](x, c.Axes) },
				graph.AxisName("lane"))
			x := graph.Float32s(c.Input.Float32s(), c.Input.Shape...)
			graphtest.Same(t, graphtest.FromOracle(c.Output), f(x), graphtest.Both(1e-6))
			graphtest.Same(t, graphtest.FromOracle(c.Gradient),
				graph.Grad(func(x *graph.Array) *graph.Array { return graphtest.Weighted(f(x)) })(x),
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
	require.NoError(t, oracles.Read("testdata/jax_shard.json", &doc))
	require.NotEmpty(t, doc.Cases)
	for i, c := range doc.Cases {
		n := c.Input.Shape[0]
		of, known := map[string]func(x *graph.Array) *graph.Array{
			"psum":             func(x *graph.Array) *graph.Array { return graph.PSum(x, "lane") },
			"pmean":            func(x *graph.Array) *graph.Array { return graph.PMean(x, "lane") },
			"pmax":             func(x *graph.Array) *graph.Array { return graph.PMax(x, "lane") },
			"pmin":             func(x *graph.Array) *graph.Array { return graph.PMin(x, "lane") },
			"all_gather":       func(x *graph.Array) *graph.Array { return graph.AllGather(x, "lane") },
			"all_gather tiled": func(x *graph.Array) *graph.Array { return graph.AllGatherTiled(x, "lane", 1) },
			"ppermute": func(x *graph.Array) *graph.Array {
				return graph.PPermute(x, "lane",
					graph.Ring(n, 1)...)
			},
			"ppermute to one": func(x *graph.Array) *graph.Array {
				return graph.PPermute(x, "lane",
					[2]int{0, n - 1})
			},
			"all_to_all":   func(x *graph.Array) *graph.Array { return graph.AllToAllTiled(x, "lane", 0, 0) },
			"psum_scatter": func(x *graph.Array) *graph.Array { return graph.PSumScatterTiled(x, "lane", 0) },
			"axis_index": func(x *graph.Array) *graph.Array {
				return graph.Mul(x,
					graph.Add(1, graph.AxisIndex("lane")))
			},
			"psum of a part": func(x *graph.Array) *graph.Array {
				return graph.Mul(graph.PSum(graph.Mul(graph.Sin(x),
					x), "lane"), x)
			},
		}[c.Op]
		require.True(t, known, c.Op)
		t.Run(fmt.Sprint(i, " ", c.Op, " on ", n), func(t *testing.T) {
			f := graph.ShardMap(func(x *graph.Array) *graph.Array {
				return graph.ExpandDims(of(graph.Squeeze(x, 0)),
					0)
			},
				graph.Mesh{{Name: "lane", Size: n}}, graph.Spec{"lane"}, graph.Spec{"lane"})
			x := graph.Float32s(c.Input.Float32s(), c.Input.Shape...)
			graphtest.Same(t, graphtest.FromOracle(c.Output), f(x), graphtest.Both(1e-6))
			if c.Gradient != nil {
				graphtest.Same(t, graphtest.FromOracle(*c.Gradient),
					graph.Grad(func(x *graph.Array) *graph.Array { return graphtest.Weighted(f(x)) })(x),
					graphtest.Both(1e-6))
			}
		})
	}
}

func TestTiledCollectivesRefuse(t *testing.T) {
	x := graph.Ones(graph.ShapeOf(graph.Float32, 3, 4, 2))
	for want, f := range map[string]func(*graph.Array) *graph.Array{
		"PSumScatter: axis 0 of f32[4,2] has 4 elements, want 3": func(x *graph.Array) *graph.Array {
			return graph.PSumScatter(x, "lane", 0)
		},
		"PSumScatterTiled: axis 1 of f32[4,2] has 2 elements, want a multiple of 3": func(x *graph.Array) *graph.Array {
			return graph.PSumScatterTiled(x, "lane", 1)
		},
		"AllToAllTiled: axis 0 of f32[4,2] has 4 elements, want a multiple of 3": func(x *graph.Array) *graph.Array {
			return graph.AllToAllTiled(x, "lane", 0, 1)
		},
		"AllGatherTiled": func(x *graph.Array) *graph.Array { return graph.AllGatherTiled(x, "lane", 2) },
	} {
		require.ErrorContains(t, graph.Try(func() { graph.VMap(f, graph.AxisName("lane"))(x) }), want)
	}
}
