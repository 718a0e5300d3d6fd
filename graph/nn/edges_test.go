package nn_test

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/graph"
	"xlarun/graph/distribution"
	"xlarun/graph/graphtest"
	"xlarun/graph/nn"
	"xlarun/internal/long"
	"xlarun/third_party/oracles"
	"xlarun/xlabridge"
	"xlarun/xlabridge/xlatest"
)

// edge is a loss or a method of a bijector at extreme arguments: third_party/oracles/jax_edges.py says what the fields
// hold.
type edge struct {
	Name, DType           string
	X, Y, Value, Gradient oracles.Array
	Exact                 oracles.Array
	ExactGradient         oracles.Array `json:"exact_gradient"`
}

// edgeFunctions are ours, of scalars.
var edgeFunctions = map[string]func(x, y *graph.Array) *graph.Array{
	"MSE": nn.MSE, "MAE": nn.MAE, "BinaryCrossEntropy": nn.BinaryCrossEntropy, "Hinge": nn.Hinge, "LogCosh": nn.LogCosh,
	"Huber": func(x, y *graph.Array) *graph.Array { return nn.Huber(x, y, 1) },
	"Focal": func(x, y *graph.Array) *graph.Array { return nn.Focal(x, y, -1, 2) },
	"KLDivergence": func(x, y *graph.Array) *graph.Array {
		return nn.KLDivergence(x.ExpandDims(0), y.ExpandDims(0))
	},
	"CrossEntropy": func(x, y *graph.Array) *graph.Array {
		return nn.CrossEntropy(vector(x, y), graph.Scalar(0, graph.Int32))
	},
	"CrossEntropyOneHot": func(x, y *graph.Array) *graph.Array {
		return nn.CrossEntropyOneHot(vector(x, one(x)), vector(y, one(x)))
	},
	"CosineDistance": func(x, y *graph.Array) *graph.Array {
		return nn.CosineDistance(vector(x, one(x)), vector(y, one(x)), 1e-8)
	},
	"TripletMargin": func(x, y *graph.Array) *graph.Array {
		return nn.TripletMargin(vector(x, one(x)), vector(y, one(x)), vector(one(x), one(x).Neg()), 1)
	},
	"NTXent": func(x, y *graph.Array) *graph.Array {
		embeddings := graph.Stack([]*graph.Array{vector(x, one(x)), vector(y, one(x)), vector(one(x), one(x).Neg())}, 0)
		return nn.NTXent(embeddings, graph.Int32s([]int32{0, 0, 1}), .5)
	},
	"SmoothLabels": func(x, y *graph.Array) *graph.Array { return nn.SmoothLabels(vector(x, y), .1).Index(0) },
}

func vector(v ...*graph.Array) *graph.Array { return graph.Stack(v, 0) }

func one(x *graph.Array) *graph.Array { return graph.OnesLike(x) }

func init() {
	for name, b := range map[string]distribution.Bijector{"Tanh": distribution.Tanh{},
		"Sigmoid": distribution.Sigmoid{}, "Exp": distribution.Exp{}, "Affine": distribution.NewAffine(1, 2)} {
		for method, f := range map[string]func(x *graph.Array) *graph.Array{"forward": b.Forward, "inverse": b.Inverse,
			"forward_log_det_jacobian": b.LogSlope} {
			edgeFunctions[name+"."+method] = func(x, y *graph.Array) *graph.Array { return f(x) }
		}
	}
}

// Wherever optax's or distrax's value or gradient is finite, ours is, and it is near. The short form compiles each
// function in one dtype, one after the other.
func TestExtremeArguments(t *testing.T) {
	var doc struct{ Cases []edge }
	require.NoError(t, oracles.Read("testdata/jax_edges.json.gz", &doc))
	dtypes := map[string]graph.DType{"float32": graph.Float32, "float16": graph.Float16, "bfloat16": graph.BFloat16}
	type arguments struct{ X, Y *graph.Array }
	names := slices.Sorted(maps.Keys(edgeFunctions))
	for where, backend := range xlatest.Backends(t) {
		t.Run(where, func(t *testing.T) {
			cases := doc.Cases
			if where == "xla" && !long.On() {
				cases = slices.DeleteFunc(slices.Clone(cases), func(c edge) bool {
					return c.DType != slices.Sorted(maps.Keys(dtypes))[slices.Index(names, c.Name)%len(dtypes)]
				})
			}
			in := make([]arguments, len(cases))
			for i, c := range cases {
				d := dtypes[c.DType]
				in[i] = arguments{graph.Float32s(c.X.Float32s()).Convert(d), graph.Float32s(c.Y.Float32s()).Convert(d)}
			}
			got, err := xlabridge.Jit(backend, func(in []arguments) [][2]*graph.Array {
				var out [][2]*graph.Array
				for i, c := range cases {
					f := func(x, y *graph.Array) *graph.Array {
						return edgeFunctions[c.Name](x, y).Convert(graph.Float32)
					}
					v := graph.VMap2(f)(in[i].X, in[i].Y)
					g := graph.Grad(func(x *graph.Array) *graph.Array {
						return graph.VMap2(f)(x, in[i].Y).Sum()
					})(in[i].X)
					out = append(out, [2]*graph.Array{v, g})
				}
				return out
			})(in)
			require.NoError(t, err)
			for i, c := range cases {
				// Half precision is computed in float32; gradients are rounded to the dtype.
				tolerance := map[string]float64{"float32": 1e-3, "float16": 2e-3, "bfloat16": 1e-2}[c.DType]
				largest := map[string]float64{"float32": math.MaxFloat32, "float16": 65504, "bfloat16": 3.3e38}[c.DType]
				x, y := c.X.Floats(), c.Y.Floats()
				compare := func(what string, theirs, exact oracles.Array, ours *graph.Array) {
					have, exactly := graphtest.Floats(t, ours), exact.Floats()
					for k, v := range theirs.Floats() {
						at := fmt.Sprintf("%s of %s in %s at %v and %v", what, c.Name, c.DType, x[k], y[k])
						corner := c.Name == "MAE" && x[k] == y[k] // where JAX's slope is 1
						if math.Abs(exactly[k]) <= largest && !corner {
							delta := tolerance * math.Max(1, math.Abs(exactly[k]))
							require.InDelta(t, exactly[k], have[k], delta, at)
						} else if math.Abs(v) <= largest {
							require.False(t, math.IsNaN(have[k]) || math.IsInf(have[k], 0), at)
						}
					}
				}
				compare("value", c.Value, c.Exact, got[i][0])
				compare("gradient", c.Gradient, c.ExactGradient, got[i][1])
			}
		})
	}
}
