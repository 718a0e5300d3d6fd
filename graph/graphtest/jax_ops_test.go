package graphtest_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"github.com/gomlx/compute/dtypes"
	"github.com/stretchr/testify/require"

	. "xlarun/graph"
	"xlarun/graph/graphtest"
	"xlarun/third_party/oracles"
)

// jaxCase is one call of a JAX function: third_party/oracles/jax_ops.py says what the fields hold.
type jaxCase struct {
	Op      string
	Attrs   jaxAttrs
	Inputs  []oracles.Array
	Outputs []oracles.Array
	RTol    float64
	ATol    float64
}

type jaxAttrs struct {
	DType, Kind, Mode, Equation string
	Axis, K, Exponent           int
	NumKeys                     int `json:"num_keys"`
	Reverse                     bool
	Axes, Sizes                 []int
	Contract, Batch             [2][]int
	Config                      [][3]int

	Strides      []int
	Padding      [][2]int
	PaddingName  string `json:"padding_name"`
	LHSDilation  []int  `json:"lhs_dilation"`
	RHSDilation  []int  `json:"rhs_dilation"`
	FeatureGroup int    `json:"feature_groups"`
	BatchGroup   int    `json:"batch_groups"`
	LHS          string
	RHS          string
	Out          string
	Window       []int
	BaseDilation []int `json:"base_dilation"`
	WinDilation  []int `json:"window_dilation"`

	OffsetDims      []int `json:"offset_dims"`
	Collapsed       []int `json:"collapsed_slice_dims"`
	StartIndexMap   []int `json:"start_index_map"`
	OperandBatching []int `json:"operand_batching_dims"`
	IndexBatching   []int `json:"start_indices_batching_dims"`
	SliceSizes      []int `json:"slice_sizes"`
	UpdateWindow    []int `json:"update_window_dims"`
	Inserted        []int `json:"inserted_window_dims"`
	ToOperand       []int `json:"scatter_dims_to_operand_dims"`
	ScatterBatching []int `json:"scatter_indices_batching_dims"`
}

// callJAX calls a function of jaxOps.
func callJAX(f any, a jaxAttrs, x []*Array) []*Array {
	switch f := f.(type) {
	case func(any) *Array:
		return []*Array{f(x[0])}
	case func(x, y any) *Array:
		return []*Array{f(x[0], x[1])}
	case func(*Array, int, ...CumulativeOption) *Array:
		if a.Reverse {
			return []*Array{f(x[0], a.Axis, Reversed())}
		}
		return []*Array{f(x[0], a.Axis)}
	case func(jaxAttrs, []*Array) *Array:
		return []*Array{f(a, x)}
	}
	return f.(func(jaxAttrs, []*Array) []*Array)(a, x)
}

var indexModes = map[string]IndexMode{"clip": ClipIndex, "drop": FillOrDrop, "fill": FillOrDrop, "wrap": WrapIndex}

// laxDiv divides integers with truncation.
func laxDiv(x, y any) *Array {
	if x.(*Array).DType().IsFloat() {
		return Div(x, y)
	}
	return Quo(x, y)
}

