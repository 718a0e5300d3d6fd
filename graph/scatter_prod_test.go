package graph

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestGradientOfScatterMul: the derivative of each factor is the product of the others, also where
// factors are 0, infinitesimal or repeated.
func TestGradientOfScatterMul(t *testing.T) {
	for _, c := range []struct {
		x, u    []float64
		indices []int32
	}{
		{[]float64{2, 3, 5}, []float64{7, 11}, []int32{2, 0}},
		{[]float64{2, 3, 5}, []float64{7, 11}, []int32{2, 9}}, // one is dropped
		{[]float64{2, 3, 5}, []float64{7, 11, -13, .5}, []int32{1, 1, 0, 1}},
		{[]float64{2, 0, 5}, []float64{0, 11, 0, .5}, []int32{1, 1, 2, 2}},
		{[]float64{2, 3, 5}, []float64{0, 0, 4, 0}, []int32{1, 1, 1, 0}},
		{[]float64{1e-30, 3}, []float64{1e-30}, []int32{0}}, // the product is too small for a float32
		{[]float64{2, 3}, []float64{}, []int32{}},
	} {
		t.Run(fmt.Sprint(c.indices, c.u), func(t *testing.T) {
			wantX, wantU := make([]float64, len(c.x)), make([]float64, len(c.u))
			for i := range c.x {
				wantX[i] = 1
				for k, at := range c.indices {
					if int(at) == i {
						wantX[i] *= c.u[k]
					}
				}
			}
			for k, at := range c.indices {
				if int(at) >= len(c.x) {
					continue
				}
				wantU[k] = c.x[at]
				for other, place := range c.indices {
					if other != k && place == at {
						wantU[k] *= c.u[other]
					}
				}
			}
			gradient, err := Eval(Grad(func(v [2]*Array) *Array {
				return Sum(ScatterMul(v[0], Of(c.indices), v[1]))
			})([2]*Array{Convert(Of(c.x), Float32), Convert(Of(c.u), Float32)}))
			require.NoError(t, err)
			for i, want := range [][]float64{wantX, wantU} {
				got := floatsOf(t, gradient[i])
				for k := range want {
					require.InDelta(t, want[k], got[k], 1e-6*math.Abs(want[k]), "%d", k)
				}
			}
		})
	}
}
