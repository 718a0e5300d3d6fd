package graph

import (
	"cmp"
	"math"
	"math/bits"
	"math/cmplx"
)

type dtypeClass struct {
	name string
	ok   func(DType) bool
}

var (
	floats   = dtypeClass{"a float", isFloat}
	ints     = dtypeClass{"an integer", isInt}
	numbers  = dtypeClass{"a number", func(d DType) bool { return d != Bool }}
	signed   = dtypeClass{"a signed number", func(d DType) bool { return isFloat(d) || isSigned(d) }}
	bitty    = dtypeClass{"an integer or bool", func(d DType) bool { return !isFloat(d) }}
	anything = dtypeClass{"any dtype", func(DType) bool { return true }}
)

// sameShape is the shape rule of elementwise ops. Complex numbers come only to ops that take them.
func sameShape(class dtypeClass) func(*call) []Shape {
	return func(c *call) []Shape {
		for i, s := range c.in {
			if !s.Equal(c.in[0]) {
				c.fail("operand %d is %s, operand 0 is %s; want equal shapes", i, s, c.in[0])
			}
		}
		if d := c.in[0].DType; !class.ok(d) && !isComplex(d) {
			c.fail("got %s, want %s: convert it first", c.in[0], class.name)
		}
		return c.in[:1]
	}
}

// domain is where the derived tests draw an op's inputs.
type domain struct{ lo, hi float64 }

// unaryFloat declares an elementwise float op: its reference function and its derivative, as a function of input x and
// result y; nil: it is piecewise constant, others are no plain arithmetic.
func unaryFloat(name, op string, in domain, f func(float64) float64, derivative func(x, y *Array) *Array) *Op {
	o := &Op{
		Name: name, Shape: sameShape(floats), Batch: batchElementwise, Emit: hlo(op),
		Eval: func(n *Node, in []*Tensor) []*Tensor {
			out := newTensor(in[0].Shape)
			for i := range out.V {
				out.SetF(i, f(in[0].F(i)))
			}
			return []*Tensor{out}
		},
		NotLinear: "nonlinear",
		Cost:      costTranscendental,
		Cases: func() []Case {
			c := elementwiseCase(1, Float32, in, func(x []*Array) *Array { return apply1(Table[name], nil, x[0]) })
			c.Rough = derivative == nil
			return []Case{c}
		},
	}
	if derivative == nil {
		o.JVP, o.Cost = zeroJVP, costElements // piecewise constant
	} else {
		o.JVP = func(n *Node, in, out, t []*Array) []*Array { return []*Array{Mul(t[0], derivative(in[0], out[0]))} }
	}
	return register(o)
}

func elementwiseCase(arity int, d DType, in domain, f func([]*Array) *Array) Case {
	shapes := make([]Shape, arity)
	for i := range shapes {
		shapes[i] = ShapeOf(d, 3, 4)
	}
	return Case{Inputs: shapes, Fn: f, Lo: in.lo, Hi: in.hi}
}

func zeroJVP(*Node, []*Array, []*Array, []*Array) []*Array { return []*Array{nil} }

