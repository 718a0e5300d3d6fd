package graph

import "slices"

// A scatter on the CPU is a call of a kernel, where that pays (lower/writes.go).

// scatterSeconds is the WriteSeconds of scatter.
func scatterSeconds(*Node) float64 { return stepPerScatter }

// scatterKernel is scatter; its config is gatherAttrs.config.
var scatterKernel = &Kernel{Target: "xlarun_scatter", InPlace: true, evalConfig: func(config []int, in, out []*Tensor) {
	copy(out[0].V, scatter(readScatterConfig(config, in[0].Shape, in[2].Shape), in).V)
}}

// scatterKinds are the kinds of scatter, by their number in C.
var scatterKinds = []string{"set", "sum", "prod", "max", "min"}

// scatterConfig is the kind's number, then five lists, each after its length.
func scatterConfig(a gatherAttrs) []int {
	out := []int{slices.Index(scatterKinds, a.Kind)}
	for _, list := range [][]int{a.Offset, a.Collapsed, a.Batch, a.IndexBatch, a.IndexMap} {
		out = append(append(out, len(list)), list...)
	}
	return out
}

func readScatterConfig(config []int, x, updates Shape) gatherAttrs {
	a := gatherAttrs{Kind: scatterKinds[config[0]]}
	config = config[1:]
	for _, list := range []*[]int{&a.Offset, &a.Collapsed, &a.Batch, &a.IndexBatch, &a.IndexMap} {
		n := config[0]
		*list, config = config[1:1+n], config[1+n:]
	}
	a.Sizes = slices.Repeat([]int{1}, x.Rank())
	for i, axis := range gatherWindow(a) {
		a.Sizes[axis] = updates.Dims[a.Offset[i]]
	}
	return a
}

// mostScatterAxes is the largest rank that the kernel takes.
const mostScatterAxes = 16

// scatterWithKernel is the Write rule of scatter. The kernel moves elements of any kind, and does arithmetic on those
// that C has.
func scatterWithKernel(l *Cursor, n *Node, in []*Array) []*Array {
	a, x := n.Attrs.(gatherAttrs), in[0].shape
	if a.Kind != "set" && (x.DType == Bool || isComplex(x.DType) || isFloat(x.DType) && ItemSize(x.DType) == 2) {
		return nil
	}
	if max(x.Rank(), in[1].Rank(), in[2].Rank()) > mostScatterAxes || !l.worthCalls() {
		return nil
	}
	return kernelCall(scatterKernel, scatterConfig(a), []Shape{x}, in...)
}
