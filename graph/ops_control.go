package graph

import (
	"fmt"
	"slices"
)

// whileAttrs: inputs are the condition's constants, the body's constants, then the carry.
type whileAttrs struct {
	condConsts, bodyConsts int
	name                   string // see LoopName
}

func (a whileAttrs) split(in []*Array) (cond, body, carry []*Array) {
	return in[:a.condConsts], in[a.condConsts : a.condConsts+a.bodyConsts], in[a.condConsts+a.bodyConsts:]
}

var whileOp = register(&Op{
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
	Emit: func(e *emitter, n *Node) {
		a := n.Attrs.(whileAttrs)
		condConsts, bodyConsts, carry := a.split(n.Inputs)
		cond := e.region(n.Bodies[0], condConsts, "stablehlo.return")
		body := e.region(n.Bodies[1], bodyConsts, "stablehlo.return")
		if len(carry) == 0 {
			return
		}
		e.raw(n.Outs, "stablehlo.while", carry, "", cond, body)
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

func init() {
	whileOp.NotLinear = "reverse mode does not go through While, whose number of steps is unknown: use Scan with a fixed length, or a mask"
	whileOp.JVP = controlJVP
}

// controlJVP stands in the table for ops whose results and tangents come from their bodies together: see jvpNode.
func controlJVP(n *Node, in, out, t []*Array) []*Array {
	throw(n.Op.Name, "internal: %s is differentiated by jvpNode", n.Op.Name)
	return nil
}

func batchedFlags(dims []int) []bool {
	out := make([]bool, len(dims))
	for i, d := range dims {
		out[i] = d >= 0
	}
	return out
}

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
	return apply(op("while"), whileAttrs{len(cc), len(bc), name}, slices.Concat(cc, bc, init), cg, bg)
}

func shapesOf(arrays []*Array) []Shape {
	out := make([]Shape, len(arrays))
	for i, a := range arrays {
		out[i] = a.shape
	}
	return out
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

// checkCarry throws one sentence that lists every difference between a loop's carry in and out.
func checkCarry(name string, in *Tree, inShapes []Shape, out *Tree, outShapes []Shape) {
	mustMatch(name, "initial carry", in, "carry that the body returns", out)
	var diff string
	for i := range inShapes {
		if !inShapes[i].Equal(outShapes[i]) {
			diff += fmt.Sprintf("; %s goes in as %s and comes out as %s", in.Path(i), inShapes[i], outShapes[i])
		}
	}
	if diff != "" {
		throw(name, "the body must return the carry with the shapes it got%s: convert or reshape it in the body, or start with what the body returns", diff)
	}
}

// switch takes the number of the branch, which must be in range, then what the branches share.
var _ = register(&Op{
	Name: "switch",
	Shape: func(c *call) []Shape {
		if !c.in[0].Equal(Shape{DType: Int32}) {
			c.fail("the index is %s, want an int32 scalar", c.in[0])
		}
		out := shapesOf(c.bodies[0].Results)
		for i, g := range c.bodies[1:] {
			for j, r := range g.Results {
				if !r.shape.Equal(out[j]) {
					c.fail("result %d is %s in branch 0 and %s in branch %d", j, out[j], r.shape, i+1)
				}
			}
		}
		return out
	},
	Batch: func(b *batching, n *Node, in []*Array, dims []int) ([]*Array, []int) {
		on := batchedFlags(dims)
		if on[0] { // lanes take different branches: run all, keep each lane's
			outs := make([]*Array, len(n.Outs))
			for i, g := range n.Bodies {
				taken := Eq(in[0], int32(i))
				args, argDims := b.onlyTaken(taken, in[1:], dims[1:])
				r, rd := b.graph(g, args, argDims)
				for j := range r {
					x := b.moveTo(r[j], rd[j], b.place(n.Outs[j].Rank()))
					if i == 0 {
						outs[j] = x
						continue
					}
					outs[j] = Select(broadcastInDim(taken, x.Dims(), []int{b.place(n.Outs[j].Rank())}), x, outs[j])
				}
			}
			return outs, b.laneDims(n.Outs, nil)
		}
		flags := make([]bool, len(n.Outs))
		bodies := make([]*Graph, len(n.Bodies))
		for range 2 { // once to learn which results are batched in some branch, once to make them so in all
			for i, g := range n.Bodies {
				var f []bool
				bodies[i], f = b.closed(g, on[1:], flags)
				for j := range f {
					flags[j] = flags[j] || f[j]
				}
			}
		}
		return apply(n.Op, nil, b.prepare(n, in, dims, on), bodies...), b.laneDims(n.Outs, flags)
	},
	JVP: controlJVP, NotLinear: "handled by the reverse-mode transform",
	Emit: func(e *emitter, n *Node) {
		outs, bodies := n.Outs, n.Bodies
		if len(outs) == 0 {
			if !slices.ContainsFunc(bodies, (*Graph).hasEffect) {
				return
			}
			// Branches that only print: compilers want a result.
			outs, bodies = []*Array{{shape: Shape{DType: Int32}}}, slices.Clone(bodies)
			for i, g := range bodies {
				bodies[i], _ = buildGraph(shapesOf(g.Params), nil, func(p []*Array) []*Array {
					inline(g, p)
					return []*Array{Zeros(Shape{DType: Int32})}
				})
			}
		}
		regions := make([]string, len(bodies))
		for i, g := range bodies {
			regions[i] = e.region(g, n.Inputs[1:], "stablehlo.return")
		}
		e.raw(outs, "stablehlo.case", n.Inputs[:1], "", regions...)
	},
	Cases: func() []Case {
		return []Case{
			{Name: "cond", Inputs: []Shape{ShapeOf(Float32), ShapeOf(Float32, 3)}, Lo: -1, Hi: 1, Rough: true, Fn: func(x []*Array) *Array {
				return Cond(Gt(x[0], 0), func() *Array { return Sin(x[1]) }, func() *Array { return Mul(x[1], x[0]) })
			}},
			{Name: "switch", Inputs: []Shape{ShapeOf(Int32), ShapeOf(Float32, 2)}, Lo: -1, Hi: 4, Rough: true, Fn: func(x []*Array) *Array {
				return Switch(x[0], func() *Array { return Exp(x[1]) }, func() *Array { return x[1] }, func() *Array { return Zeros(ShapeOf(Float32, 2)) })
			}},
		}
	},
})

// onlyTaken prepares what a branch that runs for all lanes takes: the same values, but derivatives see them as constants
// in the lanes that do not keep its results. Their cotangents are zero there, and zero times an infinite slope is NaN. It
// costs lanes for what had none, so it is done only where a derivative will be taken.
func (b *batching) onlyTaken(taken *Array, in []*Array, dims []int) ([]*Array, []int) {
	if t := currentTrace(); t == nil || !t.cur.isDifferentiated() {
		return in, dims
	}
	in, dims = slices.Clone(in), slices.Clone(dims)
	for k, x := range in {
		if !isFloat(x.DType()) || x.scope == nil {
			continue
		}
		if dims[k] < 0 {
			to := b.place(x.Rank())
			x, dims[k] = b.moveTo(x, -1, to), to
		}
		in[k] = Select(broadcastInDim(taken, x.Dims(), []int{dims[k]}), x, StopGradient(x))
	}
	return in, dims
}

// Cond runs one of two functions, which take what they need from around them and return the same structure. Only the
// chosen one runs, unless vmap maps pred: then both run and each lane keeps its own.
func Cond[R any](pred *Array, yes, no func() R) R {
	if !pred.shape.Equal(Shape{DType: Bool}) {
		throw("Cond", "the predicate is %s, want a bool scalar", pred.shape)
	}
	if !pred.IsTraced() {
		t, err := ToTensor(pred)
		if err != nil {
			throw("Cond", "%v", err)
		}
		if t.B(0) {
			return yes()
		}
		return no()
	}
	return branch(Convert(pred, Int32), []func() R{no, yes})
}

// Switch runs branch number index, an integer scalar; below 0 it is the first branch, beyond the last one the last. See
// Cond.
func Switch[R any](index *Array, branches ...func() R) R {
	if len(branches) == 0 {
		throw("Switch", "got no branches")
	}
	if isFloat(index.DType()) || index.Rank() != 0 {
		throw("Switch", "the index is %s, want an integer scalar", index.shape)
	}
	if index.DType() != Bool {
		// In the index's own dtype: a large one would wrap. 127 is the most that every integer dtype holds.
		if last := len(branches) - 1; last < 127 {
			index = Clamp(0, index, last)
		} else {
			index = Clamp(0, Convert(index, Int64), last)
		}
	}
	return branch(Convert(index, Int32), branches)
}

// branch is Switch by an int32 scalar that is in range.
func branch[R any](index *Array, branches []func() R) R {
	graphs := make([]*Graph, len(branches))
	captured := make([][]*Array, len(branches))
	trees := make([]*Tree, len(branches))
	for i, f := range branches {
		graphs[i], captured[i] = buildGraph(nil, nil, func([]*Array) []*Array {
			outs, t := Flatten(f())
			trees[i] = t
			return outs
		})
		mustMatch("Switch", "result of branch 0", trees[0], fmt.Sprintf("result of branch %d", i), trees[i])
		for j, r := range graphs[i].Results {
			if first := graphs[0].Results[j].shape; !r.shape.Equal(first) {
				throw("Switch", "result %s is %s in branch 0 and %s in branch %d: the branches must agree", trees[0].Path(j), first, r.shape, i)
			}
		}
	}
	union := shareCaptures(graphs, captured)
	outs := apply(op("switch"), nil, append([]*Array{index}, union...), graphs...)
	return unflattenAs[R](trees[0], outs)
}

// shareCaptures gives all graphs the same parameters: the union of what they capture, in order.
func shareCaptures(graphs []*Graph, captured [][]*Array) []*Array {
	var union []*Array
	for _, c := range captured {
		for _, a := range c {
			if !slices.Contains(union, a) {
				union = append(union, a)
			}
		}
	}
	for i, g := range graphs {
		params := make([]*Array, len(union))
		for j, a := range union {
			if k := slices.Index(captured[i], a); k >= 0 {
				params[j] = g.Params[k]
			} else {
				params[j] = &Array{shape: a.shape}
			}
		}
		graphs[i] = &Graph{Params: params, Nodes: g.Nodes, Results: g.Results}
	}
	return union
}

// evalControl runs control flow in the reference interpreter.
func evalControl(n *Node, in []*Tensor, hook Hook) []*Tensor {
	switch n.Op.Name {
	case "while":
		a := n.Attrs.(whileAttrs)
		cond, body, carry := in[:a.condConsts], in[a.condConsts:a.condConsts+a.bodyConsts], in[a.condConsts+a.bodyConsts:]
		for runGraph(n.Bodies[0], append(slices.Clone(cond), carry...), hook)[0].B(0) {
			carry = runGraph(n.Bodies[1], append(slices.Clone(body), carry...), hook)
		}
		return carry
	case "switch":
		return runGraph(n.Bodies[in[0].I(0)], in[1:], hook)
	case "scan":
		return evalScan(n, in, hook)
	case "checkpoint", "custom_jvp", "custom_vjp":
		return runGraph(n.Bodies[0], in, hook)
	}
	throw(n.Op.Name, "internal: no reference")
	return nil
}
