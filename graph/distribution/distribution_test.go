package distribution_test

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/graph"
	"xlarun/graph/distribution"
	"xlarun/graph/graphtest"
	"xlarun/graph/random"
	"xlarun/internal/long"
	"xlarun/third_party/oracles"
	"xlarun/xlabridge"
	"xlarun/xlabridge/xlatest"
)

// vector is a distribution of distrax: third_party/oracles/jax_distributions.py says what the fields hold.
type vector struct {
	Kind     string
	P, Q     map[string]oracles.Array
	X        oracles.Array
	LogProb  oracles.Array            `json:"log_prob"`
	KL       *oracles.Array           `json:"kl"`
	Entropy  *oracles.Array           `json:"entropy"`
	DX       *oracles.Array           `json:"d_x"`
	DLogProb map[string]oracles.Array `json:"d_log_prob"`
	DEntropy map[string]oracles.Array `json:"d_entropy"`
	DKL      map[string]oracles.Array `json:"d_kl"`
}

type arrays = map[string]*graph.Array

// kind makes a distribution of its parameters.
type kind struct {
	of func(p arrays) distribution.Drawable
	kl func(p, q distribution.Drawable) *graph.Array // nil: no closed form
}

func kindOf[D interface {
	distribution.Distribution
	KL(D) *graph.Array
}](of func(p arrays) D) kind {
	return kind{func(p arrays) distribution.Drawable { return of(p) },
		func(p, q distribution.Drawable) *graph.Array { return p.(D).KL(q.(D)) }}
}

var kinds = map[string]kind{
	"normal": kindOf(func(p arrays) distribution.Normal { return distribution.NewNormal(p["loc"], p["scale"]) }),
	"squashed_normal": kindOf(func(p arrays) distribution.SquashedNormal {
		return distribution.NewSquashedNormal(p["loc"], p["scale"])
	}),
	"laplace":     kindOf(func(p arrays) distribution.Laplace { return distribution.NewLaplace(p["loc"], p["scale"]) }),
	"categorical": kindOf(func(p arrays) distribution.Categorical { return distribution.NewCategorical(p["logits"]) }),
	"bernoulli":   kindOf(func(p arrays) distribution.Bernoulli { return distribution.NewBernoulli(p["logits"]) }),
	"poisson":     kindOf(func(p arrays) distribution.Poisson { return distribution.NewPoisson(p["rate"]) }),
	"gamma": kindOf(func(p arrays) distribution.Gamma {
		return distribution.NewGamma(p["concentration"], p["rate"])
	}),
	"beta": kindOf(func(p arrays) distribution.Beta { return distribution.NewBeta(p["a"], p["b"]) }),
	"dirichlet": kindOf(func(p arrays) distribution.Dirichlet {
		return distribution.NewDirichlet(p["concentration"])
	}),
	"multivariate_normal": kindOf(func(p arrays) distribution.MultivariateNormal {
		return distribution.MultivariateNormal{Loc: p["loc"], Scale: p["scale"]}
	}),
}

// open is a kind without a closed divergence and, unless it is a Distribution, entropy.
func open[D distribution.Drawable](of func(p arrays) D) kind {
	return kind{of: func(p arrays) distribution.Drawable { return of(p) }}
}

func init() {
	kinds["uniform"] = kindOf(func(p arrays) distribution.Uniform {
		return distribution.NewUniform(p["loc"], p["scale"])
	})
	kinds["gumbel"] = kindOf(func(p arrays) distribution.Gumbel { return distribution.NewGumbel(p["loc"], p["scale"]) })
	kinds["multivariate_normal_diag"] = kindOf(func(p arrays) distribution.MultivariateNormalDiag {
		return distribution.NewMultivariateNormalDiag(p["loc"], p["scale"])
	})
	kinds["one_hot_categorical"] = kindOf(func(p arrays) distribution.OneHotCategorical {
		return distribution.NewOneHotCategorical(p["logits"])
	})
	kinds["logistic"] = open(func(p arrays) distribution.Logistic {
		return distribution.NewLogistic(p["loc"], p["scale"])
	})
	kinds["independent"] = open(func(p arrays) distribution.Independent[distribution.Laplace] {
		return distribution.NewIndependent(distribution.NewLaplace(p["loc"], p["scale"]), 1)
	})
	kinds["mixture"] = open(func(p arrays) distribution.Mixture[distribution.Normal] {
		return distribution.NewMixture(p["logits"], distribution.NewNormal(p["loc"], p["scale"]))
	})
	kinds["mixture_diag"] = open(func(p arrays) distribution.Mixture[distribution.MultivariateNormalDiag] {
		return distribution.NewMixture(p["logits"], distribution.NewMultivariateNormalDiag(p["loc"], p["scale"]))
	})
	kinds["transformed"] = open(func(p arrays) distribution.Transformed[distribution.Normal, distribution.Steps] {
		return distribution.NewTransformed(distribution.NewNormal(p["loc"], p["scale"]),
			distribution.Steps{distribution.NewAffine(.5, 2), distribution.Sigmoid{}})
	})
	kinds["inverse"] = open(func(p arrays) distribution.Transformed[distribution.Beta, distribution.Inverted] {
		return distribution.NewTransformed(distribution.NewBeta(p["loc"], p["scale"]),
			distribution.Inverted{Of: distribution.Sigmoid{}})
	})
}

