package graph

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

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

var jaxDTypes = map[string]DType{
	"bool": Bool, "int8": Int8, "int16": Int16, "int32": Int32, "int64": Int64, "uint8": Uint8, "uint16": Uint16,
	"uint32": Uint32,
	"uint64": Uint64, "float16": Float16, "bfloat16": BFloat16, "float32": Float32, "float64": Float64,
}

func fromJAX(a oracles.Array) *Array {
	return FromBytes(ShapeOf(jaxDTypes[a.DType], a.Shape...), a.Data)
}

func unaryJAX(f func(any) *Array) func(jaxAttrs, []*Array) []*Array {
	return func(_ jaxAttrs, x []*Array) []*Array { return []*Array{f(x[0])} }
}

func binaryJAX(f func(x, y any) *Array) func(jaxAttrs, []*Array) []*Array {
	return func(_ jaxAttrs, x []*Array) []*Array { return []*Array{f(x[0], x[1])} }
}

func cumulativeJAX(f func(*Array, int, ...CumulativeOption) *Array) func(jaxAttrs, []*Array) []*Array {
	return func(a jaxAttrs, x []*Array) []*Array {
		if a.Reverse {
			return []*Array{f(x[0], a.Axis, Reversed())}
		}
		return []*Array{f(x[0], a.Axis)}
	}
}

func one(f func(a jaxAttrs, x []*Array) *Array) func(jaxAttrs, []*Array) []*Array {
	return func(a jaxAttrs, x []*Array) []*Array { return []*Array{f(a, x)} }
}

var indexModes = map[string]IndexMode{"clip": ClipIndex, "drop": FillOrDrop, "fill": FillOrDrop, "wrap": WrapIndex}

// laxDiv divides integers with truncation.
func laxDiv(x, y any) *Array {
	if isFloat(x.(*Array).DType()) {
		return Div(x, y)
	}
	return Quo(x, y)
}

