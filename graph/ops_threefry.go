package graph

import (
	"fmt"
	"slices"
	"strings"

	"xlarun/graph/internal/stablehlo"
)

// threefryRotations are the rotation distances of Threefry-2x32 (Salmon et al., "Parallel random numbers: as easy as
// 1, 2, 3", SC 2011, table 2).
var threefryRotations = [2][4]uint{{13, 15, 26, 6}, {17, 29, 16, 24}}

const threefryParity = 0x1BD11BDA

func threefry2x32(k0, k1, x0, x1 uint32) (uint32, uint32) {
	ks := [3]uint32{k0, k1, k0 ^ k1 ^ threefryParity}
	x0, x1 = x0+ks[0], x1+ks[1]
	for round := range 5 {
		for _, r := range threefryRotations[round%2] {
			x0 += x1
			x1 = x1<<r | x1>>(32-r)
			x1 ^= x0
		}
		x0 += ks[(round+1)%3]
		x1 += ks[(round+2)%3] + uint32(round) + 1
	}
	return x0, x1
}

var _ = register(&Op{
	Name:   "threefry2x32",
	ByRows: true,
	Shape: func(c *call) []Shape {
		if len(c.in) != 4 || c.in[0].DType != Uint32 {
			c.fail("got %d inputs, the first %s; want two key words and two counters of uint32", len(c.in), c.in[0])
		}
		sameShape(ints)(c)
		return slices.Clone(c.in[:2])
	},
	Batch:             batchElementwise,
	NotDifferentiable: "its inputs are discrete", NotLinear: "nonlinear",
	Emit: func(e *emitter, n *Node) {
		t := mlirType(n.Inputs[0].shape)
		name := "threefry2x32_" + strings.NewReplacer("tensor<", "", ">", "").Replace(t)
		if !e.HasFunction(name) {
			params := fmt.Sprintf("%%k0: %s, %%k1: %s, %%x0: %s, %%x1: %s", t, t, t, t)
			e.Function(name, params, t+", "+t, threefryBody(t))
		}
		e.Print(e.bind(n.Outs), " = func.call @", name, "(", e.refs(n.Inputs), ") : (", types(n.Inputs), ") -> (", t,
			", ", t, ")")
	},
	Eval: func(n *Node, in []*Tensor) []*Tensor {
		a, b := newTensor(in[0].Shape), newTensor(in[0].Shape)
		for i := range a.V {
			x, y := threefry2x32(uint32(in[0].V[i]), uint32(in[1].V[i]), uint32(in[2].V[i]), uint32(in[3].V[i]))
			a.V[i], b.V[i] = uint64(x), uint64(y)
		}
		return []*Tensor{a, b}
	},
	Cost: costOf(func(n *Node) float64 {
		return 65 * resultElements(n) // 20 rounds of an addition, a rotation and a xor, and 5 keys, for two words
	}),
	Cases: func() []Case {
		s := ShapeOf(Uint32, 3, 2)
		return []Case{{Inputs: []Shape{s, s, s, s}, Lo: 0, Hi: 1e9, Rough: true, Fn: func(x []*Array) *Array {
			a, b := Random.ThreeFry2x32(x[0], x[1], x[2], x[3])
			return Xor(a, b)
		}}}
	},
})

// threefryBody writes the 20 rounds as the body of a function over tensors of type t.
func threefryBody(t string) string {
	w := stablehlo.NewWriter()
	bin := func(op, x, y string) string { return w.Binary("stablehlo."+op, x, y, t) }
	con := func(v uint32) string { return w.Constant(fmt.Sprintf("dense<%d> : %s", v, t), t) }
	return w.Body(func() {
		ks := [3]string{"%k0", "%k1", bin("xor", bin("xor", "%k0", "%k1"), con(threefryParity))}
		x0, x1 := bin("add", "%x0", ks[0]), bin("add", "%x1", ks[1])
		for round := range 5 {
			for _, r := range threefryRotations[round%2] {
				x0 = bin("add", x0, x1)
				x1 = bin("or", bin("shift_left", x1, con(uint32(r))), bin("shift_right_logical", x1, con(uint32(32-r))))
				x1 = bin("xor", x1, x0)
			}
			x0 = bin("add", x0, ks[(round+1)%3])
			x1 = bin("add", x1, bin("add", ks[(round+2)%3], con(uint32(round)+1)))
		}
		w.Print("return ", x0, ", ", x1, " : ", t, ", ", t)
	})
}

// Random has the ops and the checks of keys that package random consists of. Users call random.
var Random randomOps

type randomOps struct{}

// ThreeFry2x32 is the counter-based generator of 20 rounds: two uint32 words of output for a key and a counter of two
// words each, element by element. Operands broadcast.
func (randomOps) ThreeFry2x32(k0, k1, x0, x1 *Array) (*Array, *Array) {
	outs := apply(op("threefry2x32"), nil, operands("threefry2x32", k0, k1, x0, x1))
	return outs[0], outs[1]
}
