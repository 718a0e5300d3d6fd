package stablehlo_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/graph"
	"xlarun/graph/stablehlo"
)

// A formula that is not selected leaves the gradient alone, where its own derivative is infinite. In the formula that
// is selected an infinite derivative stays.
func TestFormulasThatAreNotSelected(t *testing.T) {
	for name, c := range map[string]struct {
		body string
		want []float64
	}{
		"a root beyond a threshold": {`%c = stablehlo.constant dense<1.0> : tensor<3xf32>
%p = stablehlo.compare LT, %x, %c, FLOAT : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xi1>
%r = stablehlo.sqrt %x : tensor<3xf32>
%y = stablehlo.select %p, %x, %r : tensor<3xi1>, tensor<3xf32>`, []float64{1, .5, .25}},
		"a root up to a threshold": {`%c = stablehlo.constant dense<0.0> : tensor<3xf32>
%p = stablehlo.compare GE, %x, %c, FLOAT : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xi1>
%r = stablehlo.sqrt %x : tensor<3xf32>
%y = stablehlo.select %p, %r, %x : tensor<3xi1>, tensor<3xf32>`, []float64{math.Inf(1), .5, .25}},
		"an infinite factor": {`%c = stablehlo.constant dense<4.0> : tensor<3xf32>
%i = stablehlo.constant dense<0x7F800000> : tensor<3xf32>
%p = stablehlo.compare EQ, %x, %c, FLOAT : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xi1>
%r = stablehlo.multiply %x, %i : tensor<3xf32>
%y = stablehlo.select %p, %r, %x : tensor<3xi1>, tensor<3xf32>`, []float64{1, 1, math.Inf(1)}},
		"called functions": {`%c = stablehlo.constant dense<1.0> : tensor<f32>
%t = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<f32>) -> tensor<3xf32>
%p = stablehlo.compare LT, %x, %t, FLOAT : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xi1>
%r = call @root(%x) : (tensor<3xf32>) -> tensor<3xf32>
%y = call @either(%p, %x, %r) : (tensor<3xi1>, tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>`,
			[]float64{1, .5, .25}},
	} {
		t.Run(name, func(t *testing.T) {
			f, err := stablehlo.Parse("f.mlir", "func.func @main(%x: tensor<3xf32>) -> (tensor<3xf32>) {\n"+c.body+
				"\nreturn %y : tensor<3xf32>\n}\n"+`func.func private @root(%p: tensor<3xf32>) -> tensor<3xf32> {
%x = stablehlo.sqrt %p : tensor<3xf32>
return %x : tensor<3xf32>
}
func.func private @either(%x: tensor<3xi1>, %p: tensor<3xf32>, %q: tensor<3xf32>) -> tensor<3xf32> {
%y = stablehlo.select %x, %p, %q : tensor<3xi1>, tensor<3xf32>
return %y : tensor<3xf32>
}`)
			require.NoError(t, err)
			x := graph.Float32s([]float32{0, 1, 4})
			slope := graph.Grad(func(x *graph.Array) *graph.Array { return f.Call(x)[0].Sum() })(x)
			got, err := graph.Floats(slope)
			require.NoError(t, err)
			require.Equal(t, c.want, got)
		})
	}
}
