package distribution_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/graph"
	"xlarun/graph/distribution"
	"xlarun/graph/graphtest"
)

// A value of a wider float type than the parameters keeps its digits: the result is that of parameters of its type.
// They were dropped without a word.
func TestLogProbOfWiderValues(t *testing.T) {
	one, two := graph.Scalar(1, graph.Float64), graph.Float64s([]float64{.5, 2})
	for name, of := range map[string]struct {
		make func(d graph.DType) distribution.Drawable
		x    []float64
	}{
		"normal": {func(d graph.DType) distribution.Drawable {
			return distribution.NewNormal(one.Convert(d), one.Convert(d))
		}, []float64{1 + 1e-12}},
		"squashed normal": {func(d graph.DType) distribution.Drawable {
			return distribution.NewSquashedNormal(one.Convert(d), one.Convert(d))
		}, []float64{1 - 1e-12}},
		"laplace": {func(d graph.DType) distribution.Drawable {
			return distribution.NewLaplace(one.Convert(d), one.Convert(d))
		}, []float64{1 + 1e-12}},
		"uniform": {func(d graph.DType) distribution.Drawable {
			return distribution.NewUniform(graph.ZerosLike(one).Convert(d), one.Convert(d))
		}, []float64{1 + 1e-12}},
		"gumbel": {func(d graph.DType) distribution.Drawable {
			return distribution.NewGumbel(one.Convert(d), one.Convert(d))
		}, []float64{1 + 1e-12}},
		"logistic": {func(d graph.DType) distribution.Drawable {
			return distribution.NewLogistic(one.Convert(d), one.Convert(d))
		}, []float64{1 + 1e-12}},
		"gamma": {func(d graph.DType) distribution.Drawable {
			return distribution.NewGamma(two.Convert(d), one.Convert(d))
		}, []float64{1e-100}},
		"beta": {func(d graph.DType) distribution.Drawable {
			return distribution.NewBeta(two.Convert(d), one.Convert(d))
		}, []float64{1e-100}},
		"dirichlet": {func(d graph.DType) distribution.Drawable {
			return distribution.NewDirichlet(two.Convert(d))
		}, []float64{1e-100, 1}},
		"poisson": {func(d graph.DType) distribution.Drawable { return distribution.NewPoisson(one.Convert(d)) },
			[]float64{1 + 1e-12}},
		"bernoulli": {func(d graph.DType) distribution.Drawable { return distribution.NewBernoulli(one.Convert(d)) },
			[]float64{1 + 1e-12}},
		"categorical": {func(d graph.DType) distribution.Drawable {
			return distribution.NewCategorical(two.Convert(d))
		}, []float64{1 + 1e-12}},
		"one-hot categorical": {func(d graph.DType) distribution.Drawable {
			return distribution.NewOneHotCategorical(two.Convert(d))
		}, []float64{1, 1e-50}},
		"diagonal": {func(d graph.DType) distribution.Drawable {
			return distribution.NewMultivariateNormalDiag(two.Convert(d), one.Convert(d))
		}, []float64{.5, 2 + 1e-12}},
		"multivariate": {func(d graph.DType) distribution.Drawable {
			return distribution.NewMultivariateNormal(two.Convert(d), graph.Eye(d, 2))
		}, []float64{.5, 2 + 1e-12}},
		"independent": {func(d graph.DType) distribution.Drawable {
			return distribution.NewIndependent(distribution.NewNormal(two.Convert(d), one.Convert(d)), 1)
		}, []float64{.5, 2 + 1e-12}},
		"mixture": {func(d graph.DType) distribution.Drawable {
			return distribution.NewMixture(two.Convert(d), distribution.NewNormal(two.Convert(d), one.Convert(d)))
		}, []float64{1 + 1e-12}},
		"transformed": {func(d graph.DType) distribution.Drawable {
			return distribution.NewTransformed(distribution.NewNormal(one.Convert(d), one.Convert(d)),
				distribution.Exp{})
		}, []float64{1e-100}},
	} {
		for _, d := range []graph.DType{graph.Float32, graph.Float16, graph.BFloat16} {
			if name == "multivariate" && d != graph.Float32 {
				continue // its Cholesky factor takes no 16-bit floats
			}
			x := graph.Float64s(of.x)
			want := of.make(graph.Float64).LogProb(x)
			got := of.make(d).LogProb(x)
			if name != "categorical" { // its value is a whole number, found in logits of the narrower type
				require.Equal(t, graph.Float64, got.DType(), "%s, %s", name, d)
			}
			tolerance := 1e-6
			if d != graph.Float32 && (name == "mixture" || name == "categorical") {
				tolerance = 5e-3 // logarithms of probabilities are rounded to the logits' type
			}
			graphtest.Near(t, graphtest.Floats(t, want), graphtest.Floats(t, got), tolerance, name, d)
			if d != graph.Float32 { // two 16-bit types make float32
				narrow := of.make(d).LogProb(x.Convert(graph.Float16))
				if name != "categorical" {
					require.Equal(t, d == graph.BFloat16, narrow.DType() == graph.Float32, "%s, %s", name, d)
				}
			}
			require.Equal(t, d, of.make(d).LogProb(x.Convert(d)).DType(), "%s, %s", name, d)
		}
	}
}
