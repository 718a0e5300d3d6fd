package graph

import (
	"fmt"
	"maps"
	"slices"
)

// A turn of a loop on an accelerator costs the launches of its kernels, and the kernels of short bodies take hardly any
// time beside that. So loops with short bodies take several steps in a turn, and steps of a turn share the kernels that
// read and write the scanned arrays.

// accelerator reports whether each kernel of a program is launched from outside.
func (t Target) accelerator() bool { return t == TargetCUDA || t == TargetTPU }

const (
	// shortBody is the most operations of a scan's body that is short.
	shortBody = 24
	// mostInTurn is the most steps of a turn, as users of JAX unroll such scans.
	mostInTurn = 16
)

// launchesSaved returns the steps in a turn of a scan whose body is short: the largest divisor of its length that is
// not too large. It is 1 for other bodies, and for those that use a carry more than once: compilers that fuse a chain
// of such steps compute each step as often as the next one uses it.
func launchesSaved(n *Node) int {
	a, body := n.Attrs.(scanAttrs), n.Bodies[0]
	if len(body.Nodes) > shortBody {
		return 1
	}
	uses := map[*Array]int{}
	for _, x := range body.Nodes {
		if x.Op.Name != "constant" && x.Op.Name != "broadcast_in_dim" && !elementwise(x) {
			return 1
		}
		for _, in := range x.Inputs {
			uses[in]++
		}
	}
	for _, c := range body.Params[a.consts : a.consts+a.carry] {
		if uses[c] > 1 {
			return 1
		}
	}
	for steps := min(mostInTurn, a.length); steps > 1; steps-- {
		if a.length%steps == 0 {
			return steps
		}
	}
	return 1
}

// scanChunk takes the steps of one turn: it reads the slices of all steps at once, and writes their outputs at once.
func (l *lowering) scanChunk(n *Node, args scanParts[*Array], state scanResults[*Array], turn *Array,
	steps int) scanResults[*Array] {
	a := n.Attrs.(scanAttrs)
	first := Mul(turn, steps)
	if a.reverse {
		first = Sub(a.length-steps, first)
	}
	from := func(x *Array) []*Array {
		at := make([]*Array, x.Rank())
		for i := range at {
			at[i] = Zeros(Shape{DType: Int32})
		}
		at[0] = first
		return at
	}
	var chunks []*Array
	for _, x := range args.xs {
		chunks = append(chunks, DynamicSlice(x, from(x), append([]int{steps}, x.Dims()[1:]...)))
	}
	outs := make([][]*Array, len(state.ys))
	for i := range outs {
		outs[i] = make([]*Array, steps)
	}
	for k := range steps {
		at := k
		if a.reverse {
			at = steps - 1 - k
		}
		p := scanParts[*Array]{consts: args.consts, carry: state.carry}
		for _, x := range chunks {
			p.xs = append(p.xs, x.Index(at))
		}
		scan := l.scan
		l.scan = n.Bodies[0]
		out := splitScanResults(a, l.inline(n.Bodies[0], p.concat()))
		l.scan = scan
		state.carry = out.carry
		for i, y := range out.ys {
			outs[i][at] = y
		}
	}
	ys := make([]*Array, len(state.ys))
	for i, y := range state.ys {
		ys[i] = DynamicUpdateSlice(y, Stack(outs[i], 0), from(y))
	}
	state.ys = ys
	return state
}

// leastAlias is the least bytes of a donated argument whose memory becomes a result's on a GPU. The compiler copies an
// argument that is read after its place is written, and starts a kernel for each copy. A TPU has as many either way.
const leastAlias = 1 << 20

// aliases are the donated arguments whose memory the program reuses, each with the result that it becomes.
func (p *Program) aliases(t Target) map[int]int {
	if t != TargetCUDA {
		return p.Donated
	}
	large := map[int]int{}
	for in, out := range p.Donated {
		if p.Inputs[in].Bytes() >= leastAlias {
			large[in] = out
		}
	}
	return large
}

// leastSliced is the least bytes of a slice that a loop takes again in each turn, instead of a copy of it.
const leastSliced = 1 << 20

