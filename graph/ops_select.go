package graph

import (
	"math"

	"github.com/gomlx/compute/dtypes"

	"xlarun/graph/internal/stablehlo"
)

// compareAttrs is the direction of a comparison: EQ, NE, LT, LE, GT, GE.
type compareAttrs struct{ dir string }

func comparison[T int64 | uint64 | float64](dir string, x, y T) bool {
	switch dir {
	case "EQ":
		return x == y
	case "NE":
		return x != y
	case "LT":
		return x < y
	case "LE":
		return x <= y
	case "GT":
		return x > y
	}
	return x >= y
}

var _ = register(&Op{
	Name: "compare",
	Shape: func(c *call) []Shape {
		sameShape(anything)(c)
		dir := c.attrs.(compareAttrs).dir
		if isComplex(c.in[0].DType) && dir != "EQ" && dir != "NE" {
			c.fail("got %s, and complex numbers have no order: compare Real, Imag or Abs", c.in[0])
		}
		return []Shape{c.in[0].with(Bool)}
	},
	Batch: batchElementwise,
	Emit: func(e *emitter, n *Node) {
		e.generic(n, "stablehlo.compare", stablehlo.Comparison(n.Attrs.(compareAttrs).dir, n.Inputs[0].DType()))
	},
	NotDifferentiable: "its result is discrete", NotLinear: "nonlinear",
	Eval: func(n *Node, in []*Tensor) []*Tensor {
		out := newTensor(n.Outs[0].shape)
		dir := n.Attrs.(compareAttrs).dir
		for i := range out.V {
			switch d := in[0].Shape.DType; {
			case isFloat(d):
				out.SetB(i, comparison(dir, in[0].F(i), in[1].F(i)))
			case isSigned(d):
				out.SetB(i, comparison(dir, in[0].I(i), in[1].I(i)))
			default:
				out.SetB(i, comparison(dir, in[0].U(i), in[1].U(i)))
			}
		}
		return []*Tensor{out}
	},
	EvalComplex: func(n *Node, in []*Tensor) []*Tensor {
		out := newTensor(n.Outs[0].shape)
		for i := range out.V {
			out.SetB(i, (in[0].C(i) == in[1].C(i)) == (n.Attrs.(compareAttrs).dir == "EQ"))
		}
		return []*Tensor{out}
	},
	Cost: costLogic,
	Cases: func() []Case {
		var cases []Case
		for _, d := range []DType{Float32, Int32, Uint8, Bool} {
			for _, dir := range []string{"EQ", "NE", "LT", "LE", "GT", "GE"} {
				c := elementwiseCase(2, d, domain{-1, 1}, func(x []*Array) *Array {
					return apply1(op("compare"), compareAttrs{dir}, x[0], x[1])
				})
				c.Name, c.Rough = dir+" "+dtypeName(d), true
				cases = append(cases, c)
			}
		}
		return cases
	},
})

func compare(name, dir string, x, y any) *Array {
	a := operands(name, x, y)
	return apply1(op("compare"), compareAttrs{dir}, a[0], a[1])
}

// Eq returns whether x == y, element by element.
//
//go:noinline
func Eq(x, y any) *Array { return compare("Eq", "EQ", x, y) }

// Ne returns whether x != y, element by element.
//
//go:noinline
func Ne(x, y any) *Array { return compare("Ne", "NE", x, y) }

// Lt returns whether x < y, element by element.
//
//go:noinline
func Lt(x, y any) *Array { return compare("Lt", "LT", x, y) }

// Le returns whether x <= y, element by element.
//
//go:noinline
func Le(x, y any) *Array { return compare("Le", "LE", x, y) }

// Gt returns whether x > y, element by element.
//
//go:noinline
func Gt(x, y any) *Array { return compare("Gt", "GT", x, y) }

// Ge returns whether x >= y, element by element.
//
//go:noinline
func Ge(x, y any) *Array { return compare("Ge", "GE", x, y) }

