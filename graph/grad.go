package graph

import "slices"

// traced is a function recorded over its arguments, ready to be differentiated with respect to some of their leaves.
type traced struct {
	g       *Graph
	values  []*Array // captured values, then all argument leaves
	wrt     []bool   // which of values are differentiated
	outTree *Tree
}

// record traces f(args); the leaves of the first argument are differentiated, where they are floats or complex.
func record(args []any, f func(args []any) any) *traced {
	leaves, tree := Flatten(args)
	t := &traced{}
	g, captured := buildGraph(ShapesOf(leaves), nil, func(p []*Array) []*Array {
		watchKeys(keyBody{args: leaves})
		currentTrace().cur.diff = true
		outs, o := Flatten(f(tree.Unflatten(p).([]any)))
		t.outTree = o
		return outs
	})
	t.g, t.values = g, slices.Concat(captured, leaves)
	t.wrt = make([]bool, len(captured))
	first := len(Leaves(args[0]))
	for i, l := range leaves {
		t.wrt = append(t.wrt, i < first && isInexact(l.DType()))
	}
	return t
}

// jvp gives results and tangents for tangents of the differentiated leaves; zeros are filled in.
func (t *traced) jvp(tangents []*Array) (outs, outTangents []*Array) {
	outs, ts := jvp(t.g, t.values, spread(tangents, t.wrt))
	return outs, orZerosLike(ts, outs)
}

// linearize computes the results and the linear map from the differentiated leaves to them.
func (t *traced) linearize() (outs []*Array, l *linear) {
	d, active := jvpGraph(t.g, t.wrt, nil)
	k := len(t.g.Results)
	d = d.dropDead()
	l = linearizeGraph(d, slices.Concat(t.values, make([]*Array, count(t.wrt))))
	for _, r := range d.Results[:k] {
		v := l.known[r]
		if v == nil {
			throw("Linearize", "internal: a result depends on the tangents")
		}
		outs = append(outs, v)
	}
	results := make([]*Array, k)
	next := k
	for i, a := range active {
		if a {
			results[i] = d.Results[next]
			next++
		}
	}
	l.results = results
	return outs, l
}

// vjp gives the results and the function from their cotangents to those of the differentiated leaves.
func (t *traced) vjp() (outs []*Array, pull func(cts []*Array) []*Array) {
	outs, l := t.linearize()
	active := notNil(l.results)
	l.results = choose(l.results, active)
	return outs, func(cts []*Array) []*Array {
		return orZerosLike(l.transpose(choose(cts, active)), choose(t.values, t.wrt))
	}
}

// gradTree puts gradients of the differentiated leaves into the structure of an argument; other leaves get zeros.
func gradTree[A any](a A, grads []*Array) A {
	k := 0
	return MapTree(func(l *Array) *Array {
		if !isInexact(l.DType()) {
			return ZerosLike(l)
		}
		k++
		return grads[k-1]
	}, a)
}

// floatLeaves lists the leaves that have tangents.
func floatLeaves(v any) []*Array {
	var out []*Array
	for _, l := range Leaves(v) {
		if isInexact(l.DType()) {
			out = append(out, l)
		}
	}
	return out
}

// Jvp evaluates f and its directional derivative at a along t (forward mode). Integer and bool leaves of t are ignored.
func Jvp[A, R any](f func(A) R, a, t A) (R, R) {
	matchTangents("Jvp", a, t)
	r := record([]any{a}, func(x []any) any { return f(as[A](x[0])) })
	outs, ts := r.jvp(floatLeaves(t))
	return unflattenAs[R](r.outTree, outs), unflattenAs[R](r.outTree, ts)
}

// matchTangents throws unless a tangent or cotangent has the structure and the float shapes of its value.
func matchTangents(name string, v, t any) {
	a, at := Flatten(v)
	b, bt := Flatten(t)
	mustMatch(name, "value", at, "tangent", bt)
	for i := range a {
		if isInexact(a[i].DType()) && !a[i].shape.Equal(b[i].shape) {
			throw(name, "leaf %s is %s, its tangent %s; want equal shapes", at.Path(i), a[i].shape, b[i].shape)
		}
	}
}

// Linearize evaluates f at a and gives its derivative there as a linear function of tangents, computed with what the
// evaluation kept.
func Linearize[A, R any](f func(A) R, a A) (R, func(A) R) {
	r := record([]any{a}, func(x []any) any { return f(as[A](x[0])) })
	outs, l := r.linearize()
	active := notNil(l.results)
	return unflattenAs[R](r.outTree, outs), func(t A) R {
		matchTangents("Linearize", a, t)
		got := spread(l.eval(floatLeaves(t), l.known, choose(l.results, active)), active)
		return unflattenAs[R](r.outTree, orZerosLike(got, outs))
	}
}

