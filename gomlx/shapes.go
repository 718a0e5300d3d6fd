package gomlx

import (
	"fmt"
	"reflect"
	"slices"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"

	"xlarun/graph"
)

func (f *Function) BroadcastInDim(x compute.Value, to shapes.Shape, axes []int) (compute.Value, error) {
	s, err := shapeOf(to)
	if err != nil {
		return nil, fmt.Errorf("GoMLX's op BroadcastInDim: %w", err)
	}
	return f.one(compute.OpTypeBroadcastInDim, func(x []*graph.Array) *graph.Array {
		places := slices.Repeat([]int{1}, s.Rank())
		if len(axes) != x[0].Rank() || !slices.IsSorted(axes) {
			graph.Throw("BroadcastInDim", "axes %v for %s: want an increasing place for each axis", axes, x[0].Shape())
		}
		for i, at := range axes {
			if at < 0 || at >= s.Rank() {
				graph.Throw("BroadcastInDim", "axes %v of a result %s", axes, s)
			}
			places[at] = x[0].Dim(i)
		}
		return x[0].Reshape(places...).BroadcastTo(s.Dims...)
	}, x)
}

func (f *Function) Reshape(x compute.Value, dims ...int) (compute.Value, error) {
	return f.one(compute.OpTypeReshape, func(x []*graph.Array) *graph.Array { return x[0].Reshape(dims...) }, x)
}

func (f *Function) Transpose(x compute.Value, axes ...int) (compute.Value, error) {
	return f.one(compute.OpTypeTranspose, func(x []*graph.Array) *graph.Array {
		if x[0].Rank() == 0 {
			return x[0]
		}
		return x[0].Transpose(axes...)
	}, x)
}

func (f *Function) Reverse(x compute.Value, axes ...int) (compute.Value, error) {
	return f.one(compute.OpTypeReverse, func(x []*graph.Array) *graph.Array {
		if len(axes) == 0 {
			return x[0]
		}
		return graph.Reverse(x[0], axes...)
	}, x)
}

func (f *Function) Concatenate(axis int, operands ...compute.Value) (compute.Value, error) {
	return f.one(compute.OpTypeConcatenate, func(x []*graph.Array) *graph.Array {
		return graph.Concatenate(axis, x...)
	}, operands...)
}

func (f *Function) Slice(x compute.Value, starts, limits, strides []int) (compute.Value, error) {
	return f.one(compute.OpTypeSlice, func(x []*graph.Array) *graph.Array {
		if len(strides) == 0 {
			return graph.Slice(x[0], starts, limits)
		}
		return graph.StridedSlice(x[0], starts, limits, strides)
	}, x)
}

func (f *Function) Pad(x, fill compute.Value, axes ...compute.PadAxis) (compute.Value, error) {
	return f.one(compute.OpTypePad, func(x []*graph.Array) *graph.Array {
		rank := x[0].Rank()
		if len(axes) > rank {
			graph.Throw("Pad", "got %d axes for %s", len(axes), x[0].Shape())
		}
		low, high, interior := make([]int, rank), make([]int, rank), make([]int, rank)
		for i, a := range axes {
			low[i], high[i], interior[i] = a.Start, a.End, a.Interior
		}
		return graph.PadConfig(x[0], x[1], low, high, interior)
	}, x, fill)
}

func (f *Function) Iota(shape shapes.Shape, axis int) (compute.Value, error) {
	s, err := shapeOf(shape)
	if err != nil {
		return nil, fmt.Errorf("GoMLX's op Iota: %w", err)
	}
	return f.one(compute.OpTypeIota, func([]*graph.Array) *graph.Array { return graph.IotaAxis(s, axis) })
}

func (f *Function) ConvertDType(x compute.Value, to dtypes.DType) (compute.Value, error) {
	if _, err := shapeOf(shapes.Make(to)); err != nil {
		return nil, fmt.Errorf("GoMLX's op ConvertDType: %w", err)
	}
	return f.one(compute.OpTypeConvertDType, func(x []*graph.Array) *graph.Array { return x[0].Convert(to) }, x)
}

// Bitcast implements compute.Function. Elements of another width split into, or join, a last axis, the lowest bits
// first.
func (f *Function) Bitcast(x compute.Value, to dtypes.DType) (compute.Value, error) {
	if _, err := shapeOf(shapes.Make(to)); err != nil {
		return nil, fmt.Errorf("GoMLX's op Bitcast: %w", err)
	}
	return f.one(compute.OpTypeBitcast, func(x []*graph.Array) *graph.Array {
		from, wide := graph.ItemSize(x[0].DType()), graph.ItemSize(to)
		switch {
		case from > wide:
			return split(x[0], from/wide, to)
		case from < wide:
			return join(x[0], wide/from, to)
		}
		return graph.Bitcast(x[0], to)
	}, x)
}

// unsigned are the unsigned integers by their bytes.
var unsigned = map[int]graph.DType{1: graph.Uint8, 2: graph.Uint16, 4: graph.Uint32, 8: graph.Uint64}

// split cuts elements into n of a narrower dtype each.
func split(x *graph.Array, n int, to graph.DType) *graph.Array {
	wide, size := unsigned[graph.ItemSize(x.DType())], graph.ItemSize(to)
	shifts := graph.Mul(graph.IotaAxis(graph.ShapeOf(wide, n), 0), 8*size)
	bits := graph.ShiftRightLogical(graph.Bitcast(x, wide).ExpandDims(-1), shifts)
	return graph.Bitcast(bits.Convert(unsigned[size]), to)
}

// join makes one element of a wider dtype of the n along the last axis.
func join(x *graph.Array, n int, to graph.DType) *graph.Array {
	if x.Rank() == 0 || x.Dim(-1) != n {
		graph.Throw("Bitcast", "got %s, want a last axis of %d elements for one %s", x.Shape(), n, to)
	}
	wide, size := unsigned[graph.ItemSize(to)], graph.ItemSize(x.DType())
	bits := graph.Bitcast(x, unsigned[size]).Convert(wide)
	shifts := graph.Mul(graph.IotaAxis(graph.ShapeOf(wide, n), 0), 8*size)
	return graph.Bitcast(graph.ReduceOr(graph.ShiftLeft(bits, shifts), -1), to)
}

// dtypeOf is the dtype of a slice's elements.
func dtypeOf(flat any) (graph.DType, error) {
	if t := reflect.TypeOf(flat); t != nil && t.Kind() == reflect.Slice {
		if d := dtypes.FromGoType(t.Elem()); d != dtypes.InvalidDType {
			return d, nil
		}
	}
	return dtypes.InvalidDType, fmt.Errorf("got a constant of type %T, want a slice of numbers or of bools", flat)
}