var _ = register(&Op{
	Name:    "select",
	Complex: true,
	Shape: func(c *call) []Shape {
		if c.in[0].DType != Bool {
			c.fail("the condition is %s, want bool", c.in[0])
		}
		if !c.in[1].Equal(c.in[2]) || !c.in[0].Equal(c.in[1].with(Bool)) {
			c.fail("condition %s, then %s, else %s; want equal shapes", c.in[0], c.in[1], c.in[2])
		}
		return c.in[1:2]
	},
	Batch: batchElementwise, Emit: hlo("stablehlo.select"),
	JVP: func(n *Node, in, out, t []*Array) []*Array {
		return []*Array{Select(in[0], orZeros(t[1], out[0].shape), orZeros(t[2], out[0].shape))}
	},
	Transpose: func(n *Node, in []*Array, linear []bool, cts []*Array) []*Array {
		z := ZerosLike(cts[0])
		return []*Array{nil, Select(in[0], cts[0], z), Select(in[0], z, cts[0])}
	},
	Eval: func(n *Node, in []*Tensor) []*Tensor {
		out := newTensor(in[1].Shape)
		for i := range out.V {
			out.V[i] = in[2].V[i]
			if in[0].B(i) {
				out.V[i] = in[1].V[i]
			}
		}
		return []*Tensor{out}
	},
	Cost: costLogic,
	Cases: func() []Case {
		return []Case{{Inputs: []Shape{ShapeOf(Bool, 3, 4), ShapeOf(Float32, 3, 4), ShapeOf(Float32, 3, 4)}, Lo: -1,
			Hi: 1, Fn: func(x []*Array) *Array { return Select(x[0], x[1], x[2]) }}}
	},
})

// Select is yes where cond holds, else no; all three broadcast. Both sides are computed; see Cond for a branch.
//
//go:noinline
func Select(cond, yes, no any) *Array { return selectAs("Select", cond, yes, no) }

// selectAs is Select under the name of the function that was called.
func selectAs(name string, cond, yes, no any) *Array {
	c, _ := operand(name, cond)
	if c == nil {
		c = operands(name, cond)[0]
	}
	v := operands(name, yes, no)
	dims := BroadcastDims(name, c.Dims(), v[0].Dims())
	return apply1(op("select"), nil, BroadcastTo(c, dims...), BroadcastTo(v[0], dims...), BroadcastTo(v[1], dims...))
}

// Where is Select under NumPy's name.
func Where(cond, yes, no any) *Array { return selectAs("Where", cond, yes, no) }

var _ = register(&Op{
	Name: "clamp", Shape: sameShape(numbers), Batch: batchElementwise, Emit: hlo("stablehlo.clamp"),
	JVP: func(n *Node, in, out, t []*Array) []*Array {
		// hi too where it is below lo; none where one of the three is NaN
		inside := And(Ge(in[1], in[0]), Le(in[1], in[2]))
		low := And(Lt(in[1], in[0]), Le(in[0], in[2]))
		high := Or(And(Gt(in[1], in[2]), Eq(in[0], in[0])), And(Gt(in[0], in[2]), Eq(in[1], in[1])))
		mask := func(t, m *Array) *Array {
			if t == nil {
				return nil
			}
			return Select(m, t, ZerosLike(t))
		}
		return []*Array{addTangents(mask(t[1], inside), addTangents(mask(t[0], low), mask(t[2], high)))}
	},
	NotLinear: "nonlinear",
	Eval: func(n *Node, in []*Tensor) []*Tensor {
		out := newTensor(in[0].Shape)
		for i := range out.V {
			switch d := out.Shape.DType; {
			case isFloat(d):
				out.SetF(i, smaller(larger(in[1].F(i), in[0].F(i)), in[2].F(i)))
			case isSigned(d):
				out.SetI(i, min(max(in[1].I(i), in[0].I(i)), in[2].I(i)))
			default:
				out.V[i] = min(max(in[1].U(i), in[0].U(i)), in[2].U(i))
			}
		}
		return []*Tensor{out}
	},
	Cost: costElements,
	Cases: func() []Case {
		s := ShapeOf(Float32, 3, 4)
		return []Case{{Inputs: []Shape{s}, Lo: -2, Hi: 2, Fn: func(x []*Array) *Array { return Clamp(-1, x[0], .5) }},
			{Name: "array bounds", Inputs: []Shape{s, s, s}, Lo: -2, Hi: 2, Fn: func(x []*Array) *Array {
				return Clamp(x[0], x[1], Add(x[2], 4.5))
			}}}
	},
})

// Clamp limits x to [lo, hi]; it is hi where lo is larger.
func Clamp(lo, x, hi any) *Array {
	a := operands("clamp", lo, x, hi)
	return apply1(op("clamp"), nil, a...)
}

type dtypeAttrs struct{ to DType }

func (a dtypeAttrs) String() string { return "{to:" + dtypeName(a.to) + "}" }

