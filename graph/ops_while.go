package graph

import (
	"fmt"
	"slices"

	"xlarun/graph/internal/attr"
)

type whileAttrs = attr.While

// whileParts holds values that belong to the inputs of a while loop: for each constant of the condition, each constant
// of the body, and each part of the carry. The rules split lists into them first and join them at the end.
type whileParts[T any] struct{ cond, body, carry []T }

func splitWhileParts[T any](a whileAttrs, values []T) whileParts[T] {
	end := a.CondConsts + a.BodyConsts
	return whileParts[T]{values[:a.CondConsts:a.CondConsts], values[a.CondConsts:end:end], values[end:]}
}

// concat is the list that splitWhileParts split.
func (p whileParts[T]) concat() []T { return slices.Concat(p.cond, p.body, p.carry) }

// ofCond are the values for the condition's parameters.
func (p whileParts[T]) ofCond() []T { return slices.Concat(p.cond, p.carry) }

// ofBody are the values for the body's parameters.
func (p whileParts[T]) ofBody() []T { return slices.Concat(p.body, p.carry) }

// choose lists the entries of each part that flags mark.
func (p whileParts[T]) choose(flags whileParts[bool]) whileParts[T] {
	return whileParts[T]{choose(p.cond, flags.cond), choose(p.body, flags.body), choose(p.carry, flags.carry)}
}

// whileOf returns the attributes of a named loop over inputs.
func whileOf(name string, inputs whileParts[*Array]) whileAttrs {
	return whileAttrs{CondConsts: len(inputs.cond), BodyConsts: len(inputs.body), Name: name}
}

var _ = register(&Op{
	Name:    "while",
	Complex: true,
	Shape: func(c *call) []Shape {
		a := c.attrs.(whileAttrs)
		carry := splitWhileParts(a, c.in).carry
		if r := c.bodies[0].Results; len(r) != 1 || !r[0].shape.Equal(Shape{DType: Bool}) {
			var got []Shape
			for _, x := range r {
				got = append(got, x.shape)
			}
			c.fail("the condition returns %v, want one bool scalar", got)
		}
		for i, r := range c.bodies[1].Results {
			if !r.shape.Equal(carry[i]) {
				c.fail("carry %d goes in as %s and comes out as %s", i, carry[i], r.shape)
			}
		}
		return slices.Clone(carry)
	},
	Batch: batchWhile, Derivative: jvpWhile, Unknown: unknownWhile, Split: splitWhile, Prune: pruneWhile,
	Loop: func(n *Node) loopForm {
		a := n.Attrs.(whileAttrs)
		return loopForm{at: a.CondConsts + a.BodyConsts, carry: len(n.Outs), consts: []int{a.CondConsts, a.BodyConsts},
			step: 1, resized: func(int) any { return a }}
	},
	NotLinear: "reverse mode does not go through While, whose number of steps is unknown: use Scan with a fixed " +
		"length, or a mask",
	Emit: func(e *emitter, n *Node) {
		a := n.Attrs.(whileAttrs)
		in := splitWhileParts(a, n.Inputs)
		cond := e.region(n.Bodies[0], in.cond)
		var first []string
		if a.Apart {
			first = []string{fmt.Sprintf("\"stablehlo.custom_call\"() {call_target_name = %q, api_version = 4 : i32, "+
				"has_side_effect = true, backend_config = {}} : () -> ()", apartTarget)}
		}
		body := e.region(n.Bodies[1], in.body, first...)
		if len(in.carry) == 0 {
			return
		}
		e.raw(n.Outs, "stablehlo.while", in.carry, "", cond, body)
	},
	Run: func(n *Node, in []*Tensor, r *interpreter) []*Tensor {
		p := splitWhileParts(n.Attrs.(whileAttrs), in)
		for r.run(n.Bodies[0], p.ofCond())[0].B(0) {
			p.carry = r.run(n.Bodies[1], p.ofBody())
		}
		return p.carry
	},
	Cost: func(n *Node, trips func(*Node) int) Cost {
		k := 1
		if trips != nil {
			k = trips(n)
		}
		return n.Bodies[0].Cost(trips).plus(n.Bodies[1].Cost(trips), 1).Times(float64(k))
	},
	Cases: func() []Case {
		return []Case{
			{Name: "power", Inputs: []Shape{ShapeOf(Float32), ShapeOf(Float32)}, Lo: 1.5, Hi: 3, Rough: true,
				Fn: func(x []*Array) *Array {
					return While(func(c [2]*Array) *Array { return Lt(c[0], 20) }, func(c [2]*Array) [2]*Array {
						return [2]*Array{Mul(c[0], x[1]), Add(c[1], 1)}
					}, [2]*Array{x[0], Scalar(0)})[0]
				}},
			{Name: "count", Inputs: []Shape{ShapeOf(Float32, 3)}, Lo: -1, Hi: 1, Rough: true,
				Fn: func(x []*Array) *Array {
					type carry struct{ I, X *Array }
					return While(func(c carry) *Array {
						return Lt(c.I, 4)
					}, func(c carry) carry { return carry{Add(c.I, 1), Sin(c.X)} },
						carry{Scalar(0, Int32), x[0]}).X
				}},
		}
	},
})