// jaxOps names our function for each of JAX's: of numbers, or of the case's attributes and inputs.
var jaxOps = map[string]any{
	"exponential": Exp, "exponential_minus_one": Expm1, "log": Log, "log_plus_one": Log1p, "logistic": Logistic,
	"tanh": Tanh, "erf": Erf, "erfc": Erfc, "erf_inv": ErfInv, "lgamma": Lgamma, "digamma": Digamma, "sqrt": Sqrt,
	"rsqrt": Rsqrt, "cbrt": Cbrt, "sine": Sin, "cosine": Cos, "tan": Tan, "asin": Asin, "acos": Acos, "atan": Atan,
	"sinh": Sinh, "cosh": Cosh, "asinh": Asinh, "acosh": Acosh, "atanh": Atanh, "floor": Floor, "ceil": Ceil,
	"sign": Sign, "negate": Neg, "abs": Abs, "is_finite": IsFinite, "round": RoundAway, "round_half_even": Round,
	"not": Not, "popcnt": PopCount, "count_leading_zeros": CountLeadingZeros,

	"add": Add, "subtract": Sub, "multiply": Mul, "atan2": Atan2, "power": Pow, "divide": laxDiv, "rem": Rem,
	"remainder": Mod, "floor_divide": FloorDiv, "maximum": Max, "minimum": Min, "nextafter": NextAfter, "and": And,
	"or": Or, "xor": Xor, "shift_left": ShiftLeft, "shift_right_logical": ShiftRightLogical,
	"shift_right_arithmetic": ShiftRightArithmetic,

	"clamp":       func(a jaxAttrs, x []*Array) *Array { return Clamp(x[0], x[1], x[2]) },
	"select":      func(a jaxAttrs, x []*Array) *Array { return Select(x[0], x[1], x[2]) },
	"integer_pow": func(a jaxAttrs, x []*Array) *Array { return Pow(x[0], a.Exponent) },
	"convert":     func(a jaxAttrs, x []*Array) *Array { return Convert(x[0], dtypes.MapOfNames[a.DType]) },
	"reduce": func(a jaxAttrs, x []*Array) *Array {
		return map[string]func(*Array, ...int) *Array{"sum": Sum, "prod": Prod, "max": ReduceMax, "min": ReduceMin,
			"and": ReduceAnd, "or": ReduceOr, "xor": ReduceXor}[a.Kind](x[0], a.Axes...)
	},
	"cumsum": CumSum, "cumprod": CumProd, "cummax": CumMax, "cummin": CumMin, "cumlogsumexp": CumLogSumExp,
	// JAX gives int64 indices, we give int32.
	"argmax": func(a jaxAttrs, x []*Array) *Array { return Convert(ArgMax(x[0], a.Axis), Int64) },
	"argmin": func(a jaxAttrs, x []*Array) *Array { return Convert(ArgMin(x[0], a.Axis), Int64) },
	"sort":   func(a jaxAttrs, x []*Array) []*Array { return SortKV(x, a.Axis, a.NumKeys) },
	"top_k": func(a jaxAttrs, x []*Array) []*Array {
		v, i := TopK(x[0], a.K)
		return []*Array{v, i}
	},

	"conv":          convJAX,
	"reduce_window": reduceWindowJAX,
	"pad": func(a jaxAttrs, x []*Array) *Array {
		var low, high, interior []int
		for _, c := range a.Config {
			low, high, interior = append(low, c[0]), append(high, c[1]), append(interior, c[2])
		}
		return PadConfig(x[0], x[1], low, high, interior)
	},
	"dynamic_slice": func(a jaxAttrs, x []*Array) *Array {
		return DynamicSlice(x[0], startsJAX(x[0], x[1]), a.Sizes)
	},
	"dynamic_update_slice": func(a jaxAttrs, x []*Array) *Array {
		return DynamicUpdateSlice(x[0], x[1], startsJAX(x[0], x[2]))
	},
	"gather": func(a jaxAttrs, x []*Array) *Array {
		return Gather(x[0], x[1], GatherDims{Window: a.OffsetDims, Collapsed: a.Collapsed, Batch: a.OperandBatching,
			IndexBatch: a.IndexBatching, Coordinates: a.StartIndexMap, Sizes: a.SliceSizes}, indexModes[a.Mode])
	},
	"scatter": scatterJAX,
	"take": func(a jaxAttrs, x []*Array) *Array {
		// a difference: in jax.numpy.take's clip mode alone negative indices do not count from the end
		if a.Mode == "clip" {
			x[1] = Max(x[1], 0)
		}
		return Take(x[0], x[1], a.Axis, indexModes[a.Mode])
	},
	"take_along_axis": func(a jaxAttrs, x []*Array) *Array { return TakeAlongAxis(x[0], x[1], a.Axis) },
	"at": func(a jaxAttrs, x []*Array) *Array {
		return map[string]func(x, i, u *Array, mode ...IndexMode) *Array{"set": ScatterSet, "add": ScatterAdd,
			"max": ScatterMax, "min": ScatterMin, "mul": ScatterMul}[a.Kind](x[0], x[1], x[2], indexModes[a.Mode])
	},
	"dot_general": dotJAX,
	"dot_general_vjp": func(a jaxAttrs, x []*Array) []*Array {
		_, back := Vjp(func(in [2]*Array) *Array { return dotJAX(a, in[:]) }, [2]*Array{x[0], x[1]})
		cotangents := back(x[2])
		return cotangents[:]
	},
	"einsum": func(a jaxAttrs, x []*Array) *Array { return Einsum(a.Equation, x...) },
}

// startsJAX makes a difference good: jax.lax lets negative starts count from the end, ours move to 0, as StableHLO's
// do.
func startsJAX(x, starts *Array) []*Array {
	at := Unstack(starts, 0)
	for axis, s := range at {
		at[axis] = Select(Lt(s, 0), Add(s, x.Dim(axis)), s)
	}
	return at
}

func dotJAX(a jaxAttrs, x []*Array) *Array {
	var options []DotOption
	if a.DType != "" {
		options = append(options, PreferredDType(dtypes.MapOfNames[a.DType]))
	}
	return DotGeneral(x[0], x[1], a.Batch[0], a.Batch[1], a.Contract[0], a.Contract[1], options...)
}

func convJAX(a jaxAttrs, x []*Array) *Array {
	opts := []WindowOption{Strides(a.Strides...), BaseDilation(a.LHSDilation...), WindowDilation(a.RHSDilation...),
		FeatureGroups(a.FeatureGroup), BatchGroups(a.BatchGroup)}
	if a.LHS != "NHWC" { // the layout that Conv has by itself is tested without naming it
		opts = append(opts, Layout(a.LHS, a.RHS, a.Out))
	}
	switch a.PaddingName {
	case "SAME":
		opts = append(opts, SamePadding())
	case "explicit":
		opts = append(opts, Padding(a.Padding...))
	}
	return Conv(x[0], x[1], opts...)
}

