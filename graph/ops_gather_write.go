package graph

import "slices"

// A scatter on the CPU is a call of a kernel, where that pays (lower_writes.go).

// scatterSeconds is the WriteSeconds of scatter.
func scatterSeconds(*Node) float64 { return stepPerScatter }

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
func scatterWithKernel(l *Cursor, n *Node, in []*Array) []*Array {
	a, x := n.Attrs.(gatherAttrs), in[0].shape
	if a.kind != "set" && (x.DType == Bool || isComplex(x.DType) || isFloat(x.DType) && ItemSize(x.DType) == 2) {
		return nil
	}
	if max(x.Rank(), in[1].Rank(), in[2].Rank()) > mostScatterAxes || !l.worthCalls() {
		return nil
	}
	return kernelCall(scatterKernel, a.config(), []Shape{x}, in...)
}