var dtypes = map[string]graph.DType{"float64": graph.Float64, "int64": graph.Int64}

func fromOracle(a oracles.Array, d graph.DType) *graph.Array {
	x := graph.FromBytes(graph.ShapeOf(dtypes[a.DType], a.Shape...), a.Data)
	if x.DType().IsFloat() {
		return x.Convert(d)
	}
	return x
}

func fromOracles(m map[string]oracles.Array, d graph.DType) arrays {
	out := arrays{}
	for k, a := range m {
		out[k] = fromOracle(a, d)
	}
	return out
}

// inputs is what a vector's program takes.
type inputs struct {
	P, Q arrays
	X    *graph.Array
}

// results are all values of a test vector, by name.
func (v vector) results(in inputs) arrays {
	k := kinds[v.Kind]
	logProb := func(p arrays, x *graph.Array) *graph.Array { return k.of(p).LogProb(x) }
	kl := func(p arrays) *graph.Array { return k.kl(k.of(p), k.of(in.Q)) }
	entropy := func(p arrays) *graph.Array { return k.of(p).(distribution.Distribution).Entropy() }
	sum := func(f func(p arrays) *graph.Array) func(p arrays) *graph.Array {
		return func(p arrays) *graph.Array { return f(p).Sum() }
	}
	out := arrays{"log_prob": logProb(in.P, in.X)}
	grads := map[string]arrays{
		"d_log_prob": graph.Grad(sum(func(p arrays) *graph.Array { return logProb(p, in.X) }))(in.P),
	}
	if k.kl != nil {
		out["kl"], grads["d_kl"] = kl(in.P), graph.Grad(sum(kl))(in.P)
	}
	if _, ok := k.of(in.P).(distribution.Distribution); ok {
		out["entropy"], grads["d_entropy"] = entropy(in.P), graph.Grad(sum(entropy))(in.P)
	}
	for name, d := range grads {
		for leaf, g := range d {
			out[name+" "+leaf] = g
		}
	}
	if in.X.DType().IsFloat() && v.DX != nil {
		out["d_x"] = graph.Grad(func(x *graph.Array) *graph.Array { return logProb(in.P, x).Sum() })(in.X)
	}
	return out
}

func (v vector) wanted() map[string]oracles.Array {
	want := map[string]oracles.Array{"log_prob": v.LogProb}
	if v.KL != nil {
		want["kl"] = *v.KL
	}
	if v.Entropy != nil {
		want["entropy"] = *v.Entropy
	}
	if v.DX != nil {
		want["d_x"] = *v.DX
	}
	for name, d := range map[string]map[string]oracles.Array{"d_log_prob": v.DLogProb, "d_kl": v.DKL,
		"d_entropy": v.DEntropy} {
		for leaf, g := range d {
			want[name+" "+leaf] = g
		}
	}
	return want
}

// floats returns the numbers of an array.
var floats = graphtest.Floats

// likeOthers are kinds that are another one but for ops that are elementwise, add or move elements. Only the long form
// compiles them.
var likeOthers = map[string]string{"laplace": "normal", "gumbel": "normal", "logistic": "normal",
	"independent": "normal", "multivariate_normal_diag": "normal", "one_hot_categorical": "categorical",
	"mixture_diag": "mixture", "squashed_normal": "normal", "transformed": "normal", "inverse": "beta",
	"dirichlet": "beta"}

