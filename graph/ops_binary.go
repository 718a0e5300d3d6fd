package graph

import (
	"math"
	"math/cmplx"
)

type binaryKernels struct {
	f func(x, y float64) float64
	i func(x, y int64) int64
	u func(x, y uint64) uint64
}

func (k binaryKernels) eval(n *Node, in []*Tensor) []*Tensor {
	x, y, out := in[0], in[1], newTensor(n.Outs[0].shape)
	switch d := x.Shape.DType; {
	case d == Float32 && out.Shape.DType == Float32: // the usual one
		for j := range x.V {
			out.V[j] = math.Float64bits(float64(float32(k.f(x.F(j), y.F(j)))))
		}
	case isFloat(d):
		for j := range x.V {
			out.SetF(j, k.f(x.F(j), y.F(j)))
		}
	case isSigned(d) && k.i != nil:
		for j := range x.V {
			out.SetI(j, k.i(x.I(j), y.I(j)))
		}
	default:
		for j := range x.V {
			out.SetI(j, int64(k.u(x.U(j), y.U(j))))
		}
	}
	return []*Tensor{out}
}

type jvpRule = func(n *Node, in, out, t []*Array) []*Array

func binaryOp(name string, class dtypeClass, emit string, k binaryKernels, in domain, rough bool, ds []DType,
	jvp jvpRule) *Op {
	o := &Op{Name: name, Shape: sameShape(class), Batch: batchElementwise, Emit: hlo(emit), Eval: k.eval, JVP: jvp,
		Cost: costElements, NotLinear: "nonlinear"}
	if jvp == nil {
		o.NotDifferentiable = "its inputs are discrete"
	}
	o.Cases = func() []Case {
		var cases []Case
		for _, d := range ds {
			c := elementwiseCase(2, d, in, func(x []*Array) *Array { return apply1(Table[name], nil, x[0], x[1]) })
			c.Name, c.Rough = dtypeName(d), rough
			cases = append(cases, c)
		}
		return cases
	}
	return register(o)
}

// addTangents is a + b where nil stands for zero.
func addTangents(a, b *Array) *Array {
	switch {
	case a == nil:
		return b
	case b == nil:
		return a
	}
	if c := joinPads(a, b); c != nil {
		return c
	}
	return Add(a, b)
}

// scaled is t * s, or nil for a zero tangent.
func scaled(t *Array, s func() *Array) *Array {
	if t == nil {
		return nil
	}
	return Mul(t, s())
}

var numeric = []DType{Float32, Int32, Uint8}

