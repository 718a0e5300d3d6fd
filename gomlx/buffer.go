package gomlx

import (
	"fmt"
	"reflect"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"

	"xlarun/graph"
	"xlarun/xlabridge"
)

// Buffer is an array of a Backend.
type Buffer struct {
	backend *Backend
	array   *graph.Array
}

// Array is the concrete array; nil after Finalize.
func (b *Buffer) Array() *graph.Array { return b.array }

// Backend is the backend that the buffer belongs to.
func (b *Buffer) Backend() compute.Backend { return b.backend }

// Finalize frees the array. Finalizing twice does nothing.
func (b *Buffer) Finalize() error {
	if b.array != nil {
		xlabridge.Free(b.array)
		b.array = nil
	}
	return nil
}

// Shape is the shape of the array.
func (b *Buffer) Shape() (shapes.Shape, error) {
	if b.array == nil {
		return shapes.Invalid(), errFinalized
	}
	return shapeToGoMLX(b.array.Shape()), nil
}

var errFinalized = fmt.Errorf("the buffer was finalized or donated")

// DeviceNum is 0.
func (b *Buffer) DeviceNum() (compute.DeviceNum, error) { return 0, nil }

// ToFlatData copies the elements into a slice of the array's dtype and size.
func (b *Buffer) ToFlatData(flat any) error {
	if b.array == nil {
		return errFinalized
	}
	want := b.array.Shape()
	if v := reflect.ValueOf(flat); v.Kind() != reflect.Slice || v.Len() != want.Size() ||
		dtypes.FromGoType(v.Type().Elem()) != want.DType {
		return fmt.Errorf("got a %T, want a slice of the %d elements of %s", flat, want.Size(), want)
	}
	if want.Size() == 0 {
		return nil
	}
	return graph.View(b.array, func(elements []byte) error {
		copy(dtypes.UnsafeByteSliceFromAny(flat), elements)
		return nil
	})
}

// Data refuses: there are no shared buffers.
func (b *Buffer) Data() (any, error) {
	return nil, fmt.Errorf("xlarun has no shared buffers: %w", compute.ErrNotImplemented)
}

// CopyToDevice returns the buffer itself: there is one device.
func (b *Buffer) CopyToDevice(device compute.DeviceNum) (compute.Buffer, error) {
	if device != 0 {
		return nil, fmt.Errorf("the backend has the device 0 only, got device %d", device)
	}
	return b, nil
}

// arrayOf copies a slice of elements into an array.
func arrayOf(flat any, shape shapes.Shape) (*graph.Array, error) {
	s, err := shapeOf(shape)
	if err != nil {
		return nil, err
	}
	v := reflect.ValueOf(flat)
	if v.Kind() != reflect.Slice || v.Len() != s.Size() || dtypes.FromGoType(v.Type().Elem()) != s.DType {
		return nil, fmt.Errorf("got a %T of another length or type than %s, which has %d elements", flat, s, s.Size())
	}
	b := make([]byte, s.Bytes())
	if len(b) > 0 {
		copy(b, dtypes.UnsafeByteSliceFromAny(flat))
	}
	return graph.FromBytes(s, b), nil
}

// supported are the dtypes that package graph has.
var supported = []graph.DType{graph.Bool, graph.Int8, graph.Int16, graph.Int32, graph.Int64, graph.Uint8, graph.Uint16,
	graph.Uint32, graph.Uint64, graph.Float16, graph.BFloat16, graph.Float32, graph.Float64, graph.Complex64}

// shapeOf is the shape of package graph for one of GoMLX.
func shapeOf(s shapes.Shape) (graph.Shape, error) {
	known := false
	for _, d := range supported {
		known = known || d == s.DType
	}
	if !known {
		return graph.Shape{}, fmt.Errorf("xlarun has no arrays of the dtype %s: %w", s.DType, compute.ErrNotImplemented)
	}
	for _, n := range s.Dimensions {
		if n < 0 {
			return graph.Shape{}, fmt.Errorf("xlarun has no axes without a fixed size, as in %s: %w", s,
				compute.ErrNotImplemented)
		}
	}
	return graph.ShapeOf(s.DType, s.Dimensions...), nil
}

// shapeToGoMLX is shapeOf in the other direction.
func shapeToGoMLX(s graph.Shape) shapes.Shape { return shapes.Make(s.DType, s.Dims...) }
