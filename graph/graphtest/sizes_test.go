package graphtest_test

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"path"
	"reflect"
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

// taker is a function and its arguments. N among them is the integer, ints are an []int, shaped is a float32 shape.
type (
	taker   []any
	ints    []any
	shaped  []any
	integer struct{}
)

// N stands for any integer.
var N integer

// name is the function's name, with the places of N.
func (c taker) name() string {
	name := path.Base(runtime.FuncForPC(reflect.ValueOf(c[0]).Pointer()).Name())
	for i, a := range c[1:] {
		if strings.Contains(fmt.Sprintf("%T", a), "graphtest.") {
			name += fmt.Sprint(" ", i)
		}
	}
	return name
}

// of calls the function with n in the place of N and returns its results.
func (c taker) of(n int) any {
	sizes := func(all []any) []int {
		out := make([]int, len(all))
		for i, a := range all {
			out[i], _ = a.(int)
			if a == any(N) {
				out[i] = n
			}
		}
		return out
	}
	f := reflect.ValueOf(c[0])
	in := make([]reflect.Value, len(c)-1)
	for i, a := range c[1:] {
		switch sized := a.(type) {
		case integer:
			a = n
		case ints:
			a = sizes(sized)
		case shaped:
			a = f32(sizes(sized)...)
		}
		of := f.Type().In(min(i, f.Type().NumIn()-1))
		if f.Type().IsVariadic() && i >= f.Type().NumIn()-1 {
			of = of.Elem()
		}
		in[i] = reflect.ValueOf(a).Convert(of)
	}
	var out []any
	for _, r := range f.Call(in) {
		out = append(out, r.Interface())
	}
	return out
}

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
		"BroadcastDims": func(n int) any {
			return graph.Of(fmt.Sprint(graph.BroadcastDims("f", []int{n}, []int{3})) == "")
		},
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
		"AvgPool strides":    func(n int) any { return graph.AvgPool(image, []int{2, 2}, graph.Strides(n, n)) },
		"MinPool padding": func(n int) any {
			return graph.MinPool(image, []int{2, 2}, graph.Padding([2]int{n, 0}, [2]int{0, n}))
		},
		"ReduceWindow dilation": func(n int) any {
			return graph.ReduceWindow(x, "max", []int{2, 1}, graph.WindowDilation(n, 1))
		},
		"Abstract": func(n int) any { return graph.Of(fmt.Sprint(graph.Abstract(f32(n, n)).Size()) == "") },
		"Shape": func(n int) any {
			return graph.Of(fmt.Sprint(f32(n, n).Bytes(), f32(n, n).Size(), f32(n).Rank()) == "")
		},
		"Percentile":      func(n int) any { return stats.Percentile(x, float64(n), 0) },
		"PadConfig":       func(n int) any { return graph.PadConfig(v, 0, []int{n}, []int{-n}, []int{0}) },
		"Ring":            func(n int) any { return graph.Of(fmt.Sprint(len(graph.Ring(3, n))) == "") },
		"Ring size":       func(n int) any { return graph.Of(fmt.Sprint(len(graph.Ring(n, 1))) == "") },
		"Unstack of none": func(n int) any { return graph.Unstack(graph.Zeros(f32(n, 0)), 0) },
		"ThreeFryWords": func(n int) any {
			a, b := graph.Random.ThreeFryWords(graph.Of(uint32(1)), graph.Of(uint32(2)), n, n)
			return []array{a, b}
		},
		"VectorNorm ord": func(n int) any { return linalg.VectorNorm(x, 0, float64(n)) },
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
		"nn.Conv groups":      func(n int) any { return nn.Conv{W: kernel, Groups: n}.Apply(image) },
		"nn.NewConvTranspose": func(n int) any { return nn.NewConvTranspose(key, []int{n, 3}, 4, 8).Apply(image) },
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
		"nn.NewGroupNorm groups": func(n int) any { return nn.NewGroupNorm(4, n).Apply(image) },
		"nn.GroupNorm groups":    func(n int) any { return nn.GroupNorm{Groups: n, Epsilon: 1e-6}.Apply(image) },
		"nn.LIF.Start":           func(n int) any { return nn.NewLIF(key, 3).Start(n) },
		"nn.LI.Start":            func(n int) any { return nn.NewLI(3).Start(n) },
		"nn.ALIF.Start":          func(n int) any { return nn.NewALIF(key, 3).Start(n) },
		"nn.CuBaLIF.Start":       func(n int) any { return nn.NewCuBaLIF(key, 3).Start(n) },
		"nn.Delta.Start":         func(n int) any { return nn.Delta{Threshold: 1}.Start(n) },
		"nn.Delay.Start":         func(n int) any { return nn.Delay{Steps: graph.Scalar(1), Longest: 3}.Start(n) },
		"nn.Delay":               func(n int) any { return nn.Delay{Steps: graph.Scalar(1), Longest: n}.Start(2) },
		"nn.Delay step": func(n int) any {
			d := nn.Delay{Steps: graph.Scalar(1), Longest: 3}
			s := d.Start(3)
			d.Longest = n
			_, y := d.Step(s, v)
			return y
		},
		"nn.InChunks": func(n int) any {
			a, b := nn.InChunks(n, func(s, x array) (array, array) { return s, x }, v, x)
			return []array{a, b}
		},
		"nn.MaxPool": func(n int) any { return nn.MaxPool(n, 2).Apply(image) },
		"nn.AvgPool": func(n int) any { return nn.AvgPool(2, n).Apply(image) },
		"nn.Pool": func(n int) any {
			return nn.Pool{Kind: "avg", Window: []int{2, n}, Strides: []int{n, 1}, Same: true}.Apply(image)
		},
		"nn.Pool strides": func(n int) any {
			return nn.Pool{Kind: "max", Window: []int{2, 2}, Strides: []int{n, n}, Same: true}.Apply(image)
		},
		"nn.Orthogonal":        func(n int) any { return nn.Orthogonal(1)(key, f32(n, 3)) },
		"random.Split":         func(n int) any { return random.Split(key, n).Data },
		"random.SplitN":        func(n int) any { return graph.Of(len(random.SplitN(key, n))) },
		"random.Key.At":        func(n int) any { return random.Split(key, 3).At(n).Data },
		"random.FoldIn":        func(n int) any { return random.FoldIn(key, n).Data },
		"random.New":           func(n int) any { return random.New(int64(n)).Data },
		"random.Categorical n": func(n int) any { return random.Categorical(key, v, 0, random.Draws(n)) },
		"random.Categorical w/o": func(n int) any {
			return random.Categorical(key, v, 0, random.Draws(n), random.WithoutReplacement())
		},
		"random.Choice draws": func(n int) any { return random.Choice(key, 3, random.Draws(n)) },
		"random.Choice w/o": func(n int) any {
			return random.Choice(key, 3, random.Draws(n), random.WithoutReplacement())
		},
		"random.ChoiceOf draws": func(n int) any { return random.ChoiceOf(key, x, 0, random.Draws(n, 2)) },
		"random.Randint dims":   func(n int) any { return random.Randint(key, graph.ShapeOf(graph.Int32, n), 0, 5) },
	}
	for _, c := range []taker{
		{graph.BroadcastTo, v, N, 3}, {graph.BroadcastTo, v, 3, N}, {graph.Concatenate, N, x, x},
		{graph.MaxPool, image, ints{N, N}}, {graph.MaxPool, image, ints{N, N}, graph.SamePadding()},
		{graph.AvgPool, image, ints{2, N}, graph.SamePadding(), graph.ExcludePadding()},
		{graph.ReduceWindow, x, "sum", ints{N, 1}}, {graph.CumSum, x, N}, {graph.CumLogSumExp, x, N},
		{graph.Diag, v, N}, {graph.Diagonal, x, N, 1}, {graph.Diagonal, x, 0, N}, {graph.Diagonal, x, 0, 1, N},
		{graph.Diff, x, N}, {graph.DotGeneral, x, x, []int(nil), []int(nil), ints{N}, ints{N}},
		{graph.DotGeneral, x, x, ints{N}, ints{N}, []int{1}, []int{1}}, {graph.DynamicIndex, x, graph.Of(int32(1)), N},
		{graph.DynamicSlice, x, []array{graph.Of(int32(1)), graph.Of(int32(1))}, ints{N, 1}},
		{graph.DynamicUpdateIndex, x, v, graph.Of(int32(1)), N}, {graph.Eye, graph.Float32, N},
		{graph.ExpandDims, x, N}, {graph.Squeeze, graph.Ones(f32(1, 2)), N}, {graph.Full, shaped{N}, 1},
		{graph.Full, shaped{N, N}, 1}, {graph.Zeros, shaped{2, N}}, {stats.Bincount, i, N}, {graph.Index, x, N},
		{graph.IndexAxis, x, N, 0}, {graph.IndexAxis, x, 1, N}, {graph.Iota, N}, {graph.IotaAxis, f32(2, 3), N},
		{graph.IotaAxis, shaped{2, N}, 0}, {graph.Linspace, 0, 1, N}, {linalg.MatrixPower, square, N},
		{linalg.Trace, x, N}, {stats.Median, x, N}, {stats.NanMedian, x, N}, {stats.Quantile, x, .5, N},
		{stats.NanQuantile, x, .5, N}, {stats.NanArgMax, x, N}, {graph.ArgMax, x, N}, {graph.ArgSort, x, N},
		{graph.Sort, x, N}, {graph.SortKV, []array{v, v}, 0, N}, {graph.Sum, x, N}, {graph.Sum, x, 0, N},
		{graph.Sum0, x, ints{N}}, {graph.Mean, x, N}, {graph.Variance, x, N}, {graph.Std, x, N}, {graph.Prod, x, N},
		{graph.ReduceMax, x, N}, {graph.ReduceXor, i, N}, {graph.All, graph.Gt(x, 0), N}, {graph.LogSumExp, x, N},
		{stats.NanSum, x, N}, {stats.NanMean, x, N}, {stats.NanStd, x, N}, {graph.Softmax, x, N},
		{graph.LogSoftmax, x, N}, {graph.MergeAxes, x, N, 1}, {graph.MergeAxes, x, 0, N}, {graph.MoveAxis, x, N, 0},
		{graph.MoveAxis, x, 0, N}, {graph.Nonzero, x, N}, {graph.Nonzero, x, 2, N}, {graph.Unique, i, N},
		{graph.Unique, i, 4, N}, {graph.OneHot, i, N, graph.Float32}, {graph.Pad, v, 0, ints{N}, []int{0}},
		{graph.Pad, v, 0, []int{0}, ints{N}}, {graph.Pad, v, 0, ints{N}, ints{N}},
		{graph.PadConfig, v, 0, []int{0}, []int{0}, ints{N}}, {graph.Repeat, x, N, 0}, {graph.Repeat, x, 2, N},
		{graph.Reshape, x, N, 4}, {graph.Reshape, graph.Zeros(f32(0)), N, -1}, {graph.Reshape, x, N, N},
		{graph.Reverse, x, N}, {graph.Roll, x, N, 0}, {graph.Roll, x, 1, N}, {graph.SegmentSum, v, i, N},
		{graph.SegmentMax, v, i, N}, {graph.SegmentProd, v, i, N}, {graph.Slice, v, ints{N}, []int{3}},
		{graph.Slice, v, []int{0}, ints{N}}, {graph.Slice, v, ints{0, N}, []int{3}}, {graph.SliceAxis, x, N, 0, 1},
		{graph.SliceAxis, x, 0, N, 3}, {graph.SliceAxis, x, 0, 0, N},
		{graph.StridedSlice, v, []int{0}, []int{3}, ints{N}}, {graph.Split, x, N, 0},
		{graph.Split, graph.Zeros(f32(0)), N, 0}, {graph.Split, x, 1, N}, {graph.SplitAxis, x, N, 1, 3},
		{graph.SplitAxis, x, 1, N, 2}, {graph.Stack, []array{x, x}, N}, {graph.Unstack, x, N}, {graph.Take, x, i, N},
		{graph.TakeAlongAxis, v, i, N}, {graph.Tensordot, square, square, N},
		{graph.Random.ThreeFryBits, graph.Of(uint32(1)), graph.Of(uint32(2)), N}, {graph.Tile, v, N},
		{graph.Tile, v, N, N}, {graph.Transpose, x, N, 0}, {graph.Tril, x, N}, {graph.Triu, x, N},
		{graph.UnravelIndex, i, N, 2}, {linalg.VectorNorm, x, N, 2}, {graph.Float32s, []float32{1, 2}, N},
		{graph.Float64s, []float64(nil), N, 0},
		{nn.NewDense, key, N, 3}, {nn.NewDense, key, 3, N}, {nn.NewDense, key, 3, N, nn.Weights(nn.Orthogonal(1))},
		{nn.NewDense, key, N, N, nn.Weights(nn.TruncatedNormal(1, -2, 2))}, {nn.NewMLP, key, ints{2, N, 3}},
		{nn.NewMLP, key, ints{N, 3}}, {nn.NewConv, key, ints{N, 3}, 4, 8}, {nn.NewConv, key, []int{3, 3}, N, 8},
		{nn.NewConv, key, []int{3, 3}, 4, N}, {nn.NewConvTranspose, key, []int{3, 3}, N, 8},
		{nn.NewEmbedding, key, N, 3}, {nn.NewEmbedding, key, 3, N}, {nn.NewGroupNorm, N, 2}, {nn.NewLayerNorm, N},
		{nn.NewRMSNorm, N}, {nn.NewGRU, key, 3, N}, {nn.NewGRU, key, N, 3}, {nn.NewLSTM, key, 3, N},
		{nn.NewLSTM, key, N, 3}, {nn.NewRNN, key, 3, N}, {nn.NewMinGRU, key, 3, N}, {nn.NewMinGRU, key, N, 3},
		{nn.NewMultiHeadAttention, key, N, 8}, {nn.NewMultiHeadAttention, key, 2, N}, {nn.NewLIF, key, N},
		{nn.NewLI, N}, {nn.NewALIF, key, N}, {nn.NewCuBaLIF, key, N}, {nn.NewLIF, key, N, nn.Feedback()},
		{nn.GLU, x, N}, {nn.CausalMask, N}, {nn.LatencyCode, v, N, .01}, {nn.RateCode, key, v, N},
		{nn.RegularCode, v, N}, {nn.PopulationCode, v, N, 0, 1}, {nn.HeNormal, key, shaped{N, 3}},
		{nn.XavierUniform, key, shaped{3, N}}, {nn.LecunNormal, key, shaped{N, N, 3}},
		{random.Bernoulli, key, .5, N}, {random.Beta, key, shaped{N}, 1, 2}, {random.Bits, key, graph.Uint8, N},
		{random.Bits, key, graph.Uint64, N, N}, {random.Categorical, key, v, N}, {random.Choice, key, N},
		{random.Choice, key, N, random.Draws(2), random.WithoutReplacement()},
		{random.Choice, key, N, random.Weights(v)}, {random.ChoiceOf, key, x, N}, {random.Dirichlet, key, v, N},
		{random.Exponential, key, shaped{N}}, {random.Gamma, key, shaped{N}, 2}, {random.Gumbel, key, shaped{N, 2}},
		{random.Laplace, key, shaped{N}}, {random.MultivariateNormal, key, v, square, N},
		{random.Normal, key, shaped{N}}, {random.Permutation, key, N}, {random.PermutationOf, key, x, N},
		{random.Poisson, key, 3, N}, {random.Randint, key, graph.ShapeOf(graph.Int32, 2), 0, N},
		{random.Randint, key, graph.ShapeOf(graph.Int32, 2), N, 5},
		{random.Randint, key, graph.ShapeOf(graph.Int8, 2), N, N}, {random.Shuffle, key, x, N},
		{random.TruncatedNormal, key, shaped{N}, -1, 1}, {random.TruncatedNormal, key, f32(2), N, 1},
		{random.Uniform, key, shaped{N}, 0, 1}, {random.Uniform, key, f32(3), N, 1},
	} {
		name := c.name()
		for m[name] != nil {
			name += "+"
		}
		m[name] = c.of
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
