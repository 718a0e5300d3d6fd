package strategy

import "xlarun/graph"

// Adam, whose arrays may all be absent, is the state of Kingma and Ba's optimiser (2015) with optax's defaults.
type Adam struct {
	Count  *graph.Array `tree:"optional"` // i32[]: steps so far
	Mu, Nu *graph.Array `tree:"optional"` // f32[n]: running means of the gradient and of its square
}

const (
	adamBeta1 = .9
	adamBeta2 = .999
	adamEps   = 1e-8
)

func newAdam(like *graph.Array) Adam {
	return Adam{graph.Zeros(graph.ShapeOf(graph.Int32)), graph.ZerosLike(like), graph.ZerosLike(like)}
}

// step gives the change that ascends along the gradient.
func (a Adam) step(gradient, rate *graph.Array) (next Adam, update *graph.Array) {
	mix := func(beta float32, old, x *graph.Array) *graph.Array {
		return graph.Add(graph.Mul(beta, old), graph.Mul(1-beta, x))
	}
	next = Adam{graph.Add(a.Count, 1), mix(adamBeta1, a.Mu, gradient), mix(adamBeta2, a.Nu, graph.Square(gradient))}
	t := graph.Convert(next.Count, graph.Float32)
	unbiased := func(beta float32, x *graph.Array) *graph.Array { return graph.Div(x, graph.Sub(1, graph.Pow(beta, t))) }
	mean, square := unbiased(adamBeta1, next.Mu), unbiased(adamBeta2, next.Nu)
	return next, graph.Div(graph.Mul(rate, mean), graph.Add(graph.Sqrt(square), float32(adamEps)))
}
