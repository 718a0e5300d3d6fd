package graph_test

import (
	"fmt"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/graph"
	"xlarun/graph/distribution"
	"xlarun/third_party/oracles"
	"xlarun/xlabridge"
	"xlarun/xlabridge/xlatest"
)

// exactCase is a function with its exact values: third_party/oracles/mpmath_special.py says what the fields hold.
type exactCase struct {
	Name            string
	Args            []oracles.Array
	Want, Condition oracles.Array
}

// accurate is a function and its largest errors.
type accurate struct {
	name string
	f    func(x list) *graph.Array
}

var accuracy = []accurate{
	{"Lgamma", one(graph.Lgamma)}, {"Digamma", one(graph.Digamma)}, {"Trigamma", one(graph.Trigamma)},
	{"Polygamma2", one(func(x any) *graph.Array { return graph.Polygamma(2, x) })},
	{"Polygamma5", one(func(x any) *graph.Array { return graph.Polygamma(5, x) })},
	{"Zeta", two(graph.Zeta)}, {"Erf", one(graph.Erf)}, {"Erfc", one(graph.Erfc)}, {"ErfInv", one(graph.ErfInv)},
	{"Ndtr", one(graph.Ndtr)}, {"LogNdtr", one(graph.LogNdtr)}, {"Ndtri", one(graph.Ndtri)},
	{"Logit", one(graph.Logit)}, {"Entr", one(graph.Entr)}, {"XLogY", two(graph.XLogY)},
	{"XLog1pY", two(graph.XLog1pY)}, {"RelEntr", two(graph.RelEntr)}, {"KLDiv", two(graph.KLDiv)},
	{"BetaLn", two(graph.BetaLn)}, {"GammaInc", two(graph.GammaInc)}, {"GammaIncC", two(graph.GammaIncC)},
	{"BetaInc", func(x list) *graph.Array { return graph.BetaInc(x[0], x[1], x[2]) }},
	{"Gamma.LogProb", func(x list) *graph.Array { return distribution.NewGamma(x[0], x[1]).LogProb(x[2]) }},
	{"Gamma.Entropy", func(x list) *graph.Array { return distribution.NewGamma(x[0], x[1]).Entropy() }},
	{"Gamma.KL", func(x list) *graph.Array {
		return distribution.NewGamma(x[0], x[1]).KL(distribution.NewGamma(x[2], x[3]))
	}},
	{"Beta.LogProb", func(x list) *graph.Array { return distribution.NewBeta(x[0], x[1]).LogProb(x[2]) }},
	{"Beta.Entropy", func(x list) *graph.Array { return distribution.NewBeta(x[0], x[1]).Entropy() }},
	{"Beta.KL", func(x list) *graph.Array {
		return distribution.NewBeta(x[0], x[1]).KL(distribution.NewBeta(x[2], x[3]))
	}},
	{"Dirichlet.LogProb", func(x list) *graph.Array { return dirichlet(x[:3]).LogProb(graph.Stack(x[3:], -1)) }},
	{"Dirichlet.Entropy", func(x list) *graph.Array { return dirichlet(x).Entropy() }},
	{"Dirichlet.KL", func(x list) *graph.Array { return dirichlet(x[:3]).KL(dirichlet(x[3:])) }},
	{"Poisson.LogProb", func(x list) *graph.Array { return distribution.NewPoisson(x[0]).LogProb(x[1]) }},
	{"Poisson.Entropy", func(x list) *graph.Array { return distribution.NewPoisson(x[0]).Entropy() }},
	{"Poisson.KL", func(x list) *graph.Array {
		return distribution.NewPoisson(x[0]).KL(distribution.NewPoisson(x[1]))
	}},
	{"Normal.LogProb", func(x list) *graph.Array { return distribution.NewNormal(x[0], x[1]).LogProb(x[2]) }},
	{"Normal.KL", func(x list) *graph.Array {
		return distribution.NewNormal(x[0], x[1]).KL(distribution.NewNormal(x[2], x[3]))
	}},
	{"SquashedNormal.LogProb", func(x list) *graph.Array {
		return distribution.NewSquashedNormal(x[0], x[1]).LogProb(x[2])
	}},
	{"Laplace.LogProb", func(x list) *graph.Array { return distribution.NewLaplace(x[0], x[1]).LogProb(x[2]) }},
	{"Laplace.KL", func(x list) *graph.Array {
		return distribution.NewLaplace(x[0], x[1]).KL(distribution.NewLaplace(x[2], x[3]))
	}},
	{"Gumbel.LogProb", func(x list) *graph.Array { return distribution.NewGumbel(x[0], x[1]).LogProb(x[2]) }},
	{"Gumbel.KL", func(x list) *graph.Array {
		return distribution.NewGumbel(x[0], x[1]).KL(distribution.NewGumbel(x[2], x[3]))
	}},
	{"Logistic.LogProb", func(x list) *graph.Array { return distribution.NewLogistic(x[0], x[1]).LogProb(x[2]) }},
	{"Bernoulli.LogProb", func(x list) *graph.Array {
		return distribution.NewBernoulli(x[0]).LogProb(graph.OnesLike(x[0]))
	}},
	{"Bernoulli.Entropy", func(x list) *graph.Array { return distribution.NewBernoulli(x[0]).Entropy() }},
	{"Bernoulli.KL", func(x list) *graph.Array {
		return distribution.NewBernoulli(x[0]).KL(distribution.NewBernoulli(x[1]))
	}},
	{"Categorical.Entropy", func(x list) *graph.Array { return categorical(x).Entropy() }},
	{"Categorical.KL", func(x list) *graph.Array { return categorical(x[:3]).KL(categorical(x[3:])) }},
}