// slicedInside returns the constants of a scan for the body of its loop. Large ones that are a slice of a larger array,
// such as the parameters of a tile of a population, are sliced in the body: there the slice is a part of the kernels
// that read it. In front of the loop it is a copy, of a kernel and memory of its own. turn is the counter of the loop.
// It is in the barrier, so that the compiler does not move the slices out of the loop.
func (l *lowering) slicedInside(consts []*Array, turn *Array) []*Array {
	if !l.target.accelerator() {
		return consts
	}
	inside := slices.Clone(consts)
	for i, c := range consts {
		slice := c
		if n := c.node; n != nil && n.Op.Name == "reshape" {
			slice = n.Inputs[0]
		}
		n := slice.node
		if n == nil || n.Op.Name != "dynamic_slice" || c.shape.Bytes() < leastSliced {
			continue
		}
		at := Barrier(append(slices.Clone(n.Inputs[1:]), turn)...)
		inside[i] = Reshape(DynamicSlice(n.Inputs[0], at[:len(at)-1], slice.Dims()), c.Dims()...)
	}
	return inside
}

// mostSummed is the most terms of a product that is written out.
const mostSummed = 8

// summedDot writes a product with a stack of a few arrays, such as the numbers that a network observes, as a sum of
// products with each of them: the stack would be a kernel of its own. nil: it is no such product.
func summedDot(l *lowering, n *Node, in []*Array) []*Array {
	a, out := n.Attrs.(dotAttrs), n.Outs[0].shape
	if !l.target.accelerator() || a.preferred != 0 || out.DType != Float32 || len(a.leftContract) != 1 {
		return nil
	}
	terms := func(x *Array, axis int) []*Array { // of a stack
		stack := x.node
		if stack == nil || stack.Op.Name != "concatenate" || stack.Attrs.(axisAttrs).axis != axis ||
			x.Dim(axis) > mostSummed ||
			slices.ContainsFunc(stack.Inputs, func(x *Array) bool { return x.Dim(axis) != 1 }) {
			return nil
		}
		return stack.Inputs
	}
	left, right := terms(in[0], a.leftContract[0]), terms(in[1], a.rightContract[0])
	if left == nil && right == nil {
		return nil
	}
	term := func(x *Array, stack []*Array, batch, free, contract []int, k int) *Array { // [batch, free]
		if stack != nil {
			x = stack[k]
		} else {
			x = SliceAxis(x, contract[0], k, k+1)
		}
		x = Transpose(x, slices.Concat(contract, batch, free)...)
		return Reshape(x, x.Dims()[1:]...)
	}
	lf, rf := a.free(in[0].Rank(), in[1].Rank())
	batches, own := len(a.leftBatch), len(a.leftBatch)+len(lf)
	var sum *Array
	for k := range in[0].Dim(a.leftContract[0]) {
		x := term(in[0], left, a.leftBatch, lf, a.leftContract, k)
		y := term(in[1], right, a.rightBatch, rf, a.rightContract, k)
		sum = addTangents(sum, Mul(broadcastInDim(x, out.Dims, rangeInts(0, own)),
			broadcastInDim(y, out.Dims, append(rangeInts(0, batches), rangeInts(own, out.Rank())...))))
	}
	return []*Array{sum}
}

const (
	// mostWritten is the most terms of a member's product that is written out.
	mostWritten = 64
	// fewOutputs is the most numbers of a product that are sums of their own, such as the outputs of a network. More
	// are one sum of vectors.
	fewOutputs = 4
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
	if !isDot || a.preferred != 0 || n.Outs[0].DType() != Float32 || len(a.leftContract) != 1 ||
		len(a.leftBatch) == 0 || product(n.Outs[0].Dims()[:len(a.leftBatch)]) < leastMembers {
		return p, false
	}
	if terms := n.Inputs[0].Dim(a.leftContract[0]); terms == 0 || terms > mostWritten {
		return p, false
	}
	left, right := a.free(n.Inputs[0].Rank(), n.Inputs[1].Rank())
	if len(left) == 1 && len(right) == 0 {
		return memberProduct{0, 1, a.leftBatch, a.rightBatch, a.leftContract, a.rightContract, left}, true
	}
	return memberProduct{1, 0, a.rightBatch, a.leftBatch, a.rightContract, a.leftContract, right},
		len(left) == 0 && len(right) == 1
}

