package graph

import (
	"fmt"
	"slices"
)

// whileAttrs: inputs are the condition's constants, the body's constants, then the carry.
type whileAttrs struct {
	condConsts, bodyConsts int
	name                   string // see LoopName
	apart                  bool   // see lowerLoops
	tiled                  bool   // see lower_products.go
}

func (a whileAttrs) split(in []*Array) (cond, body, carry []*Array) {
	return in[:a.condConsts], in[a.condConsts : a.condConsts+a.bodyConsts], in[a.condConsts+a.bodyConsts:]
}

var _ = register(&Op{
	Name: "while",
	Shape: func(c *call) []Shape {
		a := c.attrs.(whileAttrs)
		carry := c.in[a.condConsts+a.bodyConsts:]
		if r := c.bodies[0].Results; len(r) != 1 || !r[0].shape.Equal(Shape{DType: Bool}) {
			c.fail("the condition must return one bool scalar")
		}
		for i, r := range c.bodies[1].Results {
			if !r.shape.Equal(carry[i]) {
				c.fail("carry %d goes in as %s and comes out as %s", i, carry[i], r.shape)
			}
		}
		return slices.Clone(carry)
	},
	Batch: func(b *batching, n *Node, in []*Array, dims []int) ([]*Array, []int) {
		a := n.Attrs.(whileAttrs)
		on := batchedFlags(dims)
		cc, bc := on[:a.condConsts], on[a.condConsts:a.condConsts+a.bodyConsts]
		carry := slices.Clone(on[a.condConsts+a.bodyConsts:])
		// Which parts of the carry differ between lanes: grow the set until the body keeps it.
		var cond, body *Graph
		predBatched := false
		for {
			var flags []bool
			body, flags = b.closed(n.Bodies[1], append(slices.Clone(bc), carry...), carry)
			cond, flags = b.closedCond(n.Bodies[0], append(slices.Clone(cc), carry...), flags, carry)
			predBatched = predBatched || flags[0]
			grown := flags[1:]
			if predBatched {
				grown = slices.Repeat([]bool{true}, len(carry))
			}
			if slices.Equal(grown, carry) {
				break
			}
			carry = grown
		}
		args := b.prepare(n, in, dims, slices.Concat(cc, bc, carry))
		consts, bodyConsts, init := a.split(args)
		if !predBatched {
			outs := apply(n.Op, a, args, cond, body)
			return outs, b.laneDims(n.Outs, carry)
		}
		// Each lane runs until its own condition fails; finished lanes keep their carry. The condition needs the lanes'
		// predicates again, so its constants become the body's too.
		test := func(consts, carry []*Array) *Array { return inline(cond, append(slices.Clone(consts), carry...))[0] }
		outs := whileLoop(a.name, func(c []*Array) *Array { return Any(test(consts, c)) }, func(c []*Array) []*Array {
			alive := test(consts, c)
			next := inline(body, append(slices.Clone(bodyConsts), c...))
			for i := range next {
				next[i] = Select(broadcastInDim(alive, next[i].Dims(), []int{b.place(n.Outs[i].Rank())}), next[i], c[i])
			}
			return next
		}, init)
		return outs, b.laneDims(n.Outs, carry)
	},
	Derivative: jvpWhile, Unknown: unknownWhile, Split: splitWhile, Prune: pruneWhile,
	Loop: func(n *Node) loopForm {
		a := n.Attrs.(whileAttrs)
		return loopForm{at: a.condConsts + a.bodyConsts, carry: len(n.Outs), consts: []int{a.condConsts, a.bodyConsts}, step: 1, resized: func(int) any { return a }}
	},
	NotLinear: "reverse mode does not go through While, whose number of steps is unknown: use Scan with a fixed length, or a mask",
	Emit: func(e *emitter, n *Node) {
		a := n.Attrs.(whileAttrs)
		condConsts, bodyConsts, carry := a.split(n.Inputs)
		cond := e.region(n.Bodies[0], condConsts, "stablehlo.return")
		var first []string
		if a.apart {
			first = []string{fmt.Sprintf("\"stablehlo.custom_call\"() {call_target_name = %q, api_version = 4 : i32, has_side_effect = true, backend_config = {}} : () -> ()", apartTarget)}
		}
		body := e.region(n.Bodies[1], bodyConsts, "stablehlo.return", first...)
		if len(carry) == 0 {
			return
		}
		e.raw(n.Outs, "stablehlo.while", carry, "", cond, body)
	},
	Run: func(n *Node, in []*Tensor, hook Hook) []*Tensor {
		a := n.Attrs.(whileAttrs)
		cond, body, carry := in[:a.condConsts], in[a.condConsts:a.condConsts+a.bodyConsts], in[a.condConsts+a.bodyConsts:]
		for runGraph(n.Bodies[0], append(slices.Clone(cond), carry...), hook)[0].B(0) {
			carry = runGraph(n.Bodies[1], append(slices.Clone(body), carry...), hook)
		}
		return carry
	},
	Cost: func(n *Node, turns func(*Node) int) Cost {
		k := 1
		if turns != nil {
			k = turns(n)
		}
		return n.Bodies[0].Cost(turns).plus(n.Bodies[1].Cost(turns), 1).times(k)
	},
	Cases: func() []Case {
		return []Case{
			{Name: "power", Inputs: []Shape{ShapeOf(Float32), ShapeOf(Float32)}, Lo: 1.5, Hi: 3, Rough: true, Fn: func(x []*Array) *Array {
				return While(func(c [2]*Array) *Array { return Lt(c[0], 20) }, func(c [2]*Array) [2]*Array {
					return [2]*Array{Mul(c[0], x[1]), Add(c[1], 1)}
				}, [2]*Array{x[0], Scalar(0)})[0]
			}},
			{Name: "count", Inputs: []Shape{ShapeOf(Float32, 3)}, Lo: -1, Hi: 1, Rough: true, Fn: func(x []*Array) *Array {
				type carry struct{ I, X *Array }
				return While(func(c carry) *Array { return Lt(c.I, 4) }, func(c carry) carry { return carry{Add(c.I, 1), Sin(c.X)} },
					carry{Zeros(ShapeOf(Int32)), x[0]}).X
			}},
		}
	},
})

