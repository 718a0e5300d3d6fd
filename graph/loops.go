package graph

import "slices"

// LargestArray is the number of elements of the largest array that the graph or a body of it computes.
func (g *Graph) LargestArray() int {
	most := 0
	for _, n := range g.Nodes {
		for _, o := range n.Outs {
			most = max(most, o.Size())
		}
		for _, b := range n.Bodies {
			most = max(most, b.LargestArray())
		}
	}
	return most
}

// shortAxis is the longest last axis that is too short for a loop of its own over vector registers.
const shortAxis = 12

// smallLoop is a number of elements that takes no time in any case.
const smallLoop = 256

// ShortLoops is the part, 0 to 1, of the elements computed inside of loops that lie along a last axis of 2 to 12
// elements: the inner loops of such code are short, and faster where a compiler writes them out.
func (g *Graph) ShortLoops() float64 {
	short, all := g.loopElements(false)
	if all == 0 {
		return 0
	}
	return float64(short) / float64(all)
}

// mostShort is the part of a program's loops that may lie along short axes: without unrolling, and by the older way,
// such code is not written in vectors. Of the programs of bench jax it runs two to four times as long, while the newer
// way takes half as long again to compile.
const mostShort = .25

// WholeLoops reports whether a lowered program is compiled such that loops are functions (lower_loops.go), whether it
// runs alone or not, by the older of the two ways in which XLA's CPU compiler writes code: where nothing large is
// written to in part, for which that way copies it, and where loops are not short. More programs that run alone are
// (wholeLoops in xlabridge's cpu.go).
func (g *Graph) WholeLoops(t Target) bool {
	return t.kernels() && !g.WritesParts(t) && g.ShortLoops() < mostShort
}

// loopElements counts the elements computed inside of loops, and those of them along a short last axis.
func (g *Graph) loopElements(inside bool) (short, all int) {
	for _, n := range g.Nodes {
		for _, b := range n.Bodies {
			s, a := b.loopElements(inside || n.Op.Loop != nil)
			short, all = short+s, all+a
		}
		if !inside || len(n.Bodies) > 0 {
			continue
		}
		x := n.Outs[0]
		size := x.Size()
		switch {
		case n.Op.Name == "dot_general":
			all += size * n.Attrs.(dotAttrs).contracted(n.Inputs[0].shape)
			continue
		case n.Op.Name == "reduce" || n.Op.Name == "argreduce":
			x = n.Inputs[0]
			size = x.Size()
		case !elementwise(n):
			continue
		}
		all += size
		if r := x.Rank(); r > 1 && x.Dims()[r-1] > 1 && x.Dims()[r-1] <= shortAxis && size > smallLoop {
			short += size
		}
	}
	return short, all
}

// leastGathered is the least number of elements of a gather that counts.
const leastGathered = 1 << 10

// Gathered is the part, 0 to 1, of the elements that a program computes by gathering floats one by one, many at a time.
// Loops count once.
func (g *Graph) Gathered() float64 {
	return g.partOf(func(n *Node) bool {
		return n.Op.Name == "gather" && isFloat(n.Outs[0].DType()) && product(n.Attrs.(gatherAttrs).sizes) == 1 &&
			n.Outs[0].Size() >= leastGathered
	})
}

// partOf is the part, 0 to 1, of the elements that a program computes by nodes that count. Loops count once.
func (g *Graph) partOf(counts func(n *Node) bool) float64 {
	counted, all := 0., 0.
	g.eachOperation(func(n *Node) {
		size := float64(n.Outs[0].Size())
		if n.Op.Name == "reduce" || n.Op.Name == "argreduce" {
			size = float64(n.Inputs[0].Size())
		}
		if counts(n) {
			counted += size
		}
		switch {
		case n.Op.Name == "dot_general":
			all += size * float64(n.Attrs.(dotAttrs).contracted(n.Inputs[0].shape))
		case slices.Contains([]string{"gather", "reduce", "argreduce", "custom_call"}, n.Op.Name) || elementwise(n):
			all += size
		}
	})
	return counted / max(1, all)
}

// eachOperation calls visit for the nodes that have results and no bodies, those inside of bodies too.
func (g *Graph) eachOperation(visit func(n *Node)) {
	for _, n := range g.Nodes {
		for _, b := range n.Bodies {
			b.eachOperation(visit)
		}
		if len(n.Bodies) == 0 && len(n.Outs) > 0 {
			visit(n)
		}
	}
}

