package distribution_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/graph"
	"xlarun/graph/distribution"
	"xlarun/graph/graphtest"
	"xlarun/internal/long"
	"xlarun/third_party/oracles"
	"xlarun/xlabridge"
	"xlarun/xlabridge/xlatest"
)

// randomCase is a distribution of random parameters: third_party/oracles/random_scipy.py says what the fields hold.
type randomCase struct {
	Kind                 string
	P, Q                 map[string]oracles.Array
	X, Entropy, KL, Mean oracles.Array
	LogProb              oracles.Array `json:"log_prob"`
}

type tree = map[string]*graph.Array

// randomKinds make the distributions of the cases.
var randomKinds = map[string]func(p tree) distribution.Drawable{
	"normal":      func(p tree) distribution.Drawable { return distribution.NewNormal(p["loc"], p["scale"]) },
	"laplace":     func(p tree) distribution.Drawable { return distribution.NewLaplace(p["loc"], p["scale"]) },
	"gumbel":      func(p tree) distribution.Drawable { return distribution.NewGumbel(p["loc"], p["scale"]) },
	"logistic":    func(p tree) distribution.Drawable { return distribution.NewLogistic(p["loc"], p["scale"]) },
	"uniform":     func(p tree) distribution.Drawable { return distribution.NewUniform(p["loc"], p["scale"]) },
	"gamma":       func(p tree) distribution.Drawable { return distribution.NewGamma(p["concentration"], p["rate"]) },
	"beta":        func(p tree) distribution.Drawable { return distribution.NewBeta(p["a"], p["b"]) },
	"poisson":     func(p tree) distribution.Drawable { return distribution.NewPoisson(p["rate"]) },
	"bernoulli":   func(p tree) distribution.Drawable { return distribution.NewBernoulli(p["logits"]) },
	"categorical": func(p tree) distribution.Drawable { return distribution.NewCategorical(p["logits"]) },
	"dirichlet":   func(p tree) distribution.Drawable { return distribution.NewDirichlet(p["concentration"]) },
	"multivariate_normal": func(p tree) distribution.Drawable {
		return distribution.NewMultivariateNormal(p["loc"], p["covariance"])
	},
	"mixture": func(p tree) distribution.Drawable {
		return distribution.NewMixture(p["logits"], distribution.NewNormal(p["loc"], p["scale"]))
	},
}

// divergence is p.KL(q), nil where p has none.
func divergence(p, q distribution.Drawable) *graph.Array {
	switch p := p.(type) {
	case distribution.Normal:
		return p.KL(q.(distribution.Normal))
	case distribution.Laplace:
		return p.KL(q.(distribution.Laplace))
	case distribution.Uniform:
		return p.KL(q.(distribution.Uniform))
	case distribution.Gamma:
		return p.KL(q.(distribution.Gamma))
	case distribution.Beta:
		return p.KL(q.(distribution.Beta))
	case distribution.Poisson:
		return p.KL(q.(distribution.Poisson))
	case distribution.Bernoulli:
		return p.KL(q.(distribution.Bernoulli))
	case distribution.Categorical:
		return p.KL(q.(distribution.Categorical))
	case distribution.MultivariateNormal:
		return p.KL(q.(distribution.MultivariateNormal))
	}
	return nil
}

type arguments struct {
	P, Q tree
	X    *graph.Array
}

func (c randomCase) arguments(d graph.DType) arguments {
	array := func(a oracles.Array) *graph.Array { return graph.Float64s(a.Floats(), a.Shape...).Convert(d) }
	all := func(m map[string]oracles.Array) tree {
		out := tree{}
		for k, a := range m {
			out[k] = array(a)
		}
		return out
	}
	return arguments{all(c.P), all(c.Q), array(c.X)}
}

// results are the numbers that the case has.
func (c randomCase) results(a arguments) tree {
	p := randomKinds[c.Kind](a.P)
	out := tree{"log_prob": p.LogProb(a.X)}
	if c.Entropy.DType != "" {
		out["entropy"] = p.(distribution.Distribution).Entropy()
	}
	if c.KL.DType != "" {
		out["kl"] = divergence(p, randomKinds[c.Kind](a.Q))
	}
	if c.Mean.DType != "" {
		out["mean"] = p.(interface{ Mean() *graph.Array }).Mean()
	}
	return out
}

// TestRandomDistributions compares distributions of random parameters, whose shapes broadcast, with SciPy: inside, on
// the bound and outside of the support, in float64 and float32. The numbers are right to 1e-9 and to 2e-4: some are
// differences of large ones. XLA gets them in the long form.
func TestRandomDistributions(t *testing.T) {
	var doc struct{ Cases []randomCase }
	require.NoError(t, oracles.Read("testdata/random_scipy.json.gz", &doc))
	kinds := map[string]bool{}
	for _, c := range doc.Cases {
		kinds[c.Kind] = true
	}
	require.Len(t, kinds, len(randomKinds))
	for where, backend := range xlatest.Backends(t) {
		if where == "xla" && !long.On() {
			continue // TestAgainstJAX compiles distributions
		}
		for d, tolerance := range map[graph.DType]float64{graph.Float64: 1e-9, graph.Float32: 2e-4} {
			in := make([]arguments, len(doc.Cases))
			for i, c := range doc.Cases {
				in[i] = c.arguments(d)
			}
			got, err := xlabridge.Jit(backend, func(in []arguments) (out []tree) {
				for i, c := range doc.Cases {
					out = append(out, c.results(in[i]))
				}
				return out
			})(in)
			require.NoError(t, err)
			for i, c := range doc.Cases {
				numbers := map[string]oracles.Array{"log_prob": c.LogProb, "entropy": c.Entropy, "kl": c.KL,
					"mean": c.Mean}
				for name, want := range numbers {
					if want.DType == "" {
						continue
					}
					at := fmt.Sprintf("%s: case %d, %s of %s in %s, p %s, q %s, x %v", where, i, name, c.Kind, d,
						show(c.P), show(c.Q), c.X.Floats())
					require.Equal(t, want.Shape, append([]int{}, got[i][name].Dims()...), at)
					numbers := want.Floats()
					for k, x := range numbers {
						if d == graph.Float32 && math.Abs(x) > math.MaxFloat32 {
							numbers[k] = math.Inf(int(math.Copysign(1, x)))
						}
					}
					graphtest.Near(t, numbers, floats(t, got[i][name]), tolerance, at)
				}
			}
		}
	}
}

func show(parameters map[string]oracles.Array) string {
	out := map[string][]float64{}
	for k, a := range parameters {
		out[k] = a.Floats()
	}
	return fmt.Sprint(out)
}