// jaxOps names our function for each of JAX's.
var jaxOps = map[string]func(jaxAttrs, []*Array) []*Array{
	"exponential": unaryJAX(Exp), "exponential_minus_one": unaryJAX(Expm1), "log": unaryJAX(Log),
	"log_plus_one": unaryJAX(Log1p),
	"logistic":     unaryJAX(Logistic), "tanh": unaryJAX(Tanh), "erf": unaryJAX(Erf), "erfc": unaryJAX(Erfc),
	"erf_inv": unaryJAX(ErfInv),
	"lgamma":  unaryJAX(Lgamma), "digamma": unaryJAX(Digamma), "sqrt": unaryJAX(Sqrt), "rsqrt": unaryJAX(Rsqrt),
	"cbrt": unaryJAX(Cbrt),
	"sine": unaryJAX(Sin), "cosine": unaryJAX(Cos), "tan": unaryJAX(Tan), "asin": unaryJAX(Asin),
	"acos": unaryJAX(Acos), "atan": unaryJAX(Atan),
	"sinh": unaryJAX(Sinh), "cosh": unaryJAX(Cosh), "asinh": unaryJAX(Asinh), "acosh": unaryJAX(Acosh),
	"atanh": unaryJAX(Atanh),
	"floor": unaryJAX(Floor), "ceil": unaryJAX(Ceil), "sign": unaryJAX(Sign), "negate": unaryJAX(Neg),
	"abs":       unaryJAX(Abs),
	"is_finite": unaryJAX(IsFinite), "round": unaryJAX(RoundAway), "round_half_even": unaryJAX(Round),
	"not":    unaryJAX(Not),
	"popcnt": unaryJAX(PopCount), "count_leading_zeros": unaryJAX(CountLeadingZeros),

	"add": binaryJAX(Add), "subtract": binaryJAX(Sub), "multiply": binaryJAX(Mul), "atan2": binaryJAX(Atan2),
	"power":  binaryJAX(Pow),
	"divide": binaryJAX(laxDiv), "rem": binaryJAX(Rem), "remainder": binaryJAX(Mod), "floor_divide": binaryJAX(
		FloorDiv),
	"maximum": binaryJAX(Max), "minimum": binaryJAX(Min), "nextafter": binaryJAX(NextAfter), "and": binaryJAX(And),
	"or": binaryJAX(Or), "xor": binaryJAX(Xor),
	"shift_left": binaryJAX(ShiftLeft), "shift_right_logical": binaryJAX(ShiftRightLogical),
	"shift_right_arithmetic": binaryJAX(ShiftRightArithmetic),
	"clamp":                  one(func(a jaxAttrs, x []*Array) *Array { return Clamp(x[0], x[1], x[2]) }),
	"select":                 one(func(a jaxAttrs, x []*Array) *Array { return Select(x[0], x[1], x[2]) }),
	"integer_pow":            one(func(a jaxAttrs, x []*Array) *Array { return Pow(x[0], a.Exponent) }),
	"convert":                one(func(a jaxAttrs, x []*Array) *Array { return Convert(x[0], jaxDTypes[a.DType]) }),

	"reduce": one(func(a jaxAttrs, x []*Array) *Array {
		return map[string]func(*Array, ...int) *Array{"sum": Sum, "prod": Prod, "max": ReduceMax, "min": ReduceMin,
			"and": ReduceAnd, "or": ReduceOr, "xor": ReduceXor}[a.Kind](x[0], a.Axes...)
	}),
	"cumsum": cumulativeJAX(CumSum), "cumprod": cumulativeJAX(CumProd), "cummax": cumulativeJAX(CumMax),
	"cummin":       cumulativeJAX(CumMin),
	"cumlogsumexp": cumulativeJAX(CumLogSumExp),
	// JAX gives int64 indices, we give int32.
	"argmax": one(func(a jaxAttrs, x []*Array) *Array { return Convert(ArgMax(x[0], a.Axis), Int64) }),
	"argmin": one(func(a jaxAttrs, x []*Array) *Array { return Convert(ArgMin(x[0], a.Axis), Int64) }),
	"sort":   func(a jaxAttrs, x []*Array) []*Array { return SortKV(x, a.Axis, a.NumKeys) },
	"top_k": func(a jaxAttrs, x []*Array) []*Array {
		v, i := TopK(x[0], a.K)
		return []*Array{v, i}
	},

	"conv":          one(convJAX),
	"reduce_window": one(reduceWindowJAX),
	"pad": one(func(a jaxAttrs, x []*Array) *Array {
		var low, high, interior []int
		for _, c := range a.Config {
			low, high, interior = append(low, c[0]), append(high, c[1]), append(interior, c[2])
		}
		return PadConfig(x[0], x[1], low, high, interior)
	}),
	"dynamic_slice": one(func(a jaxAttrs, x []*Array) *Array {
		return DynamicSlice(x[0], startsJAX(x[0], x[1]), a.Sizes)
	}),
	"dynamic_update_slice": one(func(a jaxAttrs, x []*Array) *Array {
		return DynamicUpdateSlice(x[0], x[1], startsJAX(x[0], x[2]))
	}),
	"gather": one(func(a jaxAttrs, x []*Array) *Array {
		return Gather(x[0], x[1], GatherDims{Window: a.OffsetDims, Collapsed: a.Collapsed, Batch: a.OperandBatching,
			IndexBatch:  a.IndexBatching,
			Coordinates: a.StartIndexMap, Sizes: a.SliceSizes}, indexModes[a.Mode])
	}),
	"scatter": one(scatterJAX),
	"take": one(func(a jaxAttrs, x []*Array) *Array {
		// a difference: in jax.numpy.take's clip mode alone negative indices do not count from the end
		if a.Mode == "clip" {
			x[1] = Max(x[1], 0)
		}
		return Take(x[0], x[1], a.Axis, indexModes[a.Mode])
	}),
	"take_along_axis": one(func(a jaxAttrs, x []*Array) *Array { return TakeAlongAxis(x[0], x[1], a.Axis) }),
	"at": one(func(a jaxAttrs, x []*Array) *Array {
		return map[string]func(x, i, u *Array, mode ...IndexMode) *Array{"set": ScatterSet, "add": ScatterAdd,
			"max": ScatterMax, "min": ScatterMin,
			"mul": ScatterMul}[a.Kind](x[0], x[1], x[2], indexModes[a.Mode])
	}),
	"dot_general": one(dotJAX),
	"dot_general_vjp": func(a jaxAttrs, x []*Array) []*Array {
		_, back := Vjp(func(in [2]*Array) *Array { return dotJAX(a, in[:]) }, [2]*Array{x[0], x[1]})
		cotangents := back(x[2])
		return cotangents[:]
	},
	"einsum": one(func(a jaxAttrs, x []*Array) *Array { return Einsum(a.Equation, x...) }),
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
		options = append(options, PreferredDType(jaxDTypes[a.DType]))
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
	require.NoError(t, oracles.Read("testdata/jax_ops.json.gz", v))
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
					in = append(in, fromJAX(a))
				}
				outs = f(c.Attrs, in)
			}), string(text))
			require.Len(t, outs, len(c.Outputs))
			for k, want := range c.Outputs {
				sameAsJAX(t, c, want, outs[k])
			}
		})
	}
}

