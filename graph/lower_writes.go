package graph

import "slices"

// XLA's CPU compiler has two ways to write the code of a loop. The older one compiles two to three times as fast to
// code of the same speed (policy.go chooses). But it cannot write into a part of an array in place: it
// copies the whole array each time. So kernels, which get the array's memory, write the parts, and a program in which
// they write all of them can be compiled the older way. A program that has other such writes is left as it is.

// lowerWrites replaces all writes into parts of arrays by calls of kernels.
func lowerWrites(g *Graph, t Target) *Graph {
	if !g.writesParts(t) {
		return g
	}
	l := newLowering(g, t, func(o *Op) lowerRule {
		if o.Write == nil {
			return nil
		}
		return func(l *lowering, n *Node, in []*Array) []*Array {
			if !o.WritesParts(n, t) {
				return nil
			}
			return o.Write(l, n, in)
		}
	})
	// Loops that become one function write parts in place.
	g.any(func(n *Node) bool {
		l.done[n] = whole(n)
		return false
	})
	called := l.graph(g)
	if called.writesParts(t) {
		return g
	}
	return called
}

// writesParts reports whether the program holds ops whose results are large arrays that XLA's CPU compiler writes part
// by part, and so would copy for each part.
func (g *Graph) writesParts(t Target) bool {
	return slices.ContainsFunc(g.Nodes, func(n *Node) bool {
		return n.Op.WritesParts != nil && n.Op.WritesParts(n, t) ||
			!whole(n) && slices.ContainsFunc(n.Bodies, func(b *Graph) bool { return b.writesParts(t) })
	})
}

// smallWrite is the size in bytes up to which it is faster to copy an array for each part that is written.
const smallWrite = 4096

func writesLarge(n *Node, t Target) bool { return n.Outs[0].shape.Bytes() > t.atLeast(smallWrite) }

func alwaysWritesParts(*Node, Target) bool { return true }

// writeKernel writes a block into an array: array, block, then a start index for each axis in config, the axes that the
// block does not fill. Blocks that would leave the array are moved inside.
var writeKernel = &Kernel{Target: "xlarun_write", InPlace: true, evalConfig: func(axes []int, in, out []*Tensor) {
	x, block := in[0], in[1]
	zero := newTensor(Shape{DType: Int32})
	args := []*Tensor{x, block}
	for i := range x.Shape.Dims {
		if k := slices.Index(axes, i); k >= 0 {
			args = append(args, in[2+k])
		} else {
			args = append(args, zero)
		}
	}
	copy(out[0].V, writeBlock(args).V)
}}

// writeWithKernel is the Write rule of dynamic_update_slice.
func writeWithKernel(l *lowering, n *Node, in []*Array) []*Array {
	axes := partialAxes(n)
	if len(axes) == 0 {
		return in[1:2]
	}
	if !oneRun(axes) && !l.worthCalls() {
		return nil
	}
	args := slices.Clone(in[:2])
	for _, axis := range axes {
		args = append(args, in[2+axis])
	}
	return kernelCall(writeKernel, axes, []Shape{in[0].shape}, args...)
}

// partialAxes are the axes that the block of a dynamic_update_slice does not fill.
func partialAxes(n *Node) []int {
	var axes []int
	for i, d := range n.Inputs[1].Dims() {
		if d < n.Inputs[0].Dims()[i] {
			axes = append(axes, i)
		}
	}
	return axes
}

// blockSeconds and scatterSeconds are the WriteSeconds of dynamic_update_slice and scatter.
func blockSeconds(n *Node) float64 {
	if oneRun(partialAxes(n)) {
		return 0
	}
	return stepPerBlock
}

func scatterSeconds(*Node) float64 { return stepPerScatter }

// oneRun reports whether the block is contiguous: whole rows, as a scan stacks them.
func oneRun(axes []int) bool { return len(axes) == 1 && axes[0] == 0 }

// The time in seconds that a step of a loop has to take for each call that writes in it. The call takes some 0.3 µs. In
// the compiler's own way, with the newer emitters, a block costs next to nothing and a scatter about half of that.
const (
	stepPerBlock   = 4e-6
	stepPerScatter = 2e-6
)

// worthCalls reports whether calls of kernels cost little: they are not in a loop, or its steps take long enough. Rows,
// which every scan writes, are worth it in any case.
func (l *lowering) worthCalls() bool {
	if l.loop == nil || l.target.atLeast(1) == 0 {
		return true
	}
	needed := 0.
	l.loop.any(func(n *Node) bool {
		if n.Op.WriteSeconds != nil {
			needed += n.Op.WriteSeconds(n)
		}
		return false
	})
	c := l.loop.Cost(nil)
	return c.Bytes/5e10+c.Transcendentals/1e9 >= needed // at 50 GB/s and a transcendental a nanosecond
}

// scatterKernel is scatter; its config is gatherAttrs.config.
var scatterKernel = &Kernel{Target: "xlarun_scatter", InPlace: true, evalConfig: func(config []int, in, out []*Tensor) {
	copy(out[0].V, scatter(readScatterConfig(config, in[0].Shape, in[2].Shape), in).V)
}}

// scatterKinds are the kinds of scatter, by their number in C.
var scatterKinds = []string{"set", "sum", "prod", "max", "min"}

// config is the kind's number, then five lists, each after its length.
func (a gatherAttrs) config() []int {
	out := []int{slices.Index(scatterKinds, a.kind)}
	for _, list := range [][]int{a.offset, a.collapsed, a.batch, a.indexBatch, a.indexMap} {
		out = append(append(out, len(list)), list...)
	}
	return out
}

func readScatterConfig(config []int, x, updates Shape) gatherAttrs {
	a := gatherAttrs{kind: scatterKinds[config[0]]}
	config = config[1:]
	for _, list := range []*[]int{&a.offset, &a.collapsed, &a.batch, &a.indexBatch, &a.indexMap} {
		n := config[0]
		*list, config = config[1:1+n], config[1+n:]
	}
	a.sizes = slices.Repeat([]int{1}, x.Rank())
	for i, axis := range a.window() {
		a.sizes[axis] = updates.Dims[a.offset[i]]
	}
	return a
}

// mostScatterAxes is the largest rank that the kernel takes.
const mostScatterAxes = 16

// scatterWithKernel is the Write rule of scatter. The kernel moves elements of any kind, and does arithmetic on those
// that C has.
func scatterWithKernel(l *lowering, n *Node, in []*Array) []*Array {
	a, x := n.Attrs.(gatherAttrs), in[0].shape
	if a.kind != "set" && (x.DType == Bool || isComplex(x.DType) || isFloat(x.DType) && ItemSize(x.DType) == 2) {
		return nil
	}
	if max(x.Rank(), in[1].Rank(), in[2].Rank()) > mostScatterAxes || !l.worthCalls() {
		return nil
	}
	return kernelCall(scatterKernel, a.config(), []Shape{x}, in...)
}