// Values and gradients are distrax's: in float64 and in float32 on the interpreter, in float32 on XLA, in the short
// form for one of each kind.
func TestAgainstJAX(t *testing.T) {
	var doc struct{ Cases []vector }
	require.NoError(t, oracles.Read("testdata/jax_distributions.json.gz", &doc))
	require.Greater(t, len(doc.Cases), 15)
	// Far from 0, float32 has not got the digits of the place, nor lgamma those of a difference.
	tolerance := map[graph.DType]float64{graph.Float64: 1e-9, graph.Float32: 2e-4}
	for where, backend := range xlatest.Backends(t) {
		cases := doc.Cases
		if where == "xla" {
			cases = long.Sample(cases, func(v vector) string { return cmp.Or(likeOthers[v.Kind], v.Kind) })
		}
		for d, tol := range tolerance {
			if where == "xla" && d == graph.Float64 {
				continue
			}
			t.Run(fmt.Sprint(where, " ", d), func(t *testing.T) {
				in := make([]inputs, len(cases))
				for i, v := range cases {
					in[i] = inputs{fromOracles(v.P, d), fromOracles(v.Q, d), fromOracle(v.X, d)}
				}
				got, err := xlabridge.Jit(backend, func(in []inputs) []arrays {
					var out []arrays
					for i, v := range cases {
						out = append(out, v.results(in[i]))
					}
					return out
				})(in)
				require.NoError(t, err)
				for i, v := range cases {
					for name, want := range v.wanted() {
						msg := fmt.Sprint("case ", i, " ", v.Kind, " ", name)
						require.Equal(t, want.Shape, append([]int{}, got[i][name].Dims()...), msg)
						require.Equal(t, d, got[i][name].DType(), msg)
						if d == graph.Float32 && v.P["loc"].Len() == 1 {
							continue // a thousand, and a thousandth of it
						}
						largest := 1.
						for _, x := range want.Floats() {
							largest = max(largest, math.Abs(x))
						}
						for k, x := range want.Floats() {
							require.InDelta(t, x, floats(t, got[i][name])[k], tol*largest, "%s, element %d", msg, k)
						}
					}
				}
			})
		}
	}
}

// Samples equal jax.random's for the same key, shifted and scaled; the dims of Sample come first.
func TestDraws(t *testing.T) {
	key := random.New(3)
	loc, scale := graph.Float32s([]float32{1, -2, 3}), graph.Float32s([]float32{.5, 1, 2})
	s := graph.ShapeOf(graph.Float32, 4, 3)
	equal := func(want, got *graph.Array) {
		t.Helper()
		require.Equal(t, want.Shape().String(), got.Shape().String())
		require.Equal(t, floats(t, want), floats(t, got))
	}
	equal(loc.Add(scale.Mul(random.Normal(key, s))), distribution.NewNormal(loc, scale).Sample(key, 4))
	equal(loc.Add(scale.Mul(random.Laplace(key, s))), distribution.NewLaplace(loc, scale).Sample(key, 4))
	equal(distribution.NewNormal(loc, .5).Sample(key, 4).Tanh(), distribution.NewSquashedNormal(loc, .5).Sample(
		key, 4))
	equal(random.Categorical(key, loc, 0, random.Draws(4, 2)), distribution.NewCategorical(loc).Sample(key, 4, 2))
	equal(random.Bernoulli(key, graph.Logistic(loc), 4, 3), distribution.NewBernoulli(loc).Sample(key, 4))
	equal(random.Poisson(key, scale, 4, 3), distribution.NewPoisson(scale).Sample(key, 4))
	equal(random.Gamma(key, s, scale).Div(2), distribution.NewGamma(scale, 2).Sample(key, 4))
	equal(random.Beta(key, s, scale, 2), distribution.NewBeta(scale, 2).Sample(key, 4))
	equal(random.Dirichlet(key, scale, 4), distribution.NewDirichlet(scale).Sample(key, 4))
	cov := graph.Diag(scale).Add(.1)
	equal(random.MultivariateNormal(key, loc, cov, 4), distribution.NewMultivariateNormal(loc, cov).Sample(key, 4))
	require.Empty(t, distribution.NewNormal(0, 1).Sample(key).Dims())
	require.Equal(t, []int{0, 3}, distribution.NewGamma(scale, 1).Sample(key, 0).Dims())
}

