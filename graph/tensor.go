package graph

import (
	"encoding/binary"
	"fmt"
	"math"
	"reflect"
	"strings"

	"github.com/gomlx/compute/dtypes/bfloat16"
	"github.com/gomlx/compute/dtypes/float16"
)

// Tensor is a host array of the reference interpreter. Every element is one uint64, whatever the dtype: the bits of a
// float64 for floats (always a value that the dtype can hold), the two's complement for integers, 0 or 1 for bools, the
// bits of two float32 for complex numbers, the real part's in the lower half.
// Moving elements is then the same for all dtypes, and the kernels stay short.
type Tensor struct {
	Shape Shape
	V     []uint64
}

// newTensor makes a tensor of zeros. A small one, as most are in a program of one member, is one piece of memory.
func newTensor(s Shape) *Tensor {
	n := s.Size()
	if n > 8 {
		return &Tensor{s, make([]uint64, n)}
	}
	small := &struct {
		Tensor
		v [8]uint64
	}{Tensor: Tensor{Shape: s}}
	small.V = small.v[:n:n]
	return &small.Tensor
}

// F is element i of a float tensor.
func (t *Tensor) F(i int) float64 { return math.Float64frombits(t.V[i]) }

// C is element i of a complex tensor.
func (t *Tensor) C(i int) complex128 {
	v := t.V[i]
	return complex(float64(math.Float32frombits(uint32(v))), float64(math.Float32frombits(uint32(v>>32))))
}

// SetC stores x rounded to the dtype.
func (t *Tensor) SetC(i int, x complex128) {
	t.V[i] = uint64(math.Float32bits(float32(real(x)))) | uint64(math.Float32bits(float32(imag(x))))<<32
}

// I is element i of a signed tensor.
func (t *Tensor) I(i int) int64 { return int64(t.V[i]) }

// U is element i of an unsigned tensor.
func (t *Tensor) U(i int) uint64 { return t.V[i] }

// B is element i of a bool tensor.
func (t *Tensor) B(i int) bool { return t.V[i] != 0 }

// SetF stores x rounded to the dtype; as a complex number it has no imaginary part.
func (t *Tensor) SetF(i int, x float64) {
	if isComplex(t.Shape.DType) {
		t.SetC(i, complex(x, 0))
		return
	}
	t.V[i] = math.Float64bits(roundFloat(t.Shape.DType, x))
}

// rounded is a float tensor in another float dtype.
func (t *Tensor) rounded(d DType) *Tensor {
	if t.Shape.DType == d {
		return t
	}
	out := newTensor(t.Shape.with(d))
	for i := range out.V {
		out.SetF(i, t.F(i))
	}
	return out
}

// SetI stores x wrapped to the dtype's width; unsigned dtypes too.
func (t *Tensor) SetI(i int, x int64) { t.V[i] = wrapInt(t.Shape.DType, uint64(x)) }

// SetB stores a bool.
func (t *Tensor) SetB(i int, x bool) { t.V[i] = boolBit(x) }

func boolBit(x bool) uint64 {
	if x {
		return 1
	}
	return 0
}

// roundFloat rounds x to the nearest value of d, halves to even.
func roundFloat(d DType, x float64) float64 {
	switch d {
	case Float32:
		return float64(float32(x))
	case Float16:
		return roundTo(x, 10, -14, 65504)
	case BFloat16:
		return roundTo(x, 7, -126, 0x1.fep127)
	}
	return x
}

// roundTo rounds to a binary format with so many fraction bits, subnormals below 2^least.
func roundTo(x float64, fraction, least int, largest float64) float64 {
	if x == 0 || math.IsNaN(x) || math.IsInf(x, 0) {
		return x
	}
	_, e := math.Frexp(x)
	unit := math.Ldexp(1, max(e-1, least)-fraction)
	x = math.RoundToEven(x/unit) * unit
	if math.Abs(x) > largest {
		return math.Inf(int(math.Copysign(1, x)))
	}
	return x
}

// halfBits encodes a value of float16. The library's own conversion takes subnormals for zero.
func halfBits(x float64) uint64 {
	sign := math.Float64bits(x) >> 63 << 15
	switch m := math.Abs(x); {
	case math.IsNaN(x):
		return sign | 0x7e00
	case math.IsInf(x, 0):
		return sign | 0x7c00
	case m < 0x1p-14:
		return sign | uint64(m*0x1p24)
	default:
		_, e := math.Frexp(m)
		return sign | uint64(e+14)<<10 | uint64(math.Ldexp(m, 11-e))&0x3ff
	}
}

// wrapInt keeps the bits that an integer dtype has, sign-extended for signed ones.
func wrapInt(d DType, v uint64) uint64 {
	switch d {
	case Bool:
		return boolBit(v != 0)
	case Int8:
		return uint64(int64(int8(v)))
	case Int16:
		return uint64(int64(int16(v)))
	case Int32:
		return uint64(int64(int32(v)))
	case Uint8:
		return uint64(uint8(v))
	case Uint16:
		return uint64(uint16(v))
	case Uint32:
		return uint64(uint32(v))
	}
	return v
}

