package graph

import (
	"fmt"
	"math"
	"math/big"
	"math/cmplx"
	"reflect"
	"slices"

	"github.com/gomlx/compute/dtypes"
)

// Promote is the dtype of an op over two arrays of dtypes a and b: JAX's lattice with 64-bit types enabled
// (docs/jep/9407-type-promotion), where uint64 with a signed integer gives float32.
func Promote(a, b DType) DType {
	switch {
	case a == b || b == Bool:
		return a
	case a == Bool:
		return b
	case isComplex(a) || isComplex(b):
		if a == Float64 || b == Float64 {
			return dtypes.Complex128 // which is refused
		}
		return Complex64
	case isFloat(a) && isFloat(b):
		if ItemSize(a) == 2 && ItemSize(b) == 2 {
			return Float32
		}
		return wider(a, b)
	case isFloat(a):
		return a
	case isFloat(b):
		return b
	case isSigned(a) == isSigned(b):
		return wider(a, b)
	case isUnsigned(a):
		a, b = b, a
	}
	// a is signed, b unsigned.
	if ItemSize(b) < ItemSize(a) {
		return a
	}
	switch b {
	case Uint8:
		return Int16
	case Uint16:
		return Int32
	case Uint32:
		return Int64
	}
	return Float32
}

func wider(a, b DType) DType {
	if ItemSize(a) >= ItemSize(b) {
		return a
	}
	return b
}

// scalar is a Go number or bool given as an operand. It is weakly typed, as Python's scalars are in JAX: it takes the
// array's dtype unless its kind does not fit in it.
type scalar struct{ v reflect.Value }

func (s scalar) kind() DType {
	switch {
	case s.v.Kind() == reflect.Bool:
		return Bool
	case s.v.CanInt() || s.v.CanUint():
		return Int32
	}
	if s.v.CanComplex() {
		return Complex64
	}
	return Float32
}

// dtypeWith is the dtype of an op over an array of dtype d and the scalar.
func (s scalar) dtypeWith(d DType) DType {
	switch k := s.kind(); {
	case isComplex(k):
		return Promote(k, d)
	case k == Bool, isInexact(d):
		return d
	case k == Int32 && d != Bool:
		return d
	default:
		return k
	}
}

// array gives the scalar a dtype. An integer dtype takes only numbers that it holds. A float dtype rounds, float32 up
// to its largest number; see exactly. In 16 bits a large number may be infinite: masks and bounds are written so.
func (s scalar) array(op string, d DType) *Array {
	t := newTensor(Shape{DType: d})
	switch {
	case s.v.CanComplex():
		if !isComplex(d) {
			throw(op, "%v is no value of %s: convert the array to complex64, or take the number's real part",
				s.v.Complex(), dtypeName(d))
		}
		if t.SetC(0, s.v.Complex()); cmplx.IsInf(t.C(0)) && !cmplx.IsInf(s.v.Complex()) {
			s.tooWide(op, d)
		}
	case isComplex(d) && s.v.CanFloat():
		if t.SetF(0, s.v.Float()); cmplx.IsInf(t.C(0)) && !math.IsInf(s.v.Float(), 0) {
			s.tooWide(op, d)
		}
	case isInexact(d) && s.v.CanFloat():
		x := s.v.Float()
		if t.SetF(0, x); d == Float32 && math.IsInf(t.F(0), 0) && !math.IsInf(x, 0) {
			s.tooWide(op, d)
		}
	case isInexact(d) && s.v.CanInt():
		t.SetF(0, float64(s.v.Int()))
	case isInexact(d) && s.v.CanUint():
		t.SetF(0, float64(s.v.Uint()))
	case s.v.Kind() == reflect.Bool:
		if isInexact(d) {
			t.SetF(0, float64(boolBit(s.v.Bool())))
		} else {
			t.V[0] = boolBit(s.v.Bool())
		}
	case s.v.CanFloat():
		x := s.v.Float()
		if x != math.Trunc(x) || math.IsInf(x, 0) {
			throw(op, "%v is no value of %s: round it, or use a float dtype", x, dtypeName(d))
		}
		t.V[0] = floatToInt(d, x)
		if whole, _ := big.NewFloat(x).Int(nil); d != Bool && whole.Cmp(t.whole(0)) != 0 {
			s.tooWide(op, d)
		}
	case s.v.CanInt():
		if t.SetI(0, s.v.Int()); d != Bool && wide(s.number()).Cmp(t.whole(0)) != 0 {
			s.tooWide(op, d)
		}
	default:
		if t.SetI(0, int64(s.v.Uint())); d != Bool && wide(s.number()).Cmp(t.whole(0)) != 0 {
			s.tooWide(op, d)
		}
	}
	return t.Array()
}

// whole is element i of a tensor of an integer dtype.
func (t *Tensor) whole(i int) *big.Int {
	if isUnsigned(t.Shape.DType) {
		return new(big.Int).SetUint64(t.U(i))
	}
	return big.NewInt(t.I(i))
}

// exactly is array for functions that make arrays: a float or complex dtype, too, takes only integers that it holds,
// and no number beyond its range, and bool only 0 and 1.
func (s scalar) exactly(op string, d DType) *Array {
	a := s.array(op, d)
	if isInt(d) || s.v.Kind() == reflect.Bool || s.v.CanComplex() {
		return a
	}
	t, err := ToTensor(a)
	if err != nil {
		throw(op, "%v", err)
	}
	var x float64
	switch {
	case d == Bool:
		if n := fmt.Sprint(s.number()); n != "0" && n != "1" {
			throw(op, "%s is no value of bool: want 0, 1, true or false, or use an integer dtype", n)
		}
		return a
	case isComplex(d):
		x = real(t.C(0))
	default:
		x = t.F(0)
	}
	if v, is := s.number().(float64); is {
		if math.IsInf(x, 0) && !math.IsInf(v, 0) {
			s.tooWide(op, d)
		}
		return a
	}
	if math.IsInf(x, 0) {
		s.tooWide(op, d)
	}
	if whole, _ := big.NewFloat(x).Int(nil); whole.Cmp(wide(s.number())) != 0 {
		s.tooWide(op, d)
	}
	return a
}

