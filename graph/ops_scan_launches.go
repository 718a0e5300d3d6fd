package graph

import "slices"

// An iteration of a loop on an accelerator costs the launches of its kernels, and the kernels of short bodies take
// hardly any time beside that. So loops with short bodies take several steps in an iteration, and steps of an iteration
// share the kernels that read and write the scanned arrays.

const (
	// shortBody is the most operations of a scan's body that is short.
	shortBody = 24
	// mostUnrolled is the most steps of an iteration, as users of JAX unroll such scans.
	mostUnrolled = 16
)

// launchesSaved returns the steps in an iteration of a scan whose body is short: the largest divisor of its length that
// is not too large. It is 1 for other bodies, and for those that use a carry more than once: compilers that fuse a
// chain of such steps compute each step as often as the next one uses it.
func launchesSaved(n *Node) int {
	a, body := n.Attrs.(scanAttrs), n.Bodies[0]
	if len(body.Nodes) > shortBody {
		return 1
	}
	uses := map[*Array]int{}
	for _, x := range body.Nodes {
		if x.Op.Name != "constant" && x.Op.Name != "broadcast_in_dim" && !x.Elementwise() {
			return 1
		}
		for _, in := range x.Inputs {
			uses[in]++
		}
	}
	for _, c := range body.Params[a.Consts : a.Consts+a.Carry] {
		if uses[c] > 1 {
			return 1
		}
	}
	for steps := min(mostUnrolled, a.Length); steps > 1; steps-- {
		if a.Length%steps == 0 {
			return steps
		}
	}
	return 1
}

// scanChunk takes the steps of one iteration: it reads the slices of all steps at once, and writes their outputs at
// once.
func (l *Cursor) scanChunk(n *Node, args scanParts[*Array], state scanResults[*Array], trip *Array,
	steps int) scanResults[*Array] {
	a := n.Attrs.(scanAttrs)
	first := Mul(trip, steps)
	if a.Reverse {
		first = Sub(a.Length-steps, first)
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
		if a.Reverse {
			at = steps - 1 - k
		}
		p := scanParts[*Array]{consts: args.consts, carry: state.carry}
		for _, x := range chunks {
			p.xs = append(p.xs, x.Index(at))
		}
		out := l.step(n, p)
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

// leastSliced is the least bytes of a slice that a loop takes again in each iteration, instead of a copy of it.
const leastSliced = 1 << 20

// slicedInside returns the constants of a scan for the body of its loop. Large ones that are a slice of a larger array,
// such as the parameters of a tile of a population, are sliced in the body: there the slice is a part of the kernels
// that read it. In front of the loop it is a copy, of a kernel and memory of its own. iteration is the counter of the
// loop. It is in the barrier, so that the compiler does not move the slices out of the loop.
func (l *Cursor) slicedInside(consts []*Array, trip *Array) []*Array {
	if !l.target.Accelerator() {
		return consts
	}
	inside := slices.Clone(consts)
	for i, c := range consts {
		n := largeSlice(c)
		if n == nil {
			continue
		}
		at := Barrier(append(slices.Clone(n.Inputs[1:]), trip)...)
		inside[i] = Reshape(DynamicSlice(n.Inputs[0], at[:len(at)-1], n.Outs[0].Dims()), c.Dims()...)
	}
	return inside
}

// largeSlice returns the dynamic_slice that a constant of a scan is, up to its shape, if a loop takes it again in each
// iteration; nil: it is no such slice.
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
