package graph

import "slices"

// A turn of a loop on an accelerator costs the launches of its kernels, and the kernels of short bodies take hardly any
// time beside that. So loops with short bodies take several steps in a turn, and steps of a turn share the kernels that
// read and write the scanned arrays.

// accelerator reports whether each kernel of a program is launched from outside.
func (t Target) accelerator() bool { return t.Platform == "cuda" || t.Platform == "tpu" }

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
		n := largeSlice(c)
		if n == nil {
			continue
		}
		at := Barrier(append(slices.Clone(n.Inputs[1:]), turn)...)
		inside[i] = Reshape(DynamicSlice(n.Inputs[0], at[:len(at)-1], n.Outs[0].Dims()), c.Dims()...)
	}
	return inside
}

// largeSlice returns the dynamic_slice that a constant of a scan is, up to its shape, if a loop takes it again in each
// turn; nil: it is no such slice.
func largeSlice(c *Array) *Node {
	n := c.node
	if n != nil && n.Op.Name == "reshape" {
		n = n.Inputs[0].node
	}
	if n == nil || n.Op.Name != "dynamic_slice" || c.shape.Bytes() < leastSliced {
		return nil
	}
	return n
}

// stackOf returns the arrays that an array is a stack of, each of length 1 along an axis; nil: it is no such stack.
func stackOf(x *Array, axis int) []*Array {
	stack := x.node
	if stack == nil || stack.Op.Name != "concatenate" || stack.Attrs.(axisAttrs).axis != axis ||
		slices.ContainsFunc(stack.Inputs, func(x *Array) bool { return x.Dim(axis) != 1 }) {
		return nil
	}
	return stack.Inputs
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
	terms := func(x *Array, axis int) []*Array {
		if x.Dim(axis) > mostSummed {
			return nil
		}
		return stackOf(x, axis)
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
