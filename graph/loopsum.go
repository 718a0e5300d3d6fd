package graph

import "slices"

// Sums over a loop that can wait until it is over. The cotangent of a loop's constant is the sum of what each step adds
// to it. Where a step adds a matrix product, usually that of weights, its operands are stacked instead. One large
// product after the loop contracts the steps together with the axes that each step contracts: there are fewer and
// larger products, and no sum is carried through the loop.

// loopSum collects the stacks that such products need while the body of a loop is built.
type loopSum struct {
	scope *scope
	xs    map[*Array]*Array     // a step's slice of a scanned input -> the whole input
	stack []*Array              // body values to be stacked besides
	bytes int                   // of them, in a step
	limit int                   // the bytes of a step's slices: stacks take no more
	after map[int]func() *Array // number of the sum -> what computes it after the loop
	whole map[*Array]*Array     // body value -> its stack, after the loop
}

func newLoopSum() *loopSum {
	return &loopSum{xs: map[*Array]*Array{}, after: map[int]func() *Array{}, whole: map[*Array]*Array{}}
}

// start begins the body: steps are a step's slices of the scanned inputs xs.
func (s *loopSum) start(steps, xs []*Array) {
	s.scope = currentTrace().cur
	for i, x := range steps {
		s.xs[x] = xs[i]
		s.limit += x.shape.Bytes()
	}
}

// postpone reports whether sum number i, to which a step adds q (nil: nothing), is computed after the loop.
func (s *loopSum) postpone(i int, q *Array) bool {
	if q == nil || q.scope != s.scope || q.node == nil {
		return false
	}
	stacks, bytes := len(s.stack), s.bytes
	after := s.product(q)
	if after == nil || s.bytes-bytes > q.shape.Bytes() || s.bytes > s.limit {
		s.stack, s.bytes = s.stack[:stacks], bytes
		return false
	}
	s.after[i] = after
	return true
}

// finish computes the postponed sums into their places in sums, from the stacks that the loop returned for s.stack.
func (s *loopSum) finish(stacks, sums []*Array) {
	for i, x := range s.stack {
		s.whole[x] = stacks[i]
	}
	for i := range sums {
		if after := s.after[i]; after != nil {
			sums[i] = after()
		}
	}
}

// product returns the function that computes the sum of q over all steps, nil where q is not a product, a sum of
// products, or one that is only rearranged or converted.
func (s *loopSum) product(q *Array) func() *Array {
	n := q.node
	if q.scope != s.scope || n == nil {
		return nil
	}
	switch n.Op.Name {
	case "transpose", "reshape", "convert", "neg":
		x := s.product(n.Inputs[0])
		if x == nil {
			return nil
		}
		return func() *Array { return apply1(n.Op, n.Attrs, x()) }
	case "add":
		x, y := s.product(n.Inputs[0]), s.product(n.Inputs[1])
		if x == nil || y == nil {
			return nil
		}
		return func() *Array { return apply1(n.Op, n.Attrs, x(), y()) }
	case "dot_general":
		x, y := n.Inputs[0], n.Inputs[1]
		if !s.stacked(x) || !s.stacked(y) {
			return nil
		}
		a := n.Attrs.(dotAttrs)
		shift := func(axes []int) []int { return mapInts(axes, shifted(0)) }
		contract := func(axes []int) []int { return append([]int{0}, shift(axes)...) }
		a = a.Of(shift(a.LeftBatch), shift(a.RightBatch), contract(a.LeftContract), contract(a.RightContract))
		return func() *Array { return apply1(n.Op, a, s.whole[x], s.whole[y]) }
	case "sparse_outer":
		x, y := n.Inputs[0], n.Inputs[1]
		if !s.stacked(x) || !s.stacked(y) {
			return nil
		}
		lead := n.Attrs.(sparseOuterAttrs).lead
		return func() *Array {
			sum := apply1(n.Op, sparseOuterAttrs{append([]int{1}, lead...)}, s.whole[x], s.whole[y])
			return Reshape(sum, q.Dims()...)
		}
	}
	return nil
}

// stacked plans a stack of a body value, and reports whether it has one. Constants of the loop have none.
func (s *loopSum) stacked(x *Array) bool {
	switch {
	case s.xs[x] != nil:
		s.whole[x] = s.xs[x]
	case x.scope != s.scope || x.node == nil:
		return false
	default:
		if slices.Contains(s.stack, x) {
			return true
		}
		s.stack, s.bytes = append(s.stack, x), s.bytes+x.shape.Bytes()
	}
	return true
}
