package random_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/graph"
	"xlarun/graph/graphtest"
	"xlarun/graph/random"
	"xlarun/internal/long"
	"xlarun/third_party/oracles"
	"xlarun/xlabridge"
	"xlarun/xlabridge/xlatest"
)

// vector is one call of jax.random and its result; third_party/oracles/jax_random.py says what it holds.
type vector struct {
	Op    string                     `json:"op"`
	X64   bool                       `json:"x64"`
	Key   []uint32                   `json:"key"`
	Args  map[string]json.RawMessage `json:"args"`
	Out   oracles.Array              `json:"out"`
	Exact bool                       `json:"exact"`
	FMA   bool                       `json:"fma"`
}

func (v vector) String() string {
	text := v.Op
	for _, name := range []string{"seed", "data", "shape", "dtype", "minval", "maxval", "lower", "upper", "p", "x", "a",
		"replace", "axis", "independent"} {
		if raw, ok := v.Args[name]; ok {
			if s := string(raw); len(s) < 40 {
				text += fmt.Sprintf(" %s=%s", name, s)
			}
		}
	}
	return text
}

func readVectors(t *testing.T) []vector {
	t.Helper()
	var file struct{ Cases []vector }
	require.NoError(t, oracles.Read("testdata/jax_random.json", &file))
	require.Greater(t, len(file.Cases), 300)
	return file.Cases
}

func arg[T any](v vector, name string) T {
	var out T
	if raw, ok := v.Args[name]; ok {
		if err := json.Unmarshal(raw, &out); err != nil {
			panic(fmt.Sprintf("%s: argument %s: %v", v, name, err))
		}
	}
	return out
}

// withArrayBounds is v with lo and hi as int64 arrays, where they are numbers; ok is false for other calls.
func (v vector) withArrayBounds(key random.Key) (out *graph.Array, ok bool) {
	if v.Op != "randint" {
		return nil, false
	}
	lo, ok := value[int64](v, "minval").(int64)
	if !ok {
		return nil, false
	}
	hi := value[int64](v, "maxval").(int64)
	shape := graph.ShapeOf(dtypes[arg[string](v, "dtype")], arg[[]int](v, "shape")...)
	return random.Randint(key, shape, graph.Of(lo), graph.Of(hi)), true
}

// value is an argument that is an array, a whole number or a float; nil where it is null or missing.
func value[T int64 | float64](v vector, name string) any {
	raw := string(v.Args[name])
	switch {
	case raw == "" || raw == "null":
		return nil
	case raw[0] == '{':
		return array(arg[oracles.Array](v, name))
	}
	return arg[T](v, name)
}

var dtypes = map[string]graph.DType{
	"bool": graph.Bool, "int8": graph.Int8, "int16": graph.Int16, "int32": graph.Int32, "int64": graph.Int64,
	"uint8": graph.Uint8, "uint16": graph.Uint16, "uint32": graph.Uint32, "uint64": graph.Uint64,
	"float16": graph.Float16, "bfloat16": graph.BFloat16, "float32": graph.Float32, "float64": graph.Float64,
}

func array(a oracles.Array) *graph.Array {
	return graph.FromBytes(graph.ShapeOf(dtypes[a.DType], a.Shape...), a.Data)
}

// supported leaves out what this package does not have: mode="high", which spends two draws on finer tails, and the
// shape of JAX's empty choice from an array, which loses the array's other axes.
func (v vector) supported() bool {
	emptyChoice := v.Op == "choice" && string(v.Args["a"])[0] == '{' && v.Out.Len() == 0
	return arg[string](v, "mode") != "high" && !emptyChoice
}

// Draws of a shape, by none, one and two parameters a and b.
var (
	ofShape = map[string]func(random.Key, graph.Shape) *graph.Array{
		"normal": random.Normal, "exponential": random.Exponential, "gumbel": random.Gumbel,
		"laplace": random.Laplace, "cauchy": random.Cauchy, "logistic": random.Logistic,
		"maxwell": random.Maxwell, "rademacher": random.Rademacher, "orthogonal": random.Orthogonal,
	}
	ofOne = map[string]func(random.Key, graph.Shape, any) *graph.Array{
		"gamma": random.Gamma, "loggamma": random.LogGamma, "lognormal": random.LogNormal,
		"pareto": random.Pareto, "rayleigh": random.Rayleigh, "chisquare": random.Chisquare, "t": random.T,
		"wald": random.Wald,
	}
	ofTwo = map[string]func(random.Key, graph.Shape, any, any) *graph.Array{
		"beta": random.Beta, "weibull_min": random.WeibullMin, "f": random.F,
		"double_sided_maxwell": random.DoubleSidedMaxwell,
	}
)

