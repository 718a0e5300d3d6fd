package graph

// XLA's CPU compiler reduces pairs of an element and its index by one loop of comparisons, which LLVM does not make
// vectors of: 4 ns an element. The extreme element and the first index that holds it are two reductions, each in
// vectors. Elements that may differ between copies are stored before they are compared (lower/exact.go). Programs for
// TargetCPU, which call no kernels, keep the one reduction.

const (
	// leastArg is the least number of elements that are searched by two reductions.
	leastArg = 1 << 13
	// leastArgAxis is the least length of the axis: LLVM writes out loops of fewer iterations.
	leastArgAxis = 32
)

// lowerArgReduce is the Lower rule of argreduce, for TargetCPUKernels.
func lowerArgReduce(l *Cursor, n *Node, in []*Array) []*Array {
	a, x := n.Attrs.(argAttrs), in[0]
	length := x.Dim(a.axis)
	if !l.target.paysKernel(x.Size(), leastArg) || !l.target.paysKernel(length, leastArgAxis) {
		return nil
	}
	at := IotaAxis(x.shape.with(Int32), a.axis)
	rank := Select(Eq(x, ExpandDims(fastExtreme(a.kind, x, []int{a.axis}), a.axis)), at, length)
	if !isFloat(x.DType()) {
		return []*Array{ReduceMin(rank, a.axis)}
	}
	// A NaN is the extreme element. It ranks below all others: the fast maximum or minimum may lose it.
	first := ReduceMin(Select(Ne(x, x), Sub(at, length), rank), a.axis)
	return []*Array{Select(Lt(first, 0), Add(first, length), first)}
}
