package graph

// Gradients by several arguments and by some of the leaves. What a caller does not use of a gradient costs nothing: it
// is not computed.

// Grads2 gives the gradients of a scalar function by both of its arguments. By more it is Grad of a struct of them.
func Grads2[A, B any](f func(A, B) *Array) func(A, B) (A, B) {
	g := Grad(func(x Pair[A, B]) *Array { return f(x.First, x.Second) })
	return func(a A, b B) (A, B) { return g(Pair[A, B]{a, b}).Unpack() }
}

// GradWhere gives the gradient of a scalar function by those leaves of its argument that choose picks, by their paths
// (".Hidden.W") and values; the others count as constants and get zeros. Frozen layers are written this way: nothing is
// computed for them.
func GradWhere[A any](choose func(path string, leaf *Array) bool, f func(A) *Array) func(A) A {
	g := ValueAndGradWhere(choose, f)
	return func(a A) A { _, d := g(a); return d }
}

// ValueAndGradWhere gives a scalar function's value beside what GradWhere gives.
func ValueAndGradWhere[A any](choose func(path string, leaf *Array) bool, f func(A) *Array) func(A) (*Array, A) {
	return func(a A) (*Array, A) {
		leaves, tree := Flatten(a)
		picked := make([]bool, len(leaves))
		var by []*Array
		for i, l := range leaves {
			if picked[i] = isInexact(l.DType()) && choose(tree.Path(i), l); picked[i] {
				by = append(by, l)
			}
		}
		if len(by) == 0 {
			throw("GradWhere", "no float leaf of the argument is picked: it has %d leaves, the first of them %s",
				len(leaves), firstPath(tree))
		}
		rest := spread(by, picked)
		join := func(by []*Array) A {
			out, k := append([]*Array(nil), leaves...), 0
			for i := range rest {
				if rest[i] != nil {
					out[i] = by[k]
					k++
				}
			}
			return unflattenAs[A](tree, out)
		}
		v, d := ValueAndGrad(func(by []*Array) *Array { return f(join(by)) })(by)
		return v, unflattenAs[A](tree, orZerosLike(spread(d, picked), leaves))
	}
}

func firstPath(t *Tree) string {
	if t.Len() == 0 {
		return "none"
	}
	return t.Path(0)
}