// number is the scalar as a float64, an int64 or a uint64.
func (s scalar) number() any {
	switch {
	case s.v.CanFloat():
		return s.v.Float()
	case s.v.CanInt():
		return s.v.Int()
	}
	return s.v.Uint()
}

// tooWide refuses a number that a dtype does not hold, and names one that does.
func (s scalar) tooWide(op string, d DType) {
	if isComplex(d) {
		throw(op, "%v is no value of %s, and no wider complex dtype exists: scale it", s.v, dtypeName(d))
	}
	holds, advice := Float64, "use a wider dtype"
	x, isFloat := s.number().(float64)
	whole := new(big.Int)
	if !isFloat {
		whole = wide(s.number())
		x, _ = new(big.Float).SetInt(whole).Float64()
	} else if !math.IsInf(x, 0) {
		big.NewFloat(x).Int(whole)
	}
	of := func(dtypes ...DType) DType { // the first one that holds whole
		for _, w := range dtypes {
			if whole.BitLen() < 8*ItemSize(w) || w == Int64 && whole.IsInt64() {
				return w
			}
		}
		return Uint64
	}
	switch nearest, _ := big.NewFloat(x).Int(nil); {
	case isInexact(d) && !isFloat && nearest.Cmp(whole) != 0:
		holds, advice = of(Int64), "no float dtype holds it: use an integer dtype"
	case isInexact(d):
		if isFloat && math.Abs(x) <= math.MaxFloat32 || math.Abs(x) <= 1<<24 {
			holds = Float32
		}
	case x < math.MinInt64 || x >= 1<<64:
		advice = "use a float dtype"
	case x < 0 && isUnsigned(d):
		holds, advice = of(Int32, Int64), "use a signed dtype"
	default:
		holds = of(Int16, Int32, Int64)
	}
	throw(op, "%v is no value of %s: %s, such as %s", s.number(), dtypeName(d), advice, dtypeName(holds))
}

// operand reads one argument of a function that takes arrays or Go scalars.
func operand(op string, x any) (*Array, scalar) {
	if a, ok := x.(*Array); ok {
		if a == nil {
			throw(op, "got a nil *Array")
		}
		return a, scalar{}
	}
	v := reflect.ValueOf(x)
	if v.IsValid() && goDTypes[v.Kind()] != 0 {
		return nil, scalar{v}
	}
	throw(op, "got a %T, want a *graph.Array, a number or a bool", x)
	return nil, scalar{}
}

// operands promotes arguments to one dtype and broadcasts them to one shape (NumPy's rules).
func operands(op string, xs ...any) []*Array {
	arrays := make([]*Array, len(xs))
	scalars := make([]scalar, len(xs))
	d := dtypeOf(op, xs, arrays, scalars)
	shapes := make([][]int, len(xs))
	for i := range xs {
		if arrays[i] == nil {
			arrays[i] = scalars[i].array(op, d)
		}
		shapes[i] = arrays[i].Dims()
	}
	dims := BroadcastDims(op, shapes...)
	for i, a := range arrays {
		arrays[i] = BroadcastTo(Convert(a, d), dims...)
	}
	return arrays
}

// floatOperands is operands for float functions: integers and bools become float32.
func floatOperands(op string, xs ...any) []*Array { return each(operands(op, xs...), asFloat) }

// asFloat returns x, converted to float32 unless it is a float or complex.
func asFloat(x *Array) *Array {
	if isInexact(x.DType()) {
		return x
	}
	return Convert(x, Float32)
}

// dtypeOf reads operands into arrays and scalars, and returns the dtype of an op over them.
func dtypeOf(op string, xs []any, arrays []*Array, scalars []scalar) DType {
	d := DType(0)
	for i, x := range xs {
		arrays[i], scalars[i] = operand(op, x)
		if a := arrays[i]; a != nil {
			if d == 0 {
				d = a.DType()
			} else {
				d = Promote(d, a.DType())
			}
		}
	}
	weak := Bool
	for i := range xs {
		if arrays[i] == nil {
			if d == 0 {
				weak = Promote(weak, scalars[i].kind())
			} else {
				d = scalars[i].dtypeWith(d)
			}
		}
	}
	if d == 0 {
		return weak
	}
	return d
}

// broadcasts reports whether an array of dims from broadcasts to the dims to.
func broadcasts(from, to []int) bool {
	if len(from) > len(to) {
		return false
	}
	for i, d := range from {
		if d != 1 && d != to[len(to)-len(from)+i] {
			return false
		}
	}
	return true
}

// BroadcastDims is the common shape of arrays under NumPy's rules: axes are matched from the last one, an axis of
// size 1 or a missing one stretches.
func BroadcastDims(op string, shapes ...[]int) []int {
	var out []int
	for _, s := range shapes {
		for len(out) < len(s) {
			out = slices.Insert(out, 0, 1)
		}
		for i := range s {
			j := len(out) - len(s) + i
			switch {
			case s[i] == out[j] || s[i] == 1:
			case out[j] == 1:
				out[j] = s[i]
			default:
				throw(op, "shapes %v do not broadcast: axis %d from the end is %d and %d; want equal sizes, or 1",
					shapes, len(s)-i, out[j], s[i])
			}
		}
	}
	return out
}
