package graph

import "math"

// normalOf makes a number of the standard normal distribution of 32 random bits: 23 of them are a number u in (-1, 1).
func normalOf(bits uint64) float64 {
	u := 2*float64(bits>>9)*0x1p-23 - aboveMinusOne
	return float64(float32(math.Sqrt2)) * float64(float32(erfInvSingle(float32(u))))
}

// aboveMinusOne is the smallest float32 above -1, negated.
const aboveMinusOne = 1 - 0x1p-24

var _ = register(&Op{
	Name: "normal",
	Shape: func(c *call) []Shape {
		if c.in[0].DType != Uint32 {
			c.fail("got %s, want uint32", c.in[0])
		}
		return []Shape{c.in[0].with(Float32)}
	},
	Batch:             batchElementwise,
	NotDifferentiable: "its input is discrete", NotLinear: "nonlinear",
	// The kernel that draws makes normal numbers at once. It gives what XLA's CPU compiler makes of the ops.
	Lower: func(l *Cursor, n *Node, in []*Array) []*Array {
		if d := in[0].node; d != nil && d.Kernel() == threefryKernel && !l.target.NoNormals {
			if a := d.Attrs.(customCallAttrs); len(a.outs) == 1 {
				return kernelCall(threefryKernel, []int{a.config[0], a.config[1], 1}, ShapesOf(n.Outs), d.Inputs...)
			}
		}
		u := Sub(Bitcast(Or(ShiftRightLogical(in[0], 9), uint32(0x3f800000)), Float32), 1)
		u = Max(-aboveMinusOne, Add(Mul(u, 2), -aboveMinusOne))
		return []*Array{Mul(math.Sqrt2, ErfInv(u))}
	},
	Eval: func(n *Node, in []*Tensor) []*Tensor {
		out := newTensors(n.Outs)
		for i, bits := range in[0].V {
			out[0].SetF(i, normalOf(bits))
		}
		return out
	},
	Cost: costTranscendental,
	Cases: func() []Case {
		keys := ShapeOf(Uint32, 3)
		return []Case{{Inputs: []Shape{ShapeOf(Uint32, 64)}, Lo: 0, Hi: 4e9, Rough: true, Fn: func(x []*Array) *Array {
			return Random.Normal(x[0])
		}}, {Name: "of a draw", Inputs: []Shape{keys, keys}, Lo: 0, Hi: 1e9, Rough: true, Fn: func(x []*Array) *Array {
			return Random.Normal(Random.ThreeFryBits(x[0], x[1], 37))
		}}}
	},
})

// Normal makes numbers of the standard normal distribution of random bits, uint32 of any shape: float32.
func (randomOps) Normal(bits *Array) *Array {
	return apply1(op("normal"), nil, operands("normal", bits)[0])
}
