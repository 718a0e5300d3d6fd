package graph_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"github.com/gomlx/compute/dtypes"
	"github.com/stretchr/testify/require"

	"xlarun/graph"
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

func unaryJAX(f func(any) *graph.Array) func(jaxAttrs, []*graph.Array) []*graph.Array {
	return func(_ jaxAttrs, x []*graph.Array) []*graph.Array { return []*graph.Array{f(x[0])} }
}

func binaryJAX(f func(x, y any) *graph.Array) func(jaxAttrs, []*graph.Array) []*graph.Array {
	return func(_ jaxAttrs, x []*graph.Array) []*graph.Array { return []*graph.Array{f(x[0], x[1])} }
}

func cumulativeJAX(f func(*graph.Array, int, ...graph.CumulativeOption) *graph.Array) func(jaxAttrs,
	[]*graph.Array) []*graph.Array {
	return func(a jaxAttrs, x []*graph.Array) []*graph.Array {
		if a.Reverse {
			return []*graph.Array{f(x[0], a.Axis, graph.Reversed())}
		}
		return []*graph.Array{f(x[0], a.Axis)}
	}
}

func one(f func(a jaxAttrs, x []*graph.Array) *graph.Array) func(jaxAttrs, []*graph.Array) []*graph.Array {
	return func(a jaxAttrs, x []*graph.Array) []*graph.Array { return []*graph.Array{f(a, x)} }
}

var indexModes = map[string]graph.IndexMode{"clip": graph.ClipIndex, "drop": graph.FillOrDrop, "fill": graph.FillOrDrop,
	"wrap": graph.WrapIndex}

// laxDiv divides integers with truncation.
func laxDiv(x, y any) *graph.Array {
	if x.(*graph.Array).DType().IsFloat() {
		return graph.Div(x, y)
	}
	return graph.Quo(x, y)
}

