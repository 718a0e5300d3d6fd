package optim

import "xlarun/graph"

// AdaptiveGradClip scales the updates of each unit so that their norm is at most factor times that of the unit's
// parameters, which counts as eps at least (usually 1e-3). A unit of a matrix [in, out] is a column, of a kernel a
// feature of the last axis; vectors and scalars are one unit (Brock et al., "High-performance large-scale image
// recognition without normalization", 2021).
func AdaptiveGradClip(factor, eps any) Transform {
	k := number("AdaptiveGradClip", factor)
	least := number("AdaptiveGradClip", eps)
	return Stateless(func(g, p *graph.Array) *graph.Array {
		most := unitNorm(p)
		most = graph.Mul(like(k, most), most.Max(like(least, most)))
		norm := unitNorm(g)
		return graph.Select(norm.Lt(most), g, g.Mul(most.Div(norm.Max(1e-6))))
	})
}

// unitNorm is the norm of each unit of a leaf, in the leaf's shape.
func unitNorm(x *graph.Array) *graph.Array {
	long := 0
	for _, n := range x.Dims() {
		if n != 1 {
			long++
		}
	}
	var axes []int // a vector or a scalar: all
	if long > 1 {
		axes = []int{0}
		for i := 1; x.Rank() > 3 && i < x.Rank()-1; i++ {
			axes = append(axes, i)
		}
	}
	square := graph.Reduction{Axes: axes, KeepDims: true}.Sum(x.Square())
	return square.Sqrt().BroadcastTo(x.Dims()...)
}
