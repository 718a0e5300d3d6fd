package graph

import (
	"fmt"
	"maps"
	"slices"
)

// The products of a matrix and a vector of each member of a population are written in another way, in the steps of a
// loop. A compiler makes a reduction of such a product, whose kernel takes no operations after it.
//
// On a GPU a sum of terms is a part of the kernel that uses it: the activations of the layer, or the environment's
// step. On a TPU the compiler cuts long sums into more kernels than the product takes. But there few results, each a
// product of two vectors, are one kernel with the activations before them, if the rows of the matrix are cut in front
// of the loop (rowsApart).

const (
	// mostWritten is the most terms of a member's product that is written out.
	mostWritten = 64
	// fewOutputs is the most numbers of a product that are sums of their own, such as the outputs of a network. More
	// are one sum of vectors.
	fewOutputs = 6
	// leastMembers is the least number of such products at once.
	leastMembers = 32
)

// memberProduct is a product of a matrix and a vector of each member of a population.
type memberProduct struct {
	matrix, vector                                                 int // which operand is which
	matrixBatch, vectorBatch, matrixContract, vectorContract, free []int
}

// memberProductOf returns how a node multiplies matrices and vectors of a population. ok: it does, and has few terms.
func memberProductOf(n *Node) (p memberProduct, ok bool) {
	a, isDot := n.Attrs.(dotAttrs)
	if !isDot || a.Preferred != 0 || n.Outs[0].DType() != Float32 || len(a.LeftContract) != 1 ||
		len(a.LeftBatch) == 0 || product(n.Outs[0].Dims()[:len(a.LeftBatch)]) < leastMembers {
		return p, false
	}
	if terms := n.Inputs[0].Dim(a.LeftContract[0]); terms == 0 || terms > mostWritten {
		return p, false
	}
	left, right := a.Free(n.Inputs[0].Rank(), n.Inputs[1].Rank())
	if len(left) == 1 && len(right) == 0 {
		return memberProduct{0, 1, a.LeftBatch, a.RightBatch, a.LeftContract, a.RightContract, left}, true
	}
	return memberProduct{1, 0, a.RightBatch, a.LeftBatch, a.RightContract, a.LeftContract, right},
		len(left) == 0 && len(right) == 1
}

// writtenOut writes a product of matrices and vectors of members in another way. nil: it is no such product.
func writtenOut(l *Cursor, n *Node, in []*Array) []*Array {
	if l.target == TargetTPU {
		return l.productsOfRows(n, in)
	}
	p, ok := memberProductOf(n)
	if l.target != TargetCUDA || l.loop == nil && l.scan == nil || !ok {
		return nil
	}
	out := n.Outs[0].shape
	matrix, vector := in[p.matrix], in[p.vector]
	batches := len(p.matrixBatch)
	batch, outputs := out.Dims[:batches], out.Dims[batches]
	sum := func(rows *Array) (sum *Array) { // [batch, rows] of some rows of the matrix
		shape := append(slices.Clone(batch), rows.Dim(p.free[0]))
		for k := range vector.Dim(p.vectorContract[0]) {
			x := Transpose(SliceAxis(vector, p.vectorContract[0], k, k+1),
				slices.Concat(p.vectorBatch, p.vectorContract)...)
			column := Transpose(SliceAxis(rows, p.matrixContract[0], k, k+1),
				slices.Concat(p.matrixBatch, p.free, p.matrixContract)...)
			sum = addTangents(sum, Mul(Reshape(column, shape...),
				BroadcastInDim(Reshape(x, batch...), shape, rangeInts(0, batches))))
		}
		return sum
	}
	if outputs > fewOutputs {
		return []*Array{sum(matrix)}
	}
	sums := make([]*Array, outputs)
	for i := range sums {
		sums[i] = sum(SliceAxis(matrix, p.free[0], i, i+1))
	}
	return []*Array{Concatenate(batches, sums...)}
}

// cutKey is an array that is cut along the first of its axes in an order.
type cutKey struct {
	of    *Array
	order string
}

