package random_test

import (
	"maps"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/graph"
	"xlarun/graph/random"
	"xlarun/internal/long"
	"xlarun/xlabridge"
	"xlarun/xlabridge/xlatest"
)

func f32(dims ...int) graph.Shape { return graph.ShapeOf(graph.Float32, dims...) }
func i32(dims ...int) graph.Shape { return graph.ShapeOf(graph.Int32, dims...) }

// draws calls every function with a key and a parameter x, a float32 scalar in (0, 1).
var draws = map[string]func(key random.Key, x *graph.Array) *graph.Array{
	"split":   func(key random.Key, x *graph.Array) *graph.Array { return random.Split(key, 3).Data },
	"fold in": func(key random.Key, x *graph.Array) *graph.Array { return random.FoldIn(key, percent(x)).Data },
	"bits":    func(key random.Key, x *graph.Array) *graph.Array { return random.Bits(key, graph.Uint64, 2, 3) },
	"uniform": func(key random.Key, x *graph.Array) *graph.Array {
		return random.Uniform(key, f32(3, 2), x.Neg(), 2)
	},
	"uniform f16": func(key random.Key, x *graph.Array) *graph.Array {
		return random.Uniform(key, graph.ShapeOf(graph.Float16, 3), 0, 1)
	},
	"one uniform": func(key random.Key, x *graph.Array) *graph.Array { return random.Uniform(key, f32(), 0, x) },
	"normal": func(key random.Key, x *graph.Array) *graph.Array {
		return x.Mul(random.Normal(key, f32(2, 1, 3)))
	},
	"truncated normal": func(key random.Key, x *graph.Array) *graph.Array {
		return random.TruncatedNormal(key, f32(4), x.Neg(), 2)
	},
	"exponential": func(key random.Key, x *graph.Array) *graph.Array { return random.Exponential(key, f32(4)) },
	"binomial": func(key random.Key, x *graph.Array) *graph.Array {
		return random.Binomial(key, f32(3), graph.Float32s([]float32{3, 50, 200}), x)
	},
	"multinomial": func(key random.Key, x *graph.Array) *graph.Array {
		return random.Multinomial(key, f32(3), 9, graph.Stack([]*graph.Array{x.Mul(.5), x.Mul(.5), x.Neg().Add(1)}, 0))
	},
	"cauchy": func(key random.Key, x *graph.Array) *graph.Array { return random.Cauchy(key, f32(4)) },
	"wald":   func(key random.Key, x *graph.Array) *graph.Array { return random.Wald(key, f32(4), x) },
	"ball":   func(key random.Key, x *graph.Array) *graph.Array { return random.Ball(key, f32(2, 3), 1.5) },
	"orthogonal": func(key random.Key, x *graph.Array) *graph.Array {
		return random.Orthogonal(key, f32(2, 3))
	},
	"multivariate t": func(key random.Key, x *graph.Array) *graph.Array {
		return random.MultivariateT(key, x.Mul(9), graph.Float32s([]float32{1, 2}), graph.Eye(graph.Float32, 2), 3)
	},
	"gumbel": func(key random.Key, x *graph.Array) *graph.Array { return random.Gumbel(key, f32(4)) },
	"randint": func(key random.Key, x *graph.Array) *graph.Array {
		return random.Randint(key, i32(5), -3, percent(x))
	},
	"one randint": func(key random.Key, x *graph.Array) *graph.Array { return random.Randint(key, i32(), 0, 6) },
	"bernoulli":   func(key random.Key, x *graph.Array) *graph.Array { return random.Bernoulli(key, x, 7) },
	"categorical": func(key random.Key, x *graph.Array) *graph.Array {
		return random.Categorical(key, x.Mul(table()), 0, random.Draws(2))
	},
	"distinct categorical": func(key random.Key, x *graph.Array) *graph.Array {
		return random.Categorical(key, x.Mul(table()), 1, random.Draws(2), random.WithoutReplacement())
	},
	"permutation": func(key random.Key, x *graph.Array) *graph.Array { return random.Permutation(key, 6) },
	"permutation of": func(key random.Key, x *graph.Array) *graph.Array {
		return random.PermutationOf(key, table(), 1)
	},
	"shuffle": func(key random.Key, x *graph.Array) *graph.Array {
		return random.Shuffle(key, x.Mul(table()), -1)
	},
	"choice": func(key random.Key, x *graph.Array) *graph.Array { return random.Choice(key, 9, random.Draws(2, 2)) },
	"weighted choice": func(key random.Key, x *graph.Array) *graph.Array {
		return random.Choice(key, 3, random.Draws(8),
			random.Weights(graph.Stack([]*graph.Array{x, graph.Scalar(.3), graph.Scalar(.1)}, 0)))
	},
	"choice of": func(key random.Key, x *graph.Array) *graph.Array {
		return random.ChoiceOf(key, x.Mul(table()), 1, random.Draws(2), random.WithoutReplacement())
	},
}

