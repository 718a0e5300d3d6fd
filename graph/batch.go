package graph

import "slices"

// batching is what the vmap rules know: the size of the new axis and its name.
type batching struct {
	size int
	axis string
	last bool // where the rule has a choice, lanes are the last axis, else the first
}

// place is where the lane axis goes on an array of the given unbatched rank.
func (b *batching) place(rank int) int {
	if b.last {
		return rank
	}
	return 0
}

// VMap turns a function of one member into a function of a population: every leaf of the argument and of the result
// gets one more axis. The function is traced once, unbatched. What is no array in a result, such as an int, is
// static: it is returned as it is.
func VMap[A, R any](f func(A) R, opts ...VMapOption) func(A) R {
	wantFunction("VMap", f == nil)
	return func(a A) R { return as[R](vmapCall([]any{a}, opts, func(args []any) any { return f(as[A](args[0])) })) }
}

// VMap2 is VMap for functions of two arguments. More are a struct.
func VMap2[A, B, R any](f func(A, B) R, opts ...VMapOption) func(A, B) R {
	wantFunction("VMap2", f == nil)
	return func(a A, b B) R {
		return as[R](vmapCall([]any{a, b}, opts, func(args []any) any { return f(as[A](args[0]), as[B](args[1])) }))
	}
}

func wantFunction(name string, missing bool) {
	if missing {
		throw(name, "got a nil function")
	}
}

// vmapCall is compiled once, and not for each type.
func vmapCall(args []any, opts []VMapOption, f func(args []any) any) any {
	c := vmapConfig{size: -1}
	for _, o := range opts {
		o(&c)
	}
	if c.in != nil && len(c.in) != len(args) {
		throw("VMap", "InAxes names %d axes for a function of %d arguments", len(c.in), len(args))
	}
	leaves, tree := Flatten(args)
	perArg := leafArgs(args)
	dims := make([]int, len(leaves))
	shapes := make([]Shape, len(leaves))
	size := c.size
	sized := c.size >= 0
	axes := c.leafAxes(tree, perArg, len(args))
	for i, l := range leaves {
		axis := axes[i]
		dims[i] = -1
		shapes[i] = l.shape
		if axis == Unmapped {
			continue
		}
		if l.Rank() == 0 {
			throw("VMap", "argument leaf %s is a scalar and has no axis to map over: give it one, or pass Unmapped "+
				"for it in InAxes", tree.Path(i))
		}
		dims[i] = checkAxis("VMap", axis, l.Rank())
		n := l.shape.Dims[dims[i]]
		if sized && n != size {
			throw("VMap", "argument leaf %s has %d lanes along axis %d, others have %d: all mapped leaves must agree",
				tree.Path(i), n, dims[i], size)
		}
		size, sized = n, true
		shapes[i] = l.shape.remove(dims[i])
	}
	if !sized {
		throw("VMap", "no argument is mapped, so the number of lanes is unknown: map one or give AxisSize")
	}
	b := &batching{size: size, axis: c.name, last: c.last}
	var outTree *Tree
	g, captured := buildGraph(shapes, []*axis{{name: c.name, size: size}}, func(params []*Array) (outs []*Array) {
		watchKeys(keyBody{kind: keysInLanes, args: leaves, axes: dims})
		outs, outTree = Flatten(f(tree.Unflatten(params).([]any)))
		return outs
	})
	in := append(slices.Clone(captured), leaves...)
	inDims := append(slices.Repeat([]int{-1}, len(captured)), dims...)
	outs, outDims := b.graph(g, in, inDims)
	for i, o := range outs {
		outs[i] = b.moveTo(o, outDims[i], checkAxis("VMap: OutAxis", c.out, g.Results[i].Rank()+1))
	}
	return outTree.Unflatten(outs)
}

// leafArgs returns the number of its argument for each leaf of all arguments.
func leafArgs(args []any) (arg []int) {
	for i, a := range args {
		arg = append(arg, slices.Repeat([]int{i}, len(Leaves(a)))...)
	}
	return arg
}

