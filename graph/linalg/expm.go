package linalg

import (
	"math"

	"xlarun/graph"
)

// Expm is the exponential of a square matrix, float32 or float64: a Padé approximation of the matrix over a power of
// two, squared as often (Higham, "The scaling and squaring method for the matrix exponential revisited", 2005). It is
// NaN where the 1-norm of x is above 1.6e10 or not finite: so many squarings leave no digit. JAX's is from 3e5 on.
func Expm(x *graph.Array) *graph.Array {
	if x = graph.Linalg.SquareMatrix("Expm", x); x.Rank() > 2 {
		return graph.VMap(Expm)(x)
	}
	if x.Size() == 0 {
		return x
	}
	// The approximation's order, its numerator and the largest 1-norm that it is good for.
	b, most := []float64{17297280, 8648640, 1995840, 277200, 25200, 1512, 56, 1}, 3.925724783138660
	if x.DType() == graph.Float64 {
		b = []float64{64764752532480000, 32382376266240000, 7771770303897600, 1187353796428800, 129060195264000,
			10559470521600, 670442572800, 33522128640, 1323241920, 40840800, 960960, 16380, 182, 1}
		most = 5.371920351148152
	}
	const mostSquarings = 32
	norm := graph.StopGradient(x.Abs().Sum(0).ReduceMax())
	halvings := graph.Ceil(graph.Log2(norm.Div(most))).Clamp(0, mostSquarings)
	x = x.Mul(graph.Exp2(halvings.Neg()))
	power, one := x.Dot(x), graph.Eye(x.DType(), x.Dim(0))
	even, odd := one.Mul(b[0]), one.Mul(b[1])
	p := one
	for i := 2; i < len(b); i += 2 {
		if p = p.Dot(power); i == 2 {
			p = power
		}
		even, odd = even.Add(p.Mul(b[i])), odd.Add(p.Mul(b[i+1]))
	}
	odd = x.Dot(odd)
	r := Solve(even.Sub(odd), even.Add(odd))
	r = graph.ForiLoop(0, mostSquarings, func(i, r *graph.Array) *graph.Array {
		return graph.Cond(i.Convert(halvings.DType()).Lt(halvings), func() *graph.Array {
			return r.Dot(r)
		}, func() *graph.Array { return r })
	}, r)
	return graph.Select(norm.Le(most*(1<<mostSquarings)), r, graph.FullLike(r, math.NaN()))
}