// The average of minus LogProb over draws is the entropy, and of the difference to another's LogProb the divergence:
// interpreted, and in the long form compiled.
func TestDrawsAgreeWithLogProb(t *testing.T) {
	const n = 4000
	v := func(x ...float32) *graph.Array { return graph.Float32s(x) }
	eye := graph.Eye(graph.Float32, 2)
	for name, pair := range map[string][2]distribution.Distribution{
		"normal":          {distribution.NewNormal(1, 2), distribution.NewNormal(2, 3)},
		"squashed_normal": {distribution.NewSquashedNormal(.3, .8), distribution.NewSquashedNormal(0, 1)},
		"laplace":         {distribution.NewLaplace(1, 2), distribution.NewLaplace(2, 3)},
		"categorical":     {distribution.NewCategorical(v(0, 1, 2)), distribution.NewCategorical(v(1, 1, 1))},
		"bernoulli":       {distribution.NewBernoulli(1), distribution.BernoulliOf(.4)},
		"poisson":         {distribution.NewPoisson(4), distribution.NewPoisson(5)},
		"uniform":         {distribution.NewUniform(0, 2), distribution.NewUniform(-1, 3)},
		"gumbel":          {distribution.NewGumbel(1, 2), distribution.NewGumbel(2, 3)},
		"one_hot_categorical": {distribution.NewOneHotCategorical(v(0, 1, 2)),
			distribution.NewOneHotCategorical(v(1, 1, 1))},
		"multivariate_normal_diag": {distribution.NewMultivariateNormalDiag(v(1, 2), v(1, 3)),
			distribution.NewMultivariateNormalDiag(v(0, 2), v(2, 2))},
		"gamma":     {distribution.NewGamma(3, 2), distribution.NewGamma(2, 2)},
		"beta":      {distribution.NewBeta(2, 3), distribution.NewBeta(1, 1)},
		"dirichlet": {distribution.NewDirichlet(v(1, 2, 3)), distribution.NewDirichlet(v(2, 2, 2))},
		"multivariate_normal": {distribution.NewMultivariateNormal(v(1, 2), eye.Add(.5)),
			distribution.NewMultivariateNormal(v(0, 2), eye.Mul(2))},
	} {
		t.Run(name, func(t *testing.T) {
			var backend xlabridge.Backend = &xlabridge.Reference{}
			if long.On() {
				backend = xlatest.OpenCPU(t, 0)
			}
			got, err := xlabridge.Jit(backend, func(key random.Key) []*graph.Array {
				p, q := pair[0], pair[1]
				x := p.Sample(key, n)
				lp := p.LogProb(x)
				return []*graph.Array{lp.Neg(), p.Entropy(), lp.Sub(q.LogProb(x)), kinds[name].kl(p, q)}
			})(random.New(7))
			require.NoError(t, err)
			for i := range 2 {
				draws := floats(t, got[2*i])
				require.Len(t, draws, n)
				mean, square := 0., 0.
				for _, x := range draws {
					mean += x / n
					square += x * x / n
				}
				want := floats(t, got[2*i+1])[0]
				require.InDelta(t, want, mean, 5*math.Sqrt((square-mean*mean)/n)+1e-5)
			}
		})
	}
}