// whileLoop is While over flat carries.
func whileLoop(name string, cond func([]*Array) *Array, body func([]*Array) []*Array, init []*Array) []*Array {
	return whileTrips(name, 2, cond, body, init)
}

// whileTrips is whileLoop with the number of iterations that a check of keys takes.
func whileTrips(name string, trips int, cond func([]*Array) *Array, body func([]*Array) []*Array,
	init []*Array) []*Array {
	shapes := ShapesOf(init)
	keys := keyBody{kind: keysInLoop, args: init, carry: len(init), trips: trips}
	var inCond *keyBody
	cg, cc := buildGraph(shapes, nil, func(p []*Array) []*Array {
		inCond = watchKeys(keys)
		return []*Array{cond(p)}
	})
	bg, bc := buildGraph(shapes, nil, func(p []*Array) []*Array {
		if inBody := watchKeys(keys); inBody != nil && inCond != nil {
			inCond.next = inBody
		}
		return body(p)
	})
	return apply(op("while"), whileAttrs{CondConsts: len(cc), BodyConsts: len(bc), Name: name},
		slices.Concat(cc, bc, init), cg, bg)
}

// While runs body on the carry as long as cond holds for it. The carry keeps its structure and shapes. Forward-mode
// differentiable only; Scan, of fixed length, has both modes.
func While[C any](cond func(C) *Array, body func(C) C, init C) C {
	return NamedWhile("", cond, body, init)
}

// NamedWhile is While with a name for the loop; see Node.LoopName.
func NamedWhile[C any](name string, cond func(C) *Array, body func(C) C, init C) C {
	wantFunction("While", cond == nil || body == nil)
	return as[C](while(name, 2, func(c any) *Array {
		return cond(as[C](c))
	}, func(c any) any { return body(as[C](c)) }, init))
}

// while is NamedWhile for trees of any type. It is compiled once, and not for each type.
func while(name string, trips int, cond func(c any) *Array, body func(c any) any, init any) any {
	leaves, tree := Flatten(init)
	outs := whileTrips(name, trips, func(p []*Array) *Array {
		return cond(tree.Unflatten(p))
	}, func(p []*Array) []*Array {
		out, t := Flatten(body(tree.Unflatten(p)))
		checkCarry("While", tree, ShapesOf(leaves), t, ShapesOf(out))
		return out
	}, leaves)
	return tree.Unflatten(outs)
}

func batchWhile(b *batching, n *Node, in []*Array, dims []int) ([]*Array, []int) {
	a := n.Attrs.(whileAttrs)
	mapped := splitWhileParts(a, batchedFlags(dims))
	// Which parts of the carry differ between lanes: grow the set until the body keeps it. All parts do where lanes
	// stop at different trips.
	var cond, body *Graph
	var stops bool
	for {
		var grown, pred []bool
		body, grown = b.closed(n.Bodies[1], mapped.ofBody(), mapped.carry)
		cond, pred = b.closed(n.Bodies[0], mapped.ofCond(), nil)
		if stops = stops || pred[0]; stops {
			grown = slices.Repeat([]bool{true}, len(grown))
		}
		if slices.Equal(grown, mapped.carry) {
			break
		}
		mapped.carry = grown
	}
	args := splitWhileParts(a, b.prepare(n, in, dims, mapped.concat()))
	if !stops {
		return apply(n.Op, a, args.concat(), cond, body), b.laneDims(n.Outs, mapped.carry)
	}
	// Each lane runs until its own condition fails; finished lanes keep their carry. The body needs the lanes'
	// predicates too, so the constants of the condition become constants of the body.
	running := func(c []*Array) *Array { return inline(cond, slices.Concat(args.cond, c))[0] }
	outs := whileLoop(a.Name, func(c []*Array) *Array { return Any(running(c)) }, func(c []*Array) []*Array {
		lanes := running(c)
		next := inline(body, slices.Concat(args.body, c))
		for i, x := range next {
			keep := BroadcastInDim(lanes, x.Dims(), []int{b.place(n.Outs[i].Rank())})
			next[i] = Select(keep, x, c[i])
		}
		return next
	}, args.carry)
	return outs, b.laneDims(n.Outs, mapped.carry)
}

