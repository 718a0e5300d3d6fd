package signal

import "xlarun/graph"

// Interp is the piecewise linear function through the points (xp[i], fp[i]) at x, of any shape: fp's ends outside.
// xp and fp are vectors of one length, xp ascending.
func Interp(x, xp, fp *graph.Array) *graph.Array {
	const name = "Interp"
	if xp.Rank() != 1 || fp.Rank() != 1 || xp.Size() != fp.Size() || xp.Size() == 0 {
		graph.Throw(name, "got the points %s and %s, want two vectors of one length of at least 1", xp.Shape(),
			fp.Shape())
	}
	d := graph.Promote(graph.Promote(graph.Arguments.Float(x).DType(), graph.Arguments.Float(xp).DType()),
		graph.Arguments.Float(fp).DType())
	x, xp, fp = x.Convert(d), xp.Convert(d), fp.Convert(d)
	n := xp.Size()
	if n == 1 {
		return fp.Squeeze().BroadcastTo(x.Dims()...)
	}
	i := graph.SearchSorted(xp, x, true).Clamp(1, n-1)
	at := func(points, i *graph.Array) *graph.Array { return graph.Take(points, i, 0) }
	x0, x1 := at(xp, i.Sub(1)), at(xp, i)
	y0, y1 := at(fp, i.Sub(1)), at(fp, i)
	apart := x1.Sub(x0)
	jump := apart.Eq(0)
	inside := graph.Select(jump, y0, y0.Add(x.Sub(x0).Div(graph.Select(jump, 1, apart)).Mul(y1.Sub(y0))))
	inside = graph.Select(x.Lt(xp.Index(0)), fp.Index(0), inside)
	return graph.Select(x.Gt(xp.Index(n-1)), fp.Index(n-1), inside)
}
