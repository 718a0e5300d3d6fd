package distribution_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/graph"
	"xlarun/graph/distribution"
	"xlarun/graph/random"
)

// An invertible function does not change a divergence, also where it rounds draws to its limits.
func TestDivergenceOfSaturated(t *testing.T) {
	const n = 1000
	p, q := distribution.NewNormal(0, 5), distribution.NewNormal(0, 4)
	want := floats(t, distribution.Divergence(random.New(3), p, q, n))[0]
	require.InDelta(t, floats(t, p.KL(q))[0], want, .03)
	shifted := func(d distribution.Normal) distribution.Normal { return distribution.NewNormal(d.Loc, d.Scale.Div(2)) }
	tanh, sigmoid, twice := distribution.Tanh{}, distribution.Sigmoid{}, distribution.NewAffine(0, 2)
	of := distribution.NewTransformed[distribution.Normal, distribution.Bijector]
	for name, c := range map[string]struct{ p, q distribution.Drawable }{
		"tanh":     {of(p, tanh), of(q, tanh)},
		"sigmoid":  {of(p, sigmoid), of(q, sigmoid)},
		"squashed": {distribution.NewSquashedNormal(0, 5), of(q, tanh)},
		"inverted": {of(p, distribution.Inverted{Of: sigmoid}), of(q, distribution.Inverted{Of: sigmoid})},
		"twice": {distribution.NewTransformed(of(p, tanh), twice),
			of(q, distribution.Steps{tanh, distribution.Steps{twice}})},
		"another before": {of(shifted(p), distribution.Steps{twice, tanh}), of(q, tanh)},
	} {
		got := floats(t, distribution.Divergence(random.New(3), c.p, c.q, n))
		require.InDeltaSlice(t, []float64{want}, got, 1e-5, name)
	}
	// The common function may have more axes than the base.
	one := graph.Ones(graph.ShapeOf(graph.Float32, 1))
	both := distribution.Steps{tanh, distribution.NewAffine(0, graph.Float32s([]float32{2, 3}))}
	wide := func(d distribution.Normal) distribution.Drawable {
		return of(distribution.NewNormal(d.Loc, d.Scale.Mul(one)), both)
	}
	got := floats(t, distribution.Divergence(random.New(3), wide(p), wide(q), n))
	require.InDeltaSlice(t, []float64{want, want}, got, 1e-5)
	// Another affine function is not the same one.
	other := distribution.NewTransformed(q, distribution.NewAffine(0, 4))
	got = floats(t, distribution.Divergence(random.New(3), distribution.NewTransformed(p, twice), other, 20000))
	require.InDelta(t, floats(t, distribution.NewNormal(0, 10).KL(distribution.NewNormal(0, 16)))[0], got[0], .02)
}

// What is inverted has its slope at the value: the sigmoid of 20 rounds to 1.
func TestLogProbOfInverted(t *testing.T) {
	x := graph.Float32s([]float32{-80, -20, -1, 0, 1, 20, 80})
	want := make([]float64, 7)
	for i, v := range floats(t, x) {
		want[i] = -math.Abs(v) - 2*math.Log1p(math.Exp(-math.Abs(v)))
	}
	uniform := distribution.NewUniform(0, 1)
	logit := distribution.Inverted{Of: distribution.Sigmoid{}}
	require.InDeltaSlice(t, want, floats(t, distribution.NewTransformed(uniform, logit).LogProb(x)), 1e-5)
	twice := distribution.Steps{logit, distribution.NewAffine(0, 2)}
	got := floats(t, distribution.NewTransformed(uniform, twice).LogProb(x.Mul(2)).Add(math.Ln2))
	require.InDeltaSlice(t, want, got, 1e-5)
}

// Categorical takes values of any dtype, also of one that does not hold the number of classes.
func TestCategoricalOfNarrowValues(t *testing.T) {
	for _, n := range []int{2, 128, 256, 70000} {
		d := distribution.NewCategorical(graph.Zeros(graph.ShapeOf(graph.Float32, n)))
		for _, dtype := range []graph.DType{graph.Bool, graph.Int8, graph.Uint8, graph.Int16, graph.Uint16,
			graph.Uint32, graph.Int64, graph.Uint64, graph.Float16, graph.BFloat16, graph.Float32, graph.Float64} {
			got := floats(t, d.LogProb(graph.Scalar(1, dtype)))
			require.InDeltaSlice(t, []float64{-math.Log(float64(n))}, got, 1e-5, "%d classes, %s", n, dtype)
		}
		outside := floats(t, d.LogProb(graph.Of([]int8{-1, -128})))
		require.Equal(t, []float64{math.Inf(-1), math.Inf(-1)}, outside)
	}
	d := distribution.NewCategorical(graph.Zeros(graph.ShapeOf(graph.Float32, 100)))
	require.Equal(t, []float64{math.Inf(-1)}, floats(t, d.LogProb(graph.Scalar(100, graph.Int8))))
}

// A mixture of transformed distributions is a transformed mixture: its divergence is that of what is transformed, also
// where draws round to the limits. It was NaN.
func TestDivergenceOfMixtures(t *testing.T) {
	const n = 1000
	logits := graph.Float32s([]float32{0, 1})
	loc, scale := graph.Float32s([]float32{-1, 3}), graph.Float32s([]float32{5, 9})
	p, q := distribution.NewNormal(loc, scale), distribution.NewNormal(0, 6)
	plain := distribution.NewMixture(logits, p)
	want := floats(t, distribution.Divergence(random.New(3), plain, q, n))
	require.InDelta(t, .1921, want[0], .085) // the integral, within three deviations of the estimate
	tanh := distribution.Tanh{}
	squashed := distribution.NewMixture(logits, distribution.NewSquashedNormal(loc, scale))
	transformed := distribution.NewMixture(logits, distribution.NewTransformed(p, tanh))
	steps := distribution.NewMixture(logits, distribution.NewTransformed(
		distribution.NewNormal(loc.Div(2), scale.Div(2)), distribution.Steps{distribution.NewAffine(0,
			graph.Float32s([]float32{2, 2})), tanh}))
	for name, p := range map[string]distribution.Drawable{"squashed": squashed, "transformed": transformed,
		"steps": steps} {
		got := floats(t, distribution.Divergence(random.New(3), p, distribution.NewSquashedNormal(0, 6), n))
		require.InDeltaSlice(t, want, got, 1e-4, name)
		// Beside another bijector a draw that rounds to 1 has a density, and is impossible.
		other := distribution.NewTransformed(q, distribution.Steps{distribution.NewAffine(0, 2), tanh})
		got = floats(t, distribution.Divergence(random.New(3), p, other, n))
		require.False(t, math.IsNaN(got[0]), name)
		got = floats(t, distribution.Divergence(random.New(3), p, distribution.NewUniform(-1, 1), n))
		require.False(t, math.IsNaN(got[0]) || math.IsInf(got[0], 0), name)
	}
}