// closedCond batches a loop's condition; flags are the body's results, which it passes on behind the condition's own.
func (b *batching) closedCond(g *Graph, batched []bool, flags, carry []bool) (*Graph, []bool) {
	cond, pred := b.closed(g, batched, nil)
	return cond, append([]bool{pred[0]}, flags...)
}

// whileLoop is While over flat carries.
func whileLoop(name string, cond func([]*Array) *Array, body func([]*Array) []*Array, init []*Array) []*Array {
	shapes := shapesOf(init)
	cg, cc := buildGraph(shapes, nil, func(p []*Array) []*Array { return []*Array{cond(p)} })
	bg, bc := buildGraph(shapes, nil, body)
	return apply(op("while"), whileAttrs{condConsts: len(cc), bodyConsts: len(bc), name: name}, slices.Concat(cc, bc, init), cg, bg)
}

// While runs body on the carry as long as cond holds for it. The carry keeps its structure and shapes. Forward-mode
// differentiable only; Scan, of fixed length, has both modes.
func While[C any](cond func(C) *Array, body func(C) C, init C) C {
	return NamedWhile("", cond, body, init)
}

// NamedWhile is While with a name for the loop; see Node.LoopName.
func NamedWhile[C any](name string, cond func(C) *Array, body func(C) C, init C) C {
	leaves, tree := Flatten(init)
	outs := whileLoop(name, func(p []*Array) *Array { return cond(unflattenAs[C](tree, p)) }, func(p []*Array) []*Array {
		out, t := Flatten(body(unflattenAs[C](tree, p)))
		checkCarry("While", tree, shapesOf(leaves), t, shapesOf(out))
		return out
	}, leaves)
	return unflattenAs[C](tree, outs)
}

