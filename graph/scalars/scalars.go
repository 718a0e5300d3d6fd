// Package scalars writes functions of one member with numbers instead of arrays: the dynamics of a body, where every
// value is a scalar of its own and most of a model's structure is zeros.
//
// A Num is a number that is known, or one that is known when the program runs. Operations on known numbers are plain
// float64 arithmetic, so a function of known numbers is its own reference. Record traces a function:
//
//	p := scalars.Record([]int{2, 1}, func(in [][]scalars.Num) [][]scalars.Num {
//		q, u := in[0], in[1]
//		return [][]scalars.Num{{scalars.Add(q[0], scalars.Mul(q[1], u[0]))}}
//	})
//	out := p.Call(q, u) // f32[2] and f32[1] in, f32[1] out; VMap gives all of them members
//
// Its inputs and results are vectors of one type, float32 or float64. There are two forms:
//
//   - Ops: graph's ops, with what several of them read computed once (graph.Once). It has derivatives, and it is what
//     the reference interpreter and accelerators compute.
//   - Tape: a list of instructions for the kernel xlarun_tape, which runs them over lanes of members. Nothing is
//     compiled. Call is a graph.WithKernel of both.
//
// # What folds
//
// Zeros and ones that are known are structure: x+0 is x, x*1 is x, and 0*x and 0/x are 0, whatever x is. So -0, NaN and
// infinities of x are lost there. Equal operations on equal operands are recorded once, and operations of a loop's body
// that do not depend on the loop are recorded before it. Everything else is IEEE arithmetic.
//
// # Loops
//
// Scan runs a body for each row of a tableau of known numbers, Repeat until a member is ready, When computes what few
// members need. A carry is a list of numbers, and the loops may be in each other. Of known numbers they are Go's loops.
//
// # Rounding
//
// A tape rounds once where a sum adds a product that nothing else reads, or several of them in turn: an fma. It rounds
// as the function says everywhere else. So a tape's results have the same bytes on all processors and for any number of
// members together, and differ in the last bits from those of the ops and from those of known numbers. There are two
// exceptions. Sines of angles beyond 8192 (float64: 2^26) are those of the C library. Denormal numbers are zero in
// XLA's threads.
package scalars

import (
	"math"

	"xlarun/graph"
)

// Num is a scalar of one member: a known number, or a value that a recorded function computes. The zero Num is 0.
type Num struct {
	v *value // nil: the number is known
	c float64
}

// Cond is a condition of one member, known or computed. The zero Cond is false.
type Cond struct {
	v *value
	c bool
}

// Known is the number x.
func Known(x float64) Num { return Num{c: x} }

// Truth is the condition c.
func Truth(c bool) Cond { return Cond{c: c} }

// Value is the number and whether it is known.
func (x Num) Value() (value float64, known bool) { return x.c, x.v == nil }

// Value is the condition and whether it is known.
func (c Cond) Value() (value, known bool) { return c.c, c.v == nil }

// Is reports whether x is known to be c.
func (x Num) Is(c float64) bool { return x.v == nil && x.c == c }

type op uint8

// The operations. Cases of the tape are in the same order; see xlabridge/kernels/tape.h.
const (
	opInput op = iota
	opAdd
	opSub
	opMul
	opDiv
	opMin
	opMax
	opNeg
	opAbs
	opSqrt
	opSin
	opCos
	opLt
	opLe
	opEq
	opAnd
	opOr
	opNot
	opSelect
	opBlock  // a loop or a When
	opParam  // a value that a block's body starts with
	opResult // a value that a block ends with
)

func known2(x, y Num) bool { return x.v == nil && y.v == nil }

// Add is x + y.
func Add(x, y Num) Num {
	switch {
	case known2(x, y):
		return Known(x.c + y.c)
	case x.Is(0):
		return y
	case y.Is(0):
		return x
	case y.negated():
		return Sub(x, y.v.in[0])
	case x.negated():
		return Sub(y, x.v.in[0])
	}
	return record(opAdd, x, y)
}

// Sub is x - y.
func Sub(x, y Num) Num {
	switch {
	case known2(x, y):
		return Known(x.c - y.c)
	case x.Is(0):
		return Neg(y)
	case y.Is(0):
		return x
	case y.negated():
		return Add(x, y.v.in[0])
	}
	return record(opSub, x, y)
}

// Mul is x y.
func Mul(x, y Num) Num {
	switch {
	case known2(x, y):
		return Known(x.c * y.c)
	case x.Is(0) || y.Is(0):
		return Num{}
	case x.Is(1):
		return y
	case y.Is(1):
		return x
	case x.Is(-1):
		return Neg(y)
	case y.Is(-1):
		return Neg(x)
	case x.negated():
		return Neg(Mul(x.v.in[0], y))
	case y.negated():
		return Neg(Mul(x, y.v.in[0]))
	}
	return record(opMul, x, y)
}

