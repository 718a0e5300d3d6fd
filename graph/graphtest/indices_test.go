package graphtest_test

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	. "xlarun/graph"
	"xlarun/graph/graphtest"
	"xlarun/graph/stats"
	"xlarun/internal/long"
	"xlarun/xlabridge"
	"xlarun/xlabridge/xlatest"
)

type indexCase struct {
	indices *Array
	values  []int64
}

// indexCases are index vectors of every integer dtype, with what they say as int64: math.MaxInt64 stands for all larger
// numbers.
var indexCases = []indexCase{
	{Of([]int8{7, 100, -1, -128}), []int64{7, 100, -1, -128}},
	{Of([]int16{7, 299, -1, math.MinInt16}), []int64{7, 299, -1, math.MinInt16}},
	{Of([]int32{7, 299, -1, math.MinInt32, 300}), []int64{7, 299, -1, math.MinInt32, 300}},
	{Of([]int64{7, 200, 1 << 32, -1}), []int64{7, 200, 1 << 32, -1}},
	{Of([]uint8{7, 200, 255, 0}), []int64{7, 200, 255, 0}},
	{Of([]uint16{7, 299, math.MaxUint16, 1 << 15}), []int64{7, 299, math.MaxUint16, 1 << 15}},
	{Of([]uint32{7, 200, math.MaxUint32, 1 << 31}), []int64{7, 200, math.MaxUint32, 1 << 31}},
	{Of([]uint64{7, 1 << 32, math.MaxUint64, 1 << 63}), []int64{7, 1 << 32, math.MaxInt64, math.MaxInt64}},
}

// axisSize is the size of the axis that indices are of: more than narrow dtypes hold.
const axisSize = 300

// indexOp is an op of a vector of indices. want is its result for one of them: a number for each, or for vector the
// places of the ones in the sum of all.
type indexOp struct {
	name string
	f    func(i *Array) *Array
	want func(i int64) float64
	// count: the result counts the places that want gives, [axisSize], instead of listing them.
	count bool
}

