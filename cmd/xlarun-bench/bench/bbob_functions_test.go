package bench_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/cmd/xlarun-bench/bench/bbob"
	"xlarun/graph"
	"xlarun/graph/graphtest"
	"xlarun/graph/random"
	"xlarun/third_party/oracles"
)

func array(a oracles.Array) *graph.Array { return graph.Float32s(a.Float32s(), a.Shape...) }

// floats returns the numbers of an array.
var floats = graphtest.Floats

type oracleFile struct {
	Instances []struct {
		Seed          int64
		Dims          int
		Optimum, R, Q oracles.Array
		X             oracles.Array
	}
	Values []struct {
		Function string
		Instance int
		Rows     []int
		Value    oracles.Array
	}
}

func readOracle(t *testing.T) (f oracleFile) {
	t.Helper()
	require.NoError(t, oracles.Read("bbob/testdata/evosax_bbob.json.gz", &f))
	return f
}

// Instances are those that evosax draws of the same keys: optima to the bit, rotations to rounding.
func TestInstancesAgreeWithEvosax(t *testing.T) {
	for _, want := range readOracle(t).Instances {
		in := bbob.NewInstance(random.New(want.Seed), want.Dims)
		require.Equal(t, want.Optimum.Floats(), floats(t, in.Optimum), "seed %d", want.Seed)
		require.InDeltaSlice(t, want.R.Floats(), floats(t, in.R), 1e-5, "seed %d", want.Seed)
		require.InDeltaSlice(t, want.Q.Floats(), floats(t, in.Q), 1e-5, "seed %d", want.Seed)
	}
}

// absolute is how far float32 values of a function near its optimum may lie apart: what is taken away from what is of
// that size.
func absolute(name string, d int) float64 {
	switch name {
	case "rastrigin", "bueche_rastrigin", "rastrigin_rotated", "lunacek": // 10·(d - Σ cos)
		return 1e-4 * float64(d)
	case "griewank_rosenbrock":
		return 1e-2
	case "schwefel", "weierstrass":
		return 1e-4
	case "katsuura": // the fine terms are of the last bits of z
		return 1e-4
	}
	return 1e-5
}

// relative is the relative tolerance. Weierstrass multiplies by 3^11·2π, where the last bit of z is half a radian.
// Griewank takes the cosine of 400 times its value. Katsuura's terms are rounding errors times 10/d².
func relative(name string) float64 {
	switch name {
	case "weierstrass":
		return 2e-3
	case "griewank_rosenbrock", "katsuura":
		return 2e-3
	}
	return 1e-4
}

// The functions have the values that evosax's have, to 1e-4 of the value beside what float32 loses near the optimum.
func TestFunctionsAgreeWithEvosax(t *testing.T) {
	file := readOracle(t)
	functions := map[string]bbob.Function{}
	for _, f := range bbob.Functions() {
		functions[f.Name] = f
	}
	require.Len(t, functions, 24)
	tested := map[string]int{}
	for _, want := range file.Values {
		f, inst := functions[want.Function], file.Instances[want.Instance]
		in := bbob.NewInstance(random.New(inst.Seed), inst.Dims)
		in.Optimum, in.R, in.Q = array(inst.Optimum), array(inst.R), array(inst.Q)
		in = in.For(f)
		got := floats(t, graph.VMap(func(x *graph.Array) *graph.Array { return f.Value(x, in) })(array(inst.X)))
		values := want.Value.Floats()
		for _, i := range want.Rows {
			tested[f.Name]++
			require.InDelta(t, values[i], got[i], relative(f.Name)*math.Abs(values[i])+absolute(f.Name, inst.Dims),
				"%s, %d dimensions, place %d", f.Name, inst.Dims, i)
		}
	}
	for name := range functions {
		require.Greater(t, tested[name], 30, name)
	}
}

// The optimum of the functions that have it at Instance.Optimum has the value 0 and its surroundings more; of those of
// the others that are known.
func TestOptimum(t *testing.T) {
	in := bbob.NewInstance(random.New(11), 5)
	for _, f := range bbob.Functions() {
		at := in.For(f)
		x := at.Optimum
		switch f.Name {
		case "linear_slope":
			x = graph.Mul(graph.Sign(x), 5)
		case "rosenbrock_rotated", "griewank_rosenbrock": // R·x + 1/2 = 1
			x = graph.Dot(graph.MatrixTranspose(at.R), graph.Full(graph.ShapeOf(graph.Float32, 5), .5))
		case "schwefel":
			x = graph.Mul(graph.Sign(x), float32(4.2096874633/2))
		case "lunacek":
			x = graph.Mul(graph.Sign(x), float32(1.25))
		case "gallagher_21_hi":
			x = graph.Mul(x, float32(3.92/4))
		}
		least := floats(t, f.Value(x, at))[0]
		require.InDelta(t, 0, least, absolute(f.Name, 5), f.Name)
		for side := range 4 {
			away := graph.Mul(float32(.7), random.Normal(random.New(int64(side)), x.Shape()))
			if f.Name == "linear_slope" {
				away = graph.Mul(graph.Neg(graph.Sign(x)), graph.Abs(away)) // beyond the corner it is flat
			}
			require.Greater(t, floats(t, f.Value(graph.Add(x, away), at))[0], least, f.Name)
		}
	}
}

// What no function can work with is refused; NaN stays NaN, and no place gives less than the optimum.
func TestStrangePlaces(t *testing.T) {
	in := bbob.NewInstance(random.New(3), 4)
	for _, f := range bbob.Functions() {
		err := graph.Try(func() { f.Value(graph.Zeros(graph.ShapeOf(graph.Float32, 3)), in) })
		require.ErrorContains(t, err, "want two vectors of one length", f.Name)
		for _, x := range []float32{0, -0, 1e-30, 5, 100} {
			v := floats(t, f.Value(graph.Full(graph.ShapeOf(graph.Float32, 4), float64(x)), in.For(f)))[0]
			require.GreaterOrEqual(t, v, -absolute(f.Name, 4), "%s at %g", f.Name, x)
		}
		for _, x := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
			v := floats(t, f.Value(graph.Full(graph.ShapeOf(graph.Float32, 4), x), in.For(f)))[0]
			require.True(t, math.IsNaN(v), "%s of %g is %g", f.Name, x, v)
		}
	}
}
