package graph

import "fmt"

// noDerivativeAttrs say who refuses and why.
type noDerivativeAttrs struct{ op, message string }

func (a noDerivativeAttrs) String() string { return fmt.Sprintf("{%s}", a.op) }

// no_derivative stands for the tangent of a value that has none: it is refused where it is asked for, and nobody minds
// one that is dropped.
var _ = register(&Op{
	Name:    "no_derivative",
	Complex: true,
	Shape:   func(c *call) []Shape { return c.in[:1] },
	Batch:   batchElementwise,
	JVP:     linearJVP,
	Transpose: func(n *Node, in []*Array, linear []bool, cts []*Array) []*Array {
		refuseDerivative(n)
		return nil
	},
	Lower: func(_ *Cursor, n *Node, _ []*Array) []*Array { refuseDerivative(n); return nil },
	Eval:  func(n *Node, _ []*Tensor) []*Tensor { refuseDerivative(n); return nil },
	Cost:  costFree,
	Cases: func() []Case {
		return []Case{{Inputs: []Shape{ShapeOf(Float32, 3)}, Lo: -1, Hi: 1, Rough: true, Fn: func(x []*Array) *Array {
			sign := NoDerivative("case", "it has none", func(v *Array) *Array { return Sign(v) })
			return Grad(func(v *Array) *Array { return Sum(Square(Add(v, StopGradient(sign(v))))) })(x[0])
		}}}
	},
})

func refuseDerivative(n *Node) {
	a := n.Attrs.(noDerivativeAttrs)
	throwAt(n.Where(), a.op, "%s", a.message)
}

// NoDerivative is f, element by element, where a derivative that needs f's is refused before anything is compiled: op
// is who refuses, message says why and what to do. Derivatives to which f adds nothing are as they would be without it.
// See StopGradient for what counts as constant.
func NoDerivative(op, message string, f func(x *Array) *Array) func(x *Array) *Array {
	return CustomJvp(f, func(x, t *Array) (*Array, *Array) {
		return f(x), apply1(Table["no_derivative"], noDerivativeAttrs{op, message}, t)
	})
}
