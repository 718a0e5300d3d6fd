package distribution_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/graph"
	"xlarun/graph/distribution"
	"xlarun/graph/graphtest"
	"xlarun/graph/special"
	"xlarun/internal/long"
	"xlarun/third_party/oracles"
	"xlarun/xlabridge"
	"xlarun/xlabridge/xlatest"
)

type list = []*graph.Array

// exactCase is a function with its exact values: third_party/oracles/mpmath_special.py says what the fields hold.
type exactCase struct {
	Name            string
	Args            []oracles.Array
	Want, Condition oracles.Array
}

// inaccuracy is a function's largest errors in units in the last place. ofOne: for which arguments they are in those of
// 1 if the value is below 1; nil: for none.
type inaccuracy struct {
	float64, float32, half float64
	ofOne                  func(args []float64) bool
}

func everywhere([]float64) bool { return true }

// String is what the function's documentation says.
func (e inaccuracy) String() string {
	s := fmt.Sprintf("Largest error: %v ULP in float64, %v in float32, %v in 16-bit floats", e.float64, e.float32,
		e.half)
	if e.ofOne != nil {
		return s + "; for values below 1, in ULP of 1"
	}
	return s + "."
}

func (e inaccuracy) of(d graph.DType) float64 {
	switch d {
	case graph.Float64:
		return e.float64
	case graph.Float32:
		return e.float32
	}
	return e.half
}

// accurate is a function with its largest errors.
type accurate struct {
	name string
	most inaccuracy
	f    func(x list) *graph.Array
}

// family is the methods of a distribution of two parameters. Where one is given to Entropy the first is 0.
func family[D interface {
	distribution.Distribution
	KL(q D) *graph.Array
}](name string, of func(a, b any) D, logProb, entropy, kl inaccuracy) []accurate {
	return []accurate{
		{name + ".LogProb", logProb, func(x list) *graph.Array { return of(x[0], x[1]).LogProb(x[2]) }},
		{name + ".Entropy", entropy, func(x list) *graph.Array {
			if len(x) == 1 {
				return of(0, x[0]).Entropy()
			}
			return of(x[0], x[1]).Entropy()
		}},
		{name + ".KL", kl, func(x list) *graph.Array { return of(x[0], x[1]).KL(of(x[2], x[3])) }},
	}
}