// rowsApart cuts constants of a scan into parts in front of its loop, on a TPU: the matrices of its body's products
// with few results into rows, and what is added to those results into numbers. It returns what is cut inside of the
// scan.
func (l *Cursor) rowsApart(n *Node, consts []*Array) map[cutKey][]*Array {
	if l.target != TargetTPU {
		return nil
	}
	body, cut := n.Bodies[0], maps.Clone(l.rows)
	if cut == nil {
		cut = map[cutKey][]*Array{}
	}
	apart := func(x *Array, order []int) {
		at := slices.Index(body.Params[:len(consts)], x)
		if at < 0 || largeSlice(consts[at]) != nil { // large slices are taken in the body (slicedInside)
			return
		}
		key := cutKey{consts[at], fmt.Sprint(order)}
		if cut[key] != nil {
			return
		}
		var parts []*Array
		first := Transpose(consts[at], order...)
		for i := range first.Dim(0) {
			parts = append(parts, Index(first, i))
		}
		cut[key] = parts
	}
	for _, x := range body.Nodes {
		p, ok := memberProductOf(x)
		batches := len(p.matrixBatch)
		if !ok || x.Outs[0].Dim(batches) > fewOutputs {
			continue
		}
		apart(x.Inputs[p.matrix], p.rows())
		for _, sum := range body.Nodes {
			if sum.Op.Name == "add" && slices.Contains(sum.Inputs, x.Outs[0]) {
				apart(sum.Inputs[0], lastFirst(batches))
				apart(sum.Inputs[1], lastFirst(batches))
			}
		}
	}
	return cut
}

// rows is the order of the matrix's axes in which the first numbers the rows, which are [batch, terms].
func (p memberProduct) rows() []int { return slices.Concat(p.free, p.matrixBatch, p.matrixContract) }

// lastFirst is the order of an array's axes in which the last, number axis, is the first.
func lastFirst(axis int) []int { return append([]int{axis}, rangeInts(0, axis)...) }

// productsOfRows is the product of a matrix that rowsApart has cut, a product for each row; nil: it has not.
func (l *Cursor) productsOfRows(n *Node, in []*Array) []*Array {
	p, ok := memberProductOf(n)
	if !ok {
		return nil
	}
	rows := l.rows[cutKey{in[p.matrix], fmt.Sprint(p.rows())}]
	if rows == nil {
		return nil
	}
	batches := len(p.matrixBatch)
	all := rangeInts(0, batches)
	vector := Transpose(in[p.vector], slices.Concat(p.vectorBatch, p.vectorContract)...)
	var outs []*Array
	for _, row := range rows {
		attrs := n.Attrs.(dotAttrs).Of(all, all, []int{batches}, []int{batches})
		outs = append(outs, ExpandDims(apply(n.Op, attrs, []*Array{row, vector})[0], batches))
	}
	return []*Array{Concatenate(batches, outs...)}
}

// partOfStack is the Lower rule of slice. In a loop whose constants are cut, a slice that takes one part of a stack, or
// of its sum with another array, does without the stack, which would be a kernel of its own. nil: it is no such slice.
func partOfStack(l *Cursor, n *Node, in []*Array) []*Array {
	a := n.Attrs.(sliceAttrs)
	if l.rows == nil {
		return nil
	}
	x := in[0]
	axis := -1 // the one along which the slice has one element
	for i, length := range x.Dims() {
		switch {
		case a.Start[i] == 0 && a.Limit[i] == length && a.Stride[i] == 1:
		case axis < 0 && a.Limit[i] == a.Start[i]+1:
			axis = i
		default:
			return nil
		}
	}
	if axis < 0 {
		return nil
	}
	part := func(x *Array) *Array {
		if parts := stackOf(x, axis); parts != nil {
			return parts[a.Start[axis]]
		}
		return nil
	}
	if p := part(x); p != nil {
		return []*Array{p}
	}
	if x.node == nil || x.node.Op.Name != "add" {
		return nil
	}
	left, right := x.node.Inputs[0], x.node.Inputs[1]
	p, other := part(left), right
	if p == nil {
		p, other = part(right), left
	}
	if p == nil {
		return nil
	}
	// Without the axis of length 1, which would be laid out in another way than the arrays that the sum is used with.
	shape := p.Dims()
	flat := slices.DeleteFunc(slices.Clone(shape), func(n int) bool { return n == 1 })
	var number *Array
	last := p.Rank() - 1
	if parts := l.rows[cutKey{other, fmt.Sprint(lastFirst(last))}]; parts != nil && p.Dim(last) == 1 &&
		parts[0].Size() == p.Size() {
		number = parts[a.Start[last]]
	} else {
		number = apply(n.Op, a, []*Array{other})[0]
	}
	sum := Add(Reshape(p, flat...), Reshape(number, flat...))
	return []*Array{Reshape(sum, shape...)}
}