// bytes encodes the elements row-major, little-endian.
func (t *Tensor) bytes() []byte {
	d := t.Shape.DType
	out := make([]byte, 0, t.Shape.Bytes())
	for i, v := range t.V {
		switch d {
		case Float32:
			v = uint64(math.Float32bits(float32(t.F(i))))
		case Float16:
			v = halfBits(t.F(i))
		case BFloat16:
			v = uint64(bfloat16.FromFloat32(float32(t.F(i))).Bits())
		}
		switch ItemSize(d) {
		case 1:
			out = append(out, byte(v))
		case 2:
			out = binary.LittleEndian.AppendUint16(out, uint16(v))
		case 4:
			out = binary.LittleEndian.AppendUint32(out, uint32(v))
		case 8:
			out = binary.LittleEndian.AppendUint64(out, v)
		}
	}
	return out
}

// tensorFromBytes decodes what bytes encodes.
func tensorFromBytes(s Shape, b []byte) *Tensor {
	t := newTensor(s)
	for i := range t.V {
		var v uint64
		switch ItemSize(s.DType) {
		case 1:
			v = uint64(b[i])
		case 2:
			v = uint64(binary.LittleEndian.Uint16(b[2*i:]))
		case 4:
			v = uint64(binary.LittleEndian.Uint32(b[4*i:]))
		case 8:
			v = binary.LittleEndian.Uint64(b[8*i:])
		}
		switch s.DType {
		case Float32:
			t.SetF(i, float64(math.Float32frombits(uint32(v))))
		case Float16:
			t.SetF(i, float64(float16.FromBits(uint16(v)).Float32()))
		case BFloat16:
			t.SetF(i, float64(bfloat16.FromBits(uint16(v)).Float32()))
		case Float64:
			t.V[i] = v
		default:
			t.V[i] = wrapInt(s.DType, v)
		}
	}
	return t
}

// ToTensor reads a concrete or lazy array into a host tensor.
func ToTensor(a *Array) (*Tensor, error) {
	b, err := HostBytes(a)
	if err != nil {
		return nil, err
	}
	if len(b) != a.shape.Bytes() {
		return nil, fmt.Errorf("graph: data of %s has %d bytes, want %d", a.shape, len(b), a.shape.Bytes())
	}
	return tensorFromBytes(a.shape, b), nil
}

// Array makes a concrete array of the tensor.
func (t *Tensor) Array() *Array { return FromData(t.Shape, hostBytes(t.bytes())) }

// Constant writes the tensor into the program, whatever its size. It is for lowering.
func (t *Tensor) Constant() *Array {
	return apply1(constantOp, constantAttrs{t.Shape, string(t.bytes())})
}

// Floats are the elements as float64, whatever the dtype; of complex numbers the real parts.
func (t *Tensor) Floats() []float64 {
	out := make([]float64, len(t.V))
	for i := range out {
		out[i] = t.float(i)
	}
	return out
}

func (t *Tensor) float(i int) float64 {
	switch d := t.Shape.DType; {
	case isFloat(d):
		return t.F(i)
	case isComplex(d):
		return real(t.C(i))
	case isSigned(d):
		return float64(t.I(i))
	}
	return float64(t.U(i))
}

// less compares elements of two tensors of one dtype.
func less(a *Tensor, i int, b *Tensor, j int) bool {
	switch d := a.Shape.DType; {
	case isFloat(d):
		return a.F(i) < b.F(j)
	case isSigned(d):
		return a.I(i) < b.I(j)
	}
	return a.U(i) < b.U(j)
}

func (t *Tensor) format() string {
	parts := make([]string, len(t.V))
	for i := range parts {
		switch d := t.Shape.DType; {
		case isFloat(d):
			parts[i] = fmt.Sprintf("%.6g", t.F(i))
		case isComplex(d):
			parts[i] = fmt.Sprintf("%.6g%+.6gi", real(t.C(i)), imag(t.C(i)))
		case isSigned(d):
			parts[i] = fmt.Sprint(t.I(i))
		case d == Bool:
			parts[i] = fmt.Sprint(t.B(i))
		default:
			parts[i] = fmt.Sprint(t.U(i))
		}
	}
	if t.Shape.Rank() == 0 {
		return parts[0]
	}
	return "{" + strings.Join(parts, " ") + "}"
}

// Scalar kinds of Go values that stand for arrays.
var goDTypes = map[reflect.Kind]DType{
	reflect.Bool: Bool, reflect.Int8: Int8, reflect.Int16: Int16, reflect.Int32: Int32, reflect.Int64: Int64,
	reflect.Uint8: Uint8, reflect.Uint16: Uint16, reflect.Uint32: Uint32, reflect.Uint64: Uint64,
	reflect.Float32: Float32, reflect.Float64: Float32, reflect.Int: Int32, reflect.Uint: Uint32,
	reflect.Complex64: Complex64, reflect.Complex128: Complex64,
}