var (
	addOp = binaryOp("add", anything, "stablehlo.add", binaryKernels{
		func(x, y float64) float64 { return x + y }, func(x, y int64) int64 { return x + y },
		func(x, y uint64) uint64 { return x + y }}, domain{-2, 2}, false, numeric,
		func(n *Node, in, out, t []*Array) []*Array {
			return []*Array{addTangents(t[0], t[1])}
		}).withComplexPair(addComplex)
	subOp = binaryOp("sub", numbers, "stablehlo.subtract", binaryKernels{
		func(x, y float64) float64 { return x - y }, func(x, y int64) int64 { return x - y },
		func(x, y uint64) uint64 { return x - y }}, domain{-2, 2}, false, numeric,
		func(n *Node, in, out, t []*Array) []*Array {
			if t[1] == nil {
				return t[:1]
			}
			if t[0] == nil {
				return []*Array{Neg(t[1])}
			}
			return []*Array{Sub(t[0], t[1])}
		}).withComplexPair(subComplex)
	mulOp = binaryOp("mul", anything, "stablehlo.multiply", binaryKernels{
		func(x, y float64) float64 { return x * y }, func(x, y int64) int64 { return x * y },
		func(x, y uint64) uint64 { return x * y }}, domain{-2, 2}, false, numeric,
		func(n *Node, in, out, t []*Array) []*Array {
			return []*Array{addTangents(scaled(t[0], func() *Array { return in[1] }),
				scaled(t[1], func() *Array { return in[0] }))}
		}).withComplexPair(mulComplex)
	divOp = binaryOp("div", numbers, "stablehlo.divide", binaryKernels{
		func(x, y float64) float64 { return x / y }, quotient, func(x, y uint64) uint64 {
			if y == 0 {
				return ^uint64(0)
			}
			return x / y
		}},
		domain{.5, 3}, false, numeric,
		func(n *Node, in, out, t []*Array) []*Array {
			var a *Array
			if t[0] != nil {
				a = Div(t[0], in[1])
			}
			return []*Array{addTangents(a, scaled(t[1], func() *Array { return Neg(Div(out[0], in[1])) }))}
		}).withComplexPair(divComplex)
	_ = binaryOp("rem", numbers, "stablehlo.remainder", binaryKernels{math.Mod, remainder, func(x, y uint64) uint64 {
		if y == 0 {
			return x
		}
		return x % y
	}}, domain{.6, 3}, true, numeric,
		func(n *Node, in, out, t []*Array) []*Array {
			return []*Array{addTangents(t[0], scaled(t[1], func() *Array {
				q := Div(in[0], in[1])
				return Neg(Mul(Sign(q), Floor(Abs(q))))
			}))}
		})
	_ = binaryOp("pow", numbers, "stablehlo.power", binaryKernels{math.Pow, intPow, func(x, y uint64) uint64 {
		return uint64(intPow(int64(x), int64(y)))
	}},
		domain{.5, 2}, false, []DType{Float32, Uint8},
		func(n *Node, in, out, t []*Array) []*Array {
			return []*Array{addTangents(
				scaled(t[0], func() *Array {
					zeros := And(Eq(in[0], 0), Eq(in[1], 0)) // where 0 times the infinite 0^-1 would be NaN
					return Mul(in[1], Pow(in[0], Select(zeros, OnesLike(in[1]), Sub(in[1], 1))))
				}),
				scaled(t[1], func() *Array { return Mul(Log(Select(Eq(in[0], 0), OnesLike(in[0]), in[0])), out[0]) }))}
		}).withComplexPair(cmplx.Pow).withCost(costTranscendental)
	_ = binaryOp("max", anything, "stablehlo.maximum", binaryKernels{larger, func(x, y int64) int64 {
		return max(x, y)
	}, func(x, y uint64) uint64 { return max(x, y) }},
		domain{-2, 2}, false, numeric, chooseJVP)
	_ = binaryOp("min", anything, "stablehlo.minimum", binaryKernels{smaller, func(x, y int64) int64 {
		return min(x, y)
	}, func(x, y uint64) uint64 { return min(x, y) }},
		domain{-2, 2}, false, numeric, chooseJVP)
	_ = binaryOp("atan2", floats, "stablehlo.atan2", binaryKernels{f: math.Atan2}, domain{.3, 2}, false,
		[]DType{Float32},
		func(n *Node, in, out, t []*Array) []*Array {
			r := Add(Square(in[0]), Square(in[1]))
			return []*Array{addTangents(scaled(t[0], func() *Array {
				return Div(in[1], r)
			}), scaled(t[1], func() *Array { return Neg(Div(in[0], r)) }))}
		}).withCost(costTranscendental)

	nextAfterOp = binaryOp("nextafter", floats, "chlo.next_after", binaryKernels{}, domain{-2, 2}, true,
		[]DType{Float32, Float64}, nil).withEval(evalNextAfter)

	_ = binaryOp("and", bitty, "stablehlo.and", binaryKernels{u: func(x, y uint64) uint64 { return x & y }},
		domain{-9, 9}, true, []DType{Bool, Int32, Uint8}, nil)
	_ = binaryOp("or", bitty, "stablehlo.or", binaryKernels{u: func(x, y uint64) uint64 { return x | y }},
		domain{-9, 9}, true, []DType{Bool, Int32, Uint8}, nil)
	_ = binaryOp("xor", bitty, "stablehlo.xor", binaryKernels{u: func(x, y uint64) uint64 { return x ^ y }},
		domain{-9, 9}, true, []DType{Bool, Int32, Uint8}, nil)

	_ = shift("shift_left", "stablehlo.shift_left", func(x uint64, s uint, d DType) uint64 { return x << s })
	_ = shift("shift_right_logical", "stablehlo.shift_right_logical", func(x uint64, s uint, d DType) uint64 {
		return (x & widthMask(d)) >> s
	})
	_ = shift("shift_right_arithmetic", "stablehlo.shift_right_arithmetic", func(x uint64, s uint, d DType) uint64 {
		v := signExtend(x, d)
		return uint64(v >> s)
	})
)