var _ = register(&Op{
	Name: "convert",
	Shape: func(c *call) []Shape {
		if shortNames[c.attrs.(dtypeAttrs).to] == "" {
			c.fail("cannot convert to %s; want one of %v", c.attrs.(dtypeAttrs).to, DTypes)
		}
		return []Shape{c.in[0].with(c.attrs.(dtypeAttrs).to)}
	},
	Batch: batchElementwise, Emit: hlo("stablehlo.convert"),
	JVP: func(n *Node, in, out, t []*Array) []*Array {
		if !isFloat(out[0].DType()) || !isFloat(in[0].DType()) {
			return []*Array{nil}
		}
		return []*Array{Convert(t[0], out[0].DType())}
	},
	Transpose: func(n *Node, in []*Array, linear []bool, cts []*Array) []*Array {
		return []*Array{Convert(cts[0], n.Inputs[0].DType())}
	},
	Eval: func(n *Node, in []*Tensor) []*Tensor {
		out := newTensor(n.Outs[0].shape)
		from, to := in[0].Shape.DType, out.Shape.DType
		for i := range out.V {
			switch {
			case isFloat(from) && isFloat(to):
				out.SetF(i, in[0].F(i))
			case isFloat(from) && to == Bool:
				out.SetB(i, in[0].F(i) != 0)
			case isFloat(from):
				out.V[i] = floatToInt(to, in[0].F(i))
			case isFloat(to) && isSigned(from):
				out.SetF(i, float64(in[0].I(i)))
			case isFloat(to):
				out.SetF(i, float64(in[0].U(i)))
			default:
				out.SetI(i, in[0].I(i))
			}
		}
		return []*Tensor{out}
	},
	Cost: costElements,
	Cases: func() []Case {
		var cases []Case
		for _, from := range DTypes {
			for _, to := range DTypes {
				if from != to && !isComplex(from) && !isComplex(to) {
					lo := -3.0
					if isUnsigned(to) {
						lo = 0
					}
					cases = append(cases, Case{Name: dtypeName(from) + " to " + dtypeName(to), Inputs: []Shape{
						ShapeOf(from, 5)}, Lo: lo, Hi: 3,
						Rough: ItemSize(from) < 4 || ItemSize(to) < 4 || !isFloat(from) || !isFloat(to),
						Fn:    func(x []*Array) *Array { return Convert(x[0], to) }})
				}
			}
		}
		return cases
	},
})

// floatToInt truncates toward zero and saturates; NaN gives 0.
func floatToInt(d DType, x float64) uint64 {
	bits := 8 * ItemSize(d)
	if x != x {
		return 0
	}
	x = math.Trunc(x)
	if isUnsigned(d) {
		switch {
		case x <= 0:
			return 0
		case x >= math.Ldexp(1, bits):
			return widthMask(d)
		}
		return uint64(x)
	}
	switch limit := math.Ldexp(1, bits-1); {
	case x >= limit:
		return uint64(int64(1)<<(bits-1) - 1)
	case x <= -limit:
		return uint64(int64(-1) << (bits - 1))
	}
	return uint64(int64(x))
}

// Convert changes the dtype, by value: floats are truncated toward zero, nonzero is true. Complex numbers become bools
// only: Real, Imag and Abs give other numbers.
func Convert(x *Array, to DType) *Array {
	switch {
	case x.DType() == to:
		return x
	case to == dtypes.Complex128:
		throw("Convert", "complex numbers with float64 would be complex128, and there is none: convert %s to float32 "+
			"or complex64 first", x.shape)
	case isComplex(to):
		return Complex(Convert(x, Float32), Zeros(x.shape.with(Float32)))
	case isComplex(x.DType()) && to == Bool:
		return Ne(x, 0)
	}
	return apply1(op("convert"), dtypeAttrs{to}, x)
}

var _ = register(&Op{
	Name: "bitcast",
	Shape: func(c *call) []Shape {
		to := c.attrs.(dtypeAttrs).to
		if ItemSize(to) != ItemSize(c.in[0].DType) || (to == Bool) != (c.in[0].DType == Bool) {
			c.fail("got %s, want a dtype of the same width as %s", c.in[0], dtypeName(to))
		}
		return []Shape{c.in[0].with(to)}
	},
	Batch: batchElementwise, Emit: hlo("stablehlo.bitcast_convert"),
	NotDifferentiable: "it reads bits, not values", NotLinear: "nonlinear",
	Eval: func(n *Node, in []*Tensor) []*Tensor {
		return []*Tensor{tensorFromBytes(n.Outs[0].shape, in[0].bytes())}
	},
	Cost: costFree,
	Cases: func() []Case {
		var cases []Case
		for _, p := range [][2]DType{{Float32, Uint32}, {Int32, Float32}, {Float64, Uint64}, {Float16, Uint16},
			{Uint8, Int8}} {
			cases = append(cases, Case{Name: dtypeName(p[0]), Inputs: []Shape{ShapeOf(p[0], 5)}, Lo: 0, Hi: 9,
				Rough: true, Fn: func(x []*Array) *Array { return Bitcast(x[0], p[1]) }})
		}
		return cases
	},
})

// Bitcast reads the same bits as another dtype of the same width.
func Bitcast(x *Array, to DType) *Array {
	if x.DType() == to {
		return x
	}
	return apply1(op("bitcast"), dtypeAttrs{to}, x)
}