// ProductTerms returns how many multiplications give one element of a product or convolution, the mean over all their
// elements. A loop counts as one step. A graph without products has 0.
func (g *Graph) ProductTerms() float64 {
	multiplications, elements := 0., 0.
	g.eachOperation(func(n *Node) {
		switch n.Op.Name {
		case "dot_general", "conv", "conv_images":
			multiplications += n.Op.Cost(n, nil).FLOPs / 2
			elements += float64(n.Outs[0].Size())
		}
	})
	return multiplications / max(1, elements)
}

// shortRow is the longest last axis whose loop a compiler had better write out.
const shortRow = 16

// ShortRows is the part, 0 to 1, of a program's operations that are in inner loops of a few turns, written out or not:
// along last axes of 2 to 16 elements, over windows, and in products of small matrices. Loops of the program count
// once.
func (g *Graph) ShortRows() float64 {
	short, all := 0., 0.
	g.eachOperation(func(n *Node) {
		x, work, few := n.Outs[0], float64(n.Outs[0].Size()), false
		switch {
		case n.Op.Name == "reduce_window":
			work, few = work*float64(product(n.Attrs.(windowAttrs).window)), true
		case n.Op.Name == "dot_general":
			rows, inner, columns := productSizes(n)
			work *= float64(inner)
			few = max(rows, inner, columns) <= smallProduct || min(inner, columns) <= shortAxis
		case n.Op.Name == "reduce" || n.Op.Name == "argreduce":
			x, work = n.Inputs[0], float64(n.Inputs[0].Size())
		case !elementwise(n):
			return
		}
		if r := x.Rank(); r > 1 && x.Dims()[r-1] > 1 && x.Dims()[r-1] <= shortRow {
			few = true
		}
		if all += work; few && work > smallLoop {
			short += work
		}
	})
	return short / max(1, all)
}

// ShortIntegerSums returns the share, 0 to 1, of a program's elementwise operations and reductions that short
// reductions of integers do: those along last axes of at most 16 elements. A loop counts as one step.
func (g *Graph) ShortIntegerSums() float64 {
	short, all := 0., 0.
	g.eachOperation(func(n *Node) {
		work := float64(n.Outs[0].Size())
		if n.Op.Name == "reduce" {
			x := n.Inputs[0]
			work = float64(x.Size())
			if r := x.Rank(); isInt(x.DType()) && x.Dims()[r-1] <= shortRow && n.Outs[0].Size() < x.Size() &&
				slices.Contains(n.Attrs.(reduceAttrs).axes, r-1) {
				short += work
			}
		} else if !elementwise(n) {
			return
		}
		all += work
	})
	return short / max(1, all)
}

// longReduction is the length of the longest axis that XLA reduces in one go; longer ones it reduces in a tree.
const longReduction = 32

// plainSum is the most float32 that one loop adds up about as well as a tree.
const plainSum = 128

// OrderlessReductions counts a program's reductions along long axes whose results do not depend on the order: those of
// whole numbers and bools, and maxima and minima. all counts all reductions along long axes. plain reports whether
// those that depend on the order are sums of at most 128 float32. A loop counts as one step.
func (g *Graph) OrderlessReductions() (orderless, all int, plain bool) {
	plain = true
	g.eachOperation(func(n *Node) {
		if n.Op.Name != "reduce" {
			return
		}
		a, x := n.Attrs.(reduceAttrs), n.Inputs[0]
		if !slices.ContainsFunc(a.axes, func(axis int) bool { return x.Dim(axis) > longReduction }) {
			return
		}
		all++
		if a.kind != "sum" && a.kind != "prod" || isInt(x.DType()) || x.DType() == Bool {
			orderless++
			return
		}
		terms := 1
		for _, axis := range a.axes {
			terms *= x.Dim(axis)
		}
		plain = plain && a.kind == "sum" && x.DType() == Float32 && terms <= plainSum
	})
	return orderless, all, plain
}

// These parts of a program's operations decide whether its loops are written out.
const (
	mostColumns = .2
	leastShort  = .05
	// mostIntegerSums is the most that sums of whole numbers along short rows may be.
	mostIntegerSums = .2
)