// chooseJVP is the rule of max and min: the tangent of the operand that was chosen, half of each at a tie.
func chooseJVP(n *Node, in, out, t []*Array) []*Array {
	part := func(i int) func() *Array {
		return func() *Array {
			x := Convert(Eq(in[i], out[0]), in[i].DType())
			return Mul(x, Select(Eq(in[0], in[1]), Full(in[i].shape, .5), OnesLike(in[i])))
		}
	}
	return []*Array{addTangents(scaled(t[0], part(0)), scaled(t[1], part(1)))}
}

func shift(name, emit string, f func(x uint64, s uint, d DType) uint64) *Op {
	return binaryOp(name, ints, emit, binaryKernels{u: nil}, domain{0, 9}, true, []DType{Int32, Uint32, Uint8}, nil).
		withEval(func(n *Node, in []*Tensor) []*Tensor {
			out := newTensor(in[0].Shape)
			d := out.Shape.DType
			w := uint64(8 * ItemSize(d))
			for i, x := range in[0].V {
				s := in[1].V[i] & widthMask(d)
				switch {
				case s < w:
					out.SetI(i, int64(f(x, uint(s), d)))
				case name == "shift_right_arithmetic" && signExtend(x, d) < 0:
					out.SetI(i, -1)
				}
			}
			return []*Tensor{out}
		})
}

// evalNextAfter steps through the bit patterns, which count up with the magnitude.
func evalNextAfter(n *Node, in []*Tensor) []*Tensor {
	shape := in[0].Shape
	unsigned := shape.with(map[int]DType{2: Uint16, 4: Uint32, 8: Uint64}[ItemSize(shape.DType)])
	bits, target := tensorFromBytes(unsigned, in[0].bytes()), tensorFromBytes(unsigned, in[1].bytes())
	sign := widthMask(shape.DType)>>1 + 1
	for i := range bits.V {
		switch x, y := in[0].F(i), in[1].F(i); {
		case math.IsNaN(x):
		case x == y, math.IsNaN(y):
			bits.V[i] = target.V[i]
		case x == 0 && y > 0:
			bits.V[i] = 1
		case x == 0:
			bits.V[i] = sign | 1
		case (x < y) == (x > 0):
			bits.V[i]++
		default:
			bits.V[i]--
		}
	}
	return []*Tensor{tensorFromBytes(shape, bits.bytes())}
}

func (o *Op) withEval(f func(*Node, []*Tensor) []*Tensor) *Op {
	o.Eval = f
	return o
}

func (o *Op) withCost(rule costRule) *Op {
	o.Cost = rule
	return o
}

func signExtend(x uint64, d DType) int64 {
	s := 64 - 8*ItemSize(d)
	return int64(x<<s) >> s
}

// quotient truncates toward zero; a zero divisor gives -1 and the overflow of the smallest number wraps, as XLA
// defines.
func quotient(x, y int64) int64 {
	switch y {
	case 0:
		return -1
	case -1:
		return -x
	}
	return x / y
}

func remainder(x, y int64) int64 {
	switch y {
	case 0:
		return x
	case -1:
		return 0
	}
	return x % y
}

func intPow(x, y int64) int64 {
	if y < 0 {
		switch x {
		case 1:
			return 1
		case -1:
			return 1 - 2*(y&1)
		}
		return 0
	}
	r := int64(1)
	for ; y > 0; y >>= 1 {
		if y&1 == 1 {
			r *= x
		}
		x *= x
	}
	return r
}

func init() {
	nextAfterOp.NotDifferentiable = "it is not smooth anywhere: it steps by units in the last place"
	linear2 := func(o *Op, f func(in []*Array, linear []bool, ct *Array) []*Array) {
		o.NotLinear = ""
		o.Transpose = func(n *Node, in []*Array, linear []bool, cts []*Array) []*Array { return f(in, linear, cts[0]) }
	}
	linear2(addOp, func(in []*Array, linear []bool, ct *Array) []*Array { return []*Array{ct, ct} })
	linear2(subOp, func(in []*Array, linear []bool, ct *Array) []*Array { return []*Array{ct, Neg(ct)} })
	linear2(mulOp, func(in []*Array, linear []bool, ct *Array) []*Array {
		if linear[0] {
			return []*Array{Mul(ct, in[1]), nil}
		}
		return []*Array{nil, Mul(in[0], ct)}
	})
	linear2(divOp, func(in []*Array, linear []bool, ct *Array) []*Array { return []*Array{Div(ct, in[1]), nil} })
}