// Impossible values, NaN, infinite and huge parameters.
func TestEdges(t *testing.T) {
	inf, nan := math.Inf(1), math.NaN()
	v := func(x ...float64) *graph.Array {
		out := make([]float32, len(x))
		for i := range x {
			out[i] = float32(x[i])
		}
		return graph.Float32s(out)
	}
	never := distribution.NewCategorical(v(0, -inf, 0))
	for i, c := range []struct {
		what string
		got  *graph.Array
		want []float64
	}{
		{"normal of infinities and NaN", distribution.NewNormal(0, 1).LogProb(v(inf, -inf, nan, 1e30)), []float64{
			-inf, -inf, nan, -inf}},
		{"squashed normal outside, at the edge", distribution.NewSquashedNormal(0, 1).LogProb(
			v(1, -1, 1.1, nan)).IsFinite(), []float64{1, 1, 0, 0}},
		{"log-normal at the bound and beyond", distribution.NewTransformed(distribution.NewNormal(0, 1),
			distribution.Exp{}).LogProb(v(0, -1, inf, nan)), []float64{-inf, -inf, -inf, nan}},
		{"logit-normal at the bounds and beyond", distribution.NewTransformed(distribution.NewNormal(0, 1),
			distribution.Sigmoid{}).LogProb(v(0, 1, 1.1, -.1)), []float64{-inf, -inf, -inf, -inf}},
		{"tanh of a normal at the bounds", distribution.NewTransformed(distribution.NewNormal(0, 1),
			distribution.Tanh{}).LogProb(v(-1, 1)), []float64{-inf, -inf}},
		{"a logarithm of what is infinite", distribution.NewTransformed(distribution.NewNormal(0, 1),
			distribution.Inverted{Of: distribution.Exp{}}).LogProb(v(inf, -inf)), []float64{-inf, -inf}},
		{"squashed normal beyond is impossible", distribution.NewSquashedNormal(0, 1).LogProb(v(1.1, -2, nan)),
			[]float64{-inf, -inf, nan}},
		{"categorical out of range", distribution.NewCategorical(v(0, 0)).LogProb(graph.Int32s([]int32{-1, 2, 0})),
			[]float64{-inf, -inf, -math.Ln2}},
		{"categorical of halves", distribution.NewCategorical(v(0, 0)).LogProb(v(.5, 1)), []float64{-inf, -math.Ln2}},
		{"categorical that excludes", never.LogProb(graph.Iota(3)), []float64{-math.Ln2, -inf, -math.Ln2}},
		{"its entropy", never.Entropy(), []float64{math.Ln2}},
		{"its divergence from itself", never.KL(never), []float64{0}},
		{"its divergence from another that excludes more", never.KL(distribution.NewCategorical(v(0, -inf, -inf))),
			[]float64{inf}},
		{"the gradient of its entropy", graph.Grad(func(l *graph.Array) *graph.Array {
			return distribution.NewCategorical(l).Entropy()
		})(v(0, -inf, 0)), []float64{0, 0, 0}},
		{"bernoulli of certainties", distribution.NewBernoulli(v(inf, -inf)).LogProb(v(1, 1)), []float64{0, -inf}},
		{"their entropy", distribution.NewBernoulli(v(inf, -inf)).Entropy(), []float64{0, 0}},
		{"bernoulli of no outcome", distribution.NewBernoulli(0).LogProb(v(2, .5, nan)), []float64{-inf, -inf, nan}},
		{"poisson of rate 0", distribution.NewPoisson(0).LogProb(v(0, 1)), []float64{0, -inf}},
		{"poisson of no counts", distribution.NewPoisson(2).LogProb(v(-1, 1.5, inf, nan)), []float64{
			-inf, -inf, -inf, nan}},
		{"gamma below 0", distribution.NewGamma(2, 1).LogProb(v(-1, 0, nan)), []float64{-inf, -inf, nan}},
		{"gamma of concentration 1 at 0", distribution.NewGamma(1, 3).LogProb(v(0)), []float64{math.Log(3)}},
		{"beta outside", distribution.NewBeta(1, 1).LogProb(v(-.1, 0, 1, 1.1, nan)), []float64{-inf, 0, 0, -inf, nan}},
		{"dirichlet outside", distribution.NewDirichlet(v(1, 1)).LogProb(v(.5, .5, 2, -1, .5, .6, nan, 1).Reshape(
			4, 2)), []float64{0, -inf, -inf, nan}},
		{"laplace of infinity", distribution.NewLaplace(0, 1).LogProb(v(inf, nan)), []float64{-inf, nan}},
		{"no values", distribution.NewNormal(0, 1).LogProb(v()), []float64{}},
		{"gamma of infinity", distribution.NewGamma(v(.5, 1, 2, 50), 3).LogProb(v(inf)), []float64{
			-inf, -inf, -inf, -inf}},
		{"gamma of the largest number", distribution.NewGamma(2, 3).LogProb(v(math.MaxFloat32)), []float64{-inf}},
		{"the gradient of a gamma of infinity", graph.Grad(func(a *graph.Array) *graph.Array {
			return distribution.NewGamma(a, 3).LogProb(v(inf, 0)).Sum()
		})(v(2, 2)), []float64{0, -inf}},
	} {
		got := floats(t, c.got)
		require.Len(t, got, len(c.want), "%d: %s", i+1, c.what)
		for k := range got {
			same := got[k] == c.want[k] || math.IsNaN(got[k]) && math.IsNaN(c.want[k]) || math.Abs(got[k]-c.want[k]) <
				1e-6
			require.True(t, same, "%d: %s: element %d is %v, want %v", i+1, c.what, k, got[k], c.want[k])
		}
	}
}

// The squashed normal's entropy against a fine sum over its density, and its two ways to a log-probability.
// Classes that p excludes and q does not add to the divergence, however close the logits of the others are.
func TestDivergenceFromMaskedClasses(t *testing.T) {
	p := distribution.NewCategorical(graph.Float64s([]float64{0, 0, math.Inf(-1)}))
	for _, c := range []struct{ q, gradient []float64 }{
		{[]float64{0, 0, 0}, []float64{-1. / 6, -1. / 6, 1. / 3}}, // a third is excluded
		{[]float64{-math.Ln2, -math.Ln2, math.Log(8)}, []float64{-4. / 9, -4. / 9, 8. / 9}},
	} {
		kl := func(q *graph.Array) *graph.Array { return p.KL(distribution.NewCategorical(q)) }
		q := graph.Float64s(c.q)
		graphtest.Near(t, []float64{-math.Log(1 - c.gradient[2])}, floats(t, kl(q)), 1e-14)
		graphtest.Near(t, c.gradient, floats(t, graph.Grad(kl)(q)), 1e-14)
	}
}

