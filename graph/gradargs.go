package graph

// Gradients by several arguments and by some of the leaves. What a caller does not use of a gradient costs nothing: it
// is not computed.

// Grads2 gives the gradients of a scalar function by both of its arguments.
func Grads2[A, B any](f func(A, B) *Array) func(A, B) (A, B) {
	g := ValueAndGrads2(f)
	return func(a A, b B) (A, B) { _, da, db := g(a, b); return da, db }
}

// Grads3 gives the gradients of a scalar function by its three arguments. Those by any subset are this with the others
// dropped: `dA, _, dC := Grads3(f)(a, b, c)`.
func Grads3[A, B, C any](f func(A, B, C) *Array) func(A, B, C) (A, B, C) {
	g := ValueAndGrads3(f)
	return func(a A, b B, c C) (A, B, C) { _, da, db, dc := g(a, b, c); return da, db, dc }
}

// ValueAndGrads2 gives a scalar function's value and its gradients by both arguments.
func ValueAndGrads2[A, B any](f func(A, B) *Array) func(A, B) (*Array, A, B) {
	type args struct {
		A A
		B B
	}
	g := ValueAndGrad(func(x args) *Array { return f(x.A, x.B) })
	return func(a A, b B) (*Array, A, B) { v, d := g(args{a, b}); return v, d.A, d.B }
}

// ValueAndGrads3 gives a scalar function's value and its gradients by its three arguments.
func ValueAndGrads3[A, B, C any](f func(A, B, C) *Array) func(A, B, C) (*Array, A, B, C) {
	type args struct {
		A A
		B B
		C C
	}
	g := ValueAndGrad(func(x args) *Array { return f(x.A, x.B, x.C) })
	return func(a A, b B, c C) (*Array, A, B, C) { v, d := g(args{a, b, c}); return v, d.A, d.B, d.C }
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