// jaxOps names our function for each of JAX's.
var jaxOps = map[string]func(jaxAttrs, []*graph.Array) []*graph.Array{
	"exponential": unaryJAX(graph.Exp), "exponential_minus_one": unaryJAX(graph.Expm1), "log": unaryJAX(graph.Log),
	"log_plus_one": unaryJAX(graph.Log1p),
	"logistic":     unaryJAX(graph.Logistic), "tanh": unaryJAX(graph.Tanh), "erf": unaryJAX(graph.Erf),
	"erfc":    unaryJAX(graph.Erfc),
	"erf_inv": unaryJAX(graph.ErfInv),
	"lgamma":  unaryJAX(graph.Lgamma), "digamma": unaryJAX(graph.Digamma), "sqrt": unaryJAX(graph.Sqrt),
	"rsqrt": unaryJAX(graph.Rsqrt),
	"cbrt":  unaryJAX(graph.Cbrt),
	"sine":  unaryJAX(graph.Sin), "cosine": unaryJAX(graph.Cos), "tan": unaryJAX(graph.Tan),
	"asin": unaryJAX(graph.Asin),
	"acos": unaryJAX(graph.Acos), "atan": unaryJAX(graph.Atan),
	"sinh": unaryJAX(graph.Sinh), "cosh": unaryJAX(graph.Cosh), "asinh": unaryJAX(graph.Asinh),
	"acosh": unaryJAX(graph.Acosh),
	"atanh": unaryJAX(graph.Atanh),
	"floor": unaryJAX(graph.Floor), "ceil": unaryJAX(graph.Ceil), "sign": unaryJAX(graph.Sign),
	"negate":    unaryJAX(graph.Neg),
	"abs":       unaryJAX(graph.Abs),
	"is_finite": unaryJAX(graph.IsFinite), "round": unaryJAX(graph.RoundAway), "round_half_even": unaryJAX(graph.Round),
	"not":    unaryJAX(graph.Not),
	"popcnt": unaryJAX(graph.PopCount), "count_leading_zeros": unaryJAX(graph.CountLeadingZeros),

	"add": binaryJAX(graph.Add), "subtract": binaryJAX(graph.Sub), "multiply": binaryJAX(graph.Mul),
	"atan2":  binaryJAX(graph.Atan2),
	"power":  binaryJAX(graph.Pow),
	"divide": binaryJAX(laxDiv), "rem": binaryJAX(graph.Rem), "remainder": binaryJAX(graph.Mod),
	"floor_divide": binaryJAX(graph.FloorDiv),
	"maximum":      binaryJAX(graph.Max), "minimum": binaryJAX(graph.Min), "nextafter": binaryJAX(graph.NextAfter),
	"and": binaryJAX(graph.And),
	"or":  binaryJAX(graph.Or), "xor": binaryJAX(graph.Xor),
	"shift_left": binaryJAX(graph.ShiftLeft), "shift_right_logical": binaryJAX(graph.ShiftRightLogical),
	"shift_right_arithmetic": binaryJAX(graph.ShiftRightArithmetic),
	"clamp": one(func(a jaxAttrs, x []*graph.Array) *graph.Array {
		return graph.Clamp(x[0], x[1], x[2])
	}),
	"select": one(func(a jaxAttrs,
		x []*graph.Array) *graph.Array {
		return graph.Select(x[0], x[1], x[2])
	}),
	"integer_pow": one(func(a jaxAttrs,
		x []*graph.Array) *graph.Array {
		return graph.Pow(x[0], a.Exponent)
	}),
	"convert": one(func(a jaxAttrs,
		x []*graph.Array) *graph.Array {
		return graph.Convert(x[0], dtypes.MapOfNames[a.DType])
	}),

	"reduce": one(func(a jaxAttrs, x []*graph.Array) *graph.Array {
		return map[string]func(*graph.Array, ...int) *graph.Array{"sum": graph.Sum, "prod": graph.Prod,
			"max": graph.ReduceMax, "min": graph.ReduceMin,
			"and": graph.ReduceAnd, "or": graph.ReduceOr, "xor": graph.ReduceXor}[a.Kind](x[0], a.Axes...)
	}),
	"cumsum": cumulativeJAX(graph.CumSum), "cumprod": cumulativeJAX(graph.CumProd),
	"cummax":       cumulativeJAX(graph.CumMax),
	"cummin":       cumulativeJAX(graph.CumMin),
	"cumlogsumexp": cumulativeJAX(graph.CumLogSumExp),
	// JAX gives int64 indices, we give int32.
	"argmax": one(func(a jaxAttrs, x []*graph.Array) *graph.Array {
		return graph.Convert(graph.ArgMax(x[0], a.Axis),
			graph.Int64)
	}),
	"argmin": one(func(a jaxAttrs, x []*graph.Array) *graph.Array {
		return graph.Convert(graph.ArgMin(x[0], a.Axis),
			graph.Int64)
	}),
	"sort": func(a jaxAttrs, x []*graph.Array) []*graph.Array { return graph.SortKV(x, a.Axis, a.NumKeys) },
	"top_k": func(a jaxAttrs, x []*graph.Array) []*graph.Array {
		v, i := graph.TopK(x[0], a.K)
		return []*graph.Array{v, i}
	},

	"conv":          one(convJAX),
	"reduce_window": one(reduceWindowJAX),
	"pad": one(func(a jaxAttrs, x []*graph.Array) *graph.Array {
		var low, high, interior []int
		for _, c := range a.Config {
			low, high, interior = append(low, c[0]), append(high, c[1]), append(interior, c[2])
		}
		return graph.PadConfig(x[0], x[1], low, high, interior)
	}),
	"dynamic_slice": one(func(a jaxAttrs, x []*graph.Array) *graph.Array {
		return graph.DynamicSlice(x[0], startsJAX(x[0], x[1]), a.Sizes)
	}),
	"dynamic_update_slice": one(func(a jaxAttrs, x []*graph.Array) *graph.Array {
		return graph.DynamicUpdateSlice(x[0], x[1], startsJAX(x[0], x[2]))
	}),
	"gather": one(func(a jaxAttrs, x []*graph.Array) *graph.Array {
		return graph.Gather(x[0], x[1], graph.GatherDims{Window: a.OffsetDims, Collapsed: a.Collapsed,
			Batch:       a.OperandBatching,
			IndexBatch:  a.IndexBatching,
			Coordinates: a.StartIndexMap, Sizes: a.SliceSizes}, indexModes[a.Mode])
	}),
	"scatter": one(scatterJAX),
	"take": one(func(a jaxAttrs, x []*graph.Array) *graph.Array {
		// a difference: in jax.numpy.take's clip mode alone negative indices do not count from the end
		if a.Mode == "clip" {
			x[1] = graph.Max(x[1], 0)
		}
		return graph.Take(x[0], x[1], a.Axis, indexModes[a.Mode])
	}),
	"take_along_axis": one(func(a jaxAttrs, x []*graph.Array) *graph.Array {
		return graph.TakeAlongAxis(x[0], x[1],
			a.Axis)
	}),
	"at": one(func(a jaxAttrs, x []*graph.Array) *graph.Array {
		return map[string]func(x, i, u *graph.Array, mode ...graph.IndexMode) *graph.Array{"set": graph.ScatterSet,
			"add": graph.ScatterAdd,
			"max": graph.ScatterMax, "min": graph.ScatterMin,
			"mul": graph.ScatterMul}[a.Kind](x[0], x[1], x[2], indexModes[a.Mode])
	}),
	"dot_general": one(dotJAX),
	"dot_general_vjp": func(a jaxAttrs, x []*graph.Array) []*graph.Array {
		_, back := graph.Vjp(func(in [2]*graph.Array) *graph.Array { return dotJAX(a, in[:]) },
			[2]*graph.Array{x[0], x[1]})
		cotangents := back(x[2])
		return cotangents[:]
	},
	"einsum": one(func(a jaxAttrs, x []*graph.Array) *graph.Array { return graph.Einsum(a.Equation, x...) }),
}