// Div is x / y.
func Div(x, y Num) Num {
	switch {
	case known2(x, y):
		return Known(x.c / y.c)
	case x.Is(0):
		return Num{}
	}
	if y.v == nil {
		if fraction, _ := math.Frexp(y.c); math.Abs(fraction) == .5 { // then the reciprocal is exact
			return Mul(x, Known(1/y.c))
		}
	}
	return record(opDiv, x, y)
}

// Min is the lower of x and y, NaN if one of them is.
func Min(x, y Num) Num {
	if known2(x, y) {
		return Known(min(x.c, y.c))
	}
	return record(opMin, x, y)
}

// Max is the greater of x and y, NaN if one of them is.
func Max(x, y Num) Num {
	if known2(x, y) {
		return Known(max(x.c, y.c))
	}
	return record(opMax, x, y)
}

// Clamp is x within low and high.
func Clamp(low, x, high Num) Num { return Max(low, Min(x, high)) }

// Neg is -x.
func Neg(x Num) Num {
	switch {
	case x.v == nil:
		return Known(-x.c)
	case x.negated():
		return x.v.in[0]
	}
	return record(opNeg, x)
}

func (x Num) negated() bool { return x.v != nil && x.v.op == opNeg }

func unary(o op, x Num, f func(float64) float64) Num {
	if x.v == nil {
		return Known(f(x.c))
	}
	return record(o, x)
}

// Abs is the magnitude of x.
func Abs(x Num) Num { return unary(opAbs, x, math.Abs) }

// Sqrt is the square root of x.
func Sqrt(x Num) Num { return unary(opSqrt, x, math.Sqrt) }

// Sin is the sine of x radians.
func Sin(x Num) Num { return unary(opSin, x, math.Sin) }

// Cos is the cosine of x radians.
func Cos(x Num) Num { return unary(opCos, x, math.Cos) }

// Sum adds from the first to the last.
func Sum(xs ...Num) (s Num) {
	for _, x := range xs {
		s = Add(s, x)
	}
	return s
}

// Dot is the sum of x[i] y[i], from the first to the last. A tape computes it by one instruction.
func Dot(x, y []Num) (s Num) {
	if len(x) != len(y) {
		fail("Dot", "got %d numbers and %d, want as many of both", len(x), len(y))
	}
	for i := range x {
		s = Add(s, Mul(x[i], y[i]))
	}
	return s
}

func compare(o op, x, y Num, f func(x, y float64) bool) Cond {
	if known2(x, y) {
		return Truth(f(x.c, y.c))
	}
	return Cond{v: record(o, x, y).v}
}

// Lt is x < y.
func Lt(x, y Num) Cond { return compare(opLt, x, y, func(x, y float64) bool { return x < y }) }

// Le is x <= y.
func Le(x, y Num) Cond { return compare(opLe, x, y, func(x, y float64) bool { return x <= y }) }

// Gt is x > y.
func Gt(x, y Num) Cond { return Lt(y, x) }

// Ge is x >= y.
func Ge(x, y Num) Cond { return Le(y, x) }

// Eq is x == y.
func Eq(x, y Num) Cond { return compare(opEq, x, y, func(x, y float64) bool { return x == y }) }

func (c Cond) is(x bool) bool { return c.v == nil && c.c == x }

// And is x and y.
func And(x, y Cond) Cond {
	switch {
	case x.is(false) || y.is(true):
		return x
	case y.is(false) || x.is(true):
		return y
	}
	return Cond{v: record(opAnd, Num{v: x.v}, Num{v: y.v}).v}
}

// Or is x or y.
func Or(x, y Cond) Cond {
	switch {
	case x.is(true) || y.is(false):
		return x
	case y.is(true) || x.is(false):
		return y
	}
	return Cond{v: record(opOr, Num{v: x.v}, Num{v: y.v}).v}
}

// Not is not x.
func Not(x Cond) Cond {
	switch {
	case x.v == nil:
		return Truth(!x.c)
	case x.v.op == opNot:
		return Cond{v: x.v.in[0].v}
	}
	return Cond{v: record(opNot, Num{v: x.v}).v}
}

// Select is x where c holds, and y elsewhere.
func Select(c Cond, x, y Num) Num {
	switch {
	case c.is(true) || same(x, y):
		return x
	case c.is(false):
		return y
	}
	return record(opSelect, Num{v: c.v}, x, y)
}

// same reports whether x and y are one value, or the same bits.
func same(x, y Num) bool {
	return x.v == y.v && math.Float64bits(x.c) == math.Float64bits(y.c)
}

func fail(name, format string, args ...any) { graph.Throw("scalars."+name, format, args...) }
