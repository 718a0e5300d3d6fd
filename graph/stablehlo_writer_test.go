package graph_test

import (
	"testing"

	"github.com/gomlx/compute/dtypes"
	"github.com/stretchr/testify/require"

	"xlarun/graph/internal/stablehlo"
)

// A module with a constant, a reduction with its region, and a call of a private function.
func TestModule(t *testing.T) {
	w := stablehlo.NewWriter()
	scalar, vector := stablehlo.Type(dtypes.Float32), stablehlo.Type(dtypes.Float32, 3)
	zero := w.Constant(stablehlo.Dense(dtypes.Float32, nil, make([]byte, 4)), scalar)
	sum := w.Op("stablehlo.reduce", "%arg0, "+zero, "dimensions = "+stablehlo.Int64s([]int{0}), vector+", "+scalar,
		scalar,
		w.Combiner("stablehlo.add", scalar))
	require.False(t, w.HasFunction("twice"))
	w.Function("twice", "%x: "+scalar, scalar, w.Body(func() {
		w.Return("func.return", w.Binary("stablehlo.add", "%x", "%x", scalar), scalar)
	}))
	require.True(t, w.HasFunction("twice"))
	w.Ops("%r", "func.call", sum, "callee = @twice", scalar, scalar)
	w.Return("func.return", "%r", scalar)
	require.Equal(t, `module @xlarun_a_b attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 2 : i32} {
  func.func public @main(%arg0: tensor<3xf32>) -> (tensor<f32>) {
    %1 = "stablehlo.constant"() {value = dense<0x00000000> : tensor<f32>} : () -> tensor<f32>
    %5 = "stablehlo.reduce"(%arg0, %1) ({
    ^bb0(%2: tensor<f32>, %3: tensor<f32>):
      %4 = "stablehlo.add"(%2, %3) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%4) : (tensor<f32>) -> ()
    }) {dimensions = array<i64: 0>} : (tensor<3xf32>, tensor<f32>) -> tensor<f32>
    %r = "func.call"(%5) {callee = @twice} : (tensor<f32>) -> (tensor<f32>)
    "func.return"(%r) : (tensor<f32>) -> ()
  }
  func.func private @twice(%x: tensor<f32>) -> (tensor<f32>) {
    %6 = "stablehlo.add"(%x, %x) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    "func.return"(%6) : (tensor<f32>) -> ()
  }
}
`, w.Module("a b", 2, "%arg0: "+vector, scalar))
}

func TestAttributes(t *testing.T) {
	for i, c := range []struct{ got, want string }{
		{stablehlo.Type(dtypes.Bool), "tensor<i1>"},
		{stablehlo.Type(dtypes.Uint8, 2, 3), "tensor<2x3xui8>"},
		{stablehlo.Dense(dtypes.Int16, []int{2}, []byte{0xff, 0xff, 1, 0}), "dense<[-1, 1]> : tensor<2xi16>"},
		{stablehlo.Dense(dtypes.Uint64, []int{2}, []byte{0, 0, 0, 0, 0, 0, 0, 128, 1, 0, 0, 0, 0, 0, 0, 0}),
			"dense<[9223372036854775808, 1]> : tensor<2xui64>"},
		{stablehlo.Dense(dtypes.Bool, []int{2, 2}, []byte{0, 1, 1, 1}),
			"dense<[[false, true], [true, true]]> : tensor<2x2xi1>"},
		{stablehlo.Dense(dtypes.Float16, []int{3}, []byte{0, 0x7e, 0, 0x7e, 0, 0x7e}), "dense<0x7E00> : tensor<3xf16>"},
		{stablehlo.Dense(dtypes.Float32, []int{0}, nil), "dense<> : tensor<0xf32>"},
		{stablehlo.Comparison("LT", dtypes.Uint8), "comparison_direction = #stablehlo<comparison_direction LT>, " +
			"compare_type = #stablehlo<comparison_type UNSIGNED>"},
		{stablehlo.Int64s(nil), "array<i64>"},
		{stablehlo.Bools([]bool{true, false}), "array<i1: true, false>"},
		{stablehlo.Matrix(nil, 2), "dense<> : tensor<0x2xi64>"},
		{stablehlo.Matrix([][]int{{1, 2}, {3, 4}}, 2), "dense<[[1, 2], [3, 4]]> : tensor<2x2xi64>"},
		{stablehlo.RowMajor(0), "dense<> : tensor<0xindex>"},
		{stablehlo.RowMajor(3), "dense<[2, 1, 0]> : tensor<3xindex>"},
	} {
		require.Equal(t, c.want, c.got, "case %d", i)
	}
}