// startsJAX makes a difference good: jax.lax lets negative starts count from the end, ours move to 0, as StableHLO's
// do.
func startsJAX(x, starts *graph.Array) []*graph.Array {
	at := graph.Unstack(starts, 0)
	for axis, s := range at {
		at[axis] = graph.Select(graph.Lt(s, 0), graph.Add(s, x.Dim(axis)), s)
	}
	return at
}

func dotJAX(a jaxAttrs, x []*graph.Array) *graph.Array {
	var options []graph.DotOption
	if a.DType != "" {
		options = append(options, graph.PreferredDType(dtypes.MapOfNames[a.DType]))
	}
	return graph.DotGeneral(x[0], x[1], a.Batch[0], a.Batch[1], a.Contract[0], a.Contract[1], options...)
}

func convJAX(a jaxAttrs, x []*graph.Array) *graph.Array {
	opts := []graph.WindowOption{graph.Strides(a.Strides...), graph.BaseDilation(a.LHSDilation...),
		graph.WindowDilation(a.RHSDilation...),
		graph.FeatureGroups(a.FeatureGroup), graph.BatchGroups(a.BatchGroup)}
	if a.LHS != "NHWC" { // the layout that Conv has by itself is tested without naming it
		opts = append(opts, graph.Layout(a.LHS, a.RHS, a.Out))
	}
	switch a.PaddingName {
	case "SAME":
		opts = append(opts, graph.SamePadding())
	case "explicit":
		opts = append(opts, graph.Padding(a.Padding...))
	}
	return graph.Conv(x[0], x[1], opts...)
}

func reduceWindowJAX(a jaxAttrs, x []*graph.Array) *graph.Array {
	return graph.ReduceWindow(x[0], a.Kind, a.Window, graph.Strides(a.Strides...), graph.Padding(a.Padding...),
		graph.BaseDilation(a.BaseDilation...), graph.WindowDilation(a.WinDilation...))
}

func scatterJAX(a jaxAttrs, x []*graph.Array) *graph.Array {
	d := graph.GatherDims{Window: a.UpdateWindow, Collapsed: a.Inserted, Batch: a.OperandBatching,
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
	return graph.Scatter(kind, x[0], x[1], x[2], d, indexModes[a.Mode])
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
			var outs []*graph.Array
			require.NoError(t, graph.Try(func() {
				var in []*graph.Array
				for _, a := range c.Inputs {
					in = append(in, graphtest.FromOracle(a))
				}
				outs = f(c.Attrs, in)
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
		if a == graph.Uint64 && b.IsInt() && !b.IsUnsigned() ||
			b == graph.Uint64 && a.IsInt() && !a.IsUnsigned() {
			require.Equal(t, graph.Float64, want)
			want = graph.Float32
		}
		require.Equal(t, want, graph.Add(graph.Ones(graph.ShapeOf(a, 2)), graph.Ones(graph.ShapeOf(b, 2))).DType(),
			"%s + %s", p.A, p.B)
	}
	require.Equal(t, 13*13, pairs)
	values := map[string]any{"bool": true, "int": 1, "float": 1.0}
	for _, s := range doc.Scalars {
		a, want := dtypes.MapOfNames[s.A], dtypes.MapOfNames[s.Out]
		if wide := graph.ItemSize(a) == 8; s.X64 != wide {
			continue
		}
		scalars++
		if s.Scalar == "float" && !a.IsFloat() && s.X64 {
			require.Equal(t, graph.Float64, want)
			want = graph.Float32
		}
		require.Equal(t, want, graph.Add(graph.Ones(graph.ShapeOf(a, 2)), values[s.Scalar]).DType(), "%s + %s", s.A,
			s.Scalar)
	}
	require.Equal(t, 13*3, scalars)
}