func jvpWhile(n *Node, in, t []*Array) (outs, tangents []*Array) {
	a := n.Attrs.(whileAttrs)
	primals, dot := splitWhileParts(a, in), splitWhileParts(a, t)
	active := splitWhileParts(a, notNil(t))
	// Which parts of the carry get a tangent: grow the set until the body keeps it.
	var body *Graph
	for {
		var out []bool
		body, out = jvpGraph(n.Bodies[1], active.ofBody(), active.carry)
		if slices.Equal(out, active.carry) {
			break
		}
		active.carry = out
	}
	// The body takes all parameters and then all tangents. A loop wants each part with its tangents after it.
	params, paramTangents := cut(body.Params, a.BodyConsts+len(primals.carry))
	consts, carry := cut(params, a.BodyConsts)
	constTangents, carryTangents := cut(paramTangents, count(active.body))
	body = &Graph{Params: slices.Concat(consts, constTangents, carry, carryTangents), Nodes: body.Nodes,
		Results: body.Results}
	cond := n.Bodies[0]
	params = slices.Clone(cond.Params)
	for _, x := range choose(primals.carry, active.carry) {
		params = append(params, &Array{shape: x.shape})
	}
	cond = &Graph{Params: params, Nodes: cond.Nodes, Results: cond.Results}
	args := whileParts[*Array]{
		cond:  primals.cond,
		body:  slices.Concat(primals.body, choose(dot.body, active.body)),
		carry: slices.Concat(primals.carry, instantiate(dot.carry, primals.carry, active.carry)),
	}
	outs, tangents = cut(apply(n.Op, whileOf(a.Name, args), args.concat(), cond, body), len(n.Outs))
	return outs, spread(tangents, active.carry)
}

// unknownWhile marks the results that the body makes unknown, or all where the condition depends on what is unknown.
func unknownWhile(n *Node, unknown []bool) []bool {
	a := n.Attrs.(whileAttrs)
	u := splitWhileParts(a, unknown)
	var out []bool
	out, u.carry = unknownLoop(n.Bodies[1], u.ofBody(), a.BodyConsts, len(n.Outs))
	if unknownResults(n.Bodies[0], u.ofCond())[0] {
		return slices.Repeat([]bool{true}, len(n.Outs))
	}
	return out
}

// splitWhile runs the known part of a while loop. The rest runs the whole loop again, forward only.
func splitWhile(l *linear, n *Node, in []*Array, unknown []bool) {
	a := n.Attrs.(whileAttrs)
	outUnknown := unknownOuts(n, unknown)
	if !slices.Contains(outUnknown, false) {
		l.nodes = append(l.nodes, n)
		return
	}
	known := splitWhileParts(a, not(unknown))
	known.carry = not(outUnknown)
	knownPart := func(g *Graph, params, results []bool) *Graph {
		return closedGraph("while", choose(ShapesOf(g.Params), params), func(p []*Array) []*Array {
			return lookUp(linearizeGraph(g, spread(p, params)).known, choose(g.Results, results))
		})
	}
	cond := knownPart(n.Bodies[0], known.ofCond(), []bool{true})
	body := knownPart(n.Bodies[1], known.ofBody(), known.carry)
	args := splitWhileParts(a, in).choose(known)
	l.recordKnown(n, outUnknown, apply(n.Op, whileOf(a.Name, args), args.concat(), cond, body))
	whole := &Node{Op: n.Op, Attrs: n.Attrs, Inputs: l.inputs(n, in), Bodies: n.Bodies, pos: n.pos}
	whole.Outs = make([]*Array, len(n.Outs))
	for i, o := range n.Outs {
		whole.Outs[i] = &Array{shape: o.shape}
		if outUnknown[i] {
			whole.Outs[i] = o
		}
	}
	l.nodes = append(l.nodes, whole)
}

func pruneWhile(p pruned, n *Node, live []bool) *Node {
	a := n.Attrs.(whileAttrs)
	live = slices.Clone(live)
	cond, condUsed := p.with(n.Bodies[0], n.Bodies[0].Results)
	condConsts, carryUsed := cut(condUsed, a.CondConsts)
	for i, u := range carryUsed {
		live[i] = live[i] || u
	}
	body, bodyUsed := growCarry(p, n.Bodies[1], live, a.BodyConsts, len(live))
	keep := whileParts[bool]{condConsts, bodyUsed[:a.BodyConsts], live}
	cond = &Graph{Params: choose(cond.Params, keep.ofCond()), Nodes: cond.Nodes, Results: cond.Results}
	body = &Graph{Params: choose(body.Params, keep.ofBody()), Nodes: body.Nodes, Results: body.Results}
	inputs := splitWhileParts(a, n.Inputs).choose(keep)
	return &Node{Op: n.Op, Attrs: whileOf(a.Name, inputs), Inputs: inputs.concat(), Outs: choose(n.Outs, live),
		Bodies: []*Graph{cond, body}, pos: n.pos}
}

// apartTarget is the name of a kernel that does nothing.
const apartTarget = "xlarun_apart"
