package stablehlo_test

import (
	"fmt"
	"log"

	"xlarun/graph"
	"xlarun/graph/stablehlo"
)

// A function that another program wrote as StableHLO works under the transforms.
func Example() {
	f, err := stablehlo.Parse("square.mlir", `module {
  func.func public @main(%arg0: tensor<f32>) -> tensor<f32> {
    %0 = stablehlo.multiply %arg0, %arg0 : tensor<f32>
    return %0 : tensor<f32>
  }
}`)
	if err != nil {
		log.Fatal(err)
	}
	square := stablehlo.As[*graph.Array](f, graph.Scalar(0))
	fmt.Println(graph.VMap(graph.Grad(square))(graph.Of([]float32{1, 2, 3})))
	// Output: f32[3] {2 4 6}
}
