package graphtest

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"xlarun/graph"
	"xlarun/graph/distribution"
	"xlarun/graph/linalg"
	"xlarun/graph/lower"
	"xlarun/graph/nn"
	"xlarun/graph/optim"
	"xlarun/graph/random"
	"xlarun/graph/stats"
	"xlarun/internal/long"
)

type (
	array = *graph.Array
	dims  = graph.GatherDims
)

// sizes are integers that no caller means, but a computed size may be.
var sizes = []int{0, -1, -2, 3, math.MinInt64, math.MaxInt64, math.MinInt32, math.MaxInt32, 1 << 31, 1 << 40,
	math.MaxInt64 / 4}

func f32(dims ...int) graph.Shape { return graph.ShapeOf(graph.Float32, dims...) }

// sizeTakers are the functions that take integers, each as a function of one of them.
func sizeTakers() map[string]func(n int) any {
	x := graph.Reshape(graph.Convert(graph.Iota(12), graph.Float32), 3, 4)
	square := graph.Eye(graph.Float32, 3)
	image := graph.Ones(f32(6, 6, 4))
	images := graph.Ones(f32(1, 6, 6, 4))
	kernel := graph.Ones(f32(3, 3, 4, 8))
	v, i := graph.Float32s([]float32{3, 1, 2}), graph.Int32s([]int32{0, 2, 1})
	key := random.New(1)
	gather := func(coordinates int, d dims) any {
		return graph.Gather(x, graph.Ones(graph.ShapeOf(graph.Int32, coordinates)), d)
	}
	increment := func(x array) array { return graph.Add(x, 1) }
	first := func(x []array) array { return x[0] }
	m := map[string]func(n int) any{
		"BroadcastTo":      func(n int) any { return graph.BroadcastTo(v, n, 3) },
		"BroadcastTo last": func(n int) any { return graph.BroadcastTo(v, 3, n) },
		"BroadcastDims": func(n int) any {
			return graph.Of(fmt.Sprint(graph.BroadcastDims("f", []int{n}, []int{3})) == "")
		},
		"Concatenate":        func(n int) any { return graph.Concatenate(n, x, x) },
		"ConvImages strides": func(n int) any { return graph.ConvImages(images, kernel, [2]int{n, 1}, [2][2]int{}) },
		"ConvImages pads": func(n int) any {
			return graph.ConvImages(images, kernel, [2]int{1, 1}, [2][2]int{{n, 0}, {0, n}})
		},
		"Conv strides": func(n int) any { return graph.Conv(images, kernel, graph.Strides(n, n)) },
		"Conv padding": func(n int) any {
			return graph.Conv(images, kernel, graph.Padding([2]int{n, 1}, [2]int{1, n}))
		},
		"Conv dilation": func(n int) any { return graph.Conv(images, kernel, graph.WindowDilation(n, n)) },
		"Conv dilation, same": func(n int) any {
			return graph.Conv(images, kernel, graph.WindowDilation(n, n), graph.SamePadding())
		},
		"Conv strides, same": func(n int) any {
			return graph.Conv(images, kernel, graph.Strides(n, n), graph.SamePadding())
		},
		"Conv base dilation": func(n int) any { return graph.Conv(images, kernel, graph.BaseDilation(n, n)) },
		"Conv groups":        func(n int) any { return graph.Conv(images, kernel, graph.FeatureGroups(n)) },
		"Conv batch groups":  func(n int) any { return graph.Conv(images, kernel, graph.BatchGroups(n)) },
		"MaxPool":            func(n int) any { return graph.MaxPool(image, []int{n, n}) },
		"MaxPool same":       func(n int) any { return graph.MaxPool(image, []int{n, n}, graph.SamePadding()) },
		"AvgPool excluding": func(n int) any {
			return graph.AvgPool(image, []int{2, n}, graph.SamePadding(), graph.ExcludePadding())
		},
		"AvgPool strides": func(n int) any { return graph.AvgPool(image, []int{2, 2}, graph.Strides(n, n)) },
		"MinPool padding": func(n int) any {
			return graph.MinPool(image, []int{2, 2}, graph.Padding([2]int{n, 0}, [2]int{0, n}))
		},
		"ReduceWindow": func(n int) any { return graph.ReduceWindow(x, "sum", []int{n, 1}) },
		"ReduceWindow dilation": func(n int) any {
			return graph.ReduceWindow(x, "max", []int{2, 1}, graph.WindowDilation(n, 1))
		},
		"CumSum":           func(n int) any { return graph.CumSum(x, n) },
		"CumLogSumExp":     func(n int) any { return graph.CumLogSumExp(x, n) },
		"Diag":             func(n int) any { return graph.Diag(v, n) },
		"Diagonal axis":    func(n int) any { return graph.Diagonal(x, n, 1) },
		"Diagonal second":  func(n int) any { return graph.Diagonal(x, 0, n) },
		"Diagonal offset":  func(n int) any { return graph.Diagonal(x, 0, 1, n) },
		"Diff":             func(n int) any { return graph.Diff(x, n) },
		"DotGeneral":       func(n int) any { return graph.DotGeneral(x, x, nil, nil, []int{n}, []int{n}) },
		"DotGeneral batch": func(n int) any { return graph.DotGeneral(x, x, []int{n}, []int{n}, []int{1}, []int{1}) },
		"DynamicIndex":     func(n int) any { return graph.DynamicIndex(x, graph.Of(int32(1)), n) },
		"DynamicSlice": func(n int) any {
			return graph.DynamicSlice(x, []array{graph.Of(int32(1)), graph.Of(int32(1))}, []int{n, 1})
		},
		"DynamicUpdateIndex": func(n int) any { return graph.DynamicUpdateIndex(x, v, graph.Of(int32(1)), n) },
		"Eye":                func(n int) any { return graph.Eye(graph.Float32, n) },
		"ExpandDims":         func(n int) any { return graph.ExpandDims(x, n) },
		"Squeeze":            func(n int) any { return graph.Squeeze(graph.Ones(f32(1, 2)), n) },
		"Full":               func(n int) any { return graph.Full(f32(n), 1) },
		"Full of two":        func(n int) any { return graph.Full(f32(n, n), 1) },
		"Zeros":              func(n int) any { return graph.Zeros(f32(2, n)) },
		"Abstract":           func(n int) any { return graph.Of(fmt.Sprint(graph.Abstract(f32(n, n)).Size()) == "") },
		"Shape": func(n int) any {
			return graph.Of(fmt.Sprint(f32(n, n).Bytes(), f32(n, n).Size(), f32(n).Rank()) == "")
		},
		"Histogram":          func(n int) any { a, b := stats.Histogram(v, n, 0, 4); return []array{a, b} },
		"Bincount":           func(n int) any { return stats.Bincount(i, n) },
		"Index":              func(n int) any { return graph.Index(x, n) },
		"IndexAxis":          func(n int) any { return graph.IndexAxis(x, n, 0) },
		"IndexAxis index":    func(n int) any { return graph.IndexAxis(x, 1, n) },
		"Iota":               func(n int) any { return graph.Iota(n) },
		"IotaAxis":           func(n int) any { return graph.IotaAxis(f32(2, 3), n) },
		"IotaAxis size":      func(n int) any { return graph.IotaAxis(f32(2, n), 0) },
		"Linspace":           func(n int) any { return graph.Linspace(0, 1, n) },
		"MatrixPower":        func(n int) any { return linalg.MatrixPower(square, n) },
		"Trace":              func(n int) any { return linalg.Trace(x, n) },
		"Median":             func(n int) any { return stats.Median(x, n) },
		"NanMedian":          func(n int) any { return stats.NanMedian(x, n) },
		"Quantile":           func(n int) any { return stats.Quantile(x, .5, n) },
		"NanQuantile":        func(n int) any { return stats.NanQuantile(x, .5, n) },
		"Percentile":         func(n int) any { return stats.Percentile(x, float64(n), 0) },
		"NanArgMax":          func(n int) any { return stats.NanArgMax(x, n) },
		"ArgMax":             func(n int) any { return graph.ArgMax(x, n) },
		"ArgSort":            func(n int) any { return graph.ArgSort(x, n) },
		"Sort":               func(n int) any { return graph.Sort(x, n) },
		"SortKV":             func(n int) any { return graph.SortKV([]array{v, v}, 0, n) },
		"Sum":                func(n int) any { return graph.Sum(x, n) },
		"Sum twice":          func(n int) any { return graph.Sum(x, 0, n) },
		"Sum0":               func(n int) any { return graph.Sum0(x, []int{n}) },
		"Mean":               func(n int) any { return graph.Mean(x, n) },
		"Variance":           func(n int) any { return graph.Variance(x, n) },
		"Std":                func(n int) any { return graph.Std(x, n) },
		"Prod":               func(n int) any { return graph.Prod(x, n) },
		"ReduceMax":          func(n int) any { return graph.ReduceMax(x, n) },
		"ReduceXor":          func(n int) any { return graph.ReduceXor(i, n) },
		"All":                func(n int) any { return graph.All(graph.Gt(x, 0), n) },
		"LogSumExp":          func(n int) any { return graph.LogSumExp(x, n) },
		"NanSum":             func(n int) any { return stats.NanSum(x, n) },
		"NanMean":            func(n int) any { return stats.NanMean(x, n) },
		"NanStd":             func(n int) any { return stats.NanStd(x, n) },
		"Softmax":            func(n int) any { return graph.Softmax(x, n) },
		"LogSoftmax":         func(n int) any { return graph.LogSoftmax(x, n) },
		"MergeAxes first":    func(n int) any { return graph.MergeAxes(x, n, 1) },
		"MergeAxes count":    func(n int) any { return graph.MergeAxes(x, 0, n) },
		"MoveAxis from":      func(n int) any { return graph.MoveAxis(x, n, 0) },
		"MoveAxis to":        func(n int) any { return graph.MoveAxis(x, 0, n) },
		"Nonzero":            func(n int) any { return graph.Nonzero(x, n) },
		"Nonzero fill":       func(n int) any { return graph.Nonzero(x, 2, n) },
		"Unique":             func(n int) any { return graph.Unique(i, n) },
		"Unique fill":        func(n int) any { return graph.Unique(i, 4, n) },
		"OneHot":             func(n int) any { return graph.OneHot(i, n, graph.Float32) },
		"Pad":                func(n int) any { return graph.Pad(v, 0, []int{n}, []int{0}) },
		"Pad after":          func(n int) any { return graph.Pad(v, 0, []int{0}, []int{n}) },
		"Pad both":           func(n int) any { return graph.Pad(v, 0, []int{n}, []int{n}) },
		"PadConfig":          func(n int) any { return graph.PadConfig(v, 0, []int{n}, []int{-n}, []int{0}) },
		"PadConfig interior": func(n int) any { return graph.PadConfig(v, 0, []int{0}, []int{0}, []int{n}) },
		"Repeat":             func(n int) any { return graph.Repeat(x, n, 0) },
		"Repeat axis":        func(n int) any { return graph.Repeat(x, 2, n) },
		"Reshape":            func(n int) any { return graph.Reshape(x, n, 4) },
		"Reshape of none":    func(n int) any { return graph.Reshape(graph.Zeros(f32(0)), n, -1) },
		"Reshape of two":     func(n int) any { return graph.Reshape(x, n, n) },
		"Reverse":            func(n int) any { return graph.Reverse(x, n) },
		"Ring":               func(n int) any { return graph.Of(fmt.Sprint(len(graph.Ring(3, n))) == "") },
		"Ring size":          func(n int) any { return graph.Of(fmt.Sprint(len(graph.Ring(n, 1))) == "") },
		"Roll":               func(n int) any { return graph.Roll(x, n, 0) },
		"Roll axis":          func(n int) any { return graph.Roll(x, 1, n) },
		"SegmentSum":         func(n int) any { return graph.SegmentSum(v, i, n) },
		"SegmentMax":         func(n int) any { return graph.SegmentMax(v, i, n) },
		"SegmentProd":        func(n int) any { return graph.SegmentProd(v, i, n) },
		"Slice start":        func(n int) any { return graph.Slice(v, []int{n}, []int{3}) },
		"Slice limit":        func(n int) any { return graph.Slice(v, []int{0}, []int{n}) },
		"Slice ranks":        func(n int) any { return graph.Slice(v, []int{0, n}, []int{3}) },
		"SliceAxis":          func(n int) any { return graph.SliceAxis(x, n, 0, 1) },
		"SliceAxis start":    func(n int) any { return graph.SliceAxis(x, 0, n, 3) },
		"SliceAxis limit":    func(n int) any { return graph.SliceAxis(x, 0, 0, n) },
		"StridedSlice":       func(n int) any { return graph.StridedSlice(v, []int{0}, []int{3}, []int{n}) },
		"Split":              func(n int) any { return graph.Split(x, n, 0) },
		"Split of none":      func(n int) any { return graph.Split(graph.Zeros(f32(0)), n, 0) },
		"Split axis":         func(n int) any { return graph.Split(x, 1, n) },
		"SplitAxis":          func(n int) any { return graph.SplitAxis(x, n, 1, 3) },
		"SplitAxis sizes":    func(n int) any { return graph.SplitAxis(x, 1, n, 2) },
		"Stack":              func(n int) any { return graph.Stack([]array{x, x}, n) },
		"Unstack":            func(n int) any { return graph.Unstack(x, n) },
		"Unstack of none":    func(n int) any { return graph.Unstack(graph.Zeros(f32(n, 0)), 0) },
		"Take":               func(n int) any { return graph.Take(x, i, n) },
		"TakeAlongAxis":      func(n int) any { return graph.TakeAlongAxis(v, i, n) },
		"Tensordot":          func(n int) any { return graph.Tensordot(square, square, n) },
		"ThreeFryBits": func(n int) any {
			return graph.Random.ThreeFryBits(graph.Of(uint32(1)), graph.Of(uint32(2)), n)
		},
		"ThreeFryWords": func(n int) any {
			a, b := graph.Random.ThreeFryWords(graph.Of(uint32(1)), graph.Of(uint32(2)), n, n)
			return []array{a, b}
		},
		"Tile":           func(n int) any { return graph.Tile(v, n) },
		"Tile twice":     func(n int) any { return graph.Tile(v, n, n) },
		"TopK":           func(n int) any { a, b := graph.TopK(v, n); return []array{a, b} },
		"Transpose":      func(n int) any { return graph.Transpose(x, n, 0) },
		"Tril":           func(n int) any { return graph.Tril(x, n) },
		"Triu":           func(n int) any { return graph.Triu(x, n) },
		"UnravelIndex":   func(n int) any { return graph.UnravelIndex(i, n, 2) },
		"VectorNorm":     func(n int) any { return linalg.VectorNorm(x, n, 2) },
		"VectorNorm ord": func(n int) any { return linalg.VectorNorm(x, 0, float64(n)) },
		"Float32s":       func(n int) any { return graph.Float32s([]float32{1, 2}, n) },
		"Float64s":       func(n int) any { return graph.Float64s(nil, n, 0) },
		"Dim":            func(n int) any { return graph.Of(fmt.Sprint(x.Dim(n)) == "") },
		"Scatter":        func(n int) any { return graph.ScatterAdd(x, i, x, graph.IndexMode(n)) },
		"Take mode":      func(n int) any { return graph.Take(x, i, 0, graph.IndexMode(n)) },
		"Gather sizes": func(n int) any {
			return gather(1, dims{Window: []int{0}, Collapsed: []int{0}, Coordinates: []int{0}, Sizes: []int{1, n}})
		},
		"Gather window": func(n int) any {
			return gather(1, dims{Window: []int{n}, Collapsed: []int{0}, Coordinates: []int{0}, Sizes: []int{1, 4}})
		},
		"Gather collapsed": func(n int) any {
			return gather(1, dims{Window: []int{0}, Collapsed: []int{n}, Coordinates: []int{0}, Sizes: []int{1, 4}})
		},
		"Gather coordinates": func(n int) any {
			return gather(1, dims{Window: []int{0}, Collapsed: []int{0}, Coordinates: []int{n}, Sizes: []int{1, 4}})
		},
		"Gather batch": func(n int) any {
			return gather(1, dims{
				Window: []int{0}, Batch: []int{n}, IndexBatch: []int{n}, Coordinates: []int{0}, Sizes: []int{1, 4}})
		},
		"Gather nothing": func(n int) any { return gather(1, dims{}) },
		"AllGatherTiled": func(n int) any {
			return collective(func(x array) array { return graph.AllGatherTiled(x, "i", n) }, x)
		},
		"AllToAll": func(n int) any {
			return collective(func(x array) array { return graph.AllToAll(x, "i", n, 0) }, square)
		},
		"AllToAllTiled": func(n int) any {
			x := graph.Ones(f32(3, 3, 3))
			return collective(func(x array) array { return graph.AllToAllTiled(x, "i", 0, n) }, x)
		},
		"PSumScatter": func(n int) any {
			return collective(func(x array) array { return graph.PSumScatter(x, "i", n) }, square)
		},
		"PSumScatterTiled": func(n int) any {
			return collective(func(x array) array { return graph.PSumScatterTiled(x, "i", n) }, square)
		},
		"PPermute": func(n int) any {
			return collective(func(x array) array { return graph.PPermute(x, "i", [2]int{0, n}) }, square)
		},
		"PPermute from": func(n int) any {
			return collective(func(x array) array { return graph.PPermute(x, "i", [2]int{n, 0}) }, square)
		},
		"ForiLoop": func(n int) any {
			return loop(func(c array) array { return graph.ForiLoop(0, min(n, 10), add, c) })
		},
		"ForiLoop from": func(n int) any {
			return loop(func(c array) array { return graph.ForiLoop(max(n, -10), 0, add, c) })
		},
		"ForiLoop ends": func(n int) any {
			return loop(func(c array) array { return graph.ForiLoop(n, math.MaxInt64, add, c) })
		},
		"ForiLoop starts": func(n int) any {
			return loop(func(c array) array { return graph.ForiLoop(math.MinInt64, n, add, c) })
		},
		"ForiLoop unrolled": func(n int) any {
			return loop(func(c array) array { return graph.ForiLoop(0, 5, add, c, graph.Unroll(n)) })
		},
		"Scan length": func(n int) any { return loop(func(c array) array { return scan(c, graph.Length(n)) }) },
		"Scan unroll": func(n int) any {
			return loop(func(c array) array { return scan(c, graph.Length(4), graph.Unroll(n)) })
		},
		"Scan unroll, huge": func(n int) any {
			return loop(func(c array) array { return scan(c, graph.Length(math.MaxInt32), graph.Unroll(n)) })
		},
		"WhileBounded": func(n int) any {
			return loop(func(c array) array {
				return graph.WhileBounded(func(c array) array { return graph.Lt(c, 3) }, increment, c, n)
			})
		},
		"VMap in": func(n int) any {
			return graph.VMap(increment, graph.InAxes(n))(x)
		},
		"VMap out": func(n int) any {
			return graph.VMap(increment, graph.OutAxis(n))(x)
		},
		"VMap size": func(n int) any {
			return graph.VMap(increment, graph.AxisSize(n))(x)
		},
		"VMap size alone": func(n int) any {
			return graph.VMap(increment, graph.InAxes(graph.Unmapped), graph.AxisSize(n))(x)
		},
		"VMap at": func(n int) any {
			return graph.VMap(first, graph.InAxesAt(0, "[0]", n))([]array{x})
		},
		"VMap at argument": func(n int) any {
			return graph.VMap(first, graph.InAxesAt(n, "[0]", 0))([]array{x})
		},
		"AssociativeScan": func(n int) any {
			return graph.AssociativeScan(func(a, b array) array {
				return graph.Add(a, b)
			}, graph.Zeros(f32(max(0, min(n, 9)), 2)))
		},
		"ShapeOf":          func(n int) any { return graph.Zeros(graph.ShapeOf(graph.DType(n), 2)) },
		"Convert":          func(n int) any { return graph.Convert(x, graph.DType(n)) },
		"Bitcast":          func(n int) any { return graph.Bitcast(x, graph.DType(n)) },
		"Trace of a size":  func(n int) any { return argument(f32(n, 2)) },
		"Trace of a dtype": func(n int) any { return argument(graph.ShapeOf(graph.DType(n), 2)) },
		"Gather of two": func(n int) any {
			return gather(1, dims{Window: []int{0, n}, Coordinates: []int{0}, Sizes: []int{1, 4}})
		},
		"Gather twice": func(n int) any {
			return gather(2, dims{Window: []int{0}, Collapsed: []int{0}, Coordinates: []int{0, n}, Sizes: []int{1, 4}})
		},
		"Gather index batch": func(n int) any {
			return graph.Gather(x, graph.Ones(graph.ShapeOf(graph.Int32, 3, 1)), dims{
				Batch: []int{0}, IndexBatch: []int{n}, Coordinates: []int{1}, Sizes: []int{1, 1}})
		},
		"Scatter window": func(n int) any {
			return graph.Scatter("sum", x, graph.Of([]int32{1}), v, dims{
				Window: []int{n}, Collapsed: []int{0}, Coordinates: []int{0}, Sizes: []int{1, 3}})
		},
		"Scatter collapsed": func(n int) any {
			return graph.Scatter("sum", x, graph.Of([]int32{1}), v, dims{
				Window: []int{0}, Collapsed: []int{n}, Coordinates: []int{0}, Sizes: []int{1, 3}})
		},
		"ItemSize": func(n int) any { return graph.Of(fmt.Sprint(graph.ItemSize(graph.DType(n))) == "") },
		"CustomCall": func(n int) any {
			none := &graph.Kernel{Target: "none", Eval: func(in, out []*graph.Tensor) {}}
			return graph.CustomCall(none, []graph.Shape{f32(n)}, x)
		},
		"Mesh": func(n int) any {
			return graph.Of(fmt.Sprint(graph.Mesh{{Name: "i", Size: n}, {Name: "j", Size: n}}.Devices()) == "")
		},
		"Spec.Cut": func(n int) any {
			return graph.Of(fmt.Sprint(graph.Spec{"i"}.Cut(graph.Mesh{{Name: "i", Size: n}}, f32(6, 2))) == "")
		},
		"ShardMap": func(n int) any {
			mesh, cut := graph.Mesh{{Name: "i", Size: n}}, graph.Spec{"i"}
			return graph.ShardMap(increment, mesh, cut, cut)(graph.Ones(f32(6)))
		},
		"Einsum": func(n int) any {
			return graph.Einsum("i,j->ij", graph.Zeros(f32(max(n, 0))), graph.Zeros(f32(max(n, 0))))
		},
		"Outer": func(n int) any { return graph.Outer(graph.Zeros(f32(max(n, 0))), graph.Zeros(f32(max(n, 0)))) },
		"Switch": func(n int) any {
			return graph.Switch(graph.Of(int64(n)), func() array { return v }, func() array { return v })
		},

		"nn.NewDense in":         func(n int) any { return nn.NewDense(key, n, 3) },
		"nn.NewDense out":        func(n int) any { return nn.NewDense(key, 3, n) },
		"nn.NewDense orthogonal": func(n int) any { return nn.NewDense(key, 3, n, nn.Weights(nn.Orthogonal(1))) },
		"nn.NewDense normal": func(n int) any {
			return nn.NewDense(key, n, n, nn.Weights(nn.TruncatedNormal(1, -2, 2)))
		},
		"nn.NewMLP":         func(n int) any { return nn.NewMLP(key, []int{2, n, 3}) },
		"nn.NewMLP in":      func(n int) any { return nn.NewMLP(key, []int{n, 3}) },
		"nn.NewConv kernel": func(n int) any { return nn.NewConv(key, []int{n, 3}, 4, 8) },
		"nn.NewConv in":     func(n int) any { return nn.NewConv(key, []int{3, 3}, n, 8) },
		"nn.NewConv out":    func(n int) any { return nn.NewConv(key, []int{3, 3}, 4, n) },
		"nn.NewConv groups": func(n int) any { return nn.NewConv(key, []int{3, 3}, 4, 8, nn.Groups(n)).Apply(image) },
		"nn.NewConv strides": func(n int) any {
			return nn.NewConv(key, []int{3, 3}, 4, 8, nn.Strides(n, n)).Apply(image)
		},
		"nn.NewConv dilation": func(n int) any {
			return nn.NewConv(key, []int{3, 3}, 4, 8, nn.Dilation(n, 1)).Apply(image)
		},
		"nn.NewConv pads": func(n int) any {
			return nn.NewConv(key, []int{3, 3}, 4, 8, nn.Pads([2]int{n, 1}, [2]int{1, n})).Apply(image)
		},
		"nn.Conv": func(n int) any {
			return nn.Conv{W: kernel, Strides: []int{n}, Dilation: []int{n}, Groups: n}.Apply(image)
		},
		"nn.Conv groups":         func(n int) any { return nn.Conv{W: kernel, Groups: n}.Apply(image) },
		"nn.NewConvTranspose":    func(n int) any { return nn.NewConvTranspose(key, []int{n, 3}, 4, 8).Apply(image) },
		"nn.NewConvTranspose in": func(n int) any { return nn.NewConvTranspose(key, []int{3, 3}, n, 8) },
		"nn.NewConvTranspose steps": func(n int) any {
			return nn.NewConvTranspose(key, []int{3, 3}, 4, 8, nn.Strides(n, n)).Apply(image)
		},
		"nn.NewConvTranspose valid": func(n int) any {
			return nn.NewConvTranspose(key, []int{3, 3}, 4, 8, nn.Strides(n, n), nn.Valid()).Apply(image)
		},
		"nn.NewConvTranspose dil": func(n int) any {
			return nn.NewConvTranspose(key, []int{3, 3}, 4, 8, nn.Dilation(n, n)).Apply(image)
		},
		"nn.NewConvTranspose pads": func(n int) any {
			return nn.NewConvTranspose(key, []int{3, 3}, 4, 8, nn.Pads([2]int{n, n}, [2]int{n, 0})).Apply(image)
		},
		"nn.NewEmbedding":          func(n int) any { return nn.NewEmbedding(key, n, 3) },
		"nn.NewEmbedding width":    func(n int) any { return nn.NewEmbedding(key, 3, n) },
		"nn.NewGroupNorm":          func(n int) any { return nn.NewGroupNorm(n, 2) },
		"nn.NewGroupNorm groups":   func(n int) any { return nn.NewGroupNorm(4, n).Apply(image) },
		"nn.GroupNorm groups":      func(n int) any { return nn.GroupNorm{Groups: n, Epsilon: 1e-6}.Apply(image) },
		"nn.NewLayerNorm":          func(n int) any { return nn.NewLayerNorm(n) },
		"nn.NewRMSNorm":            func(n int) any { return nn.NewRMSNorm(n) },
		"nn.NewBatchNorm":          func(n int) any { a, b := nn.NewBatchNorm(n, "i"); return []any{a, b} },
		"nn.NewGRU":                func(n int) any { return nn.NewGRU(key, 3, n) },
		"nn.NewGRU in":             func(n int) any { return nn.NewGRU(key, n, 3) },
		"nn.NewLSTM":               func(n int) any { return nn.NewLSTM(key, 3, n) },
		"nn.NewLSTM in":            func(n int) any { return nn.NewLSTM(key, n, 3) },
		"nn.NewRNN":                func(n int) any { return nn.NewRNN(key, 3, n) },
		"nn.NewMinGRU":             func(n int) any { return nn.NewMinGRU(key, 3, n) },
		"nn.NewMinGRU in":          func(n int) any { return nn.NewMinGRU(key, n, 3) },
		"nn.NewMultiHeadAttention": func(n int) any { return nn.NewMultiHeadAttention(key, n, 8) },
		"nn.Attention width":       func(n int) any { return nn.NewMultiHeadAttention(key, 2, n) },
		"nn.NewLIF":                func(n int) any { return nn.NewLIF(key, n) },
		"nn.NewLI":                 func(n int) any { return nn.NewLI(n) },
		"nn.NewALIF":               func(n int) any { return nn.NewALIF(key, n) },
		"nn.NewCuBaLIF":            func(n int) any { return nn.NewCuBaLIF(key, n) },
		"nn.NewLIF feedback":       func(n int) any { return nn.NewLIF(key, n, nn.Feedback()) },
		"nn.LIF.Start":             func(n int) any { return nn.NewLIF(key, 3).Start(n) },
		"nn.LI.Start":              func(n int) any { return nn.NewLI(3).Start(n) },
		"nn.ALIF.Start":            func(n int) any { return nn.NewALIF(key, 3).Start(n) },
		"nn.CuBaLIF.Start":         func(n int) any { return nn.NewCuBaLIF(key, 3).Start(n) },
		"nn.Delta.Start":           func(n int) any { return nn.Delta{Threshold: 1}.Start(n) },
		"nn.Delay.Start":           func(n int) any { return nn.Delay{Steps: graph.Scalar(1), Longest: 3}.Start(n) },
		"nn.Delay":                 func(n int) any { return nn.Delay{Steps: graph.Scalar(1), Longest: n}.Start(2) },
		"nn.Delay step": func(n int) any {
			d := nn.Delay{Steps: graph.Scalar(1), Longest: 3}
			s := d.Start(3)
			d.Longest = n
			_, y := d.Step(s, v)
			return y
		},
		"nn.GLU":        func(n int) any { return nn.GLU(x, n) },
		"nn.CausalMask": func(n int) any { return nn.CausalMask(n) },
		"nn.InChunks": func(n int) any {
			a, b := nn.InChunks(n, func(s, x array) (array, array) { return s, x }, v, x)
			return []array{a, b}
		},
		"nn.LatencyCode":    func(n int) any { return nn.LatencyCode(v, n, .01) },
		"nn.RateCode":       func(n int) any { return nn.RateCode(key, v, n) },
		"nn.RegularCode":    func(n int) any { return nn.RegularCode(v, n) },
		"nn.PopulationCode": func(n int) any { return nn.PopulationCode(v, n, 0, 1) },
		"nn.MaxPool":        func(n int) any { return nn.MaxPool(n, 2).Apply(image) },
		"nn.AvgPool":        func(n int) any { return nn.AvgPool(2, n).Apply(image) },
		"nn.Pool": func(n int) any {
			return nn.Pool{Kind: "avg", Window: []int{2, n}, Strides: []int{n, 1}, Same: true}.Apply(image)
		},
		"nn.Pool strides": func(n int) any {
			return nn.Pool{Kind: "max", Window: []int{2, 2}, Strides: []int{n, n}, Same: true}.Apply(image)
		},
		"nn.HeNormal":             func(n int) any { return nn.HeNormal(key, f32(n, 3)) },
		"nn.XavierUniform":        func(n int) any { return nn.XavierUniform(key, f32(3, n)) },
		"nn.LecunNormal of three": func(n int) any { return nn.LecunNormal(key, f32(n, n, 3)) },
		"nn.Orthogonal":           func(n int) any { return nn.Orthogonal(1)(key, f32(n, 3)) },

		"random.Split":         func(n int) any { return random.Split(key, n).Data },
		"random.SplitN":        func(n int) any { return graph.Of(len(random.SplitN(key, n))) },
		"random.Key.At":        func(n int) any { return random.Split(key, 3).At(n).Data },
		"random.FoldIn":        func(n int) any { return random.FoldIn(key, n).Data },
		"random.New":           func(n int) any { return random.New(int64(n)).Data },
		"random.Bernoulli":     func(n int) any { return random.Bernoulli(key, .5, n) },
		"random.Beta":          func(n int) any { return random.Beta(key, f32(n), 1, 2) },
		"random.Bits":          func(n int) any { return random.Bits(key, graph.Uint8, n) },
		"random.Bits of two":   func(n int) any { return random.Bits(key, graph.Uint64, n, n) },
		"random.Categorical":   func(n int) any { return random.Categorical(key, v, n) },
		"random.Categorical n": func(n int) any { return random.Categorical(key, v, 0, random.Draws(n)) },
		"random.Categorical w/o": func(n int) any {
			return random.Categorical(key, v, 0, random.Draws(n), random.WithoutReplacement())
		},
		"random.Choice":       func(n int) any { return random.Choice(key, n) },
		"random.Choice draws": func(n int) any { return random.Choice(key, 3, random.Draws(n)) },
		"random.Choice w/o": func(n int) any {
			return random.Choice(key, 3, random.Draws(n), random.WithoutReplacement())
		},
		"random.Choice of n w/o": func(n int) any {
			return random.Choice(key, n, random.Draws(2), random.WithoutReplacement())
		},
		"random.Choice weights":   func(n int) any { return random.Choice(key, n, random.Weights(v)) },
		"random.ChoiceOf":         func(n int) any { return random.ChoiceOf(key, x, n) },
		"random.ChoiceOf draws":   func(n int) any { return random.ChoiceOf(key, x, 0, random.Draws(n, 2)) },
		"random.Dirichlet":        func(n int) any { return random.Dirichlet(key, v, n) },
		"random.Exponential":      func(n int) any { return random.Exponential(key, f32(n)) },
		"random.Gamma":            func(n int) any { return random.Gamma(key, f32(n), 2) },
		"random.Gumbel":           func(n int) any { return random.Gumbel(key, f32(n, 2)) },
		"random.Laplace":          func(n int) any { return random.Laplace(key, f32(n)) },
		"random.MultivariateN":    func(n int) any { return random.MultivariateNormal(key, v, square, n) },
		"random.Normal":           func(n int) any { return random.Normal(key, f32(n)) },
		"random.Permutation":      func(n int) any { return random.Permutation(key, n) },
		"random.PermutationOf":    func(n int) any { return random.PermutationOf(key, x, n) },
		"random.Poisson":          func(n int) any { return random.Poisson(key, 3, n) },
		"random.Randint":          func(n int) any { return random.Randint(key, graph.ShapeOf(graph.Int32, 2), 0, n) },
		"random.Randint from":     func(n int) any { return random.Randint(key, graph.ShapeOf(graph.Int32, 2), n, 5) },
		"random.Randint of int8":  func(n int) any { return random.Randint(key, graph.ShapeOf(graph.Int8, 2), n, n) },
		"random.Randint dims":     func(n int) any { return random.Randint(key, graph.ShapeOf(graph.Int32, n), 0, 5) },
		"random.Shuffle":          func(n int) any { return random.Shuffle(key, x, n) },
		"random.TruncatedNormal":  func(n int) any { return random.TruncatedNormal(key, f32(n), -1, 1) },
		"random.TruncatedNormal2": func(n int) any { return random.TruncatedNormal(key, f32(2), n, 1) },
		"random.Uniform":          func(n int) any { return random.Uniform(key, f32(n), 0, 1) },
		"random.Uniform bounds":   func(n int) any { return random.Uniform(key, f32(3), n, 1) },
	}
	for name, d := range map[string]interface {
		Sample(key random.Key, dims ...int) array
	}{
		"Bernoulli": distribution.NewBernoulli(v), "Beta": distribution.NewBeta(v, 2),
		"Categorical": distribution.NewCategorical(v),
		"Dirichlet":   distribution.NewDirichlet(v), "Gamma": distribution.NewGamma(v, 1),
		"Laplace":            distribution.NewLaplace(v, 1),
		"MultivariateNormal": distribution.NewMultivariateNormal(v, square), "Normal": distribution.NewNormal(v, 1),
		"Poisson": distribution.NewPoisson(v), "SquashedNormal": distribution.NewSquashedNormal(v, 1),
	} {
		m["distribution."+name] = func(n int) any { return d.Sample(key, n) }
		m["distribution."+name+" of two"] = func(n int) any { return d.Sample(key, n, n) }
		if d, ok := d.(interface {
			SampleLogProb(key random.Key, dims ...int) (x, logProb array)
		}); ok {
			m["distribution."+name+" with density"] = func(n int) any {
				a, b := d.SampleLogProb(key, n)
				return []array{a, b}
			}
		}
	}
	schedule := func(s func(n int) optim.Schedule) func(n int) any {
		return func(n int) any {
			made := s(n)
			return []array{made(graph.Of(int32(0))), made(graph.Of(int32(7))), made(graph.Of(int32(math.MaxInt32)))}
		}
	}
	for name, s := range map[string]func(n int) optim.Schedule{
		"Cosine":         func(n int) optim.Schedule { return optim.Cosine(1, n, 0) },
		"CosineOneCycle": func(n int) optim.Schedule { return optim.CosineOneCycle(1, n, .3, 25, 1e4) },
		"Exponential":    func(n int) optim.Schedule { return optim.Exponential(1, n, .5) },
		"Join": func(n int) optim.Schedule {
			return optim.Join([]optim.Schedule{optim.Constant(1), optim.Constant(2)}, []int{n})
		},
		"Join two": func(n int) optim.Schedule {
			return optim.Join([]optim.Schedule{optim.Constant(1), optim.Constant(2), optim.Constant(3)}, []int{5, n})
		},
		"Join one": func(n int) optim.Schedule {
			return optim.Join([]optim.Schedule{optim.Constant(1)}, []int{n})
		},
		"Join none":      func(n int) optim.Schedule { return optim.Join(nil, nil) },
		"Linear":         func(n int) optim.Schedule { return optim.Linear(1, 0, n) },
		"LinearOneCycle": func(n int) optim.Schedule { return optim.LinearOneCycle(1, n, .3, .85, 25, 1e4) },
		"PiecewiseConstant": func(n int) optim.Schedule {
			return optim.PiecewiseConstant(1, map[int]float64{n: .5, 3: .5})
		},
		"Polynomial":       func(n int) optim.Schedule { return optim.Polynomial(1, 0, 2, n, 0) },
		"Polynomial begin": func(n int) optim.Schedule { return optim.Polynomial(1, 0, 2, 10, n) },
		"Warmup":           func(n int) optim.Schedule { return optim.Warmup(0, 1, n, optim.Constant(1)) },
		"WarmupCosine":     func(n int) optim.Schedule { return optim.WarmupCosine(0, 1, n, 10, 0) },
		"WarmupCosine end": func(n int) optim.Schedule { return optim.WarmupCosine(0, 1, 2, n, 0) },
	} {
		m["optim."+name] = schedule(s)
	}
	for name, t := range map[string]func(n int) optim.Transform{
		"ApplyIfFinite": func(n int) optim.Transform { return optim.ApplyIfFinite(optim.SGD(.1), n) },
		"MultiSteps":    func(n int) optim.Transform { return optim.MultiSteps(optim.SGD(.1), n) },
		"MomentDType":   func(n int) optim.Transform { return optim.Adam(.1, optim.MomentDType(graph.DType(n))) },
	} {
		m["optim."+name] = func(n int) any { return optimized(t(n), v) }
	}
	return m
}