// writtenOut writes the products of a matrix and a vector of each member of a population in another way, in the steps
// of a loop. A compiler makes a reduction of such a product, whose kernel takes no operations after it.
//
// On a GPU a sum of terms is a part of the kernel that uses it: the activations of the layer, or the environment's
// step. On a TPU the compiler cuts long sums into more kernels than the product takes. But there few results, each a
// product of two vectors, are one kernel with the activations before them, if the rows of the matrix are cut in front
// of the loop (rowsApart). nil: it is no such product.
func writtenOut(l *lowering, n *Node, in []*Array) []*Array {
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
				broadcastInDim(Reshape(x, batch...), shape, rangeInts(0, batches))))
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
// with few results into rows, and what is added to those results into numbers.
func (l *lowering) rowsApart(n *Node, consts []*Array) {
	if l.target != TargetTPU {
		return
	}
	body, cut := n.Bodies[0], maps.Clone(l.cut)
	if cut == nil {
		cut = map[cutKey][]*Array{}
	}
	l.cut = cut
	apart := func(x *Array, order []int) {
		at := slices.Index(body.Params[:len(consts)], x)
		if at < 0 {
			return
		}
		var parts []*Array
		first := Transpose(consts[at], order...)
		for i := range first.Dim(0) {
			parts = append(parts, Index(first, i))
		}
		cut[cutKey{consts[at], fmt.Sprint(order)}] = parts
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
}

// rows is the order of the matrix's axes in which the first numbers the rows, which are [batch, terms].
func (p memberProduct) rows() []int { return slices.Concat(p.free, p.matrixBatch, p.matrixContract) }

// lastFirst is the order of an array's axes in which the last, number axis, is the first.
func lastFirst(axis int) []int { return append([]int{axis}, rangeInts(0, axis)...) }

// productsOfRows is the product of a matrix that rowsApart has cut, a product for each row; nil: it has not.
func (l *lowering) productsOfRows(n *Node, in []*Array) []*Array {
	p, ok := memberProductOf(n)
	rows := l.cut[cutKey{in[p.matrix], fmt.Sprint(p.rows())}]
	if !ok || rows == nil {
		return nil
	}
	batches := len(p.matrixBatch)
	all := rangeInts(0, batches)
	vector := Transpose(in[p.vector], slices.Concat(p.vectorBatch, p.vectorContract)...)
	var outs []*Array
	for _, row := range rows {
		attrs := n.Attrs.(dotAttrs).of(all, all, []int{batches}, []int{batches})
		outs = append(outs, ExpandDims(apply(n.Op, attrs, []*Array{row, vector})[0], batches))
	}
	return []*Array{Concatenate(batches, outs...)}
}

// partOfStack is the slice of a stack, or of its sum with another array, that takes one part of the stack: without the
// stack, on a TPU, whose compiler would make it by a kernel of its own. nil: it is no such slice.
func partOfStack(l *lowering, n *Node, in []*Array) []*Array {
	a := n.Attrs.(sliceAttrs)
	if l.cut == nil {
		return nil
	}
	part := func(stack *Array) *Array {
		c := stack.node
		if c == nil || c.Op.Name != "concatenate" {
			return nil
		}
		axis := c.Attrs.(axisAttrs).axis
		for i, x := range stack.Dims() {
			if i != axis && (a.start[i] != 0 || a.limit[i] != x || a.stride[i] != 1) {
				return nil
			}
		}
		if a.limit[axis] != a.start[axis]+1 || len(c.Inputs) != stack.Dim(axis) {
			return nil
		}
		if p := c.Inputs[a.start[axis]]; p.Dim(axis) == 1 {
			return p
		}
		return nil
	}
	x := in[0]
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
	if parts := l.cut[cutKey{other, fmt.Sprint(lastFirst(last))}]; parts != nil && p.Dim(last) == 1 &&
		parts[0].Size() == p.Size() {
		number = parts[a.start[last]]
	} else {
		number = apply(n.Op, a, []*Array{other})[0]
	}
	sum := Add(Reshape(p, flat...), Reshape(number, flat...))
	return []*Array{Reshape(sum, shape...)}
}
