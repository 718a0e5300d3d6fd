package graph_test

import (
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/graph"
)

// Each method is the function of its name: the same op on the same operands in the same order.
func TestMethodsAreFunctions(t *testing.T) {
	x, y := graph.Float32s([]float32{.5, -2, 3, .25}, 2, 2), graph.Float32s([]float32{1.5, 3, -1, .25}, 2, 2)
	b := graph.Gt(x, 0)
	type call struct {
		name           string
		method, direct *graph.Array
	}
	for _, c := range []call{
		{"Add", x.Add(y), graph.Add(x, y)}, {"Sub", x.Sub(y), graph.Sub(x, y)}, {"Mul", x.Mul(2), graph.Mul(x, 2)},
		{"Div", x.Div(y), graph.Div(x, y)}, {"Pow", x.Pow(2), graph.Pow(x, 2)}, {"Rem", x.Rem(y), graph.Rem(x, y)},
		{"Mod", x.Mod(y), graph.Mod(x, y)}, {"Max", x.Max(y), graph.Max(x, y)}, {"Min", x.Min(y), graph.Min(x, y)},
		{"Eq", x.Eq(y), graph.Eq(x, y)}, {"Ne", x.Ne(y), graph.Ne(x, y)}, {"Lt", x.Lt(y), graph.Lt(x, y)},
		{"Le", x.Le(y), graph.Le(x, y)}, {"Gt", x.Gt(y), graph.Gt(x, y)}, {"Ge", x.Ge(y), graph.Ge(x, y)},
		{"And", b.And(true), graph.And(b, true)}, {"Or", b.Or(x.Lt(y)), graph.Or(b, graph.Lt(x, y))},
		{"Xor", b.Xor(true), graph.Xor(b, true)}, {"Neg", x.Neg(), graph.Neg(x)}, {"Not", b.Not(), graph.Not(b)},
		{"Abs", x.Abs(), graph.Abs(x)}, {"Sign", x.Sign(), graph.Sign(x)}, {"Exp", x.Exp(), graph.Exp(x)},
		{"Log", x.Abs().Log(), graph.Log(graph.Abs(x))}, {"Sqrt", x.Square().Sqrt(), graph.Sqrt(graph.Square(x))},
		{"Rsqrt", x.Abs().Rsqrt(), graph.Rsqrt(graph.Abs(x))}, {"Reciprocal", x.Reciprocal(), graph.Reciprocal(x)},
		{"Tanh", x.Tanh(), graph.Tanh(x)}, {"Sin", x.Sin(), graph.Sin(x)}, {"Cos", x.Cos(), graph.Cos(x)},
		{"Floor", x.Floor(), graph.Floor(x)}, {"Round", x.Round(), graph.Round(x)},
		{"IsNaN", x.IsNaN(), graph.IsNaN(x)}, {"IsFinite", x.IsFinite(), graph.IsFinite(x)},
		{"Clamp", x.Clamp(-1, 1), graph.Clamp(-1, x, 1)},
		{"Convert", x.Convert(graph.Int32), graph.Convert(x, graph.Int32)},
		{"Sum", x.Sum(0), graph.Sum(x, 0)}, {"Mean", x.Mean(), graph.Mean(x)}, {"Prod", x.Prod(1), graph.Prod(x, 1)},
		{"ReduceMax", x.ReduceMax(1), graph.ReduceMax(x, 1)}, {"ReduceMin", x.ReduceMin(), graph.ReduceMin(x)},
		{"Any", b.Any(0), graph.Any(b, 0)}, {"All", b.All(), graph.All(b)},
		{"Variance", x.Variance(0), graph.Variance(x, 0)}, {"Std", x.Std(), graph.Std(x)},
		{"ArgMax", x.ArgMax(0), graph.ArgMax(x, 0)}, {"ArgMin", x.ArgMin(1), graph.ArgMin(x, 1)},
		{"Reshape", x.Reshape(4), graph.Reshape(x, 4)}, {"Transpose", x.Transpose(), graph.Transpose(x)},
		{"MoveAxis", x.MoveAxis(0, 1), graph.MoveAxis(x, 0, 1)},
		{"ExpandDims", x.ExpandDims(1), graph.ExpandDims(x, 1)},
		{"Squeeze", x.ExpandDims(1).Squeeze(1), graph.Squeeze(graph.ExpandDims(x, 1), 1)},
		{"BroadcastTo", x.BroadcastTo(3, 2, 2), graph.BroadcastTo(x, 3, 2, 2)},
		{"SplitAxis", x.SplitAxis(1, 2, 1), graph.Reshape(x, 2, 2, 1)},
		{"MergeAxes", x.MergeAxes(0, 2), graph.Reshape(x, 4)}, {"Index", x.Index(1), graph.Index(x, 1)},
		{"Dot", x.Dot(y), graph.Dot(x, y)}, {"Where", graph.SelectTree(b, x, y), graph.Select(b, x, y)},
		{"AddTree", graph.AddTree(x, y), graph.Add(x, y)}, {"Once", graph.Once(x), x},
		{"ZerosLikeTree", graph.ZerosLikeTree(x), graph.Zeros(x.Shape())},
		{"Isolate", graph.Isolate(graph.Of(int32(3)), x, y, func(x, y *graph.Array) *graph.Array { return x.Mul(y) }),
			graph.Mul(x, y)},
	} {
		want, err := graph.ToTensor(c.direct)
		require.NoError(t, err, c.name)
		got, err := graph.ToTensor(c.method)
		require.NoError(t, err, c.name)
		require.Equal(t, want.Shape, got.Shape, c.name)
		require.True(t, reflect.DeepEqual(want, got), "%s: %v, want %v", c.name, got, want)
	}
}

func TestPair(t *testing.T) {
	x := graph.Float32s([]float32{1, 2, 3}, 3)
	twice, half := graph.VMap(func(x *graph.Array) graph.Pair[*graph.Array, *graph.Array] {
		return graph.PairOf(x.Mul(2), x.Div(2))
	})(x).Unpack()
	for want, got := range map[*graph.Array]*graph.Array{x.Mul(2): twice, x.Div(2): half} {
		w, err := graph.Floats(want)
		require.NoError(t, err)
		g, err := graph.Floats(got)
		require.NoError(t, err)
		require.Equal(t, w, g)
	}
}

func TestAxesThatDoNotFit(t *testing.T) {
	x := graph.Float32s(make([]float32, 12), 4, 3)
	for _, c := range []struct {
		want string
		f    func() *graph.Array
	}{
		{"got sizes [2 3] for axis 0 of f32[4,3], want sizes whose product is 4", func() *graph.Array {
			return x.SplitAxis(0, 2, 3)
		}},
		{"got sizes [-2 -2] for axis 0 of f32[4,3], want sizes whose product is 4", func() *graph.Array {
			return x.SplitAxis(0, -2, -2)
		}},
		{"got 3 axes from axis 0 of f32[4,3], want at least 1 and at most 2", func() *graph.Array {
			return x.MergeAxes(0, 3)
		}},
		{"got 0 axes from axis 1 of f32[4,3], want at least 1 and at most 1", func() *graph.Array {
			return x.MergeAxes(1, 0)
		}},
	} {
		require.ErrorContains(t, graph.Try(func() { c.f() }), c.want)
	}
}
