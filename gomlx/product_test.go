package gomlx_test

import (
	"testing"

	"github.com/gomlx/compute/dtypes"
	mlgraph "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/ml/model"
	"github.com/stretchr/testify/require"

	"xlarun/gomlx"
	"xlarun/graph"
	"xlarun/graph/lower"
	"xlarun/graph/random"
	"xlarun/xlabridge"
	"xlarun/xlabridge/xlatest"
)

// Narrow numbers are multiplied as they are, and summed in the accumulator's dtype.
func TestAccumulators(t *testing.T) {
	c := xlatest.Open(t, 1)
	for _, s := range []struct {
		name     string
		operands graph.DType
		sums     graph.DType
		product  string // its types in StableHLO
		x        float64
	}{
		{"bfloat16", dtypes.BFloat16, dtypes.Float32,
			"(tensor<3x300xbf16>, tensor<300x2xbf16>) -> (tensor<3x2xf32>)", 1 + 1./128},
		{"float16", dtypes.Float16, dtypes.Float32,
			"(tensor<3x300xf16>, tensor<300x2xf16>) -> (tensor<3x2xf32>)", 1 + 1./1024},
		{"int8", dtypes.Int8, dtypes.Int32, "(tensor<3x300xi8>, tensor<300x2xi8>) -> (tensor<3x2xi32>)", -128},
		{"no sign", dtypes.Uint8, dtypes.Int32,
			"(tensor<3x300xui8>, tensor<300x2xui8>) -> (tensor<3x2xi32>)", 255},
		{"integers as floats, which are converted", dtypes.Int8, dtypes.Float32,
			"(tensor<3x300xf32>, tensor<300x2xf32>) -> (tensor<3x2xf32>)", 127},
	} {
		left, right := graph.ShapeOf(s.operands, 3, 300), graph.ShapeOf(s.operands, 300, 2)
		m, err := gomlx.NewModel(nil, func(_ *model.Scope, in []*mlgraph.Node) []*mlgraph.Node {
			dot := mlgraph.Dot(in[0], in[1]).WithAccumulatorDType(s.sums).WithOutputDType(s.sums)
			return []*mlgraph.Node{dot.Product()}
		}, left, right)
		require.NoError(t, err, s.name)
		product := func(x, y *graph.Array) *graph.Array { return m.Call(nil, random.New(0), x, y)[0] }
		x, y := graph.Full(left, s.x), graph.Full(right, s.x)
		p, err := graph.Trace2("product", product, x, y)
		require.NoError(t, err, s.name)
		l, err := lower.Lower(p, graph.TargetCPU)
		require.NoError(t, err, s.name)
		require.Contains(t, l.StableHLO, s.product, s.name)
		got, err := xlabridge.Jit2(c, product)(x, y)
		require.NoError(t, err, s.name)
		require.Equal(t, s.sums, got.DType(), s.name)
		for _, v := range floats(t, got) {
			require.InEpsilon(t, 300*s.x*s.x, v, 1e-6, s.name)
		}
	}
}
