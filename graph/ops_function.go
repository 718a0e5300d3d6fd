package graph

import (
	"fmt"

	"xlarun/graph/internal/attr"
)

type functionAttrs = attr.Function

// function runs its body, which a CPU's compiler makes one function of (lower/functions.go).
var _ = register(&Op{
	Name:    "function",
	Complex: true,
	Shape:   func(c *call) []Shape { return ShapesOf(c.bodies[0].Results) },
	Batch: func(b *batching, n *Node, in []*Array, dims []int) ([]*Array, []int) {
		on := batchedFlags(dims)
		body, flags := b.closed(n.Bodies[0], on, nil)
		return apply(n.Op, n.Attrs, b.prepare(n, in, dims, on), body), b.laneDims(n.Outs, flags)
	},
	NotDifferentiable: "it is made when a program is lowered", NotLinear: "it is made when a program is lowered",
	// XLA's compiler knows no address for a parameter that nothing in such a function reads, as may come of what it
	// simplifies. So the inputs are one tuple, and with them goes a number that comes back.
	Emit: func(e *emitter, n *Node) {
		const number = "tensor<i32>"
		name, body := fmt.Sprintf("function_%d", n.Attrs.(functionAttrs).Number), n.Bodies[0]
		tuple, results := "tuple<"+list(types(body.Params), number)+">", list(types(body.Results), number)
		text := e.Body(func() {
			input := func(i int, kind string) string {
				return e.Op("stablehlo.get_tuple_element", "%inputs", fmt.Sprintf("index = %d : i32", i), tuple, kind)
			}
			for i, p := range body.Params {
				e.names[p] = input(i, mlirType(p.shape))
			}
			read := input(len(body.Params), number)
			e.nodes(body)
			e.Return("func.return", list(e.refs(body.Results), read), results)
		})
		e.Function(name, "%inputs: "+tuple, results, text)
		zero := e.Constant("dense<0> : "+number, number)
		inputs := e.Op("stablehlo.tuple", list(e.refs(n.Inputs), zero), "", list(types(n.Inputs), number), tuple)
		outs := e.Fresh()
		for i, o := range n.Outs {
			e.names[o] = fmt.Sprintf("%s#%d", outs, i)
		}
		e.Print(outs, fmt.Sprintf(":%d = func.call @%s(%s) ", len(n.Outs)+1, name, inputs),
			`{mhlo.frontend_attributes = {inlineable = "false", xla_cpu_small_call = "true"}} : (`,
			tuple, ") -> (", results, ")")
	},
	Run:  runBody,
	Cost: func(n *Node, trips func(*Node) int) Cost { return n.Bodies[0].Cost(trips) },
	Cases: func() []Case {
		return []Case{{Inputs: []Shape{ShapeOf(Float32, 3), ShapeOf(Float32)}, Lo: -1, Hi: 1, Rough: true,
			Fn: func(x []*Array) *Array {
				body, _ := buildGraph(ShapesOf(x), nil, func(p []*Array) []*Array {
					return []*Array{Add(Sin(p[0]), p[1]), Mul(p[0], p[1])}
				})
				outs := apply(op("function"), functionAttrs{}, x, body)
				return Mul(outs[0], outs[1])
			}}}
	},
})

// list is a list between commas with one thing more.
func list(all, more string) string {
	if all == "" {
		return more
	}
	return all + ", " + more
}
