package graph

// unset is an array of which every element is written before any is read: what a scan stacks is often most of what a
// training step writes, and is not cleared first where a kernel can leave memory as it is.

type unsetAttrs struct {
	shape  Shape
	number int // keeps a compiler from making one array of two
}

var _ = register(&Op{
	Name:    "unset",
	Complex: true,
	Shape:   func(c *call) []Shape { return []Shape{c.attrs.(unsetAttrs).shape} },
	Batch: func(b *batching, n *Node, in []*Array, dims []int) ([]*Array, []int) {
		panic("graph: unset has no inputs")
	},
	NotDifferentiable: "it has no inputs", NotLinear: "it has no inputs",
	Lower: func(l *Cursor, n *Node, in []*Array) []*Array {
		a := n.Attrs.(unsetAttrs)
		if l.target.HasKernels() {
			return kernelCall(unsetKernel, []int{a.number}, []Shape{a.shape})
		}
		return []*Array{Zeros(a.shape)}
	},
	Eval: evalInto(evalUnset),
	Cost: costElements,
	Cases: func() []Case {
		return []Case{{Inputs: []Shape{ShapeOf(Float32, 3)}, Fn: func(x []*Array) *Array {
			free := apply1(op("unset"), unsetAttrs{x[0].shape, 0})
			return DynamicUpdateSlice(free, x[0], []*Array{Of(int32(0))})
		}}}
	},
	distinct: true,
})

// unsetArray is an array to be written, unlike every other one of the program.
func (l *Cursor) unsetArray(s Shape) *Array {
	l.trace.unset++
	out := &Array{shape: s, scope: l.trace.cur}
	out.node = &Node{Op: op("unset"), Attrs: unsetAttrs{s, l.trace.unset}, Outs: []*Array{out}, pos: l.trace.pos}
	l.trace.cur.nodes = append(l.trace.cur.nodes, out.node)
	return out
}

// unsetKernel leaves its result as it is.
var unsetKernel = &Kernel{Target: "xlarun_unset", Eval: evalUnset}

// evalUnset fills an array with what nobody would write: tests see what is read before it is written.
func evalUnset(_, out []*Tensor) {
	for i := range out[0].V {
		if isInexact(out[0].Shape.DType) {
			out[0].SetF(i, -12345)
		} else {
			out[0].SetI(i, 93)
		}
	}
}
