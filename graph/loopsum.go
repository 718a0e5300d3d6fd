package graph

// Sums over a loop that can wait until it is over. The cotangent of a loop's constant is the sum of what each step adds
// to it. Where a step's part is a matrix product, that of weights usually, its operands are stacked instead, and one
// large product contracts the steps together with the axes that each step contracts: fewer and larger products, and no
// sum that travels through the loop.

// loopSum collects the stacks that such products need while the body of a loop is built.
type loopSum struct {
	scope *scope
	given map[*Array]*Array // a step's slice of a scanned input -> the whole input
	stack []*Array          // body values to be stacked besides
	bytes int               // of them, in a step
	limit int
	whole map[*Array]*Array // body value -> its stack, behind the loop
}

// plan returns the function that computes the sum of q over all steps behind the loop, or nil if q has to be summed inside.
func (s *loopSum) plan(q *Array) func() *Array {
	if q.scope != s.scope || q.node == nil {
		return nil
	}
	stacks, bytes := len(s.stack), s.bytes
	after := s.product(q)
	if after == nil || s.bytes-bytes > q.shape.Bytes() || s.bytes > s.limit {
		s.stack, s.bytes = s.stack[:stacks], bytes
		return nil
	}
	return after
}

// product plans a product, a sum of products, or one whose result is only rearranged or converted.
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
		behind := func(axes []int) []int { return mapInts(axes, func(x int) int { return x + 1 }) }
		over := func(axes []int) []int { return append([]int{0}, behind(axes)...) }
		a = dotAttrs{behind(a.leftBatch), behind(a.rightBatch), over(a.leftContract), over(a.rightContract)}
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

// stacked sees to it that a body value has a stack. Constants of the loop have none.
func (s *loopSum) stacked(x *Array) bool {
	switch {
	case s.given[x] != nil:
		s.whole[x] = s.given[x]
	case x.scope != s.scope || x.node == nil:
		return false
	default:
		for _, y := range s.stack {
			if y == x {
				return true
			}
		}
		s.stack, s.bytes = append(s.stack, x), s.bytes+x.shape.Bytes()
	}
	return true
}
