package graph

import (
	"fmt"
	"math"
	"math/bits"
	"slices"
	"strings"

	"github.com/gomlx/compute/dtypes"
)

// DType is the element type of an Array.
type DType = dtypes.DType

// The element types that every op of the table accepts or refuses explicitly.
const (
	Bool     = dtypes.Bool
	Int8     = dtypes.Int8
	Int16    = dtypes.Int16
	Int32    = dtypes.Int32
	Int64    = dtypes.Int64
	Uint8    = dtypes.Uint8
	Uint16   = dtypes.Uint16
	Uint32   = dtypes.Uint32
	Uint64   = dtypes.Uint64
	Float16  = dtypes.Float16
	BFloat16 = dtypes.BFloat16
	Float32  = dtypes.Float32
	Float64  = dtypes.Float64
	// Complex64 has a real and an imaginary part of float32. See Op.Complex for the ops that take it.
	Complex64 = dtypes.Complex64
)

// DTypes lists every element type, in promotion order.
var DTypes = []DType{Bool, Uint8, Uint16, Uint32, Uint64, Int8, Int16, Int32, Int64, BFloat16, Float16, Float32,
	Float64, Complex64}

var shortNames = map[DType]string{
	Bool: "bool", Int8: "i8", Int16: "i16", Int32: "i32", Int64: "i64",
	Uint8: "u8", Uint16: "u16", Uint32: "u32", Uint64: "u64",
	Float16: "f16", BFloat16: "bf16", Float32: "f32", Float64: "f64", Complex64: "c64",
}

// dtypeName is the short name under which a dtype is printed: "f32", "u8", "bool".
func dtypeName(d DType) string {
	if s, ok := shortNames[d]; ok {
		return s
	}
	return d.String()
}

//go:noinline
func isFloat(d DType) bool    { return d == Float32 || d == Float64 || d == Float16 || d == BFloat16 }
func isComplex(d DType) bool  { return d == Complex64 }
func isSigned(d DType) bool   { return d == Int8 || d == Int16 || d == Int32 || d == Int64 }
func isUnsigned(d DType) bool { return d == Uint8 || d == Uint16 || d == Uint32 || d == Uint64 }
func isInt(d DType) bool      { return isSigned(d) || isUnsigned(d) }

// isInexact reports whether numbers of a dtype have derivatives: floats and complex numbers.
func isInexact(d DType) bool { return isFloat(d) || isComplex(d) }

// ItemSize is the number of bytes of one element on the host.
func ItemSize(d DType) int {
	switch d {
	case Bool, Int8, Uint8:
		return 1
	case Int16, Uint16, Float16, BFloat16:
		return 2
	case Int64, Uint64, Float64, Complex64:
		return 8
	}
	return 4
}

// Shape is the element type and the size of each axis. The zero value is invalid. Shapes are immutable: functions
// that change dims work on a copy.
type Shape struct {
	DType DType
	Dims  []int
}

// ShapeOf makes a Shape.
func ShapeOf(d DType, dims ...int) Shape { return Shape{d, slices.Clone(dims)} }

// Rank is the number of axes.
func (s Shape) Rank() int { return len(s.Dims) }

// Size is the number of elements.
func (s Shape) Size() int { return product(s.Dims) }

// Bytes is the size of the elements on the host.
func (s Shape) Bytes() int { return s.Size() * ItemSize(s.DType) }

// countable reports whether Size and Bytes do not overflow; sizes are at least 0.
func (s Shape) countable() bool {
	n := uint64(ItemSize(s.DType))
	for _, d := range s.Dims {
		high, low := bits.Mul64(n, uint64(d))
		if high > 0 || low > math.MaxInt64 {
			return slices.Contains(s.Dims, 0)
		}
		n = low
	}
	return true
}

// Equal reports whether element type and dims agree.
func (s Shape) Equal(t Shape) bool { return s.DType == t.DType && slices.Equal(s.Dims, t.Dims) }

// String prints the shape as in "f32[2,3]".
func (s Shape) String() string { return dtypeName(s.DType) + "[" + joinInts(s.Dims, ",") + "]" }

func (s Shape) with(d DType) Shape     { return Shape{d, s.Dims} }
func (s Shape) dims(dims ...int) Shape { return Shape{s.DType, dims} }
func (s Shape) insert(at, n int) Shape {
	return Shape{s.DType, slices.Insert(slices.Clone(s.Dims), at, n)}
}
func (s Shape) remove(at ...int) Shape { return Shape{s.DType, dropAxes(s.Dims, at)} }

//go:noinline
func product(dims []int) int {
	n := 1
	for _, d := range dims {
		n *= d
	}
	return n
}

func joinInts(v []int, sep string) string {
	parts := make([]string, len(v))
	for i, x := range v {
		parts[i] = fmt.Sprint(x)
	}
	return strings.Join(parts, sep)
}

// dropAxes is dims without the given axes.
//
//go:noinline
func dropAxes(dims, axes []int) []int {
	out := make([]int, 0, len(dims))
	for i, d := range dims {
		if !slices.Contains(axes, i) {
			out = append(out, d)
		}
	}
	return out
}

func rangeInts(from, to int) []int {
	out := make([]int, 0, max(0, to-from))
	for i := from; i < to; i++ {
		out = append(out, i)
	}
	return out
}

func mapInts(v []int, f func(int) int) []int {
	out := make([]int, len(v))
	for i, x := range v {
		out[i] = f(x)
	}
	return out
}

// strides are the row-major strides of dims, in elements.
func strides(dims []int) []int {
	out := make([]int, len(dims))
	n := 1
	for i := len(dims) - 1; i >= 0; i-- {
		out[i] = n
		n *= dims[i]
	}
	return out
}
