package graph

import (
	"fmt"
	"slices"
)

// switch takes the number of the branch, which must be in range, then what the branches share.
var _ = register(&Op{
	Name:    "switch",
	ByRows:  true,
	Complex: true,
	Shape: func(c *call) []Shape {
		if !c.in[0].Equal(Shape{DType: Int32}) {
			c.fail("the index is %s, want an int32 scalar", c.in[0])
		}
		out := ShapesOf(c.bodies[0].Results)
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
					outs[j] = Select(BroadcastInDim(taken, x.Dims(), []int{b.place(n.Outs[j].Rank())}), x, outs[j])
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
	Derivative: jvpSwitch, Unknown: unknownSwitch, Split: splitSwitch, Transpose: transposeSwitch, Prune: pruneSwitch,
	Emit: func(e *emitter, n *Node) {
		outs, bodies := n.Outs, n.Bodies
		if len(outs) == 0 {
			if !slices.ContainsFunc(bodies, (*Graph).hasEffect) {
				return
			}
			// Branches that only print: compilers want a result.
			outs, bodies = []*Array{{shape: Shape{DType: Int32}}}, slices.Clone(bodies)
			for i, g := range bodies {
				bodies[i] = closedGraph("switch", ShapesOf(g.Params), func(p []*Array) []*Array {
					inline(g, p)
					return []*Array{Scalar(0, Int32)}
				})
			}
		}
		regions := make([]string, len(bodies))
		for i, g := range bodies {
			regions[i] = e.region(g, n.Inputs[1:])
		}
		e.raw(outs, "stablehlo.case", n.Inputs[:1], "", regions...)
	},
	Run: func(n *Node, in []*Tensor, r *interpreter) []*Tensor { return r.run(n.Bodies[in[0].I(0)], in[1:]) },
	Cost: func(n *Node, trips func(*Node) int) (most Cost) {
		for _, g := range n.Bodies {
			if c := g.Cost(trips); c.FLOPs+c.IntOps+c.Bytes > most.FLOPs+most.IntOps+most.Bytes {
				most = c
			}
		}
		return most
	},
	Cases: func() []Case {
		return []Case{
			{Name: "cond", Inputs: []Shape{ShapeOf(Float32), ShapeOf(Float32, 3)}, Lo: -1, Hi: 1, Rough: true,
				Fn: func(x []*Array) *Array {
					return Cond(Gt(x[0], 0), func() *Array {
						return Sin(x[1])
					}, func() *Array { return Mul(x[1], x[0]) })
				}},
			{Name: "switch", Inputs: []Shape{ShapeOf(Int32), ShapeOf(Float32, 2)}, Lo: -1, Hi: 4, Rough: true,
				Fn: func(x []*Array) *Array {
					return Switch(x[0], func() *Array {
						return Exp(x[1])
					}, func() *Array { return x[1] }, func() *Array { return Zeros(ShapeOf(Float32, 2)) })
				}},
		}
	},
})

// onlyTaken prepares what a branch that runs for all lanes takes: the same values, but derivatives see them as
// constants in the lanes that do not keep its results, be they values or tangents (where a derivative itself is
// mapped). Their cotangents are zero there, and zero times an infinite slope is NaN. It costs lanes for what had none,
// so it is done only where a derivative will be taken.
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
		in[k] = Select(BroadcastInDim(taken, x.Dims(), []int{dims[k]}), x,
			apply1(op("stop_gradient"), stopAttrs{unused: true}, x))
	}
	return in, dims
}

// Cond runs one of two functions, which take what they need from around them and return the same structure. Only the
// chosen one runs, unless vmap maps pred: then both run and each lane keeps its own.
func Cond[R any](pred *Array, yes, no func() R) R {
	wantFunction("Cond", yes == nil || no == nil)
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
	return branch("Cond", Convert(pred, Int32), func(i int) string {
		return []string{"the branch for false", "the branch for true"}[i]
	}, []func() R{no, yes})
}

