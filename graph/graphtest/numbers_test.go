package graphtest_test

import (
	"fmt"
	"math"
	"math/big"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/graph"
	. "xlarun/graph/graphtest"
	"xlarun/graph/nn"
	"xlarun/graph/random"
)

// numberTakers are the functions that take a Go number of any kind, each as a function of a dtype that returns the
// number, a scalar or the first element of an array.
func numberTakers() map[string]func(d graph.DType, v any) array {
	zero := func(d graph.DType) array { return graph.Zeros(graph.ShapeOf(d, 2)) }
	yes := graph.Of([]bool{true, true})
	key := random.New(1)
	return map[string]func(d graph.DType, v any) array{
		"Full":     func(d graph.DType, v any) array { return graph.Full(graph.ShapeOf(d, 2), v) },
		"FullLike": func(d graph.DType, v any) array { return graph.FullLike(zero(d), v) },
		"Scalar":   func(d graph.DType, v any) array { return graph.Scalar(v, d) },
		"Pad":      func(d graph.DType, v any) array { return graph.Pad(zero(d), v, []int{1}, []int{0}) },
		"PadConfig": func(d graph.DType, v any) array {
			return graph.PadConfig(zero(d), v, []int{1}, []int{0}, []int{1})
		},
		"Unique": func(d graph.DType, v any) array { return graph.Unique(zero(d), 2, v).Values.Index(1) },
		"Add":    func(d graph.DType, v any) array { return graph.Add(zero(d), v) },
		"Add to": func(d graph.DType, v any) array { return graph.Add(v, zero(d)) },
		"Sub":    func(d graph.DType, v any) array { return graph.Sub(v, zero(d)) },
		"Mul":    func(d graph.DType, v any) array { return graph.Mul(graph.Ones(graph.ShapeOf(d)), v) },
		"Max":    func(d graph.DType, v any) array { return graph.Max(graph.Min(zero(d), v), v) },
		"Min":    func(d graph.DType, v any) array { return graph.Min(graph.Max(zero(d), v), v) },
		"Clamp":  func(d graph.DType, v any) array { return graph.Clamp(v, zero(d), v) },
		"Clamp x": func(d graph.DType, v any) array {
			return graph.Clamp(graph.Min(zero(d), v), v, graph.Max(zero(d), v))
		},
		"Select":    func(d graph.DType, v any) array { return graph.Select(yes, v, zero(d)) },
		"Select no": func(d graph.DType, v any) array { return graph.Select(yes.Not(), zero(d), v) },
		"Where":     func(d graph.DType, v any) array { return graph.Where(yes, v, zero(d)) },
		"FMax":      func(d graph.DType, v any) array { return graph.FMax(graph.FMin(zero(d), v), v) },
		"Quo":       func(d graph.DType, v any) array { return graph.Quo(v, graph.Ones(graph.ShapeOf(d))) },
		"FloorDiv":  func(d graph.DType, v any) array { return graph.FloorDiv(v, graph.Ones(graph.ShapeOf(d))) },
		"Or":        func(d graph.DType, v any) array { return graph.Or(zero(d), v) },
		"Xor":       func(d graph.DType, v any) array { return graph.Xor(v, zero(d)) },
		"Eq": func(d graph.DType, v any) array {
			x := graph.Scalar(v, d)
			return graph.Select(graph.Eq(x, v), x, graph.Zeros(graph.ShapeOf(d)))
		},
		"Of":         func(_ graph.DType, v any) array { return graph.Of(v) },
		"Of a slice": func(_ graph.DType, v any) array { return graph.Of([]any{v}[0]) },
		"Arange":     func(_ graph.DType, v any) array { return graph.Arange(v, math.Inf(1), math.Inf(1)) },
		"nn.Constant": func(d graph.DType, v any) array {
			x, ok := v.(float64)
			if !ok {
				return graph.Full(graph.ShapeOf(d), v)
			}
			return nn.Constant(x)(key, graph.ShapeOf(d, 2))
		},
		"random.Uniform": func(d graph.DType, v any) array {
			return random.Uniform(key, graph.ShapeOf(d, 2), v, v)
		},
	}
}

// TestNumbersThatADtypeCannotHold: each function has exactly the number, or refuses it and names a wider dtype. Only
// floats are rounded, and those of arithmetic with arrays of floats.
func TestNumbersThatADtypeCannotHold(t *testing.T) {
	var numbers []any
	for _, n := range []int64{0, 1, -1, 7, 127, 128, -128, -129, 255, 256, 300, 32767, 32768, -32768, -32769, 65535,
		65536, 1 << 24, 1<<24 + 1,
		math.MaxInt32, math.MaxInt32 + 1, 3e9, math.MinInt32, math.MinInt32 - 1, math.MaxUint32,
		math.MaxUint32 + 1, 1<<53 + 1, math.MaxInt64, math.MinInt64} {
		numbers = append(numbers, n, int(n), float64(n))
		if n >= 0 {
			numbers = append(numbers, uint64(n), uint(n))
		}
	}
	numbers = append(numbers, uint64(math.MaxUint64), math.Ldexp(1, 64), 1e19, 1e39, -1e39, 1e300, 70000., math.Inf(1))
	exact := func(v any) *big.Float {
		switch v := v.(type) {
		case float64:
			return big.NewFloat(v)
		case uint64:
			return new(big.Float).SetUint64(v)
		case uint:
			return new(big.Float).SetUint64(uint64(v))
		case int:
			return new(big.Float).SetInt64(int64(v))
		}
		return new(big.Float).SetInt64(v.(int64))
	}
	require.True(t, math.IsNaN(Floats(t, graph.Full(graph.ShapeOf(graph.Float16), math.NaN()))[0]))
	require.ErrorContains(t, graph.Try(func() { graph.Full(graph.ShapeOf(graph.Int32), math.NaN()) }), "float dtype")
	creates := map[string]bool{"Full": true, "FullLike": true, "Scalar": true, "Pad": true, "PadConfig": true}
	for name, f := range numberTakers() {
		for _, d := range []graph.DType{graph.Int8, graph.Uint8, graph.Int16, graph.Uint16, graph.Int32, graph.Uint32,
			graph.Int64, graph.Uint64, graph.Float16, graph.BFloat16, graph.Float32, graph.Float64} {
			for _, v := range numbers {
				what := fmt.Sprintf("%s of %v, %T %v", name, d, v, v)
				var got any
				err := graph.Try(func() {
					x := f(d, v)
					tensor, err := graph.ToTensor(x)
					require.NoError(t, err, what)
					switch {
					case x.DType().IsFloat():
						got = tensor.F(0)
					case x.DType().IsUnsigned():
						got = tensor.U(0)
					default:
						got = tensor.I(0)
					}
				})
				if err != nil {
					require.Regexp(t, "wider d?type|use an? (float|signed|integer) dtype|does not fit|cannot hold|want",
						err.Error(), what)
					continue
				}
				_, isFloat := v.(float64)
				if rounded, is := got.(float64); is && (isFloat || !creates[name]) {
					want, _ := exact(v).Float64()
					if creates[name] {
						require.Equal(t, math.IsInf(want, 0), math.IsInf(rounded, 0), what)
					}
					if d == graph.Float32 {
						require.False(t, math.IsInf(rounded, 0) && !math.IsInf(want, 0), what)
					}
					if !math.IsInf(rounded, 0) && !math.IsNaN(rounded) {
						require.InDelta(t, want, rounded, math.Abs(want)/127, what)
					}
					continue
				}
				require.Zero(t, exact(v).Cmp(exact(got)), "%s became %v", what, got)
			}
		}
	}
}