func indexOps() []indexOp {
	line := Convert(Iota(axisSize), Float32)
	zeros := Zeros(ShapeOf(Float32, axisSize))
	ones := func(i *Array) *Array { return Ones(ShapeOf(Float32, i.Size())) }
	clip := func(i int64) float64 { return float64(min(max(i, 0), axisSize-1)) }
	fromEnd := func(i int64) int64 {
		if i < 0 {
			return i + axisSize
		}
		return i
	}
	inside := func(i int64) float64 {
		if i < 0 || i >= axisSize {
			return math.NaN()
		}
		return float64(i)
	}
	branches := make([]func() *Array, 150)
	for k := range branches {
		branches[k] = func() *Array { return Scalar(float64(k)) }
	}
	each := func(f func(i *Array) *Array) func(i *Array) *Array {
		return func(i *Array) *Array {
			var out []*Array
			for k := range i.Size() {
				out = append(out, f(Index(i, k)))
			}
			return Stack(out, 0)
		}
	}
	at := func(i *Array) *Array { return DynamicIndex(line, i, 0) }
	mark := func(i *Array) *Array { return DynamicUpdateIndex(zeros, Scalar(1), i, 0) }
	return []indexOp{
		{"DynamicIndex", each(at), clip, false},
		{"VMap DynamicIndex", VMap(at), clip, false},
		{"Scan DynamicIndex", func(i *Array) *Array { return Map(at, i) }, clip, false},
		{"unrolled DynamicIndex", func(i *Array) *Array { return Map(at, i, Unroll(8)) }, clip, false},
		{"DynamicUpdateIndex", func(i *Array) *Array { return Sum(each(mark)(i), 0) }, clip, true},
		{"VMap DynamicUpdateIndex", func(i *Array) *Array { return Sum(VMap(mark)(i), 0) }, clip, true},
		{"Take", func(i *Array) *Array { return Take(line, i, 0) },
			func(i int64) float64 { return clip(fromEnd(i)) }, false},
		{"Take FillOrDrop", func(i *Array) *Array { return Take(line, i, 0, FillOrDrop) },
			func(i int64) float64 { return inside(fromEnd(i)) }, false},
		{"TakeAlongAxis", func(i *Array) *Array { return TakeAlongAxis(line, i, 0) },
			func(i int64) float64 { return clip(fromEnd(i)) }, false},
		{"Gather", func(i *Array) *Array {
			return Gather(line, ExpandDims(i, 1), GatherDims{Collapsed: []int{0},
				Coordinates: []int{0}, Sizes: []int{1}})
		}, clip, false},
		{"ScatterAdd", func(i *Array) *Array { return ScatterAdd(zeros, i, ones(i)) },
			func(i int64) float64 { return inside(fromEnd(i)) }, true},
		{"ScatterAdd ClipIndex", func(i *Array) *Array {
			return ScatterAdd(zeros, i, ones(i), ClipIndex)
		}, func(i int64) float64 { return clip(fromEnd(i)) }, true},
		{"SegmentSum", func(i *Array) *Array { return SegmentSum(ones(i), i, axisSize) }, inside, true},
		{"Bincount", func(i *Array) *Array { return stats.Bincount(i, axisSize) }, inside, true},
		{"OneHot", func(i *Array) *Array { return Sum(OneHot(i, axisSize, Float32), 0) }, inside, true},
		{"SearchSorted", func(i *Array) *Array {
			return SearchSorted(Iota(axisSize), i, false)
		}, func(i int64) float64 { return float64(min(max(i, 0), axisSize)) }, false},
		{"UnravelIndex", func(i *Array) *Array {
			x := UnravelIndex(i, 15, 20)
			return RavelMultiIndex(x, 15, 20)
		}, func(i int64) float64 { return clip(fromEnd(i)) }, false},
		{"RavelMultiIndex", func(i *Array) *Array {
			return RavelMultiIndex([]*Array{i, i}, 20, 200)
		}, func(i int64) float64 { return float64(min(max(i, 0), 19)*200 + min(max(i, 0), 199)) }, false},
		{"Switch", each(func(i *Array) *Array { return Switch(i, branches[:3]...) }),
			func(i int64) float64 { return float64(min(max(i, 0), 2)) }, false},
		{"VMap Switch", VMap(func(i *Array) *Array { return Switch(i, branches...) }),
			func(i int64) float64 { return float64(min(max(i, 0), 149)) }, false},
		{"Clamp", func(i *Array) *Array { return Clamp(0, i, 100) },
			func(i int64) float64 { return float64(min(max(i, 0), 100)) }, false},
		{"Max", func(i *Array) *Array { return Min(Max(i, 50), 100) },
			func(i int64) float64 { return float64(min(max(i, 50), 100)) }, false},
		{"Lt", func(i *Array) *Array { return Lt(i, 100) }, func(i int64) float64 {
			return map[bool]float64{true: 1}[i < 100]
		}, false},
		{"Convert", func(i *Array) *Array {
			return Min(Convert(i, Float32), 0x1p63)
		}, func(i int64) float64 { return float64(float32(i)) }, false},
	}
}

// Every op that reads indices, with indices of every integer dtype as arguments and as constants, gives what
// its definition says, on the reference interpreter and on XLA: beyond what narrow dtypes hold, with the top bit of
// unsigned ones set, and under VMap and Scan. The short form compiles arguments of a narrow unsigned and of a wide
// signed dtype, in turn.
func TestIndicesOfAllDTypes(t *testing.T) {
	ops := indexOps()
	for _, b := range []struct {
		name    string
		backend xlabridge.Backend
	}{{"interpreted", &xlabridge.Reference{}}, {"compiled", xlatest.OpenCPU(t, 0)}} {
		cases := indexCases
		if _, interpreted := b.backend.(*xlabridge.Reference); !interpreted && !long.On() {
			cases = slices.DeleteFunc(slices.Clone(cases), func(c indexCase) bool {
				return c.indices.DType() != Uint8 && c.indices.DType() != Int64
			})
		}
		var arguments []*Array
		for _, c := range cases {
			arguments = append(arguments, c.indices)
		}
		type call struct{ kind, number, op int } // an argument or a constant; of cases; of ops
		var calls []call
		for kind := range 2 {
			for i := range cases {
				for j := range ops {
					if len(cases) == len(indexCases) || kind == 0 && j%len(cases) == i {
						calls = append(calls, call{kind, i, j})
					}
				}
			}
		}
		all := func(in []*Array) (out []*Array) {
			for _, c := range calls {
				out = append(out, ops[c.op].f([][]*Array{in, arguments}[c.kind][c.number]))
			}
			return out
		}
		t.Run(b.name, func(t *testing.T) {
			out, err := xlabridge.Jit(b.backend, all)(arguments)
			require.NoError(t, err)
			for i, c := range calls {
				o, of := ops[c.op], cases[c.number]
				kind := [...]string{"argument", "constant"}[c.kind]
				what := fmt.Sprint(o.name, " with ", of.indices.Shape(), " as ", kind)
				got := graphtest.Floats(t, out[i])
				requireIndexed(t, o, of.values, got, what)
			}
		})
	}
}