func jvpWhile(n *Node, in, t []*Array) (outs, tangents []*Array) {
	a := n.Attrs.(whileAttrs)
	condConsts, bodyConsts, init := a.split(in)
	_, bodyT, initT := a.split(t)
	active := append(notNil(bodyT), notNil(initT)...)
	nb, nk := a.bodyConsts, len(init)
	var d *Graph
	for {
		var out []bool
		d, out = jvpGraph(n.Bodies[1], active, active[nb:])
		if slices.Equal(out, active[nb:]) {
			break
		}
		copy(active[nb:], out)
	}
	carry := active[nb:]
	d = reorder(d, scanOrder(nb, nk, 0, count(active[:nb]), count(carry), 0), rangeInts(0, nk+count(carry)))
	cond := n.Bodies[0]
	params := slices.Clone(cond.Params)
	for i, c := range carry {
		if c {
			params = append(params, &Array{shape: init[i].shape})
		}
	}
	cond = &Graph{Params: params, Nodes: cond.Nodes, Results: cond.Results}
	b := whileAttrs{condConsts: a.condConsts, bodyConsts: nb + count(active[:nb]), name: a.name}
	args := slices.Concat(condConsts, bodyConsts, choose(bodyT, active[:nb]), init, instantiate(initT, init, carry))
	all := apply(n.Op, b, args, cond, d)
	return all[:nk], spread(all[nk:], carry)
}

// unknownWhile goes by what the body passes on; where the condition depends on what is unknown, every result does.
func unknownWhile(n *Node, unknown []bool) []bool {
	a := n.Attrs.(whileAttrs)
	out, carry := unknownLoop(n.Bodies[1], unknown[a.condConsts:], a.bodyConsts, len(n.Outs))
	if unknownResults(n.Bodies[0], append(slices.Clone(unknown[:a.condConsts]), carry...))[0] {
		return slices.Repeat([]bool{true}, len(n.Outs))
	}
	return out
}

// splitWhile runs the known part of a while loop. The rest runs the whole loop again, forward only.
func splitWhile(l *linear, n *Node, in []*Array, unknown []bool) {
	a := n.Attrs.(whileAttrs)
	outUnknown := unknownOuts(n, unknown)
	nc := a.condConsts + a.bodyConsts
	u := slices.Concat(unknown[:nc], outUnknown)
	if !slices.Contains(outUnknown, false) {
		l.nodes = append(l.nodes, n)
		return
	}
	knownPart := func(g *Graph, unknown []bool, results []bool) *Graph {
		kg, _ := buildGraph(choose(shapesOf(g.Params), not(unknown)), nil, func(p []*Array) []*Array {
			x := linearizeGraph(g, spread(p, not(unknown)))
			var outs []*Array
			for i, r := range g.Results {
				if !results[i] {
					outs = append(outs, x.known[r])
				}
			}
			return outs
		})
		return kg
	}
	cond := knownPart(n.Bodies[0], slices.Concat(unknown[:a.condConsts], outUnknown), []bool{false})
	body := knownPart(n.Bodies[1], u[a.condConsts:], outUnknown)
	ka := whileAttrs{condConsts: count(not(unknown[:a.condConsts])), bodyConsts: count(not(unknown[a.condConsts:nc])), name: a.name}
	outs := apply(op("while"), ka, choose(in, not(u)), cond, body)
	l.found(n, outUnknown, outs)
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

func pruneWhile(n *Node, live []bool) *Node {
	a := n.Attrs.(whileAttrs)
	live = slices.Clone(live)
	cond, condUsed := n.Bodies[0].with(n.Bodies[0].Results)
	for i, u := range condUsed[a.condConsts:] {
		live[i] = live[i] || u
	}
	body, used := growCarry(n.Bodies[1], live, a.bodyConsts, len(live))
	condKeep := append(slices.Clone(condUsed[:a.condConsts]), live...)
	bodyKeep := append(slices.Clone(used[:a.bodyConsts]), live...)
	cond = &Graph{Params: choose(cond.Params, condKeep), Nodes: cond.Nodes, Results: cond.Results}
	body = &Graph{Params: choose(body.Params, bodyKeep), Nodes: body.Nodes, Results: body.Results}
	b := whileAttrs{condConsts: count(condKeep[:a.condConsts]), bodyConsts: count(bodyKeep[:a.bodyConsts]), name: a.name}
	keep := slices.Concat(condKeep[:a.condConsts], bodyKeep)
	return &Node{Op: n.Op, Attrs: b, Inputs: choose(n.Inputs, keep), Outs: choose(n.Outs, live), Bodies: []*Graph{cond, body}, pos: n.pos}
}
