package graphtest_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	. "xlarun/graph"
	"xlarun/graph/stats"
)

// Each refusal is one sentence that says what was got and what is wanted.
func TestRefusals(t *testing.T) {
	x := Zeros(ShapeOf(Float32, 2, 5, 5, 3))
	w := func(dims ...int) *Array { return Zeros(ShapeOf(Float32, dims...)) }
	for _, c := range []struct {
		name, want string
		call       func() *Array
	}{
		{"no float", "9007199254740993 is no value of f64: no float dtype holds it: use an integer dtype, such as i64",
			func() *Array { return Full(ShapeOf(Float64), 1<<53+1) }},
		{"a negative count", "-1 is no value of u32: use a signed dtype, such as i32",
			func() *Array { return Full(ShapeOf(Uint32), -1) }},
		{"a large negative count", "-1099511627776 is no value of u64: use a signed dtype, such as i64",
			func() *Array { return Full(ShapeOf(Uint64), -1<<40) }},
		{"a wider float", "33554433 is no value of f32: use a wider dtype, such as f64",
			func() *Array { return Full(ShapeOf(Float32), 1<<25+1) }},
		{"beyond all integers", "1e+30 is no value of i32: use a float dtype, such as f64",
			func() *Array { return Full(ShapeOf(Int32), 1e30) }},
		{"a wider integer", "9223372036854775808 is no value of i32: use a wider dtype, such as u64",
			func() *Array { return Full(ShapeOf(Int32), uint64(1<<63)) }},
		{"conv features", "conv: x f32[2,5,5,3] has 3 features, the kernel f32[3,3,4,8] takes 4 in each of 1 groups",
			func() *Array { return Conv(x, w(3, 3, 4, 8)) }},
		{"conv groups", "8 output features and a batch of 2 do not divide into 3 feature groups", func() *Array {
			return Conv(x, w(3, 3, 1, 8), FeatureGroups(3))
		}},
		{"conv of nil", "Conv: input 0 is a nil *Array", func() *Array { return Conv(nil, w(3, 3, 3, 8)) }},
		{"images of nil", "ConvImages: input 0 is a nil *Array", func() *Array {
			return ConvImages(nil, w(3, 3, 3, 8), [2]int{1, 1}, [2][2]int{})
		}},
		{"images by nil", "ConvImages: input 1 is a nil *Array", func() *Array {
			return ConvImages(x, nil, [2]int{1, 1}, [2][2]int{})
		}},
		{"sum of a missing key", "got a nil *Array", func() *Array { return map[string]*Array{"a": x}["b"].Sum() }},
		{"dot of nil", "got a nil *Array", func() *Array { return Dot(x, nil) }},
		{"conv ranks", "Conv: got x f32[2,5,5,3] and kernel f32[3,3,8]; want x [batch, spatial…, features]",
			func() *Array { return Conv(x, w(3, 3, 8)) }},
		{"conv strides", "Conv: got 1 strides for a window over 2 axes; want one an axis", func() *Array {
			return Conv(x, w(3, 3, 3, 8), Strides(2))
		}},
		{"conv stride 0", "Conv: strides [1 0]; want at least 1", func() *Array {
			return Conv(x, w(3, 3, 3, 8), Strides(1, 0))
		}},
		{"conv layout", "Conv: layout \"NHWD\"; want each of the letters \"NCHW\" once, for 4 axes",
			func() *Array { return Conv(x, w(3, 3, 3, 8), Layout("NCHW", "OIHW", "NHWD")) }},
		{"conv dtype", "want numbers of one dtype", func() *Array {
			return Conv(Zeros(ShapeOf(Bool, 5, 1)), Zeros(ShapeOf(Bool, 3, 1, 1)))
		}},
		{"pool groups", "MaxPool: got FeatureGroups, which only Conv knows", func() *Array {
			return MaxPool(x, []int{2, 2}, FeatureGroups(3))
		}},
		{"pool rank", "MaxPool: got a window over 4 axes for f32[2,5,5,3]; want x [spatial…, features]",
			func() *Array { return MaxPool(x, []int{2, 2, 2, 2}) }},
		{"window kind", "ReduceWindow: kind \"mean\"; want \"sum\"", func() *Array {
			return ReduceWindow(x, "mean", []int{1, 2, 2, 1})
		}},
		{"window size", "reduce_window: window [1 0 2 1]; want at least 1 along each axis", func() *Array {
			return ReduceWindow(x, "sum", []int{1, 0, 2, 1})
		}},
		{"top k", "top_k: k is 4 for f32[2,5,5,3]; want from 0 to 3", func() *Array { return first(TopK(x, 4)) }},
		{"sort nothing", "Sort: got no arrays", func() *Array { return SortKV(nil, 0, 1)[0] }},
		{"sort keys", "sort: got 1 operands and 2 keys", func() *Array { return SortKV([]*Array{x}, 0, 2)[0] }},
		{"sort axis", "Sort: axis 4 of an array of rank 4", func() *Array { return Sort(x, 4) }},
		{"index dtype", "Take: indices are f32[2], want integers", func() *Array { return Take(x, w(2), 0) }},
		{"index modes", "ScatterAdd: got index modes [7], want one of", func() *Array {
			return ScatterAdd(x, Of([]int32{0}), x, IndexMode(7))
		}},
		{"einsum labels", "Einsum: \"ij->i\": term \"ij\" has 2 labels for f32[2,5,5,3]", func() *Array {
			return Einsum("ij->i", x)
		}},
		{"einsum sizes", "Einsum: \"ij,jk\": label j is 2 and 3", func() *Array {
			return Einsum("ij,jk", w(2, 2), w(3, 2))
		}},
		{"einsum letters", "Einsum: \"i1->i\": labels are single letters", func() *Array {
			return Einsum("i1->i", w(2, 2))
		}},
		{"einsum count", "Einsum: \"i,j->ij\" names 2 operands, got 1", func() *Array {
			return Einsum("i,j->ij", w(2))
		}},
		{"tile", "Tile: got repeats [-1]", func() *Array { return Tile(x, -1) }},
		{"quantile", "Quantile: q is 2", func() *Array { return stats.Quantile(x, 2, 0) }},
		{"diag", "Diag: got f32[2,5,5,3], want a vector", func() *Array { return Diag(x) }},
		{"negative size", "Full: got the shape f32[2,-1]; want sizes of at least 0", func() *Array {
			return Zeros(ShapeOf(Float32, 2, -1))
		}},
		{"nothing to take", "Take: axis 0 of f32[0] is empty, so there is nothing for the indices i32[1] to take",
			func() *Array { return Take(w(0), Of([]int32{0}), 0) }},
		{"nothing to take along", "TakeAlongAxis: axis 1 of f32[2,0] is empty", func() *Array {
			return TakeAlongAxis(w(2, 0), Zeros(ShapeOf(Int32, 2, 1)), 1)
		}},
		{"largest of nothing", "ReduceMax: axis 1 of f32[2,0] is empty, and of no elements there is no extreme",
			func() *Array { return ReduceMax(w(2, 0), 1) }},
		{"smallest of nothing", "ReduceMin: axis 0 of f32[0] is empty", func() *Array { return ReduceMin(w(0)) }},
		{"gradient by an integer", "Grad: the argument to differentiate by is i32[3], want a float",
			func() *Array { return Grad(func(i *Array) *Array { return Sum(Convert(i, Float32)) })(Iota(3)) }},
		{"switch by a float", "Switch: the index is f32[], want an integer scalar", func() *Array {
			return Switch(Scalar(1), func() *Array { return x }, func() *Array { return x })
		}},
		{"large constant", "Of: 1e+39 does not fit in a float32: use Float64s", func() *Array { return Of(1e39) }},
		{"one axis twice", "transpose: permutation [0 0] does not name each axis of f32[3,4] once",
			func() *Array { return Transpose(w(3, 4), 0, 0) }},
		{"the last axis twice", "transpose: permutation [1 1] does not name each axis of f32[3,4] once",
			func() *Array { return Transpose(w(3, 4), 1, -1) }},
		{"an axis of size 1 left out", "transpose: permutation [0 1 1] does not name each axis of f32[1,3,4] once",
			func() *Array { return Transpose(w(1, 3, 4), 0, 1, 1) }},
		{"2^63 bytes", "broadcast_in_dim: the result would be f32[2147483648,1073741824], whose bytes no int64 counts",
			func() *Array { return BroadcastTo(Sum(x), 1<<31, 1<<30) }},
		{"2^64 bytes", "the result would be f32[4611686018427387904,2], whose bytes no int64 counts",
			func() *Array { return w(1<<62, 2) }},
		{"2^80 elements", "the result would be f32[1099511627776,1099511627776]", func() *Array {
			return w(1<<40, 1<<40)
		}},
		{"a large product", "the result would be f32[4294967296,4294967296]", func() *Array {
			return Outer(w(1<<32), w(1<<32))
		}},
		{"a wider dtype", "convert: the result would be f64[2305843009213693952]", func() *Array {
			return Convert(Zeros(ShapeOf(Bool, 1<<61)), Float64)
		}},
		{"no elements as 2^64", "reshape: the result would be f32[4294967296,4294967296], whose bytes no int64 counts",
			func() *Array { return Reshape(w(0), 1<<32, 1<<32) }},
		{"updates of ScatterAdd", "ScatterAdd: got updates f32[3,4] for f32[3,4] and indices i32[2], want f32[2,4]",
			func() *Array { return ScatterAdd(w(3, 4), Iota(2), w(3, 4)) }},
		{"updates of ScatterSet", "ScatterSet: got updates f32[3,4] for f32[3,4] and indices i32[2], want f32[2,4]",
			func() *Array { return ScatterSet(w(3, 4), Iota(2), w(3, 4)) }},
		{"updates of ScatterMax", "ScatterMax: got updates f32[3,4] for f32[3,4] and indices i32[2], want f32[2,4]",
			func() *Array { return ScatterMax(w(3, 4), Iota(2), w(3, 4)) }},
		{"updates of ScatterMin", "ScatterMin: got updates f32[3,4] for f32[3,4] and indices i32[2], want f32[2,4]",
			func() *Array { return ScatterMin(w(3, 4), Iota(2), w(3, 4)) }},
		{"updates of ScatterMul", "ScatterMul: got updates f32[3,4] for f32[3,4] and indices i32[2], want f32[2,4]",
			func() *Array { return ScatterMul(w(3, 4), Iota(2), w(3, 4)) }},
		{"updates of too many axes", "ScatterSet: got updates f32[1,2,4]", func() *Array {
			return ScatterSet(w(3, 4), Iota(2), w(1, 2, 4))
		}},
		{"scattering into a scalar", "ScatterMax: a scalar has no axis", func() *Array {
			return ScatterMax(w(), Iota(2), w(2))
		}},
		{"float places to write", "ScatterMul: indices are f32[2], want integers", func() *Array {
			return ScatterMul(w(3), w(2), w(2))
		}},
		{"fewer than no kinds", "OneHot: got the size -1 for i32[3]; want at least 0", func() *Array {
			return OneHot(Iota(3), -1, Float32)
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := Try(func() { c.call() })
			require.ErrorContains(t, err, c.want)
			require.ErrorContains(t, err, "refusals_test.go:")
		})
	}
}
