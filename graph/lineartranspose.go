package graph

import "slices"

// LinearTranspose gives the transpose of a linear function of arguments like a, which may be abstract: the function
// that carries cotangents of the result to those of the argument. A function whose derivative depends on the point is
// refused; what a function adds to its linear part does not count. It is jax.linear_transpose.
func LinearTranspose[A, R any](f func(A) R, a A) func(R) A {
	const name = "LinearTranspose"
	needFloats(name, a)
	return func(ct R) A {
		zeros := MapTree(ZerosLike, a)
		t := record([]any{zeros}, func(x []any) any { return f(as[A](x[0])) })
		t.wantLinear(name)
		outs, pull := t.vjp()
		matchTangents(name, unflattenAs[R](t.outTree, outs), ct)
		return gradTree(zeros, pull(Leaves(ct)))
	}
}

// wantLinear throws if tangents of the results depend on the point.
func (t *traced) wantLinear(name string) {
	d, _ := jvpGraph(t.g, t.wrt, nil)
	d = (&Graph{Params: d.Params, Nodes: d.Nodes, Results: d.Results[len(t.g.Results):]}).dropDead()
	for _, n := range d.Nodes {
		for i, p := range d.Params[:len(t.wrt)] {
			if t.wrt[i] && slices.Contains(n.Inputs, p) {
				throw(name, "the function is not linear: its derivative depends on the point, by %s at %s", n.Op.Name,
					n.Where())
			}
		}
	}
}
