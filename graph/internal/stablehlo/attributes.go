package stablehlo

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/gomlx/compute/dtypes"
)

// DType is the element type of an array.
type DType = dtypes.DType

// elements are the element types as MLIR writes them.
var elements = map[DType]string{
	dtypes.Bool: "i1", dtypes.Int8: "i8", dtypes.Int16: "i16", dtypes.Int32: "i32", dtypes.Int64: "i64",
	dtypes.Uint8: "ui8", dtypes.Uint16: "ui16", dtypes.Uint32: "ui32", dtypes.Uint64: "ui64",
	dtypes.Float16: "f16", dtypes.BFloat16: "bf16", dtypes.Float32: "f32", dtypes.Float64: "f64",
	dtypes.Complex64: "complex<f32>",
}

// Type writes the type of an array.
func Type(d DType, dims ...int) string {
	b := append(make([]byte, 0, 32), "tensor<"...)
	for _, n := range dims {
		b = append(strconv.AppendInt(b, int64(n), 10), 'x')
	}
	return string(append(append(b, elements[d]...), '>'))
}

// Dense writes the elements of an array, row-major and little-endian, as a literal with its type. Floats are written as
// their bits, so that every value, NaN included, stays exact.
func Dense(d DType, dims []int, b []byte) string {
	t, size := Type(d, dims...), d.Size()
	element := func(i int) string { return element(d, b[i*size:(i+1)*size]) }
	if len(b) == 0 {
		return "dense<> : " + t
	}
	if repeats(b, size) {
		return "dense<" + element(0) + "> : " + t
	}
	i := 0
	var list func(axis int) string
	list = func(axis int) string {
		if axis == len(dims) {
			i++
			return element(i - 1)
		}
		parts := make([]string, dims[axis])
		for k := range parts {
			parts[k] = list(axis + 1)
		}
		return List(parts)
	}
	return "dense<" + list(0) + "> : " + t
}

// repeats reports whether all elements of a size are equal.
func repeats(b []byte, size int) bool {
	for i := size; i < len(b); i++ {
		if b[i] != b[i-size] {
			return false
		}
	}
	return true
}

// element writes one element.
func element(d DType, b []byte) string {
	bits := uint64(0)
	for _, x := range slices.Backward(b) {
		bits = bits<<8 | uint64(x)
	}
	switch shift := 64 - 8*len(b); {
	case d == dtypes.Bool:
		return fmt.Sprint(bits != 0)
	case d.IsComplex():
		half := dtypes.Float32
		return "(" + element(half, b[:len(b)/2]) + ", " + element(half, b[len(b)/2:]) + ")"
	case d.IsFloat():
		return fmt.Sprintf("0x%0*X", 2*len(b), bits)
	case d.IsUnsigned():
		return fmt.Sprint(bits)
	default:
		return fmt.Sprint(int64(bits<<shift) >> shift)
	}
}

// Comparison writes the attributes of a comparison: direction is EQ, NE, LT, LE, GT or GE.
func Comparison(direction string, d DType) string {
	kind := "SIGNED"
	switch {
	case d.IsFloat() || d.IsComplex():
		kind = "FLOAT"
	case d.IsUnsigned() || d == dtypes.Bool:
		kind = "UNSIGNED"
	}
	return fmt.Sprintf("comparison_direction = #stablehlo<comparison_direction %s>, "+
		"compare_type = #stablehlo<comparison_type %s>", direction, kind)
}

// List writes a list in brackets.
func List(parts []string) string { return "[" + strings.Join(parts, ", ") + "]" }

// Ints writes numbers as a list in brackets.
func Ints(v []int) string { return List(texts(v)) }

// Int64s writes an array attribute of integers.
func Int64s(v []int) string { return array("i64", texts(v)) }

// Bools writes an array attribute of bools.
func Bools(v []bool) string { return array("i1", texts(v)) }

func array(element string, parts []string) string {
	if len(parts) == 0 {
		return "array<" + element + ">"
	}
	return "array<" + element + ": " + strings.Join(parts, ", ") + ">"
}

func texts[T any](v []T) []string {
	parts := make([]string, len(v))
	for i, x := range v {
		parts[i] = fmt.Sprint(x)
	}
	return parts
}

// Matrix writes rows of integers, all of one length, as a literal with its type; columns is their length.
func Matrix(rows [][]int, columns int) string {
	if len(rows) == 0 {
		return fmt.Sprintf("dense<> : tensor<0x%dxi64>", columns)
	}
	parts := make([]string, len(rows))
	for i, r := range rows {
		parts[i] = Ints(r)
	}
	return fmt.Sprintf("dense<%s> : tensor<%dx%dxi64>", List(parts), len(rows), columns)
}

// RowMajor writes the layout of an array of a rank in which the last axis runs fastest.
func RowMajor(rank int) string {
	if rank == 0 {
		return "dense<> : tensor<0xindex>"
	}
	order := make([]int, rank)
	for i := range order {
		order[i] = rank - 1 - i
	}
	return fmt.Sprintf("dense<%s> : tensor<%dxindex>", Ints(order), rank)
}