// table is a [2, 3] array of numbers.
func table() *graph.Array { return graph.Float32s([]float32{.5, -1, 2, 0, 1.5, -.25}, 2, 3) }

// percent is 100 x as an integer.
func percent(x *graph.Array) *graph.Array { return x.Mul(100).Convert(graph.Int32) }

// parameters are n numbers in (0, 1).
func parameters(n int) *graph.Array {
	v := make([]float32, n)
	for i := range v {
		v[i] = float32(i+1) / float32(n+1)
	}
	return graph.Float32s(v)
}

func same(t *testing.T, want, got *graph.Array, msg ...any) {
	t.Helper()
	require.Equal(t, want.Shape().String(), got.Shape().String(), msg...)
	require.Equal(t, floats(t, want), floats(t, got), msg...)
}

// lanes stacks f's results for each key and parameter by itself.
func lanes(f func(random.Key, *graph.Array) *graph.Array, keys random.Key, x *graph.Array) *graph.Array {
	rows := make([]*graph.Array, keys.Len())
	for i := range rows {
		rows[i] = f(keys.At(i), x.Index(i))
	}
	return graph.Stack(rows, 0)
}

func TestVMapIsLoop(t *testing.T) {
	for name, f := range draws {
		t.Run(name, func(t *testing.T) {
			for _, n := range []int{1, 3} {
				keys, x := random.Split(random.New(int64(n)), n), parameters(n)
				same(t, lanes(f, keys, x), graph.VMap2(f)(keys, x), n)
			}
			one := f(random.New(0), graph.Scalar(.5))
			none := graph.VMap2(f)(random.Split(random.New(0), 0), parameters(0))
			require.Equal(t, append([]int{0}, one.Dims()...), none.Dims())
		})
	}
}

// One key for all lanes gives all of them the same draw.
func TestVMapOverParametersOnly(t *testing.T) {
	x := parameters(3)
	for name, f := range draws {
		t.Run(name, func(t *testing.T) {
			key := random.New(8)
			rows := make([]*graph.Array, 3)
			for i := range rows {
				rows[i] = f(key, x.Index(i))
			}
			same(t, graph.Stack(rows, 0), graph.VMap(func(x *graph.Array) *graph.Array { return f(key, x) })(x))
		})
	}
}

func TestScanIsLoop(t *testing.T) {
	const steps = 3
	x := parameters(steps)
	for name, f := range draws {
		t.Run(name, func(t *testing.T) {
			keys := random.Split(random.New(5), steps)
			type in struct {
				Key random.Key
				X   *graph.Array
			}
			_, inputs := graph.Scan(func(c graph.None, i in) (graph.None, *graph.Array) {
				return c, f(i.Key, i.X)
			}, graph.None{}, in{keys, x})
			same(t, lanes(f, keys, x), inputs)

			_, carried := graph.Scan(func(key random.Key, x *graph.Array) (random.Key, *graph.Array) {
				next, use := random.Split2(key)
				return next, f(use, x)
			}, random.New(6), x)
			key, rows := random.New(6), make([]*graph.Array, steps)
			for i := range rows {
				k := random.SplitN(key, 2)
				key, rows[i] = k[0], f(k[1], x.Index(i))
			}
			same(t, graph.Stack(rows, 0), carried)
		})
	}
}

// mapped are the draws that the short form of TestXLAIsReference compiles: of one word and of several, by sorting, and
// in a loop.
var mapped = []string{"randint", "normal", "permutation of", "distinct categorical", "wald"}

