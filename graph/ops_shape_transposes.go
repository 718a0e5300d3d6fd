package graph

const (
	// leastTransposed is the least number of elements of a matrix whose transpose is a kernel. Smaller ones lie in the
	// cache: the sum of a matrix of 64 x 64 and its transpose takes longer in two parts.
	leastTransposed = 1 << 14
	// leastTransposedAxis is the least number of its rows and of its columns.
	leastTransposedAxis = 8
)

// lowerTranspose makes transposes kernels. It keeps the compiler from making a product of swapped operands of a
// product's transpose. XLA's older emitter reads or writes one element at a time along the distant axis, in what reads
// the transpose, too: 5 ns an element of 1,024 x 1,024, where the kernel takes 0.4. Products read their operands along
// any axis, and reductions need no transpose.
func lowerTranspose(l *Cursor, n *Node, in []*Array) []*Array {
	a := n.Attrs.(permAttrs)
	if !l.target.IsCPU() || !ofSplitProduct(in[0]) && !storedTranspose(l, n) {
		return nil
	}
	return []*Array{turned(l, in[0], a.perm)}
}

// storedTranspose reports whether elementwise ops, loops and the caller alone read the transpose. A loop that calls
// kernels is not one function, so the transposes inside of loops stay.
func storedTranspose(l *Cursor, n *Node) bool {
	x := n.Outs[0]
	lead, cut, swaps := swappedAxes(n.Attrs.(permAttrs).perm)
	from := n.Inputs[0].Dims()
	rows, columns := product(from[lead:cut]), product(from[cut:])
	if l.loop != nil || l.scan != nil || !l.target.HasKernels() || !transposable(x.DType()) || !swaps ||
		rows*columns < leastTransposed || min(rows, columns) < leastTransposedAxis {
		return false
	}
	found := false
	for _, m := range l.program.Nodes {
		found = found || m == n
		for _, read := range m.Inputs {
			if read == x && !m.Elementwise() && m.Op.Loop == nil {
				return false
			}
		}
	}
	return found
}

// transposable reports whether the kernel takes a type.
func transposable(d DType) bool { return d == Float32 || d == Int32 || d == Uint32 }