func requireIndexed(t *testing.T, o indexOp, values []int64, got []float64, what string) {
	t.Helper()
	var want []float64
	if o.count {
		want = make([]float64, axisSize)
	}
	for _, v := range values {
		switch x := o.want(v); {
		case !o.count:
			want = append(want, x)
		case !math.IsNaN(x):
			want[int(x)]++
		}
	}
	require.Len(t, got, len(want), what)
	for i, w := range want {
		if math.IsNaN(w) && math.IsNaN(got[i]) {
			continue
		}
		// 2^63 rounds differently from the number that stands for it.
		require.InDelta(t, w, got[i], 1e-6*(1+math.Abs(w)), fmt.Sprint(what, ": element ", i))
	}
}

// Start indices of different dtypes keep their values. The short form compiles two of the cases.
func TestStartIndicesOfDifferentDTypes(t *testing.T) {
	x := Reshape(Iota(4*500), 4, 500)
	type start struct{ row, column any }
	type startCase struct {
		start
		want int
	}
	cases := []startCase{
		{start{uint8(1), int32(300)}, 800}, {start{uint32(1), int32(-1)}, 500}, {start{int32(1), int64(1 << 32)}, 999},
		{start{int8(-1), uint16(400)}, 400}, {start{uint64(math.MaxUint64), int8(3)}, 1503},
		{start{int64(2), uint64(1 << 63)}, 1499}, {start{uint8(255), uint8(200)}, 1700},
		{start{int16(3), uint32(math.MaxUint32)}, 1999},
	}
	read := func(row, column *Array) *Array { return Reshape(DynamicSlice(x, []*Array{row, column}, []int{1, 1})) }
	write := func(row, column *Array) *Array {
		one := Ones(ShapeOf(Int32, 1, 1))
		y := DynamicUpdateSlice(ZerosLike(x), one, []*Array{row, column})
		return ArgMax(Flatten1D(y), 0)
	}
	compiled := cases
	if !long.On() {
		compiled = cases[2:4]
	}
	var rows, columns []*Array // of the cases that run
	all := func(in [2][]*Array) (out []*Array) {
		for _, f := range []func(row, column *Array) *Array{read, write} {
			for _, pair := range [][2][]*Array{in, {rows, columns}} {
				for i := range rows {
					row, column := pair[0][i], pair[1][i]
					lanes := func(a *Array) *Array { return BroadcastTo(a, 2) }
					out = append(out, f(row, column),
						Index(VMap2(f)(lanes(row), lanes(column)), 1),
						Index(VMap2(f, InAxes(0, Unmapped))(lanes(row), column), 1),
						Index(Map(func(row *Array) *Array { return f(row, column) }, lanes(row)), 1))
				}
			}
		}
		return out
	}
	for _, b := range []struct {
		name    string
		backend xlabridge.Backend
		cases   []startCase
	}{{"interpreted", &xlabridge.Reference{}, cases}, {"compiled", xlatest.OpenCPU(t, 0), compiled}} {
		t.Run(b.name, func(t *testing.T) {
			rows, columns = nil, nil
			for _, c := range b.cases {
				rows, columns = append(rows, Of(c.row)), append(columns, Of(c.column))
			}
			out, err := xlabridge.Jit(b.backend, all)([2][]*Array{rows, columns})
			require.NoError(t, err)
			for i, o := range out {
				c := b.cases[i/4%len(b.cases)]
				v := graphtest.Floats(t, o)
				require.Equal(t, float64(c.want), v[0], "%T(%v), %T(%v), way %d", c.row, c.row, c.column, c.column, i)
			}
		})
	}
}