func reduceWindowJAX(a jaxAttrs, x []*Array) *Array {
	return ReduceWindow(x[0], a.Kind, a.Window, Strides(a.Strides...), Padding(a.Padding...),
		BaseDilation(a.BaseDilation...), WindowDilation(a.WinDilation...))
}

func scatterJAX(a jaxAttrs, x []*Array) *Array {
	d := GatherDims{Window: a.UpdateWindow, Collapsed: a.Inserted, Batch: a.OperandBatching,
		IndexBatch: a.ScatterBatching, Coordinates: a.ToOperand}
	// jax.lax takes the window sizes from the updates.
	d.Sizes = make([]int, x[0].Rank())
	window := 0
	for axis := range d.Sizes {
		d.Sizes[axis] = 1
		if !slices.Contains(d.Collapsed, axis) && !slices.Contains(d.Batch, axis) {
			d.Sizes[axis] = x[2].Dim(d.Window[window])
			window++
		}
	}
	kind := map[string]string{"set": "set", "add": "sum", "min": "min", "max": "max", "mul": "prod"}[a.Kind]
	return Scatter(kind, x[0], x[1], x[2], d, indexModes[a.Mode])
}

func readJAX(t *testing.T, v any) {
	t.Helper()
	require.NoError(t, oracles.Read("../testdata/jax_ops.json.gz", v))
}

// Every vector of single ops from JAX, through the reference interpreter.
func TestOpsAgainstJAX(t *testing.T) {
	var doc struct{ Cases []jaxCase }
	readJAX(t, &doc)
	require.NotEmpty(t, doc.Cases)
	for i, c := range doc.Cases {
		text, err := json.Marshal(c.Attrs)
		require.NoError(t, err)
		t.Run(fmt.Sprintf("%s/%d", c.Op, i), func(t *testing.T) {
			f := jaxOps[c.Op]
			require.NotNil(t, f, "no function for %s", c.Op)
			var outs []*Array
			require.NoError(t, Try(func() {
				var in []*Array
				for _, a := range c.Inputs {
					in = append(in, graphtest.FromOracle(a))
				}
				outs = callJAX(f, c.Attrs, in)
			}), string(text))
			require.Len(t, outs, len(c.Outputs))
			tolerance := graphtest.Tolerance{Abs: c.ATol, Rel: c.RTol}
			if c.RTol == 0 { // the same bits
				tolerance = graphtest.Tolerance{}
			}
			for k, want := range c.Outputs {
				graphtest.Same(t, graphtest.FromOracle(want), outs[k], tolerance, "result ", k, " of ", string(text))
			}
		})
	}
}

// Promotion of two arrays is JAX's with 64-bit types on, except for one difference; a Go scalar beside an array is what
// a Python scalar is in JAX with 64-bit types off: it never makes a 64-bit array of a narrower one.
func TestPromotionAgainstJAX(t *testing.T) {
	var doc struct {
		Promotion []struct {
			A, B, Out string
			X64       bool
		}
		Scalars []struct {
			A, Scalar, Out string
			X64            bool
		} `json:"scalar_promotion"`
	}
	readJAX(t, &doc)
	pairs, scalars := 0, 0
	for _, p := range doc.Promotion {
		a, b, want := dtypes.MapOfNames[p.A], dtypes.MapOfNames[p.B], dtypes.MapOfNames[p.Out]
		if !p.X64 {
			continue
		}
		pairs++
		// The difference: for uint64 with a signed integer JAX gives float64, we float32, which is what every other op
		// here makes of integers (Div, Mean, Exp).
		if a == Uint64 && b.IsInt() && !b.IsUnsigned() ||
			b == Uint64 && a.IsInt() && !a.IsUnsigned() {
			require.Equal(t, Float64, want)
			want = Float32
		}
		require.Equal(t, want, Add(Ones(ShapeOf(a, 2)), Ones(ShapeOf(b, 2))).DType(), "%s + %s", p.A, p.B)
	}
	require.Equal(t, 13*13, pairs)
	values := map[string]any{"bool": true, "int": 1, "float": 1.0}
	for _, s := range doc.Scalars {
		a, want := dtypes.MapOfNames[s.A], dtypes.MapOfNames[s.Out]
		if wide := ItemSize(a) == 8; s.X64 != wide {
			continue
		}
		scalars++
		if s.Scalar == "float" && !a.IsFloat() && s.X64 {
			require.Equal(t, Float64, want)
			want = Float32
		}
		require.Equal(t, want, Add(Ones(ShapeOf(a, 2)), values[s.Scalar]).DType(), "%s + %s", s.A, s.Scalar)
	}
	require.Equal(t, 13*3, scalars)
}