// Switch runs branch number index, an integer scalar; below 0 it is the first branch, beyond the last one the last. See
// Cond.
func Switch[R any](index *Array, branches ...func() R) R {
	if len(branches) == 0 {
		throw("Switch", "got no branches")
	}
	for _, f := range branches {
		wantFunction("Switch", f == nil)
	}
	if !isInt(index.DType()) && index.DType() != Bool || index.Rank() != 0 {
		throw("Switch", "the index is %s, want an integer scalar", index.shape)
	}
	if index.DType() != Bool {
		index = Clamp(0, IndexArray("Switch", index), len(branches)-1) // before it is converted: large ones would wrap
	}
	return branch("Switch", Convert(index, Int32), func(i int) string { return fmt.Sprint("branch ", i) }, branches)
}

// branch is Switch by an int32 scalar that is in range. Errors name the function and its branches as the user called
// them.
func branch[R any](name string, index *Array, called func(i int) string, branches []func() R) R {
	graphs := make([]*Graph, len(branches))
	captured := make([][]*Array, len(branches))
	trees := make([]*Tree, len(branches))
	choice := new(int)
	for i, f := range branches {
		graphs[i], captured[i] = buildGraph(nil, nil, func([]*Array) (outs []*Array) {
			watchKeys(keyBody{kind: keysInBranch, choice: choice, branch: i})
			outs, trees[i] = Flatten(f())
			return outs
		})
		mustMatch(name, "result of "+called(0), trees[0], "result of "+called(i), trees[i])
		for j, r := range graphs[i].Results {
			if first := graphs[0].Results[j].shape; !r.shape.Equal(first) {
				throw(name, "result %s is %s in %s and %s in %s: the branches must agree", trees[0].Path(j), first,
					called(0), r.shape, called(i))
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

func jvpSwitch(n *Node, in, t []*Array) (outs, tangents []*Array) {
	active := notNil(t[1:])
	out := make([]bool, len(n.Outs))
	bodies := make([]*Graph, len(n.Bodies))
	for range 2 { // once to learn which results have a tangent in some branch, once to give them one in all
		for i, g := range n.Bodies {
			var o []bool
			bodies[i], o = jvpGraph(g, active, out)
			for j := range o {
				out[j] = out[j] || o[j]
			}
		}
	}
	all := apply(n.Op, nil, slices.Concat(in, choose(t[1:], active)), bodies...)
	return all[:len(out)], spread(all[len(out):], out)
}

// unknownSwitch marks the results that are unknown in some branch, or all where the choice is.
func unknownSwitch(n *Node, unknown []bool) []bool {
	out := slices.Repeat([]bool{unknown[0]}, len(n.Outs))
	for _, g := range n.Bodies {
		for i, u := range unknownResults(g, unknown[1:]) {
			out[i] = out[i] || u
		}
	}
	return out
}

// splitSwitch runs the known part of each branch and leaves a switch over the rest. The branches share slots for the
// values that their rests need; a branch that needs fewer fills the others with zeros.
func splitSwitch(l *linear, n *Node, in []*Array, unknown []bool) {
	if unknown[0] {
		throw("switch", "internal: the index of a switch depends on a tangent")
	}
	outUnknown := unknownOuts(n, unknown)
	known := not(unknown[1:])
	branches := make([]*splitBranch, len(n.Bodies))
	slotOf := make([][]int, len(n.Bodies))
	var slots []Shape
	for i, g := range n.Bodies {
		branches[i] = newSplitBranch(g, known, outUnknown)
		slotOf[i], slots = fitSlots(branches[i].residuals, slots)
	}
	knownBodies, restBodies := make([]*Graph, len(n.Bodies)), make([]*Graph, len(n.Bodies))
	for i, b := range branches {
		knownBodies[i] = b.fill(slotOf[i], slots)
	}
	outs := apply(n.Op, nil, append(in[:1:1], choose(in[1:], known)...), knownBodies...)
	inputs := l.inputs(n, in)
	for _, r := range l.recordKnown(n, outUnknown, outs) {
		inputs = append(inputs, l.residual(r))
	}
	for i, b := range branches {
		restBodies[i] = b.unknownPart(ShapesOf(inputs[1:]), slotOf[i])
	}
	l.nodes = append(l.nodes, &Node{Op: n.Op, Inputs: inputs, Outs: choose(n.Outs, outUnknown), Bodies: restBodies,
		pos: n.pos})
}

// splitBranch is a branch of a switch in two parts.
type splitBranch struct {
	body      *Graph
	known     *Graph   // the part that does not depend on unknown parameters: its results, then the residuals
	rest      *linear  // the other part
	residuals []*Array // values of the known part that the rest reads, other than parameters
	results   []*Array // of the rest
}

func newSplitBranch(body *Graph, known, outUnknown []bool) *splitBranch {
	b := &splitBranch{body: body, results: choose(body.Results, outUnknown)}
	b.known = closedGraph("switch", choose(ShapesOf(body.Params), known), func(p []*Array) []*Array {
		b.rest = linearizeGraph(body, spread(p, known))
		for _, v := range b.rest.needed(b.results) {
			if !slices.Contains(body.Params, v) {
				b.residuals = append(b.residuals, v)
			}
		}
		return lookUp(b.rest.known, slices.Concat(choose(body.Results, not(outUnknown)), b.residuals))
	})
	return b
}

// fill returns the known part with the residuals in their slots and zeros in the other slots.
func (b *splitBranch) fill(slotOf []int, slots []Shape) *Graph {
	return closedGraph("switch", ShapesOf(b.known.Params), func(p []*Array) []*Array {
		outs, residuals := cut(inline(b.known, p), len(b.known.Results)-len(b.residuals))
		filled := make([]*Array, len(slots))
		for i, r := range residuals {
			filled[slotOf[i]] = r
		}
		for i, s := range slots {
			if filled[i] == nil {
				filled[i] = Zeros(s)
			}
		}
		return append(outs, filled...)
	})
}

// unknownPart returns the rest as a graph over the branch's parameters and the slots.
func (b *splitBranch) unknownPart(params []Shape, slotOf []int) *Graph {
	return closedGraph("switch", params, func(p []*Array) []*Array {
		own, slots := cut(p, len(b.body.Params))
		values := map[*Array]*Array{}
		for i, q := range b.body.Params {
			values[q] = own[i]
		}
		for i, v := range b.residuals {
			values[v] = slots[slotOf[i]]
		}
		return b.rest.eval(lookUp(values, b.rest.params), values, b.results)
	})
}

// fitSlots gives each value a slot of its shape, no two values the same slot, and adds slots where there are too few.
func fitSlots(values []*Array, slots []Shape) (slot []int, all []Shape) {
	taken := make([]bool, len(slots))
	for _, v := range values {
		k := 0
		for k < len(slots) && (taken[k] || !slots[k].Equal(v.shape)) {
			k++
		}
		if k == len(slots) {
			slots, taken = append(slots, v.shape), append(taken, false)
		}
		taken[k] = true
		slot = append(slot, k)
	}
	return slot, slots
}

// transposeSwitch switches over the transposed branches.
func transposeSwitch(n *Node, in []*Array, lin []bool, cts []*Array) []*Array {
	lo := lin[1:]
	known := choose(in[1:], not(lo))
	hasCt := notNil(cts)
	ct := choose(cts, hasCt)
	bodies := make([]*Graph, len(n.Bodies))
	for b, body := range n.Bodies {
		bodies[b] = closedGraph("switch", slices.Concat(ShapesOf(known), ShapesOf(ct)), func(p []*Array) []*Array {
			d := transposeGraph(body, spread(p[:len(known)], not(lo)), spread(p[len(known):], hasCt))
			return instantiate(d, body.Params, lo)
		})
	}
	outs := apply(op("switch"), nil, slices.Concat(in[:1], known, ct), bodies...)
	return append([]*Array{nil}, spread(outs, lo)...)
}

func pruneSwitch(p pruned, n *Node, live []bool) *Node {
	bodies := make([]*Graph, len(n.Bodies))
	used := make([]bool, len(n.Inputs)-1)
	for i, g := range n.Bodies {
		var u []bool
		bodies[i], u = p.with(g, choose(g.Results, live))
		for k := range u {
			used[k] = used[k] || u[k]
		}
	}
	for i, g := range bodies {
		bodies[i] = &Graph{Params: choose(g.Params, used), Nodes: g.Nodes, Results: g.Results}
	}
	return &Node{Op: n.Op, Attrs: n.Attrs, Inputs: append(n.Inputs[:1:1], choose(n.Inputs[1:], used)...),
		Outs: choose(n.Outs, live), Bodies: bodies, pos: n.pos}
}