func TestSquashedNormal(t *testing.T) {
	for _, scale := range []float64{1e-3, .1, 1, 3, 10} {
		for _, loc := range []float64{0, .7, -4} {
			const n = 400000
			want := .5 + math.Log(2*math.Pi)/2 + math.Log(scale)
			for i := range n {
				z := 20 * (float64(i)/(n-1) - .5)
				u := math.Abs(loc + scale*z)
				want += 20. / (n - 1) * math.Exp(-z*z/2) / math.Sqrt(2*math.Pi) * 2 *
					(math.Ln2 - u - math.Log1p(math.Exp(-2*u)))
			}
			d := distribution.NewSquashedNormal(loc, scale)
			require.InDelta(t, want, floats(t, d.Entropy())[0], 1e-4*math.Max(1, math.Abs(want)), "loc %v scale %v",
				loc, scale)
		}
	}
	d := distribution.NewSquashedNormal(0, graph.Float64s([]float64{.5}).Index(0))
	x, lp := d.SampleLogProb(random.New(1), 50)
	require.InDeltaSlice(t, floats(t, d.LogProb(x)), floats(t, lp), 1e-9)
	require.Equal(t, floats(t, d.Sample(random.New(1), 50)), floats(t, x))
}

// Distributions are trees: they pass through VMap and Scan, and a policy gradient comes out as by hand.
func TestAsTrees(t *testing.T) {
	logits := graph.Float32s([]float32{.1, .2, .7, -1, 0, 1}, 2, 3)
	entropies := graph.VMap(func(d distribution.Categorical) *graph.Array {
		return d.Entropy()
	})(distribution.NewCategorical(logits))
	require.Equal(t, floats(t, distribution.NewCategorical(logits).Entropy()), floats(t, entropies))
	last, _ := graph.Scan(func(d distribution.Normal, x *graph.Array) (distribution.Normal, graph.None) {
		d.Loc = d.Loc.Add(x)
		return d, graph.None{}
	}, distribution.NewNormal(1, 2), graph.Float32s([]float32{1, 2, 3}))
	require.Equal(t, []float64{7}, floats(t, last.Mode()))
	action := graph.Int32s([]int32{2, 0})
	got := floats(t, graph.Grad(func(l *graph.Array) *graph.Array {
		return distribution.NewCategorical(l).LogProb(action).Sum()
	})(logits))
	p := floats(t, graph.Softmax(logits, -1))
	for i := range p {
		hit := 0.
		if slices.Contains([]int{2, 3}, i) {
			hit = 1
		}
		require.InDelta(t, hit-p[i], got[i], 1e-6)
	}
}

func TestRefusals(t *testing.T) {
	x := graph.Zeros(graph.ShapeOf(graph.Float32, 3))
	for i, c := range []struct {
		want string
		call func()
	}{
		{"distribution.NewCategorical: got logits f32[]", func() { distribution.NewCategorical(graph.Scalar(1)) }},
		{"distribution.NewDirichlet: got the concentrations f32[1]", func() {
			distribution.NewDirichlet(graph.Float32s([]float32{1}))
		}},
		{"got a mean f32[3] and a covariance f32[2,3]", func() {
			distribution.NewMultivariateNormal(x, graph.Zeros(graph.ShapeOf(graph.Float32, 2, 3)))
		}},
		{"distribution.MultivariateNormal: got values f32[2], want […, 3]", func() {
			distribution.NewMultivariateNormal(x, graph.Eye(graph.Float32, 3)).LogProb(graph.Float32s([]float32{1, 2}))
		}},
		{"got a nil *Array as a parameter", func() { distribution.NewNormal((*graph.Array)(nil), 1) }},
		{"random.Gamma: got the shape f16[3], whose precision is too low", func() {
			distribution.NewGamma(x.Convert(graph.Float16), x.Convert(graph.Float16)).Sample(
				random.New(1))
		}},
	} {
		require.ErrorContains(t, graph.Try(c.call), c.want, i+1)
	}
}