// sameAsJAX compares one result: bits if the case asks for them, else within its tolerance.
func sameAsJAX(t *testing.T, c jaxCase, want oracles.Array, got *Array) {
	t.Helper()
	require.Equal(t, ShapeOf(jaxDTypes[want.DType], want.Shape...).String(), got.Shape().String())
	b, err := HostBytes(got)
	require.NoError(t, err)
	bits := oracles.Array{DType: want.DType, Shape: want.Shape, Data: b}
	ours, theirs := bits.Floats(), want.Floats()
	for i, x := range theirs {
		if math.IsNaN(x) && math.IsNaN(ours[i]) || bits.Bits()[i] == want.Bits()[i] {
			continue
		}
		ok := !math.IsInf(x, 0) && c.RTol > 0 && math.Abs(ours[i]-x) <= c.ATol+c.RTol*math.Abs(x)
		var in []string
		for _, a := range c.Inputs {
			if a.Len() == want.Len() {
				in = append(in, fmt.Sprint(a.Floats()[i]))
			}
		}
		if !ok {
			t.Errorf("%s %s(%s)[%d]: got %v, JAX gives %v", want.DType, c.Op, strings.Join(in, ", "), i, ours[i], x)
		}
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
		a, b, want := jaxDTypes[p.A], jaxDTypes[p.B], jaxDTypes[p.Out]
		if !p.X64 {
			continue
		}
		pairs++
		// The difference: for uint64 with a signed integer JAX gives float64, we float32, which is what every other op
		// here makes of integers (Div, Mean, Exp).
		if isSigned(a) && b == Uint64 || isSigned(b) && a == Uint64 {
			require.Equal(t, Float64, want)
			want = Float32
		}
		require.Equal(t, want, Add(Ones(ShapeOf(a, 2)), Ones(ShapeOf(b, 2))).DType(), "%s + %s", p.A, p.B)
	}
	require.Equal(t, 13*13, pairs)
	values := map[string]any{"bool": true, "int": 1, "float": 1.0}
	for _, s := range doc.Scalars {
		a, want := jaxDTypes[s.A], jaxDTypes[s.Out]
		if wide := ItemSize(a) == 8; s.X64 != wide {
			continue
		}
		scalars++
		if s.Scalar == "float" && !isFloat(a) && s.X64 {
			require.Equal(t, Float64, want)
			want = Float32
		}
		require.Equal(t, want, Add(Ones(ShapeOf(a, 2)), values[s.Scalar]).DType(), "%s + %s", s.A, s.Scalar)
	}
	require.Equal(t, 13*3, scalars)
}