// Under XLA, mapped, and in the long form one by one too, which TestXLAAgreesWithJAX does in the short form.
func TestXLAIsReference(t *testing.T) {
	names := mapped
	if long.On() {
		names = slices.Sorted(maps.Keys(draws))
	}
	client := xlatest.OpenCPU(t, 0)
	const n = 3
	type results struct{ One, All map[string]*graph.Array }
	f := func(keys random.Key, x *graph.Array) results {
		r := results{map[string]*graph.Array{}, map[string]*graph.Array{}}
		for _, name := range names { // in one order, so that the program is always the same
			if long.On() {
				r.One[name] = draws[name](keys.At(1), x.Index(1))
			}
			r.All[name] = graph.VMap2(draws[name])(keys, x)
		}
		return r
	}
	keys, x := random.Split(random.New(77), n), parameters(n)
	got, err := xlabridge.Jit2(client, f)(keys, x)
	require.NoError(t, err)
	want := f(keys, x)
	for _, name := range names {
		tol := 1e-6
		if want.All[name].DType() == graph.Float16 {
			tol = 2e-3
		}
		if long.On() {
			near(t, floats(t, want.One[name]), floats(t, got.One[name]), tol, name)
		}
		near(t, floats(t, want.All[name]), floats(t, got.All[name]), tol, name)
	}
}

// Moments of 20,000 draws, within five standard errors.
func TestMoments(t *testing.T) {
	const n = 20000
	phi := func(x float64) float64 { return math.Exp(-x*x/2) / math.Sqrt(2*math.Pi) }
	// The normal distribution cut to (-1, 2).
	mass := (math.Erf(2/math.Sqrt2) + math.Erf(1/math.Sqrt2)) / 2
	cutMean := (phi(-1) - phi(2)) / mass
	cutVariance := 1 + (-1*phi(-1)-2*phi(2))/mass - cutMean*cutMean
	for _, c := range []struct {
		name           string
		draw           func(random.Key) *graph.Array
		mean, variance float64
		min, max       float64
	}{
		{"uniform", func(k random.Key) *graph.Array { return random.Uniform(k, f32(n), -2, 3) }, .5, 25. / 12, -2, 3},
		{"normal", func(k random.Key) *graph.Array { return random.Normal(k, f32(n)) }, 0, 1, -5.5, 5.5},
		{"normal f64", func(k random.Key) *graph.Array {
			return random.Normal(k, graph.ShapeOf(graph.Float64, n))
		}, 0, 1, -9, 9},
		{"normal bf16", func(k random.Key) *graph.Array {
			return random.Normal(k, graph.ShapeOf(graph.BFloat16, n))
		}, 0, 1, -3, 3},
		{"truncated", func(k random.Key) *graph.Array {
			return random.TruncatedNormal(k, f32(n), -1, 2)
		}, cutMean, cutVariance, -1, 2},
		{"exponential", func(k random.Key) *graph.Array { return random.Exponential(k, f32(n)) }, 1, 1, 0, 17},
		{"gumbel", func(k random.Key) *graph.Array {
			return random.Gumbel(k, f32(n))
		}, .5772156649, math.Pi * math.Pi / 6, -5, 17},
		{"randint", func(k random.Key) *graph.Array { return random.Randint(k, i32(n), 0, 6) }, 2.5, 35. / 12, 0, 5},
		{"bernoulli", func(k random.Key) *graph.Array { return random.Bernoulli(k, .3, n) }, .3, .21, 0, 1},
		{"choice", func(k random.Key) *graph.Array {
			return random.Choice(k, 6, random.Draws(n))
		}, 2.5, 35. / 12, 0, 5},
		{"weighted", func(k random.Key) *graph.Array {
			return random.Choice(k, 3, random.Draws(n), random.Weights(graph.Float32s([]float32{2, 0, 2})))
		}, 1, 1, 0, 2},
		{"categorical", func(k random.Key) *graph.Array {
			return random.Categorical(k, graph.Float32s([]float32{.25, .5, .25}).Log(), 0, random.Draws(n))
		}, 1, .5, 0, 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			v := floats(t, c.draw(random.New(2024)))
			var sum, squares float64
			for _, x := range v {
				require.GreaterOrEqual(t, x, c.min)
				require.LessOrEqual(t, x, c.max)
				sum += x
				squares += x * x
			}
			mean := sum / n
			require.InDelta(t, c.mean, mean, 5*math.Sqrt(c.variance/n))
			// The variance of a sample variance is at most (kurtosis-1)/n, kurtosis 9 (exponential) at most here.
			require.InDelta(t, c.variance, squares/n-mean*mean, 5*c.variance*math.Sqrt(8./n))
		})
	}
}