var (
	_ = unaryFloat("exp", "stablehlo.exponential", domain{-2, 2}, math.Exp,
		func(x, y *Array) *Array { return y }).withComplex(cmplx.Exp)
	_ = unaryFloat("expm1", "stablehlo.exponential_minus_one", domain{-2, 2}, math.Expm1, func(x, y *Array) *Array {
		return Add(y, 1)
	}).withComplex(expm1Complex)
	_ = unaryFloat("log", "stablehlo.log", domain{.1, 4}, math.Log,
		func(x, y *Array) *Array { return Div(1, x) }).withComplex(cmplx.Log)
	_ = unaryFloat("log1p", "stablehlo.log_plus_one", domain{-.8, 3}, math.Log1p, func(x, y *Array) *Array {
		return Div(1, Add(x, 1))
	}).withComplex(log1pComplex)
	sinOp = unaryFloat("sin", "stablehlo.sine", domain{-3, 3}, math.Sin,
		func(x, y *Array) *Array { return Cos(x) }).withComplex(cmplx.Sin)
	cosOp = unaryFloat("cos", "stablehlo.cosine", domain{-3, 3}, math.Cos, func(x, y *Array) *Array {
		return Neg(Sin(x))
	}).withComplex(cmplx.Cos)
	_ = unaryFloat("tan", "stablehlo.tan", domain{-1, 1}, math.Tan, func(x, y *Array) *Array {
		return Add(Square(y), 1)
	}).withComplex(cmplx.Tan)
	_ = unaryFloat("asin", "chlo.asin", domain{-.9, .9}, math.Asin, func(x, y *Array) *Array {
		return Rsqrt(Sub(1, Square(x)))
	})
	_ = unaryFloat("acos", "chlo.acos", domain{-.9, .9}, math.Acos, func(x, y *Array) *Array {
		return Neg(Rsqrt(Sub(1, Square(x))))
	})
	_ = unaryFloat("atan", "chlo.atan", domain{-3, 3}, math.Atan, func(x, y *Array) *Array {
		return Div(1, Add(Square(x), 1))
	})
	_ = unaryFloat("sinh", "chlo.sinh", domain{-2, 2}, math.Sinh,
		func(x, y *Array) *Array { return Cosh(x) }).withComplex(cmplx.Sinh)
	_ = unaryFloat("cosh", "chlo.cosh", domain{-2, 2}, math.Cosh,
		func(x, y *Array) *Array { return Sinh(x) }).withComplex(cmplx.Cosh)
	_ = unaryFloat("tanh", "stablehlo.tanh", domain{-3, 3}, math.Tanh, func(x, y *Array) *Array {
		return Sub(1, Square(y))
	}).withComplex(cmplx.Tanh)
	_ = unaryFloat("asinh", "chlo.asinh", domain{-3, 3}, math.Asinh, func(x, y *Array) *Array {
		return Rsqrt(Add(Square(x), 1))
	})
	_ = unaryFloat("acosh", "chlo.acosh", domain{1.2, 4}, math.Acosh, func(x, y *Array) *Array {
		return Rsqrt(Mul(Sub(x, 1), Add(x, 1)))
	})
	_ = unaryFloat("atanh", "chlo.atanh", domain{-.9, .9}, math.Atanh, func(x, y *Array) *Array {
		return Div(1, Sub(1, Square(x)))
	})
	_ = unaryFloat("sqrt", "stablehlo.sqrt", domain{.1, 4}, math.Sqrt,
		func(x, y *Array) *Array { return Div(.5, y) }).withComplex(cmplx.Sqrt)
	_ = unaryFloat("rsqrt", "stablehlo.rsqrt", domain{.1, 4}, func(x float64) float64 { return 1 / math.Sqrt(x) },
		func(x, y *Array) *Array { return Mul(-.5, Div(y, x)) }).withComplex(rsqrtComplex)
	_ = unaryFloat("cbrt", "stablehlo.cbrt", domain{.1, 4}, math.Cbrt, func(x, y *Array) *Array {
		return Div(1, Mul(3, Square(y)))
	})

	_ = unaryFloat("logistic", "stablehlo.logistic", domain{-3, 3}, func(x float64) float64 {
		return 1 / (1 + math.Exp(-x))
	},
		func(x, y *Array) *Array { return Mul(y, Sub(1, y)) }).withComplex(logisticComplex)
	_ = unaryFloat("erf", "chlo.erf", domain{-2, 2}, math.Erf,
		func(x, y *Array) *Array { return Mul(2/math.Sqrt(math.Pi), Exp(Neg(Square(x)))) })
	erfInvOp = unaryFloat("erf_inv", "chlo.erf_inv", domain{-.95, .95}, math.Erfinv,
		func(x, y *Array) *Array { return Mul(math.Sqrt(math.Pi)/2, Exp(Square(y))) })
	_ = unaryFloat("erfc", "chlo.erfc", domain{-2, 2}, math.Erfc,
		func(x, y *Array) *Array { return Mul(-2/math.Sqrt(math.Pi), Exp(Neg(Square(x)))) })
	_ = unaryFloat("lgamma", "chlo.lgamma", domain{.3, 4}, lgamma,
		func(x, y *Array) *Array { return Digamma(x) })
	digammaOp = unaryFloat("digamma", "chlo.digamma", domain{.3, 4}, digamma, func(x, y *Array) *Array {
		return Trigamma(x)
	})

	_ = unaryFloat("floor", "stablehlo.floor", domain{-3, 3}, math.Floor, nil)
	_ = unaryFloat("ceil", "stablehlo.ceil", domain{-3, 3}, math.Ceil, nil)
	_ = unaryFloat("round", "stablehlo.round_nearest_even", domain{-3, 3}, math.RoundToEven, nil)

	_ = unaryFloat("round_away", "stablehlo.round_nearest_afz", domain{-3, 3}, math.Round, nil)
)