// Unrolled reports whether LLVM's unrolling pays for a program that runs alone. It writes out loops of a few turns and
// the windows of shifted arrays, and joins reductions of whole numbers along other axes than the last into vectors, if
// they are trees. It loses where it writes out sums of whole numbers along short rows, or loops around exponentials:
// other reductions along other axes than the last, inside of loops. Other programs without loops are as fast without
// it, and take less time to compile (docs/notes/language-speed.md).
func (g *Graph) Unrolled() bool {
	integers := g.partOf(func(n *Node) bool { return reducesColumns(n) && isTreeOfIntegers(n) })
	switch {
	case g.ShortIntegerSums() > mostIntegerSums:
		return false
	case g.ShortRows() > leastShort || integers > leastShort:
		return true
	}
	return g.any(func(n *Node) bool { return n.Op.Loop != nil }) && g.loopColumns() < mostColumns
}

// reducesColumns reports whether a node reduces along other axes than the last.
func reducesColumns(n *Node) bool {
	a, ok := n.Attrs.(reduceAttrs)
	return ok && n.Op.Name == "reduce" && !slices.Contains(a.axes, n.Inputs[0].Rank()-1)
}

// isTreeOfIntegers reports whether a reduction is of whole numbers along an axis that XLA reduces in a tree.
func isTreeOfIntegers(n *Node) bool {
	x := n.Inputs[0]
	return isInt(x.DType()) && slices.ContainsFunc(n.Attrs.(reduceAttrs).axes, func(axis int) bool {
		return x.Dim(axis) > longReduction
	})
}

// loopColumns is the part, 0 to 1, of the elements that the bodies of loops compute by reductions along other axes than
// the last, of floats or of whole numbers along short axes.
func (g *Graph) loopColumns() float64 {
	columns := 0.
	for _, n := range g.Nodes {
		for _, b := range n.Bodies {
			if n.Op.Loop != nil {
				columns = max(columns, b.partOf(func(n *Node) bool {
					return reducesColumns(n) && n.Inputs[0].DType() != Bool && !isTreeOfIntegers(n)
				}))
			}
			columns = max(columns, b.loopColumns())
		}
	}
	return columns
}

// Grain returns the number of operations of a call, and how many elements the op of an operation works on, averaged
// over all operations. A while turns once, as in Cost. Work of a coarse grain can be shared out.
func (g *Graph) Grain() (elements, operations float64) {
	weighted, all := g.grain()
	return weighted / max(1, all), all
}

// grain sums operations, weighted by the elements that they are on, and as they are.
func (g *Graph) grain() (weighted, all float64) {
	for _, n := range g.Nodes {
		c := n.Op.Cost(n, nil)
		work := c.FLOPs + c.IntOps
		if len(n.Bodies) == 0 {
			x := n.Outs[0]
			if n.Op.Name == "reduce" || n.Op.Name == "argreduce" {
				x = n.Inputs[0]
			}
			weighted, all = weighted+work*float64(x.Size()), all+work
			continue
		}
		inside, once := 0., 0.
		for _, b := range n.Bodies {
			w, a := b.grain()
			inside, once = inside+w, once+a
		}
		weighted, all = weighted+inside*work/max(1, once), all+work // as often as the node runs them
	}
	return weighted, all
}

// smallProduct is the length up to which each axis of a product of two matrices is short.
const smallProduct = 32

// SmallProducts is the part, 0 to 1, of the work on products of matrices with matrices that small ones take; those with
// vectors, and those that contract one or two elements, are no such products. As in Cost a while turns once.
func (g *Graph) SmallProducts() float64 {
	small, all := g.products()
	return small / max(1, all)
}

// products sums the multiplications of products of matrices, and those of small ones.
func (g *Graph) products() (small, all float64) {
	for _, n := range g.Nodes {
		if n.Op.Name == "dot_general" {
			rows, inner, columns := productSizes(n)
			if rows < 2 || columns < 2 || inner < 3 {
				continue
			}
			work := float64(n.Outs[0].Size()) * float64(inner)
			all += work
			if max(rows, columns, inner) <= smallProduct {
				small += work
			}
		}
		inside, of, once := 0., 0., 0.
		for _, b := range n.Bodies {
			s, a := b.products()
			_, work := b.grain()
			inside, of, once = inside+s, of+a, once+work
		}
		if of > 0 { // as often as the node runs them
			c := n.Op.Cost(n, nil)
			turns := (c.FLOPs + c.IntOps) / max(1, once)
			small, all = small+inside*turns, all+of*turns
		}
	}
	return small, all
}