// call makes the same call here.
func (v vector) call(key random.Key) *graph.Array {
	dims := arg[[]int](v, "shape")
	shape := graph.ShapeOf(dtypes[arg[string](v, "dtype")], dims...)
	a, b := value[float64](v, "a"), value[float64](v, "b")
	if draw := ofShape[v.Op]; draw != nil {
		return draw(key, shape)
	} else if draw := ofOne[v.Op]; draw != nil {
		return draw(key, shape, a)
	} else if draw := ofTwo[v.Op]; draw != nil {
		return draw(key, shape, a, b)
	}
	switch v.Op {
	case "split":
		if len(dims) == 1 {
			return random.Split(key, dims[0]).Data
		}
		return random.Split(key, shape.Size()).Data.Reshape(append(slices.Clone(dims), 2)...)
	case "fold_in":
		return random.FoldIn(key, arg[int64](v, "data")).Data
	case "bits":
		return random.Bits(key, shape.DType, dims...)
	case "uniform":
		return random.Uniform(key, shape, value[float64](v, "minval"), value[float64](v, "maxval"))
	case "randint":
		return random.Randint(key, shape, value[int64](v, "minval"), value[int64](v, "maxval"))
	case "truncated_normal":
		return random.TruncatedNormal(key, shape, value[float64](v, "lower"), value[float64](v, "upper"))
	case "gamma_slope", "loggamma_slope":
		draw := random.Gamma
		if v.Op == "loggamma_slope" {
			draw = random.LogGamma
		}
		a := array(arg[oracles.Array](v, "a"))
		return graph.Grad(func(a *graph.Array) *graph.Array { return draw(key, a.Shape(), a).Sum() })(a)
	case "dirichlet":
		return random.Dirichlet(key, array(arg[oracles.Array](v, "alpha")), dims...)
	case "multivariate_normal":
		return random.MultivariateNormal(key, array(arg[oracles.Array](v, "mean")), array(arg[oracles.Array](v, "cov")),
			dims...)
	case "triangular":
		return random.Triangular(key, shape, a, b, value[float64](v, "c"))
	case "generalized_normal":
		return random.GeneralizedNormal(key, shape, arg[float64](v, "p"))
	case "ball":
		return random.Ball(key, shape, arg[float64](v, "p"))
	case "geometric":
		return random.Geometric(key, shape, value[float64](v, "p"))
	case "binomial":
		return random.Binomial(key, shape, value[float64](v, "n"), value[float64](v, "p"))
	case "multinomial":
		return random.Multinomial(key, shape, value[float64](v, "n"), array(arg[oracles.Array](v, "p")))
	case "poisson":
		return random.Poisson(key, value[float64](v, "rate"), dims...)
	case "bernoulli":
		return random.Bernoulli(key, value[float64](v, "p"), dims...)
	case "categorical":
		logits := array(arg[oracles.Array](v, "logits"))
		var opts []random.Option
		if len(dims) > 0 {
			opts = append(opts, random.Draws(dims[:len(dims)-(logits.Rank()-1)]...))
		}
		if !arg[bool](v, "replace") {
			opts = append(opts, random.WithoutReplacement())
		}
		return random.Categorical(key, logits, arg[int](v, "axis"), opts...)
	case "permutation":
		switch x := value[int64](v, "x").(type) {
		case int64:
			return random.Permutation(key, int(x))
		case *graph.Array:
			if arg[bool](v, "independent") {
				return random.Shuffle(key, x, arg[int](v, "axis"))
			}
			return random.PermutationOf(key, x, arg[int](v, "axis"))
		}
	case "choice":
		opts := []random.Option{random.Draws(dims...)}
		if !arg[bool](v, "replace") {
			opts = append(opts, random.WithoutReplacement())
		}
		if p, ok := value[float64](v, "p").(*graph.Array); ok {
			opts = append(opts, random.Weights(p))
		}
		switch a := value[int64](v, "a").(type) {
		case int64:
			return random.Choice(key, int(a), opts...)
		case *graph.Array:
			return random.ChoiceOf(key, a, arg[int](v, "axis"), opts...)
		}
	}
	panic("no such op: " + v.String())
}

