package graph

import "slices"

// Derivatives of trees by trees. The derivative of one array by a tree has the tree's type: each leaf has the array's
// axes, then its own. That of a tree of results is a list of them, one for each result leaf, in the order of Leaves.
// Leaves of integers and bools have derivative zero.

// JacFwdTree gives the Jacobian of a function of a tree, by forward mode: one pass over all elements of the argument at
// once, good where the argument is small.
func JacFwdTree[A, R any](f func(A) R) func(A) []A {
	return func(a A) []A {
		leaves, tree := Flatten(a)
		y, linear := Linearize(f, a)
		out := make([]A, len(Leaves(y)))
		n := floatSize(leaves)
		if n == 0 {
			return zeroJacobian[A](tree, leaves, Leaves(y))
		}
		columns := VMap(func(t A) []*Array {
			return Leaves(linear(t))
		}, OutAxis(-1))(unflattenAs[A](tree, oneHots(leaves, n)))
		for i, c := range columns {
			from := 0
			out[i] = MapTree(func(l *Array) *Array {
				dims := slices.Concat(c.Dims()[:c.Rank()-1], l.Dims())
				if !isInexact(l.DType()) || !isInexact(c.DType()) {
					return Zeros(ShapeOf(c.DType(), dims...))
				}
				part := SliceAxis(c, -1, from, from+l.Size())
				from += l.Size()
				return Reshape(part, dims...)
			}, a)
		}
		return out
	}
}

// JacRevTree gives the Jacobian of a function of a tree, by reverse mode: one pass over all elements of the result at
// once, good where the result is small.
func JacRevTree[A, R any](f func(A) R) func(A) []A {
	return func(a A) []A {
		y, pull := Vjp(f, a)
		results, tree := Flatten(y)
		n := floatSize(results)
		leaves, args := Flatten(a)
		if n == 0 {
			return zeroJacobian[A](args, leaves, results)
		}
		rows := VMap(pull)(unflattenAs[R](tree, oneHots(results, n)))
		out := make([]A, len(results))
		from := 0
		for i, r := range results {
			start := from
			if isInexact(r.DType()) {
				from += r.Size()
			}
			out[i] = MapTree2(func(row, l *Array) *Array {
				dims := slices.Concat(r.Dims(), l.Dims())
				if !isInexact(l.DType()) || !isInexact(r.DType()) {
					return Zeros(ShapeOf(r.DType(), dims...))
				}
				return Reshape(SliceAxis(row, 0, start, start+r.Size()), dims...)
			}, rows, a)
		}
		return out
	}
}

// HessianTree gives the second derivatives of a scalar function of a tree: for each leaf of the argument, in the order
// of Leaves, a tree like the argument whose leaves have that leaf's axes, then their own. For one array it is Hessian.
func HessianTree[A any](f func(A) *Array) func(A) []A { return JacFwdTree(Grad(f)) }

func floatSize(leaves []*Array) int {
	n := 0
	for _, l := range leaves {
		if isInexact(l.DType()) {
			n += l.Size()
		}
	}
	return n
}

// oneHots gives each leaf n lanes: lane i of the float leaves is one at element i of all of them, in order, and zero
// elsewhere.
func oneHots(leaves []*Array, n int) []*Array {
	out := make([]*Array, len(leaves))
	from := 0
	for i, l := range leaves {
		dims := append([]int{n}, l.Dims()...)
		if !isInexact(l.DType()) {
			out[i] = Zeros(ShapeOf(l.DType(), dims...))
			continue
		}
		s := ShapeOf(Int32, n, l.Size())
		out[i] = Reshape(Convert(Eq(IotaAxis(s, 0), Add(IotaAxis(s, 1), from)), l.DType()), dims...)
		from += l.Size()
	}
	return out
}

// zeroJacobian is the Jacobian where nothing has a derivative.
func zeroJacobian[A any](tree *Tree, leaves, results []*Array) []A {
	out := make([]A, len(results))
	for i, r := range results {
		zeros := make([]*Array, len(leaves))
		for j, l := range leaves {
			zeros[j] = Zeros(ShapeOf(r.DType(), slices.Concat(r.Dims(), l.Dims())...))
		}
		out[i] = unflattenAs[A](tree, zeros)
	}
	return out
}