// Of makes a concrete array of a Go number, bool, or (nested) slice or array of them. The dtypes of Go's untyped
// constants take 32 bits, as in JAX: int becomes int32 and float64 float32 (Float64s keeps double precision),
// complex128 becomes complex64.
func Of(value any) *Array {
	v := reflect.ValueOf(value)
	var dims []int
	e := v
	for e.IsValid() && (e.Kind() == reflect.Slice || e.Kind() == reflect.Array) {
		dims = append(dims, e.Len())
		if e.Len() == 0 {
			e = reflect.New(e.Type().Elem()).Elem()
			continue
		}
		e = e.Index(0)
	}
	if !e.IsValid() || goDTypes[e.Kind()] == 0 {
		throw("Of", "got a %T, want a number, a bool, or slices of them", value)
	}
	t := newTensor(ShapeOf(goDTypes[e.Kind()], dims...))
	i := 0
	var fill func(v reflect.Value, axis int)
	fill = func(v reflect.Value, axis int) {
		if axis == len(dims) {
			t.setGo(i, v)
			i++
			return
		}
		if v.Len() != dims[axis] {
			throw("Of", "ragged slices: axis %d has %d and %d elements", axis, dims[axis], v.Len())
		}
		for j := range v.Len() {
			fill(v.Index(j), axis+1)
		}
	}
	fill(v, 0)
	return t.Array()
}

func (t *Tensor) setGo(i int, v reflect.Value) {
	switch {
	case v.Kind() == reflect.Bool:
		t.SetB(i, v.Bool())
	case v.CanInt():
		if x := v.Int(); t.Shape.DType == Int32 && x != int64(int32(x)) {
			throw("Of", "%d does not fit in an int32: convert it to int64 first", x)
		}
		t.SetI(i, v.Int())
	case v.CanUint():
		if t.SetI(i, int64(v.Uint())); t.U(i) != v.Uint() {
			throw("Of", "%d does not fit in a uint32: convert it to uint64 first", v.Uint())
		}
	case v.CanComplex():
		t.SetC(i, v.Complex())
	default:
		if x := v.Float(); !math.IsInf(x, 0) && math.IsInf(float64(float32(x)), 0) {
			throw("Of", "%g does not fit in a float32: use Float64s", x)
		}
		t.SetF(i, v.Float())
	}
}

// Float32s makes a float32 array of the given dims (default: one axis) from Go numbers.
func Float32s(values []float32, dims ...int) *Array {
	return fromSlice("Float32s", Float32, values, dims)
}

// Float64s makes a float64 array of the given dims (default: one axis).
func Float64s(values []float64, dims ...int) *Array {
	return fromSlice("Float64s", Float64, values, dims)
}

// Int32s makes an int32 array of the given dims (default: one axis).
func Int32s(values []int32, dims ...int) *Array { return fromSlice("Int32s", Int32, values, dims) }

// Uint32s makes a uint32 array of the given dims (default: one axis).
func Uint32s(values []uint32, dims ...int) *Array { return fromSlice("Uint32s", Uint32, values, dims) }

// Complex64s makes a complex64 array of the given dims (default: one axis).
func Complex64s(values []complex64, dims ...int) *Array {
	return fromSlice("Complex64s", Complex64, values, dims)
}

func fromSlice[T float32 | float64 | int32 | uint32 | complex64](name string, d DType, values []T, dims []int) *Array {
	if dims == nil {
		dims = []int{len(values)}
	}
	if product(dims) != len(values) {
		throw(name, "got %d values for dims %v, want %d", len(values), dims, product(dims))
	}
	b, _ := binary.Append(make([]byte, 0, ItemSize(d)*len(values)), binary.LittleEndian, values)
	return FromBytes(ShapeOf(d, dims...), b)
}

// Complexes reads an array's elements as complex64, whatever its dtype.
func Complexes(a *Array) ([]complex64, error) {
	t, err := ToTensor(a)
	if err != nil {
		return nil, err
	}
	out := make([]complex64, len(t.V))
	for i := range out {
		out[i] = complex(float32(t.float(i)), 0)
		if isComplex(a.DType()) {
			out[i] = complex64(t.C(i))
		}
	}
	return out, nil
}

// HostBytes reads an array's elements as Data.HostBytes returns them. The caller does not change them.
func HostBytes(a *Array) ([]byte, error) {
	data, err := a.Data()
	if err != nil {
		return nil, err
	}
	return data.HostBytes()
}

// Floats reads an array's elements as float64, whatever its dtype, except complex numbers, which are refused.
func Floats(a *Array) ([]float64, error) {
	if isComplex(a.DType()) {
		return nil, fmt.Errorf("graph.Floats: got %s, want real numbers: use Complexes, Real, Imag or Abs", a.shape)
	}
	t, err := ToTensor(a)
	if err != nil {
		return nil, err
	}
	return t.Floats(), nil
}

// Float reads a one-element array.
func Float(a *Array) (float64, error) {
	v, err := Floats(a)
	if err != nil {
		return 0, err
	}
	if len(v) != 1 {
		return 0, fmt.Errorf("graph.Float: got %s, want one element", a.shape)
	}
	return v[0], nil
}
