package graphtest_test

import (
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"

	. "xlarun/graph"
	"xlarun/graph/graphtest"
)

// Each method is the function of its name: the same op on the same operands in the same order.
func TestMethodsAreFunctions(t *testing.T) {
	x, y := Float32s([]float32{.5, -2, 3, .25}, 2, 2), Float32s([]float32{1.5, 3, -1, .25}, 2, 2)
	b := Gt(x, 0)
	type call struct {
		name           string
		method, direct *Array
	}
	for _, c := range []call{
		{"Add", x.Add(y), Add(x, y)}, {"Sub", x.Sub(y), Sub(x, y)}, {"Mul", x.Mul(2), Mul(x, 2)},
		{"Div", x.Div(y), Div(x, y)}, {"Pow", x.Pow(2), Pow(x, 2)}, {"Rem", x.Rem(y), Rem(x, y)},
		{"Mod", x.Mod(y), Mod(x, y)}, {"Max", x.Max(y), Max(x, y)}, {"Min", x.Min(y), Min(x, y)},
		{"Eq", x.Eq(y), Eq(x, y)}, {"Ne", x.Ne(y), Ne(x, y)}, {"Lt", x.Lt(y), Lt(x, y)},
		{"Le", x.Le(y), Le(x, y)}, {"Gt", x.Gt(y), Gt(x, y)}, {"Ge", x.Ge(y), Ge(x, y)},
		{"And", b.And(true), And(b, true)}, {"Or", b.Or(x.Lt(y)), Or(b, Lt(x, y))},
		{"Xor", b.Xor(true), Xor(b, true)}, {"Neg", x.Neg(), Neg(x)}, {"Not", b.Not(), Not(b)},
		{"Abs", x.Abs(), Abs(x)}, {"Sign", x.Sign(), Sign(x)}, {"Exp", x.Exp(), Exp(x)},
		{"Log", x.Abs().Log(), Log(Abs(x))}, {"Sqrt", x.Square().Sqrt(), Sqrt(Square(x))},
		{"Rsqrt", x.Abs().Rsqrt(), Rsqrt(Abs(x))}, {"Reciprocal", x.Reciprocal(), Reciprocal(x)},
		{"Tanh", x.Tanh(), Tanh(x)}, {"Sin", x.Sin(), Sin(x)}, {"Cos", x.Cos(), Cos(x)},
		{"Floor", x.Floor(), Floor(x)}, {"Round", x.Round(), Round(x)},
		{"IsNaN", x.IsNaN(), IsNaN(x)}, {"IsFinite", x.IsFinite(), IsFinite(x)},
		{"Clamp", x.Clamp(-1, 1), Clamp(-1, x, 1)},
		{"Convert", x.Convert(Int32), Convert(x, Int32)},
		{"Sum", x.Sum(0), Sum(x, 0)}, {"Mean", x.Mean(), Mean(x)}, {"Prod", x.Prod(1), Prod(x, 1)},
		{"ReduceMax", x.ReduceMax(1), ReduceMax(x, 1)}, {"ReduceMin", x.ReduceMin(), ReduceMin(x)},
		{"Any", b.Any(0), Any(b, 0)}, {"All", b.All(), All(b)},
		{"Variance", x.Variance(0), Variance(x, 0)}, {"Std", x.Std(), Std(x)},
		{"ArgMax", x.ArgMax(0), ArgMax(x, 0)}, {"ArgMin", x.ArgMin(1), ArgMin(x, 1)},
		{"Reshape", x.Reshape(4), Reshape(x, 4)}, {"Transpose", x.Transpose(), Transpose(x)},
		{"MoveAxis", x.MoveAxis(0, 1), MoveAxis(x, 0, 1)},
		{"ExpandDims", x.ExpandDims(1), ExpandDims(x, 1)},
		{"Squeeze", x.ExpandDims(1).Squeeze(1), Squeeze(ExpandDims(x, 1), 1)},
		{"BroadcastTo", x.BroadcastTo(3, 2, 2), BroadcastTo(x, 3, 2, 2)},
		{"SplitAxis", x.SplitAxis(1, 2, 1), Reshape(x, 2, 2, 1)},
		{"MergeAxes", x.MergeAxes(0, 2), Reshape(x, 4)}, {"Index", x.Index(1), Index(x, 1)},
		{"Dot", x.Dot(y), Dot(x, y)}, {"Where", SelectTree(b, x, y), Select(b, x, y)},
		{"AddTree", AddTree(x, y), Add(x, y)}, {"Once", Once(x), x},
		{"ZerosLikeTree", ZerosLikeTree(x), Zeros(x.Shape())},
		{"Isolate", Isolate(Of(int32(3)), x, y, func(x, y *Array) *Array { return x.Mul(y) }), Mul(x, y)},
	} {
		want, err := ToTensor(c.direct)
		require.NoError(t, err, c.name)
		got, err := ToTensor(c.method)
		require.NoError(t, err, c.name)
		require.Equal(t, want.Shape, got.Shape, c.name)
		require.True(t, reflect.DeepEqual(want, got), "%s: %v, want %v", c.name, got, want)
	}
}

func TestPair(t *testing.T) {
	x := Float32s([]float32{1, 2, 3}, 3)
	twice, half := VMap(func(x *Array) Pair[*Array, *Array] { return PairOf(x.Mul(2), x.Div(2)) })(x).Unpack()
	for want, got := range map[*Array]*Array{x.Mul(2): twice, x.Div(2): half} {
		w := graphtest.Floats(t, want)
		g := graphtest.Floats(t, got)
		require.Equal(t, w, g)
	}
}

func TestAxesThatDoNotFit(t *testing.T) {
	x := Float32s(make([]float32, 12), 4, 3)
	for _, c := range []struct {
		want string
		f    func() *Array
	}{
		{"got sizes [2 3] for axis 0 of f32[4,3], want sizes whose product is 4", func() *Array {
			return x.SplitAxis(0, 2, 3)
		}},
		{"got sizes [-2 -2] for axis 0 of f32[4,3], want sizes whose product is 4", func() *Array {
			return x.SplitAxis(0, -2, -2)
		}},
		{"got 3 axes from axis 0 of f32[4,3], want at least 1 and at most 2", func() *Array {
			return x.MergeAxes(0, 3)
		}},
		{"got 0 axes from axis 1 of f32[4,3], want at least 1 and at most 1", func() *Array {
			return x.MergeAxes(1, 0)
		}},
	} {
		require.ErrorContains(t, Try(func() { c.f() }), c.want)
	}
}