// lgamma is +Inf at both infinities, as XLA, C and the limit of the absolute value say; Go's has -Inf at -Inf.
func lgamma(x float64) float64 {
	if math.IsInf(x, -1) {
		return math.Inf(1)
	}
	y, _ := math.Lgamma(x)
	return y
}

func init() { sinOp.Lower, cosOp.Lower = lowerTrig(0), lowerTrig(.25) }

// XLA's digamma has infinities at some of the poles, where the limits of both sides differ: NaN is put there.
func init() {
	digammaOp.Emit = func(e *emitter, n *Node) {
		x := n.Inputs[0]
		s, t, mask := x.shape, mlirType(x.shape), mlirType(x.shape.with(Bool))
		y := e.Op("chlo.digamma", e.ref(x), "", t, t)
		down := e.Op("stablehlo.floor", e.ref(x), "", t, t)
		compare := func(dir, a, b string) string { return e.Compare(dir, s.DType, a, b, t, mask) }
		pole := e.Binary("stablehlo.and", compare("EQ", down, e.ref(x)), compare("LE", e.ref(x), e.splat(s, 0)), mask)
		e.names[n.Outs[0]] = e.Select(pole, e.splat(s, math.NaN()), y, mask, t)
	}
}

// digamma by recurrence up to x >= 6 and the asymptotic series (Abramowitz and Stegun 6.3.5, 6.3.18); reflection below
// 0.
func digamma(x float64) float64 {
	if x <= 0 {
		if x == math.Floor(x) {
			return math.NaN()
		}
		return digamma(1-x) - math.Pi/math.Tan(math.Pi*x)
	}
	s := 0.0
	for ; x < 10; x++ {
		s -= 1 / x
	}
	y := 1 / (x * x)
	return s + math.Log(x) - .5/x -
		y*(1./12-y*(1./120-y*(1./252-y*(1./240-y*(1./132-y*(691./32760-y/12))))))
}

// evalUnary dispatches a reference kernel on the dtype's class.
func evalUnary(f func(float64) float64, i func(int64) int64, u func(uint64) uint64) func(*Node, []*Tensor) []*Tensor {
	return func(n *Node, in []*Tensor) []*Tensor {
		x := in[0]
		out := newTensor(n.Outs[0].shape)
		for k := range x.V {
			switch d := x.Shape.DType; {
			case isFloat(d):
				out.SetF(k, f(x.F(k)))
			case isSigned(d):
				out.SetI(k, i(x.I(k)))
			default:
				out.SetI(k, int64(u(x.U(k))))
			}
		}
		return []*Tensor{out}
	}
}

func unaryCases(op *Op, in domain, rough bool, ds ...DType) func() []Case {
	return func() []Case {
		var cases []Case
		for _, d := range ds {
			c := elementwiseCase(1, d, in, func(x []*Array) *Array { return apply1(Table[op.Name], nil, x[0]) })
			c.Name, c.Rough = dtypeName(d), rough
			cases = append(cases, c)
		}
		return cases
	}
}

