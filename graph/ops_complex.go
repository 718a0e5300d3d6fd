package graph

// Complex numbers are made of two float32 and taken apart again by three ops.

// part declares an op that takes a real part or an imaginary one. back is its transpose.
func part(name string, of func(complex128) float64, back func(ct *Array) *Array) *Op {
	return register(&Op{
		Name: name, Complex: true,
		Shape: func(c *call) []Shape {
			if !isComplex(c.in[0].DType) {
				c.fail("got %s, want complex numbers", c.in[0])
			}
			return []Shape{c.in[0].with(realType(c.in[0].DType))}
		},
		Batch: batchElementwise, Emit: hlo("stablehlo." + name), JVP: linearJVP,
		Transpose: func(n *Node, in []*Array, linear []bool, cts []*Array) []*Array { return []*Array{back(cts[0])} },
		Eval: func(n *Node, in []*Tensor) []*Tensor {
			out := newTensor(n.Outs[0].shape)
			for i := range out.V {
				out.SetF(i, of(in[0].C(i)))
			}
			return []*Tensor{out}
		},
		Cost: costElements,
		Cases: func() []Case {
			return []Case{{Inputs: []Shape{ShapeOf(Complex64, 3, 4)}, Rough: true, Fn: func(x []*Array) *Array {
				return apply1(op(name), nil, x[0])
			}}}
		},
	})
}

var (
	_ = part("real", func(x complex128) float64 { return real(x) }, func(ct *Array) *Array {
		return Complex(ct, ZerosLike(ct))
	})
	_ = part("imag", func(x complex128) float64 { return imag(x) }, func(ct *Array) *Array {
		return Complex(ZerosLike(ct), Neg(ct))
	})
	_ = register(&Op{
		Name: "complex", Complex: true,
		Shape: func(c *call) []Shape {
			sameShape(floats)(c)
			if c.in[0].DType != Float32 {
				c.fail("got %s, want float32: there is no complex128", c.in[0])
			}
			return []Shape{c.in[0].with(Complex64)}
		},
		Batch: batchElementwise, Emit: hlo("stablehlo.complex"), JVP: linearJVP,
		Transpose: func(n *Node, in []*Array, linear []bool, cts []*Array) []*Array {
			return []*Array{Real(cts[0]), Neg(Imag(cts[0]))}
		},
		Eval: func(n *Node, in []*Tensor) []*Tensor {
			out := newTensor(n.Outs[0].shape)
			for i := range out.V {
				out.SetC(i, complex(in[0].F(i), in[1].F(i)))
			}
			return []*Tensor{out}
		},
		Cost: costElements,
		Cases: func() []Case {
			return []Case{{Inputs: []Shape{ShapeOf(Float32, 3, 4), ShapeOf(Float32, 3, 4)}, Lo: -1, Hi: 1, Rough: true,
				Fn: func(x []*Array) *Array {
					z := Complex(x[0], x[1])
					return Concatenate(0, Real(z), Imag(z))
				}}}
		},
	})
)
