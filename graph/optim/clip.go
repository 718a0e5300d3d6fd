package optim

import "xlarun/graph"

// GlobalNorm is the Euclidean norm over all float leaves of a tree, a scalar: float64 where a leaf is, else float32,
// in which 16-bit leaves are summed too.
func GlobalNorm(tree any) *graph.Array {
	var sum *graph.Array
	for _, a := range graph.Leaves(tree) {
		if !isFloat(a) {
			continue
		}
		s := a.Convert(wide(a)).Square().Sum()
		if sum == nil {
			sum = s
		} else {
			sum = sum.Add(s)
		}
	}
	if sum == nil {
		return graph.Scalar(0)
	}
	return sum.Sqrt()
}

// ClipByGlobalNorm scales all updates by one factor so that their GlobalNorm is at most maxNorm (Pascanu et al., "On
// the difficulty of training recurrent neural networks", 2013).
func ClipByGlobalNorm(maxNorm any) Transform {
	most := number("ClipByGlobalNorm", maxNorm)
	return stateless{func(grads, _ any) any {
		norm := GlobalNorm(grads)
		small := norm.Lt(inType(most, norm.DType()))
		return zip("optim.ClipByGlobalNorm", func(x []*graph.Array) *graph.Array {
			g := x[0]
			return graph.Select(small, g, g.Div(cast(norm, g)).Mul(like(most, g)))
		}, grads)
	}}
}

// Clip limits every element of the updates to [-maxDelta, maxDelta].
func Clip(maxDelta any) Transform {
	most := number("Clip", maxDelta)
	return Stateless(func(g, _ *graph.Array) *graph.Array {
		return graph.Clamp(like(mul(-1., most), g), g, like(most, g))
	})
}