// check compares a result with JAX's. roundedOnce says that the backend rounds u*(hi-lo)+lo once, as JAX does.
func (v vector) check(t *testing.T, got *graph.Array, roundedOnce bool) {
	t.Helper()
	want := array(v.Out)
	require.Equal(t, want.Shape().String(), got.Shape().String(), v)
	if v.Exact && (roundedOnce || !v.FMA) {
		b, err := graph.HostBytes(got)
		require.NoError(t, err)
		require.Equal(t, v.Out.Data, b, v)
		return
	}
	tol := map[string]float64{"float16": 2e-3, "bfloat16": 1.6e-2, "float32": 1e-6, "float64": 1e-14}[v.Out.DType]
	switch v.Op {
	case "gamma", "loggamma", "beta", "dirichlet", "multivariate_normal": // chains of rounded logarithms and products
		tol = map[string]float64{"float32": 2e-6, "float64": 1e-12}[v.Out.DType]
	case "wald": // JAX's smaller root is a difference of larger numbers
		tol = map[string]float64{"float32": 1e-5, "float64": 1e-13}[v.Out.DType]
	case "gamma_slope", "loggamma_slope": // JAX stops its series earlier, for a of 100,000 at eight digits
		tol = 1e-6
	}
	near(t, v.Out.Floats(), floats(t, got), tol, v)
}

var (
	floats = graphtest.Floats
	near   = graphtest.Near
)

func TestNewIsKeyOfJAX(t *testing.T) {
	n := 0
	for _, v := range readVectors(t) {
		seed := arg[int64](v, "seed")
		if v.Op != "key" || !v.X64 && uint64(seed) >= 1<<32 {
			continue // JAX's default drops the upper half of such seeds
		}
		v.check(t, random.New(seed).Data, true)
		n++
	}
	require.Greater(t, n, 12)
}

func TestReferenceAgreesWithJAX(t *testing.T) {
	for _, v := range readVectors(t) {
		if v.Op == "key" || !v.supported() {
			continue
		}
		t.Run(v.String(), func(t *testing.T) {
			var got *graph.Array
			require.NoError(t, graph.Try(func() { got = v.call(random.Key{Data: graph.Uint32s(v.Key)}) }))
			v.check(t, got, false)
			if got, ok := v.withArrayBounds(random.Key{Data: graph.Uint32s(v.Key)}); ok {
				v.check(t, got, false)
			}
		})
	}
}

// madeOf names for ops the op whose draws they only transform.
var madeOf = map[string]string{"loggamma": "gamma", "beta": "gamma", "dirichlet": "gamma", "chisquare": "gamma",
	"f": "gamma", "t": "gamma", "generalized_normal": "gamma", "ball": "gamma", "double_sided_maxwell": "gamma",
	"loggamma_slope": "gamma_slope", "multinomial": "binomial", "lognormal": "maxwell",
	"multivariate_normal": "maxwell", "wald": "maxwell", "logistic": "cauchy", "laplace": "cauchy", "pareto": "cauchy",
	"rayleigh":    "cauchy",
	"weibull_min": "cauchy", "triangular": "cauchy", "exponential": "cauchy", "gumbel": "cauchy", "geometric": "cauchy",
	"bernoulli": "cauchy", "rademacher": "cauchy"}

// kind is the same for calls that XLA compiles to much the same: one of each is compiled in the short form.
func (v vector) kind() string {
	switch v.Op {
	case "bits", "uniform":
		return v.Op + v.Out.DType
	case "normal", "randint":
		return fmt.Sprint(v.Op, v.Out.Width() == 8)
	case "choice", "categorical", "permutation":
		return fmt.Sprint(v.Op, arg[bool](v, "replace"), arg[bool](v, "independent"), value[float64](v, "p") != nil)
	}
	if op := madeOf[v.Op]; op != "" {
		return op
	}
	return v.Op
}

// Under XLA the keys are inputs of the program, so that nothing is computed while compiling. The short form takes the
// call of each kind that draws most.
func TestXLAAgreesWithJAX(t *testing.T) {
	client := xlatest.OpenCPU(t, 0)
	all := readVectors(t)
	all = slices.DeleteFunc(all, func(v vector) bool { return v.Op == "key" || !v.supported() })
	slices.SortStableFunc(all, func(v, w vector) int { return w.Out.Len() - v.Out.Len() })
	for vectors := range slices.Chunk(long.Sample(all, vector.kind), 5) {
		t.Run(vectors[0].String(), func(t *testing.T) {
			keys := make([]random.Key, len(vectors))
			for i, v := range vectors {
				keys[i] = random.Key{Data: graph.Uint32s(v.Key)}
			}
			run := xlabridge.Jit(client, func(keys []random.Key) []*graph.Array {
				out := make([]*graph.Array, len(keys))
				for i, v := range vectors {
					out[i] = v.call(keys[i])
				}
				return out
			})
			got, err := run(keys)
			require.NoError(t, err)
			for i, v := range vectors {
				v.check(t, got[i], true)
			}
		})
	}
}