// accuracy is the table of what the documentation says. The errors are those of both backends, and some more, because
// processors differ.
var accuracy = slices.Concat([]accurate{
	{"Lgamma", inaccuracy{18, 40, 1, nil}, one(graph.Lgamma)},
	{"Digamma", inaccuracy{4, 5, 1, nil}, one(graph.Digamma)},
	{"Trigamma", inaccuracy{2, 3, 1, nil}, one(graph.Trigamma)},
	{"Polygamma2", inaccuracy{2, 1, 1, nil}, one(func(x any) *graph.Array { return special.Polygamma(2, x) })},
	{"Polygamma5", inaccuracy{2, 1, 1, nil}, one(func(x any) *graph.Array { return special.Polygamma(5, x) })},
	{"Zeta", inaccuracy{1, 1, 1, nil}, two(special.Zeta)},
	{"Erf", inaccuracy{1, 3, 1, nil}, one(graph.Erf)},
	{"Erfc", inaccuracy{1, 2, 1, nil}, one(graph.Erfc)},
	{"ErfInv", inaccuracy{2, 2, 1, nil}, one(graph.ErfInv)},
	{"Ndtr", inaccuracy{2, 1, 1, nil}, one(special.Ndtr)},
	{"LogNdtr", inaccuracy{2, 2, 1, nil}, one(special.LogNdtr)},
	{"Ndtri", inaccuracy{3, 2, 1, nil}, one(special.Ndtri)},
	{"Logit", inaccuracy{1, 1, 1, nil}, one(special.Logit)},
	{"Entr", inaccuracy{2, 1, 2, nil}, one(special.Entr)},
	{"XLogY", inaccuracy{1, 1, 1, nil}, two(special.XLogY)},
	{"XLog1pY", inaccuracy{1, 1, 1, nil}, two(special.XLog1pY)},
	{"RelEntr", inaccuracy{2, 1, 1, nil}, two(special.RelEntr)},
	{"KLDiv", inaccuracy{1, 1, 1, nil}, two(special.KLDiv)},
	{"BetaLn", inaccuracy{4, 6, 1, nil}, two(special.BetaLn)},
	{"GammaInc", inaccuracy{20, 15, 1, nil}, two(special.GammaInc)},
	{"GammaIncC", inaccuracy{8, 7, 1, func(x []float64) bool { return x[1] <= x[0]+1 }}, two(special.GammaIncC)},
	{"BetaInc", inaccuracy{40, 20, 1, func(x []float64) bool { return x[2]*(x[1]+1) >= (1-x[2])*(x[0]+1) }},
		func(x list) *graph.Array { return special.BetaInc(x[0], x[1], x[2]) }},
	{"LgammaCorrection", inaccuracy{40, 20, 1, func(x []float64) bool { return x[0] < 8 }},
		one(special.LgammaCorrection)},
	{"DigammaCorrection", inaccuracy{40, 20, 1, nil}, one(special.DigammaCorrection)},
	{"GammaLogPDF", inaccuracy{30, 16, 1, nil}, two(special.GammaLogPDF)},
	{"BetaLogPDF", inaccuracy{50, 30, 1, nil},
		func(x list) *graph.Array { return special.BetaLogPDF(x[0], x[1], x[2]) }},
	{"Expm1Rest", inaccuracy{2, 2, 1, nil}, one(special.Expm1Rest)},
	{"RandomGammaGrad", inaccuracy{50, 8, 1, nil}, func(x list) *graph.Array {
		return special.RandomGammaGrad(x[0], x[1])
	}},
	{"Dirichlet.LogProb", inaccuracy{7, 5, 1, nil}, func(x list) *graph.Array {
		return dirichlet(x[:3]).LogProb(graph.Stack(x[3:], -1))
	}},
	{"Dirichlet.Entropy", inaccuracy{13, 12, 1, nil}, func(x list) *graph.Array { return dirichlet(x).Entropy() }},
	{"Dirichlet.KL", inaccuracy{30, 20, 1, everywhere}, func(x list) *graph.Array {
		return dirichlet(x[:3]).KL(dirichlet(x[3:]))
	}},
	{"Poisson.LogProb", inaccuracy{2, 4, 1, nil}, func(x list) *graph.Array {
		return distribution.NewPoisson(x[0]).LogProb(x[1])
	}},
	{"Poisson.Entropy", inaccuracy{20, 4, 1, everywhere}, func(x list) *graph.Array {
		return distribution.NewPoisson(x[0]).Entropy()
	}},
	{"Poisson.KL", inaccuracy{1, 1, 1, nil}, func(x list) *graph.Array {
		return distribution.NewPoisson(x[0]).KL(distribution.NewPoisson(x[1]))
	}},
	{"SquashedNormal.LogProb", inaccuracy{2, 2, 1, nil}, func(x list) *graph.Array {
		return distribution.NewSquashedNormal(x[0], x[1]).LogProb(x[2])
	}},
	{"Logistic.LogProb", inaccuracy{2, 1, 1, nil}, func(x list) *graph.Array {
		return distribution.NewLogistic(x[0], x[1]).LogProb(x[2])
	}},
	{"Logistic.Entropy", inaccuracy{1, 1, 1, nil}, func(x list) *graph.Array {
		return distribution.NewLogistic(0, x[0]).Entropy()
	}},
	{"Uniform.LogProb", inaccuracy{1, 1, 1, nil}, func(x list) *graph.Array {
		return distribution.NewUniform(x[0], x[1]).LogProb(x[0])
	}},
	{"Uniform.Entropy", inaccuracy{1, 1, 1, nil}, func(x list) *graph.Array {
		return distribution.NewUniform(x[0], x[1]).Entropy()
	}},
	{"Uniform.KL", inaccuracy{1, 1, 1, nil}, func(x list) *graph.Array {
		return distribution.NewUniform(x[0], x[1]).KL(distribution.NewUniform(x[2], x[3]))
	}},
	{"MultivariateNormal.LogProb", inaccuracy{2, 2, 1, nil}, func(x list) *graph.Array {
		return each(func(x list) *graph.Array { return twoNormal(x).LogProb(graph.Stack(x[5:], 0)) }, x)
	}},
	{"MultivariateNormal.Entropy", inaccuracy{5, 5, 1, nil}, func(x list) *graph.Array {
		zero := graph.ZerosLike(x[0])
		return each(func(x list) *graph.Array { return twoNormal(x).Entropy() }, list{zero, zero, x[0], zero, x[1]})
	}},
	{"MultivariateNormal.KL", inaccuracy{2, 2, 1, nil}, func(x list) *graph.Array {
		return each(func(x list) *graph.Array { return twoNormal(x).KL(twoNormal(x[5:])) }, x)
	}},
	{"Mixture.LogProb", inaccuracy{3, 2, 1, nil}, func(x list) *graph.Array {
		pairs := func(i, j int) *graph.Array { return graph.Stack(list{x[i], x[j]}, -1) }
		return distribution.NewMixture(pairs(0, 1), distribution.NewNormal(pairs(2, 4), pairs(3, 5))).LogProb(x[6])
	}},
	{"Bernoulli.LogProb", inaccuracy{2, 2, 1, nil}, func(x list) *graph.Array {
		return distribution.NewBernoulli(x[0]).LogProb(graph.OnesLike(x[0]))
	}},
	{"Bernoulli.Entropy", inaccuracy{2, 2, 1, nil}, func(x list) *graph.Array {
		return distribution.NewBernoulli(x[0]).Entropy()
	}},
	{"Bernoulli.KL", inaccuracy{6, 4, 1, nil}, func(x list) *graph.Array {
		return distribution.NewBernoulli(x[0]).KL(distribution.NewBernoulli(x[1]))
	}},
	{"Categorical.Entropy", inaccuracy{2, 1, 1, everywhere}, func(x list) *graph.Array {
		return categorical(x).Entropy()
	}},
	{"Categorical.KL", inaccuracy{2, 2, 1, farLogits}, func(x list) *graph.Array {
		return categorical(x[:3]).KL(categorical(x[3:]))
	}},
},
	family("Gamma", distribution.NewGamma, inaccuracy{30, 16, 1, nil},
		inaccuracy{3, 4, 1, nil}, inaccuracy{9, 16, 1, everywhere}),
	family("Beta", distribution.NewBeta, inaccuracy{50, 30, 1, nil},
		inaccuracy{30, 50, 1, nil}, inaccuracy{420, 50, 1, everywhere}),
	family("Normal", distribution.NewNormal, inaccuracy{2, 2, 1, nil},
		inaccuracy{2, 1, 1, nil}, inaccuracy{1, 1, 1, nil}),
	family("Laplace", distribution.NewLaplace, inaccuracy{2, 1, 1, nil},
		inaccuracy{1, 1, 1, nil}, inaccuracy{2, 2, 1, nil}),
	family("Gumbel", distribution.NewGumbel, inaccuracy{2, 2, 1, nil},
		inaccuracy{2, 1, 1, nil}, inaccuracy{3, 4, 1, nil}))