func one(f func(x any) *graph.Array) func(list) *graph.Array {
	return func(x list) *graph.Array { return f(x[0]) }
}

func two(f func(x, y any) *graph.Array) func(list) *graph.Array {
	return func(x list) *graph.Array { return f(x[0], x[1]) }
}

func dirichlet(x list) distribution.Dirichlet { return distribution.NewDirichlet(graph.Stack(x, -1)) }

func categorical(x list) distribution.Categorical {
	return distribution.NewCategorical(graph.Stack(x, -1))
}

// format is a float dtype.
type format struct {
	digits, least, most int // bits of the significand; exponents of the smallest and of the largest normal numbers
}

var formats = map[graph.DType]format{graph.Float64: {53, -1022, 1023}, graph.Float32: {24, -126, 127},
	graph.Float16: {11, -14, 15}, graph.BFloat16: {8, -126, 127}}

// holds returns whether x is a normal number of the format.
func (f format) holds(x float64) bool {
	s, e := math.Frexp(x)
	s = math.Ldexp(s, f.digits)
	return x == 0 || s == math.Trunc(s) && e-1 >= f.least && e-1 <= f.most
}

// ulp is the distance of numbers next to x.
func (f format) ulp(x float64) float64 {
	_, e := math.Frexp(x)
	return math.Ldexp(1, max(e, f.least+1)-f.digits)
}

func (f format) largest() float64 { return math.Ldexp(2-math.Ldexp(1, 1-f.digits), f.most) }

func TestMeasure(t *testing.T) {
	var doc struct{ Cases []exactCase }
	require.NoError(t, oracles.Read("testdata/mpmath_special.json.gz", &doc))
	byName := map[string]exactCase{}
	for _, c := range doc.Cases {
		byName[c.Name] = c
	}
	dtypes := map[string]graph.DType{"f64": graph.Float64, "f32": graph.Float32, "f16": graph.Float16, "bf16": graph.BFloat16}
	d := dtypes[os.Getenv("M_DTYPE")]
	format := formats[d]
	var b xlabridge.Backend = &xlabridge.Reference{}
	if os.Getenv("M_XLA") != "" {
		b = xlatest.OpenCPU(t, 0)
	}
	var in [][]*graph.Array
	var at [][]int
	var fs []accurate
	for _, a := range accuracy {
		if want := os.Getenv("M_ONLY"); want != "" && !strings.HasPrefix(a.name, want) {
			continue
		}
		c, ok := byName[a.name]
		if !ok {
			continue
		}
		var keep []int
		args := make([][]float64, len(c.Args))
		for i, x := range c.Args {
			args[i] = x.Floats()
		}
		for k, w := range c.Want.Floats() {
			ok := math.Abs(w) <= format.largest()
			for _, x := range args {
				ok = ok && format.holds(x[k])
			}
			if ok {
				keep = append(keep, k)
			}
		}
		x := make([]*graph.Array, len(args))
		for i := range args {
			v := make([]float64, len(keep))
			for j, k := range keep {
				v[j] = args[i][k]
			}
			x[i] = graph.Float64s(v).Convert(d)
		}
		in, at, fs = append(in, x), append(at, keep), append(fs, a)
	}
	out, err := xlabridge.Jit1(b, func(in [][]*graph.Array) []*graph.Array {
		var out []*graph.Array
		for i, a := range fs {
			out = append(out, a.f(in[i]))
		}
		return out
	})(in)
	require.NoError(t, err)
	for i, a := range fs {
		c := byName[a.name]
		got, err := graph.Floats(out[i])
		require.NoError(t, err)
		want, cond := c.Want.Floats(), c.Condition.Floats()
		var worst [4]float64
		var where [4]int
		bad := 0
		for j, k := range at[i] {
			e := math.Max(0, math.Abs(got[j]-want[k])-math.Ldexp(1, format.least))
			if math.IsNaN(got[j]) || math.IsInf(got[j], 0) {
				bad++
				if bad < 4 {
					var p []float64
					for _, x := range c.Args {
						p = append(p, x.Floats()[k])
					}
					fmt.Println("   bad", a.name, p, "got", got[j], "want", want[k])
				}
				continue
			}
			u := format.ulp(want[k])
			eps := math.Ldexp(1, -format.digits)
			for m, v := range [4]float64{e / u, e / math.Max(u, format.ulp(1)), e / (u + 2*eps*cond[k]*math.Abs(want[k])), e / (math.Max(u, format.ulp(1)) + 2*eps*cond[k]*math.Abs(want[k]))} {
				if v > worst[m] {
					worst[m], where[m] = v, k
				}
			}
		}
		fmt.Printf("%-24s n=%4d bad=%d  ulp %.3g, of1 %.3g, mixed %.3g, mixed1 %.3g\n", a.name, len(at[i]), bad, worst[0], worst[1], worst[2], worst[3])
		for m := range 4 {
			if worst[m] > 8 && (os.Getenv("M_ALL") != "" || m >= 2) {
				var p []float64
				for _, x := range c.Args {
					p = append(p, x.Floats()[where[m]])
				}
				j := 0
				for jj, k := range at[i] {
					if k == where[m] {
						j = jj
					}
				}
				fmt.Println("     ", m, p, "got", got[j], "want", want[where[m]])
			}
		}
	}
}
