package graph

import "slices"

// XLA's CPU compiler gathers a single element with some eight instructions, and with twice as many if the loop around
// is one function. A kernel clamps the indices with vector instructions first. It takes half of the time. It also lets
// a program that gathers be compiled the way that is fast to compile (lower/policy.go).

// leastTake is the least number of elements that are worth a call of the kernel. Below mostTake, the indices and the
// results stay in a core's cache. Larger ones go through memory, and the compiler's loop, which computes an index where
// it reads an element, then takes two thirds of the time.
const leastTake, mostTake = 1 << 13, 1 << 18

// leastGatherShare is the least gatherShare of a loop in which the kernel pays: a loop that calls a kernel is not one
// function.
const leastGatherShare = .05

// takeKernel gathers single elements along the last axis. Indices are clamped to the axis. The config says whether each
// vector of the operand has indices of its own.
var takeKernel = &Kernel{Target: "xlarun_take", evalConfig: func(config []int, in, out []*Tensor) {
	x, indices := in[0], in[1]
	n := x.Shape.Dims[x.Shape.Rank()-1]
	vectors := len(x.V) / n
	count := len(out[0].V) / vectors
	for i := range out[0].V {
		vector := i / count
		at := i % count
		if config[0] == 1 {
			at = i
		}
		out[0].V[i] = x.V[vector*n+int(min(max(indices.I(at), 0), int64(n-1)))]
	}
}}

// takes reports whether a gather takes single elements along the last axis: of each vector by the same indices, or of
// each by indices of its own.
func takes(n *Node) (shared, own bool) {
	a, x := n.Attrs.(gatherAttrs), n.Inputs[0].shape
	last := x.Rank() - 1
	if n.Inputs[1].DType() != Int32 || !slices.Equal(a.IndexMap, []int{last}) ||
		!slices.Equal(a.Collapsed, a.IndexMap) {
		return false, false
	}
	front := rangeInts(0, last)
	return slices.Equal(a.Offset, front) && slices.Equal(a.Sizes[:last], x.Dims[:last]),
		slices.Equal(a.Batch, front) && slices.Equal(a.IndexBatch, front) && last > 0
}

// lowerTake is the Lower rule of gather for CPUs.
func lowerTake(l *Cursor, n *Node, in []*Array) []*Array {
	shared, own := takes(n)
	size := n.Outs[0].Size()
	if !shared && !own || !l.target.paysKernel(size, leastTake) || size >= mostTake {
		return nil
	}
	loop := l.loop
	if l.scan != nil {
		loop = l.scan
	}
	if loop != nil && l.target.atLeast(1) > 0 && loop.gatherShare() < leastGatherShare {
		return nil
	}
	// If the compiler writes a result over an operand of the same shape, LLVM makes no vectors of selects: it cannot
	// know that the two are the same place. So the kernel's result has another shape.
	out := n.Outs[0].shape
	dims := []int{out.Size()}
	if out.Rank() == 1 {
		dims = []int{1, out.Size()}
	}
	taken := kernelCall(takeKernel, []int{number(own)}, []Shape{out.dims(dims...)}, in...)
	return []*Array{Reshape(taken[0], out.Dims...)}
}

// gatherShare is the share, 0 to 1, of a graph's elements that gathers of at least leastTake single elements compute.
func (g *Graph) gatherShare() float64 {
	taken, all := 0., 0.
	g.Any(func(n *Node) bool {
		if len(n.Bodies) == 0 && len(n.Outs) > 0 {
			all += n.Elements()
		}
		if n.Op.Name == "gather" && n.Outs[0].Size() >= leastTake {
			if shared, own := takes(n); shared || own {
				taken += float64(n.Outs[0].Size())
			}
		}
		return false
	})
	return taken / max(1, all)
}