// farLogits returns whether the differences of two categorical distributions' logits are 10 or more apart.
func farLogits(x []float64) bool {
	apart := []float64{x[3] - x[0], x[4] - x[1], x[5] - x[2]}
	return slices.Max(apart)-slices.Min(apart) >= 10
}

func one(f func(x any) *graph.Array) func(list) *graph.Array {
	return func(x list) *graph.Array { return f(x[0]) }
}

func two(f func(x, y any) *graph.Array) func(list) *graph.Array {
	return func(x list) *graph.Array { return f(x[0], x[1]) }
}

// each maps a function of scalars.
func each(f func(x list) *graph.Array, x list) *graph.Array { return graph.VMap(f)(x) }

// twoNormal is a distribution of two elements, of its mean and of the lower triangle of its Scale, row by row.
func twoNormal(x list) distribution.MultivariateNormal {
	scale := graph.Stack(list{x[2], graph.ZerosLike(x[2]), x[3], x[4]}, 0).Reshape(2, 2)
	return distribution.MultivariateNormal{Loc: graph.Stack(x[:2], 0), Scale: scale}
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

// samples are the cases whose numbers a dtype holds, every one of them or every third.
func (c exactCase) samples(f format, every int) (args [][]float64, want, condition []float64) {
	args = make([][]float64, len(c.Args))
	for k, w := range c.Want.Floats() {
		ok := math.Abs(w) <= f.largest()
		for _, x := range c.Args {
			ok = ok && f.holds(x.Floats()[k])
		}
		if !ok || k%every != 0 {
			continue
		}
		for i, x := range c.Args {
			args[i] = append(args[i], x.Floats()[k])
		}
		want, condition = append(want, w), append(condition, c.Condition.Floats()[k])
	}
	return args, want, condition
}

// Special functions and distributions have the exact values of arguments over the whole range of each dtype, within
// the errors of their documentation: on the interpreter a sixth of the values, and of those float32 of every sixth
// function on XLA, in one program. An error of n ULP is one of n units in the last place for arguments that differ by n
// of theirs. The smallest normal number counts as nothing: compilers take smaller ones for 0.
func TestSpecialFunctions(t *testing.T) {
	var doc struct{ Cases []exactCase }
	require.NoError(t, oracles.Read("testdata/mpmath_special.json.gz", &doc))
	cases := map[string]exactCase{}
	for _, c := range doc.Cases {
		cases[c.Name] = c
	}
	require.Len(t, cases, len(accuracy))
	every := 6
	if long.On() {
		every = 1
	}
	for where, backend := range xlatest.Backends(t) {
		for d, f := range formats {
			if where == "xla" && d != graph.Float32 && !long.On() {
				continue
			}
			t.Run(fmt.Sprint(where, " ", d), func(t *testing.T) {
				rows := accuracy
				if where == "xla" && !long.On() {
					rows = nil
					for i := 0; i < len(accuracy); i += 6 {
						rows = append(rows, accuracy[i])
					}
				}
				n := len(rows)
				in, at := make([]list, n), make([][][]float64, n)
				want, condition := make([][]float64, n), make([][]float64, n)
				for i, a := range rows {
					var args [][]float64
					sample := every
					if d == graph.Float16 { // it holds few of the numbers
						sample = 1
					}
					args, want[i], condition[i] = cases[a.name].samples(f, sample)
					require.NotEmpty(t, want[i], a.name)
					for k := range want[i] {
						var x []float64
						for _, arg := range args {
							x = append(x, arg[k])
						}
						at[i] = append(at[i], x)
					}
					for _, x := range args {
						in[i] = append(in[i], graph.Float64s(x).Convert(d))
					}
				}
				out, err := xlabridge.Jit(backend, func(in []list) list {
					var out list
					for i, a := range rows {
						out = append(out, a.f(in[i]))
					}
					return out
				})(in)
				require.NoError(t, err)
				for i, a := range rows {
					got := floats(t, out[i])
					for k, w := range want[i] {
						unit := f.ulp(w)
						if a.most.ofOne != nil && a.most.ofOne(at[i][k]) {
							unit = max(unit, f.ulp(1))
						}
						unit += math.Ldexp(math.Abs(w)*condition[i][k], 1-f.digits)
						apart := max(0, math.Abs(got[k]-w)-math.Ldexp(1, f.least)) / unit
						if apart <= a.most.of(d) { // not so for NaN
							continue
						}
						require.Failf(t, a.name, "at %v it is %v, want %v: %.3g ULP", at[i][k], got[k], w, apart)
					}
				}
			})
		}
	}
}

// The documentation of each function ends with its largest error.
func TestErrorsAreDocumented(t *testing.T) {
	docs := map[string]string{}
	for _, folder := range []string{"..", ".", "../special"} {
		files, err := filepath.Glob(filepath.Join(folder, "*.go"))
		require.NoError(t, err)
		for _, name := range files {
			file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
			require.NoError(t, err)
			for _, d := range file.Decls {
				f, ok := d.(*ast.FuncDecl)
				if !ok {
					continue
				}
				name := f.Name.Name
				if f.Recv != nil {
					of := f.Recv.List[0].Type
					if generic, ok := of.(*ast.IndexExpr); ok {
						of = generic.X
					}
					receiver, ok := of.(*ast.Ident)
					if !ok {
						continue
					}
					name = receiver.Name + "." + name
				}
				docs[name] = strings.Join(strings.Fields(f.Doc.Text()), " ")
			}
		}
	}
	for _, a := range accuracy {
		require.Contains(t, docs[strings.TrimRight(a.name, "0123456789")], a.most.String(), a.name)
	}
}

// Special functions at the ends of their domains and outside.
func TestSpecialFunctionsAtTheirEnds(t *testing.T) {
	inf, nan := math.Inf(1), math.NaN()
	v := func(x ...float64) *graph.Array { return graph.Float64s(x).Convert(graph.Float32) }
	for name, c := range map[string]struct {
		got  *graph.Array
		want []float64
	}{
		"BetaLn": {special.BetaLn(v(0, -1, 1, nan), v(1, 1, inf, 1)), []float64{inf, nan, -inf, nan}},
		"BetaInc": {special.BetaInc(v(2, 2, -1, 0, 2, inf), 3, v(0, 1, .5, .5, nan, .5)),
			[]float64{0, 1, nan, 1, nan, nan}},
		// jax.scipy.special.betainc of concentrations of 0
		"BetaInc of 0": {special.BetaInc(v(0, 2, 0, 0, 2, 0, 2, 0), v(2, 0, 0, 2, 0, 2, 0, nan),
			v(.5, .5, .5, 0, 1, 1, 0, .5)), []float64{1, 0, nan, 0, 1, 1, 0, nan}},
		"GammaInc": {special.GammaInc(v(2, 2, -1, 2, 2, inf, 0, 0, 0, 0), v(0, inf, 1, -1, nan, 1, 2, inf, 0, nan)),
			[]float64{0, 1, nan, nan, nan, 0, 1, 1, nan, nan}},
		"GammaIncC": {special.GammaIncC(v(2, 2, -1, 2, 0, 0, 0), v(0, inf, 1, nan, 2, inf, 0)),
			[]float64{1, 0, nan, nan, 0, 0, nan}},
		"GammaLogPDF": {special.GammaLogPDF(v(1, 1, .5, 2, 1, 1), v(0, 1e-45, 1e-45, 1e-45, -1, inf)),
			[]float64{0, 0, inf, -inf, -inf, -inf}},
		"KLDiv":   {special.KLDiv(v(0, 2, 0, nan, -1), v(2, 0, 0, 1, 1)), []float64{2, inf, 0, nan, inf}},
		"RelEntr": {special.RelEntr(v(0, 2, nan), v(2, 0, 1)), []float64{0, inf, nan}},
		"Zeta":    {special.Zeta(v(1, .5, 2, nan), v(2, 2, -1, 1)), []float64{inf, nan, nan, nan}},
		"LogNdtr": {special.LogNdtr(v(inf, -inf, nan)), []float64{0, -inf, nan}},
		"Ndtri":   {special.Ndtri(v(0, 1, -.1, nan)), []float64{-inf, inf, nan, nan}},
	} {
		got := floats(t, c.got)
		for k := range got {
			got[k] += 0 // no negative zeros
		}
		require.Equal(t, fmt.Sprint(c.want), fmt.Sprint(got), name)
	}
}

// The incomplete functions have their derivatives where they are integrals; mpmath's differences.
func TestDerivativesOfTails(t *testing.T) {
	type arguments struct{ A, B, X *graph.Array }
	d := graph.Grad(func(v arguments) *graph.Array { return special.BetaInc(v.A, v.B, v.X) })
	g := graph.Grad(func(v [2]*graph.Array) *graph.Array { return special.GammaInc(v[0], v[1]) })
	s := func(x float64) *graph.Array { return graph.Scalar(x, graph.Float64) }
	beta, narrow := d(arguments{s(1e5), s(2e5), s(.3335)}), d(arguments{s(1e7), s(3), s(.9999999)})
	gamma, small := g([2]*graph.Array{s(1e6), s(1000500)}), g([2]*graph.Array{s(2.5), s(3)})
	none, one, other := g([2]*graph.Array{s(0), s(2)}), d(arguments{s(0), s(2), s(.5)}), d(arguments{s(2), s(0), s(.5)})
	for i, c := range []struct {
		got  *graph.Array
		want float64
	}{
		// At a concentration of 0: scipy.special.exp1 and the integrals of (1-t)/t from x to 1, t/(1-t) from 0 to x.
		{none[0], -0.048900510708061125}, {one.A, -0.1931471805599453}, {other.B, 0.1931471805599453},
		{gamma[0], -0.0003519920296234105}, {gamma[1], 0.0003519040096146755}, {small[0], -0.22754855127826082},
		{beta.A, -0.0010106831013840844}, {beta.B, 0.0005055306481903212}, {beta.X, 454.8061795734725},
		{narrow.A, -1.8393975718003106e-08}, {narrow.B, 0.10645936911811749}, {narrow.X, 1839397.848647469},
	} {
		got := floats(t, c.got)
		require.InEpsilon(t, c.want, got[0], 1e-9, i)
	}
	for _, x := range []*graph.Array{none[1], one.B, one.X, other.A, other.X} {
		require.InDelta(t, 0, graphtest.Floats(t, x)[0], 1e-29)
	}
}

// What Finfo says of a dtype follows from the numbers next to 1 and to infinity and from the formats of IEEE 754.
func TestFinfo(t *testing.T) {
	for d, f := range formats {
		info := graph.Finfo(d)
		number := func(x *graph.Array) float64 { return graphtest.Floats(t, x)[0] }
		require.Equal(t, number(graph.NextAfter(graph.Scalar(1, d), 2))-1, info.Eps, "%s", d)
		require.Equal(t, number(graph.NextAfter(graph.Scalar(math.Inf(1), d), 0)), info.Max, "%s", d)
		require.Equal(t, graph.FloatInfo{NMant: f.digits - 1, Eps: math.Ldexp(1, 1-f.digits),
			Tiny: math.Ldexp(1, f.least), Max: f.largest()}, info, "%s", d)
	}
	require.ErrorContains(t, graph.Try(func() { graph.Finfo(graph.Int32) }), "want a float dtype")
}

// JAX has no derivatives of the incomplete beta function by its concentrations: differences check ours.
func TestBetaIncByConcentrations(t *testing.T) {
	sum := func(a, b *graph.Array) *graph.Array {
		return graph.Sum(special.BetaInc(a, b, graph.Of([]float64{.2, .5, .9})))
	}
	a, b := graph.Of([]float64{.7, 2, 5}), graph.Of([]float64{1.5, .4, 3})
	for k, got := range []*graph.Array{graph.Grad(func(a *graph.Array) *graph.Array { return sum(a, b) })(a),
		graph.Grad(func(b *graph.Array) *graph.Array { return sum(a, b) })(b)} {
		for i, slope := range floats(t, got) {
			const h = 1e-5
			step := graph.Mul(graph.Convert(graph.Eq(graph.Iota(3), i), graph.Float64), h)
			ends := make([]float64, 2)
			for side, sign := range []float64{1, -1} {
				p := []*graph.Array{a, b}
				p[k] = graph.Add(p[k], graph.Mul(sign, step))
				ends[side] = floats(t, sum(p[0], p[1]))[0]
			}
			require.InDelta(t, (ends[0]-ends[1])/(2*h), slope, 1e-6) // the loop stops when the value stands still
		}
	}
}
