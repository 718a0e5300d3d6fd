package graph

import (
	"math"
	"math/cmplx"
	"slices"
	"strings"
)

// An op takes complex numbers if its block says so (Op.Complex, ComplexKinds, EvalComplex). Other ops refuse them.
// Derivatives and VMap have the same rules as for real numbers: what is differentiable by a complex number has the same
// formulas. A transpose of a map that is linear over the complex numbers needs no conjugate, as in JAX, so that
// gradients come out as df/dx - i df/dy.

// takesComplex reports whether an op takes complex numbers, or gives them.
func (o *Op) takesComplex() bool { return o.Complex || o.ComplexKinds != nil || o.EvalComplex != nil }

// withComplex gives an elementwise op of one operand its reference for complex numbers.
//
//go:noinline
func (o *Op) withComplex(f func(complex128) complex128) *Op {
	o.EvalComplex = func(_ *Node, in []*Tensor) []*Tensor {
		out := newTensor(in[0].Shape)
		for i := range out.V {
			out.SetC(i, f(in[0].C(i)))
		}
		return []*Tensor{out}
	}
	return o
}

// withComplexPair gives an elementwise op of two operands its reference for complex numbers.
//
//go:noinline
func (o *Op) withComplexPair(f func(x, y complex128) complex128) *Op {
	o.EvalComplex = func(_ *Node, in []*Tensor) []*Tensor {
		out := newTensor(in[0].Shape)
		for i := range out.V {
			out.SetC(i, f(in[0].C(i), in[1].C(i)))
		}
		return []*Tensor{out}
	}
	return o
}

func addComplex(x, y complex128) complex128 { return x + y }
func subComplex(x, y complex128) complex128 { return x - y }
func mulComplex(x, y complex128) complex128 { return x * y }
func divComplex(x, y complex128) complex128 { return x / y }

func negComplex(x complex128) complex128      { return -x }
func rsqrtComplex(x complex128) complex128    { return 1 / cmplx.Sqrt(x) }
func logisticComplex(x complex128) complex128 { return 1 / (1 + cmplx.Exp(-x)) }

// expm1Complex keeps the digits of small numbers: e^a cos b - 1 = expm1(a) cos b - 2 sin²(b/2).
func expm1Complex(x complex128) complex128 {
	a, b := real(x), imag(x)
	half := math.Sin(b / 2)
	return complex(math.Expm1(a)*math.Cos(b)-2*half*half, math.Exp(a)*math.Sin(b))
}

// log1pComplex keeps the digits of small numbers: |1+x|² = 1 + a(2+a) + b².
func log1pComplex(x complex128) complex128 {
	a, b := real(x), imag(x)
	return complex(math.Log1p(a*(2+a)+b*b)/2, math.Atan2(b, 1+a))
}

// refuseComplex throws if one of an op's inputs or results is complex and the op has no form for it.
func refuseComplex(o *Op, attrs any, shapes []Shape) {
	i := slices.IndexFunc(shapes, func(s Shape) bool { return isComplex(s.DType) })
	if i < 0 {
		return
	}
	kind := ""
	switch a := attrs.(type) {
	case reduceAttrs:
		kind = a.Kind
	case cumulativeAttrs:
		kind = a.Kind
	case gatherAttrs:
		kind = a.Kind
	case preduceAttrs:
		kind = a.kind
	}
	if !o.takesComplex() || o.ComplexKinds != nil && !slices.Contains(o.ComplexKinds, kind) {
		throw(strings.TrimSpace(o.Name+" "+kind), "got %s, and there is no form for complex numbers: take Real, "+
			"Imag or Abs first", shapes[i])
	}
}
