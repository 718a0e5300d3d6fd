package gomlx

import (
	"fmt"
	"reflect"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"

	"xlarun/graph"
)

func (f *Function) ReduceSum(x compute.Value, axes ...int) (compute.Value, error) {
	return f.reduce(compute.OpTypeReduceSum, graph.Sum, x, axes)
}

func (f *Function) ReduceProduct(x compute.Value, axes ...int) (compute.Value, error) {
	return f.reduce(compute.OpTypeReduceProduct, graph.Prod, x, axes)
}

func (f *Function) ReduceMax(x compute.Value, axes ...int) (compute.Value, error) {
	return f.reduce(compute.OpTypeReduceMax, extreme(graph.ReduceMax, dtypes.DType.LowestValue), x, axes)
}

func (f *Function) ReduceMin(x compute.Value, axes ...int) (compute.Value, error) {
	return f.reduce(compute.OpTypeReduceMin, extreme(graph.ReduceMin, dtypes.DType.HighestValue), x, axes)
}

func (f *Function) ReduceBitwiseAnd(x compute.Value, axes ...int) (compute.Value, error) {
	return f.reduce(compute.OpTypeReduceBitwiseAnd, graph.ReduceAnd, x, axes)
}

func (f *Function) ReduceBitwiseOr(x compute.Value, axes ...int) (compute.Value, error) {
	return f.reduce(compute.OpTypeReduceBitwiseOr, graph.ReduceOr, x, axes)
}

func (f *Function) ReduceBitwiseXor(x compute.Value, axes ...int) (compute.Value, error) {
	return f.reduce(compute.OpTypeReduceBitwiseXor, graph.ReduceXor, x, axes)
}

func (f *Function) ReduceLogicalAnd(x compute.Value, axes ...int) (compute.Value, error) {
	return f.reduce(compute.OpTypeReduceLogicalAnd, truth(graph.ReduceAnd), x, axes)
}

func (f *Function) ReduceLogicalOr(x compute.Value, axes ...int) (compute.Value, error) {
	return f.reduce(compute.OpTypeReduceLogicalOr, truth(graph.ReduceOr), x, axes)
}

func (f *Function) ReduceLogicalXor(x compute.Value, axes ...int) (compute.Value, error) {
	return f.reduce(compute.OpTypeReduceLogicalXor, truth(graph.ReduceXor), x, axes)
}

// reduce records a reduction over some axes, or over all if none is given. It keeps the dtype.
func (f *Function) reduce(op compute.OpType, apply func(x *graph.Array, axes ...int) *graph.Array, x compute.Value,
	axes []int) (compute.Value, error) {
	return f.one(op, func(x []*graph.Array) *graph.Array {
		return apply(x[0], axes...).Convert(x[0].DType())
	}, x)
}

// extreme is a reduction that returns its neutral element where there are no elements.
func extreme(apply func(x *graph.Array, axes ...int) *graph.Array, neutral func(d dtypes.DType) any) func(
	x *graph.Array, axes ...int) *graph.Array {
	return func(x *graph.Array, axes ...int) *graph.Array {
		if sum := graph.Sum(x, axes...); x.Size() == 0 && sum.Size() > 0 {
			value := reflect.MakeSlice(reflect.SliceOf(x.DType().GoType()), 0, 1)
			one, err := arrayOf(reflect.Append(value, reflect.ValueOf(neutral(x.DType()))).Interface(),
				shapes.Make(x.DType(), 1))
			if err != nil {
				graph.Throw("gomlx", "%v", err)
			}
			return one.Reshape().BroadcastTo(sum.Dims()...)
		}
		return apply(x, axes...)
	}
}

// truth reduces the truth of numbers.
func truth(apply func(x *graph.Array, axes ...int) *graph.Array) func(x *graph.Array, axes ...int) *graph.Array {
	return func(x *graph.Array, axes ...int) *graph.Array { return apply(x.Convert(graph.Bool), axes...) }
}

func (f *Function) ArgMinMax(x compute.Value, axis int, to dtypes.DType, least bool) (compute.Value, error) {
	best := graph.ArgMax
	if least {
		best = graph.ArgMin
	}
	return f.one(compute.OpTypeArgMinMax, func(x []*graph.Array) *graph.Array {
		return best(x[0], axis).Convert(to)
	}, x)
}

// windowKinds are the reductions of windows.
var windowKinds = map[compute.ReduceOpType]string{compute.ReduceOpSum: "sum", compute.ReduceOpProduct: "prod",
	compute.ReduceOpMax: "max", compute.ReduceOpMin: "min"}

func (f *Function) ReduceWindow(x compute.Value, kind compute.ReduceOpType, window, strides, dilations,
	windowDilations []int, paddings [][2]int) (compute.Value, error) {
	name, ok := windowKinds[kind]
	if !ok {
		return nil, fmt.Errorf("GoMLX's op ReduceWindow: the reduction %s is not known", kind)
	}
	if len(strides) == 0 {
		strides = window
	}
	options := []graph.WindowOption{graph.Strides(strides...)}
	if len(dilations) > 0 {
		options = append(options, graph.BaseDilation(dilations...))
	}
	if len(windowDilations) > 0 {
		options = append(options, graph.WindowDilation(windowDilations...))
	}
	if len(paddings) > 0 {
		options = append(options, graph.Padding(paddings...))
	}
	return f.one(compute.OpTypeReduceWindow, func(x []*graph.Array) *graph.Array {
		return graph.ReduceWindow(x[0], name, window, options...)
	}, x)
}

func (f *Function) SelectAndScatterMax(x, source compute.Value, window, strides []int, paddings [][2]int) (
	compute.Value, error) {
	return f.scatterSelected(compute.OpTypeSelectAndScatterMax, "max", x, source, window, strides, paddings)
}

func (f *Function) SelectAndScatterMin(x, source compute.Value, window, strides []int, paddings [][2]int) (
	compute.Value, error) {
	return f.scatterSelected(compute.OpTypeSelectAndScatterMin, "min", x, source, window, strides, paddings)
}

// scatterSelected adds each element of source to the place of its window's largest or least element. That is the
// transposed derivative of the reduction.
func (f *Function) scatterSelected(op compute.OpType, kind string, x, source compute.Value, window, strides []int,
	paddings [][2]int) (compute.Value, error) {
	if len(strides) == 0 {
		strides = window
	}
	options := []graph.WindowOption{graph.Strides(strides...)}
	if len(paddings) > 0 {
		options = append(options, graph.Padding(paddings...))
	}
	return f.one(op, func(x []*graph.Array) *graph.Array {
		_, back := graph.Vjp(func(x *graph.Array) *graph.Array {
			return graph.ReduceWindow(x, kind, window, options...)
		}, x[0])
		return back(x[1])
	}, x, source)
}
