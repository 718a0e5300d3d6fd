package graph

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// On accelerators a short scan in the step of another one is written without a loop, with the same results.
func TestShortLoopsInLoops(t *testing.T) {
	f := func(length int) *Program {
		p, err := Trace("substeps", func(x *Array) *Array {
			last, _ := Scan(func(x *Array, _ None) (*Array, None) {
				x, _ = Scan(func(x *Array, _ None) (*Array, None) { return Mul(x, .5).Add(Sin(x)), None{} }, x, None{},
					Length(length))
				return x, None{}
			}, x, None{}, Length(40))
			return last
		}, Abstract(ShapeOf(Float32, 3)))
		require.NoError(t, err)
		return p
	}
	x := tensorOf(t, Float32s([]float32{-1, .5, 2}))
	for _, target := range []Target{TargetCUDA, TargetTPU} {
		require.Equal(t, 1, opsOf(t, target, f(8))["while"], "%s", target)
		require.Equal(t, 2, opsOf(t, target, f(mostUnrolledSteps*8))["while"], "a long one, %s", target)
		require.Equal(t, interpretLowered(t, TargetCPU, f(8), x)[0].V, interpretLowered(t, target, f(8), x)[0].V)
	}
	require.Equal(t, 2, opsOf(t, TargetCPU, f(8))["while"], "a CPU keeps the loop")
}