// Vjp evaluates f at a and gives the function from cotangents of the result to the cotangent of a (reverse mode).
func Vjp[A, R any](f func(A) R, a A) (R, func(R) A) {
	r := record([]any{a}, func(x []any) any { return f(as[A](x[0])) })
	outs, pull := r.vjp()
	result := unflattenAs[R](r.outTree, outs)
	return result, func(ct R) A {
		matchTangents("Vjp", result, ct)
		return gradTree(a, pull(Leaves(ct)))
	}
}

// valueAndGrad differentiates the first result of f, which must be a float scalar, by the first argument.
func valueAndGrad[A any](name string, a A, args []any, f func(args []any) any) (*traced, []*Array, A) {
	needFloats(name, a)
	r := record(args, f)
	if s := r.g.Results[0].shape; !isFloat(s.DType) || s.Rank() != 0 {
		throw(name, "the function returns %s, want a float scalar (a loss): sum or average it, or use Vjp", s)
	}
	outs, pull := r.vjp()
	cts := make([]*Array, len(outs))
	for i, o := range outs {
		cts[i] = ZerosLike(o)
	}
	cts[0] = OnesLike(outs[0])
	return r, outs, gradTree(a, pull(cts))
}

// needFloats refuses to differentiate by integers and bools alone, which have no derivative.
func needFloats(name string, a any) {
	if leaves := Leaves(a); len(leaves) > 0 && len(floatLeaves(a)) == 0 {
		throw(name, "the argument to differentiate by is %s, want a float (or a tree with some): convert it, or "+
			"differentiate by another argument", leaves[0].shape)
	}
}

// Grad gives the gradient of a scalar function by its argument, in the argument's structure. Leaves of integers or
// bools beside float ones (a counter, a key) count as constants and get zeros. By a complex number x + iy it is
// df/dx - i df/dy, as in JAX: a step against its conjugate goes downhill.
func Grad[A any](f func(A) *Array) func(A) A {
	g := ValueAndGrad(f)
	return func(a A) A { _, d := g(a); return d }
}

// Grad2 gives the gradient of a scalar function by its first argument.
func Grad2[A, B any](f func(A, B) *Array) func(A, B) A {
	g := ValueAndGrad2(f)
	return func(a A, b B) A { _, d := g(a, b); return d }
}

// ValueAndGrad gives a scalar function's value and its gradient by the argument.
func ValueAndGrad[A any](f func(A) *Array) func(A) (*Array, A) {
	wantFunction("Grad", f == nil)
	return func(a A) (*Array, A) {
		_, outs, d := valueAndGrad("Grad", a, []any{a}, func(x []any) any { return f(as[A](x[0])) })
		return outs[0], d
	}
}

// ValueAndGrad2 gives a scalar function's value and its gradient by the first argument.
func ValueAndGrad2[A, B any](f func(A, B) *Array) func(A, B) (*Array, A) {
	wantFunction("Grad2", f == nil)
	return func(a A, b B) (*Array, A) {
		_, outs, d := valueAndGrad("Grad2", a, []any{a, b}, func(x []any) any { return f(as[A](x[0]), as[B](x[1])) })
		return outs[0], d
	}
}

// aux is a loss with what else the function returns.
type aux[X any] struct {
	Loss *Array
	Aux  X
}

// ValueAndGradAux is ValueAndGrad2 for functions that return a loss and further outputs, which are passed on.
func ValueAndGradAux[A, B, X any](f func(A, B) (*Array, X)) func(A, B) (*Array, X, A) {
	wantFunction("ValueAndGradAux", f == nil)
	return func(a A, b B) (*Array, X, A) {
		r, outs, d := valueAndGrad("ValueAndGradAux", a, []any{a, b}, func(x []any) any {
			l, extra := f(as[A](x[0]), as[B](x[1]))
			return aux[X]{l, extra}
		})
		v := unflattenAs[aux[X]](r.outTree, outs)
		return v.Loss, v.Aux, d
	}
}

// JacFwd gives the Jacobian of a function of one array, column by column (forward mode): result axes, then argument
// axes.
func JacFwd(f func(*Array) *Array) func(*Array) *Array {
	return func(x *Array) *Array {
		needFloats("JacFwd", x)
		return JacFwdTree(f)(x)[0]
	}
}

// JacRev gives the Jacobian of a function of one array, row by row (reverse mode): result axes, then argument axes.
func JacRev(f func(*Array) *Array) func(*Array) *Array {
	return func(x *Array) *Array {
		needFloats("JacRev", x)
		return JacRevTree(f)(x)[0]
	}
}

// Hessian gives the second derivatives of a scalar function of one array: its axes twice.
func Hessian(f func(*Array) *Array) func(*Array) *Array { return JacFwd(Grad(f)) }