func unaryOp(name string, class dtypeClass, emit string, in domain, rough bool, ds []DType,
	jvp func(*Node, []*Array, []*Array, []*Array) []*Array, eval func(*Node, []*Tensor) []*Tensor) *Op {
	o := &Op{Name: name, Shape: sameShape(class), Batch: batchElementwise, Emit: hlo(emit), JVP: jvp, Eval: eval,
		Cost: costElements, NotLinear: "nonlinear"}
	if jvp == nil {
		o.NotDifferentiable = "its inputs are discrete"
	}
	o.Cases = unaryCases(o, in, rough, ds...)
	return register(o)
}

var (
	negOp = unaryOp("neg", numbers, "stablehlo.negate", domain{-2, 2}, false, []DType{Float32, Int32, Uint8},
		func(n *Node, in, out, t []*Array) []*Array { return []*Array{Neg(t[0])} },
		evalUnary(func(x float64) float64 { return -x }, func(x int64) int64 { return -x },
			func(x uint64) uint64 { return -x })).withComplex(negComplex)
	_ = unaryOp("abs", signed, "stablehlo.abs", domain{.2, 2}, false, []DType{Float32, Int32},
		func(n *Node, in, out, t []*Array) []*Array { return []*Array{Mul(t[0], Sign(in[0]))} },
		evalUnary(math.Abs, func(x int64) int64 { return max(x, -x) }, nil))
	_ = unaryOp("sign", signed, "stablehlo.sign", domain{-2, 2}, true, []DType{Float32, Int32}, zeroJVP,
		evalUnary(func(x float64) float64 {
			switch {
			case x > 0:
				return 1
			case x < 0:
				return -1
			}
			return x
		}, func(x int64) int64 { return int64(cmp.Compare(x, 0)) }, nil))
	_ = unaryOp("not", bitty, "stablehlo.not", domain{-9, 9}, true, []DType{Bool, Int32, Uint8}, nil,
		evalBits(func(v uint64, d DType) uint64 {
			if d == Bool {
				return 1 - v
			}
			return ^v
		}))
	_ = unaryOp("popcnt", ints, "stablehlo.popcnt", domain{-9, 99}, true, []DType{Int32, Uint32, Uint8}, nil,
		evalBits(func(v uint64, d DType) uint64 { return uint64(bits.OnesCount64(v)) }))
	_ = unaryOp("clz", ints, "stablehlo.count_leading_zeros", domain{-9, 99}, true, []DType{Int32, Uint32, Uint8}, nil,
		evalBits(func(v uint64, d DType) uint64 { return uint64(bits.LeadingZeros64(v) - (64 - 8*ItemSize(d))) }))
)

// evalBits is the Eval rule of ops on the bits of an element, as many as its dtype has.
func evalBits(f func(v uint64, d DType) uint64) func(*Node, []*Tensor) []*Tensor {
	return func(n *Node, in []*Tensor) []*Tensor {
		out := newTensor(in[0].Shape)
		d := out.Shape.DType
		for i, v := range in[0].V {
			out.V[i] = wrapInt(d, f(v&widthMask(d), d))
		}
		return []*Tensor{out}
	}
}

func widthMask(d DType) uint64 { return ^uint64(0) >> (64 - 8*ItemSize(d)) }

func init() {
	negOp.NotLinear = ""
	negOp.Transpose = func(n *Node, in []*Array, linear []bool, cts []*Array) []*Array {
		return []*Array{Neg(cts[0])}
	}
}

var _ = register(&Op{
	Name: "is_finite",
	Shape: func(c *call) []Shape {
		sameShape(floats)(c)
		return []Shape{c.in[0].with(Bool)}
	},
	Batch: batchElementwise, Emit: hlo("stablehlo.is_finite"),
	NotDifferentiable: "its result is discrete", NotLinear: "nonlinear",
	Eval: func(n *Node, in []*Tensor) []*Tensor {
		out := newTensor(n.Outs[0].shape)
		for i := range out.V {
			out.SetB(i, !math.IsNaN(in[0].F(i)) && !math.IsInf(in[0].F(i), 0))
		}
		return []*Tensor{out}
	},
	Cost: costElements,
	Cases: func() []Case {
		c := elementwiseCase(1, Float32, domain{-2, 2}, func(x []*Array) *Array { return IsFinite(Log(x[0])) })
		c.Rough = true
		return []Case{c}
	},
})