func add(i, c array) array { return graph.Add(c, graph.Convert(i, graph.Float32)) }

func loop(f func(c array) array) any { return f(graph.Scalar(0)) }

func scan(c array, opts ...graph.ScanOption) array {
	end, _ := graph.Scan(func(c array, _ graph.None) (array, graph.None) {
		return graph.Add(c, 1), graph.None{}
	}, c, graph.None{}, opts...)
	return end
}

// argument traces a function of an array of that shape.
func argument(s graph.Shape) any {
	return lowered(graph.Trace("argument", func(x array) array { return graph.Add(x, x) }, graph.Abstract(s)))
}

// lowered lowers a program that was traced. It panics with the error of the trace or of the lowering.
func lowered(p *graph.Program, err error) any {
	if err == nil {
		_, err = lower.Lower(p, graph.TargetCPU)
	}
	if err != nil {
		panic(err)
	}
	return nil
}

func collective(f func(x array) array, x array) any { return graph.VMap(f, graph.AxisName("i"))(x) }

func optimized(t optim.Transform, params array) any {
	state := t.Init(params)
	for range 2 {
		params, state = optim.Step(t, params, params, state)
	}
	return params
}

// fault is what is wrong with a call: "" if it gives a result, or one sentence about what it was given. The result is
// computed where compute is set, and else only made a program of.
func fault(compute bool, f func() any) string {
	const most = 64 << 20
	done := make(chan string, 1)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	go func() {
		defer func() {
			r := recover()
			e := (*graph.Error)(nil)
			if err, is := r.(error); r == nil {
				done <- ""
			} else if !is || !errors.As(err, &e) {
				done <- fmt.Sprint("panics: ", r)
			} else if text := e.Error(); e.Op == "" || strings.Contains(text, "\n") || !strings.Contains(text, ".go:") {
				done <- "is refused by: " + text
			} else {
				done <- ""
			}
		}()
		if compute {
			for _, x := range leaves(f()) {
				if _, err := graph.ToTensor(x); err != nil && x.Size() < 1<<14 {
					panic(err)
				}
			}
		}
		lowered(graph.Trace("sizes", func(array) []array { return leaves(f()) }, graph.Scalar(0)))
	}()
	select {
	case text := <-done:
		runtime.ReadMemStats(&after)
		if taken := after.TotalAlloc - before.TotalAlloc; text == "" && !compute && taken > most {
			return fmt.Sprint("takes ", taken>>20, " MiB")
		}
		return text
	case <-time.After(20 * time.Second):
		return "does not end"
	}
}

func leaves(result any) []array {
	if result == nil {
		return nil
	}
	return graph.Leaves(result)
}

// Functions that take integers give a result or one sentence for any integer: they neither run into an index out of
// range, nor hang, nor take much memory. The short form passes every second integer to each, and the others to the
// next.
func TestIntegersOfAnySize(t *testing.T) {
	takers := sizeTakers()
	for i, name := range slices.Sorted(maps.Keys(takers)) {
		f := takers[name]
		for k, n := range sizes {
			if (i+k)%2 == 1 && !long.On() {
				continue
			}
			compute := -10 < n && n < 10 && !strings.Contains(name, "huge")
			assert.Empty(t, fault(compute, func() any { return f(n) }), "%s of %d", name, n)
		}
	}
}