// What only wide values of 64-bit indices show, and the dtypes of results.
func TestWideIndices(t *testing.T) {
	wide := Of([]int64{1 << 40, math.MinInt64, 3})
	unsigned := Of([]uint64{1 << 63, math.MaxUint64, 3})
	for _, i := range []*Array{wide, unsigned} {
		hot := OneHot(i, 5, Int32)
		got := graphtest.Floats(t, hot)
		require.Equal(t, []float64{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0}, got)
	}
	hot := graphtest.Floats(t, OneHot(Of([]bool{true, false}), 3, Float32))
	require.Equal(t, []float64{0, 1, 0, 1, 0, 0}, hot)

	at := RavelMultiIndex([]*Array{Of(int32(1 << 20)), Of(uint8(7))}, 1<<21, 1<<21)
	require.Equal(t, "i64[]", at.Shape().String())
	place := graphtest.Floats(t, at)
	require.Equal(t, []float64{1<<41 + 7}, place)
	require.Equal(t, "i32[]", RavelMultiIndex([]*Array{Of(int8(3))}, 200).Shape().String())
	for _, c := range []struct {
		want string
		call func() *Array
	}{
		{"RavelMultiIndex: indices are f32[], want integers", func() *Array {
			return RavelMultiIndex([]*Array{Scalar(1)}, 3)
		}},
		{"RavelMultiIndex: got dims [-1], want sizes of at least 0", func() *Array {
			return RavelMultiIndex([]*Array{Of(int8(3))}, -1)
		}},
		{"start index 1 is f32[], want an integer scalar", func() *Array {
			return DynamicSlice(Iota(4).Reshape(2, 2), []*Array{Of(int8(3)), Scalar(1)}, []int{1, 1})
		}},
	} {
		require.ErrorContains(t, Try(func() { c.call() }), c.want)
	}
}

// No lanes and no steps are sizes as others are; negative ones are refused by name.
func TestSizesOfZeroAreGiven(t *testing.T) {
	x := Scalar(2)
	y := VMap(func(x *Array) *Array { return Sin(x) }, InAxes(Unmapped), AxisSize(0))(x)
	require.Equal(t, "f32[0]", y.Shape().String())
	_, ys := Scan(func(c *Array, _ None) (*Array, *Array) { return c, c }, x, None{}, Length(0))
	require.Equal(t, "f32[0]", ys.Shape().String())
	require.ErrorContains(t, Try(func() { AxisSize(-1) }), "AxisSize: got -1 lanes, want at least 0")
	require.ErrorContains(t, Try(func() { Length(-1) }), "Length: got -1 steps, want at least 0")
	require.ErrorContains(t, Try(func() {
		VMap(func(x *Array) *Array { return x }, AxisSize(0))(Iota(3))
	}), "has 3 lanes along axis 0, others have 0")
}

// Taking from arrays without elements, as JAX does.
func TestTakeOfEmptyArrays(t *testing.T) {
	empty := func(dims ...int) *Array { return Zeros(ShapeOf(Float32, dims...)) }
	zeros := func(dims ...int) *Array { return Zeros(ShapeOf(Int32, dims...)) }
	for _, c := range []struct {
		x, indices *Array
		axis       int
		want       string
	}{
		{empty(3, 0), zeros(3, 0), 0, "f32[3,0]"}, {empty(8, 3, 0), zeros(8, 2, 0), 1, "f32[8,2,0]"},
		{empty(1, 8, 0), zeros(1, 8, 1), 1, "f32[1,8,0]"}, {empty(2, 0, 8), zeros(2, 0, 3), 2, "f32[2,0,3]"},
		{empty(0, 3), zeros(0, 3), 0, "f32[0,3]"}, {empty(0, 3), zeros(0, 2), 1, "f32[0,2]"},
	} {
		require.Equal(t, c.want, TakeAlongAxis(c.x, c.indices, c.axis).Shape().String())
	}
	for _, x := range []*Array{
		Take(empty(0, 2), Iota(2), 0, FillOrDrop),
		TakeAlongAxis(empty(0, 2), zeros(2, 2), 0, FillOrDrop),
	} {
		require.Equal(t, "f32[2,2]", x.Shape().String())
		v := graphtest.Floats(t, x)
		for _, v := range v {
			require.True(t, math.IsNaN(v))
		}
	}
	require.ErrorContains(t, Try(func() { TakeAlongAxis(empty(0, 2), zeros(2, 2), 0) }),
		"TakeAlongAxis: axis 0 of f32[0,2] is empty, so there is nothing for the indices i32[2,2] to take")
}
