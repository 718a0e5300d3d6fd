// Package oracles reads the test vectors that the Python scripts beside it write from JAX and its companions.
// The scripts say what each file holds; an array in them is always an [Array].
package oracles

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"strings"
)

// Array is one exactly stored array: row-major, little-endian bytes, bool as one byte (0 or 1) an element.
type Array struct {
	DType string `json:"dtype"` // NumPy's name: bool, int8 … uint64, float16, bfloat16, float32, float64
	Shape []int  `json:"shape"`
	Data  []byte `json:"data"`
}

// Apart is the greatest difference of numbers, relative to 1 + their magnitude; infinite if one is no number.
func Apart(got, want []float64) (worst float64) {
	for i := range want {
		d := math.Abs(got[i]-want[i]) / (1 + math.Abs(want[i]))
		if math.IsNaN(d) {
			return math.Inf(1)
		}
		worst = max(worst, d)
	}
	return worst
}

// Read decodes a vector file into v; a name that ends in .gz is decompressed first.
func Read(path string, v any) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if strings.HasSuffix(path, ".gz") {
		r, err := gzip.NewReader(bytes.NewReader(text))
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		if text, err = io.ReadAll(r); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
	}
	if err := json.Unmarshal(text, v); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// Width is the number of bytes an element takes, 0 for a dtype that no script writes.
func (a Array) Width() int {
	switch a.DType {
	case "bool", "int8", "uint8":
		return 1
	case "int16", "uint16", "float16", "bfloat16":
		return 2
	case "int32", "uint32", "float32":
		return 4
	case "int64", "uint64", "float64", "complex64":
		return 8
	}
	return 0
}

// Len is the number of elements that the bytes hold.
func (a Array) Len() int {
	if w := a.Width(); w > 0 {
		return len(a.Data) / w
	}
	return 0
}

// Bits gives every element's bit pattern, zero-extended: equal bits are equal arrays, NaNs and signed zeros included.
func (a Array) Bits() []uint64 {
	w := a.Width()
	out := make([]uint64, a.Len())
	for i := range out {
		e := a.Data[i*w : (i+1)*w]
		switch w {
		case 1:
			out[i] = uint64(e[0])
		case 2:
			out[i] = uint64(binary.LittleEndian.Uint16(e))
		case 4:
			out[i] = uint64(binary.LittleEndian.Uint32(e))
		case 8:
			out[i] = binary.LittleEndian.Uint64(e)
		}
	}
	return out
}

// Ints gives the elements of a boolean or integer array, signed ones sign-extended; uint64 above 2^63-1 wraps.
func (a Array) Ints() []int64 {
	shift := 64 - 8*a.Width()
	out := make([]int64, a.Len())
	for i, b := range a.Bits() {
		if strings.HasPrefix(a.DType, "int") {
			out[i] = int64(b<<shift) >> shift
		} else {
			out[i] = int64(b)
		}
	}
	return out
}

// Floats returns the elements of any array as float64. Integers beyond 2^53 are rounded.
func (a Array) Floats() []float64 {
	out := make([]float64, a.Len())
	ints := a.Ints()
	for i, b := range a.Bits() {
		switch a.DType {
		case "float64":
			out[i] = math.Float64frombits(b)
		case "float32":
			out[i] = float64(math.Float32frombits(uint32(b)))
		case "bfloat16":
			out[i] = float64(math.Float32frombits(uint32(b) << 16))
		case "float16":
			out[i] = half(uint16(b))
		case "uint64":
			out[i] = float64(b)
		default:
			out[i] = float64(ints[i])
		}
	}
	return out
}

// Float32s gives the elements of a float32 array, or those of any other array rounded to float32.
func (a Array) Float32s() []float32 {
	out := make([]float32, a.Len())
	for i, f := range a.Floats() {
		out[i] = float32(f)
	}
	return out
}

// half widens an IEEE binary16.
func half(b uint16) float64 {
	sign, exponent, fraction := 1.0, int(b>>10)&31, float64(b&1023)
	if b>>15 == 1 {
		sign = -1
	}
	switch {
	case exponent == 31 && fraction == 0:
		return math.Inf(int(sign))
	case exponent == 31:
		return math.NaN()
	case exponent == 0:
		return sign * math.Ldexp(fraction, -24)
	}
	return sign * math.Ldexp(1024+fraction, exponent-25)
}