// graph applies g to batched inputs in the current scope.
func (b *batching) graph(g *Graph, in []*Array, dims []int) ([]*Array, []int) {
	dimOf := make(map[*Array]int, 2*len(g.Nodes))
	for i, p := range g.Params {
		dimOf[p] = dims[i]
	}
	outs := rewrite(g, in, func(n *Node, in []*Array) []*Array {
		nd := make([]int, len(in))
		batched := b.names(n)
		for i, a := range n.Inputs {
			nd[i] = dimOf[a]
			batched = batched || nd[i] >= 0
		}
		if !batched {
			for _, o := range n.Outs {
				dimOf[o] = -1
			}
			return apply(n.Op, n.Attrs, in, n.Bodies...)
		}
		if b.size == 0 { // nothing to compute, and many ops cannot even be written for empty operands
			outs := make([]*Array, len(n.Outs))
			for i, o := range n.Outs {
				outs[i], dimOf[o] = Zeros(o.shape.insert(0, 0)), 0
			}
			return outs
		}
		outs, outDims := n.Op.Batch(b, n, in, nd)
		for i, o := range n.Outs {
			dimOf[o] = outDims[i]
		}
		return outs
	})
	outDims := make([]int, len(outs))
	for i, r := range g.Results {
		outDims[i] = dimOf[r]
	}
	return outs, outDims
}

// closed batches a body: parameters marked in batched carry the lane axis at its place, results that must (or come out
// so) too. It returns the new body and which results are batched.
func (b *batching) closed(g *Graph, batched, force []bool) (*Graph, []bool) {
	shapes := make([]Shape, len(g.Params))
	dims := make([]int, len(g.Params))
	for i, p := range g.Params {
		shapes[i], dims[i] = p.shape, -1
		if batched[i] {
			dims[i] = b.place(p.Rank())
			shapes[i] = p.shape.insert(dims[i], b.size)
		}
	}
	flags := make([]bool, len(g.Results))
	body := closedGraph("VMap", shapes, func(params []*Array) []*Array {
		outs, outDims := b.graph(g, params, dims)
		for i := range outs {
			flags[i] = outDims[i] >= 0 || force != nil && force[i]
			if flags[i] {
				outs[i] = b.moveTo(outs[i], outDims[i], b.place(g.Results[i].Rank()))
			}
		}
		return outs
	})
	return body, flags
}

// names reports whether n, or a body of it, refers to the axis that is being mapped.
func (b *batching) names(n *Node) bool {
	if b.axis == "" {
		return false
	}
	if a, ok := n.Attrs.(interface{ AxisName() string }); ok && a.AxisName() == b.axis {
		return true
	}
	for _, g := range n.Bodies {
		if slices.ContainsFunc(g.Nodes, b.names) {
			return true
		}
	}
	return false
}

// moveTo gives a its lane axis at to; an unbatched array is repeated.
func (b *batching) moveTo(a *Array, from, to int) *Array {
	if from < 0 {
		axes := append(rangeInts(0, to), rangeInts(to+1, a.Rank()+1)...)
		return BroadcastInDim(a, a.shape.insert(to, b.size).Dims, axes)
	}
	return MoveAxis(a, from, to)
}

// shifted returns the number that an axis has after a new axis is inserted at d.
func shifted(d int) func(axis int) int {
	return func(axis int) int {
		if axis >= d {
			return axis + 1
		}
		return axis
	}
}

// front gives every input its lane axis at 0.
func (b *batching) front(in []*Array, dims []int) []*Array {
	out := make([]*Array, len(in))
	for i, a := range in {
		out[i] = b.moveTo(a, dims[i], 0)
	}
	return out
}

// prepare brings the lane axis of every input that batched marks to its place.
func (b *batching) prepare(n *Node, in []*Array, dims []int, batched []bool) []*Array {
	out := make([]*Array, len(in))
	for i, a := range in {
		out[i] = a
		if batched[i] {
			out[i] = b.moveTo(a, dims[i], b.place(n.Inputs[i].Rank()))
		}
	}
	return out
}

// laneDims are the lane axes of results of which batched marks those that have one, at its place.
func (b *batching) laneDims(outs []*Array, batched []bool) []int {
	out := make([]int, len(outs))
	for i, o := range outs {
		out[i] = -1
		if batched == nil || batched[i] {
			out[i] = b.place(o.Rank())
		}
	}
	return out
}

// batchElementwise is the vmap rule of ops that work element by element on inputs of one shape.
func batchElementwise(b *batching, n *Node, in []*Array, dims []int) ([]*Array, []int) {
	to := dims[slices.IndexFunc(dims, func(d int) bool { return d >= 0 })]
	if b.last {
		to = n.Outs[0].Rank()
	}
	args := make([]*Array, len(in))
	for i, a := range in {
		args[i] = b.moveTo(a, dims[i], to)
	}
	outs := apply(n.Op, n.Attrs, args)
	return outs, slices.Repeat([]int{to}, len(outs))
}
