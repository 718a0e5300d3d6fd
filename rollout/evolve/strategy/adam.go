package strategy

import "xlarun/graph"

// Adam, whose arrays may all be absent, is the state of Kingma and Ba's optimizer (2015) with optax's defaults.
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
	return Adam{graph.Scalar(0, graph.Int32), graph.ZerosLike(like), graph.ZerosLike(like)}
}

// step returns the update that ascends along the gradient, as evosax computes it. It stands beside graph/optim because
// that multiplies by the learning rate last, as optax does, and results differ in the last digit. Elements beyond
// maxValue count as that, so that their squares are finite: an infinite one would end all movement.
func (a Adam) step(gradient, rate *graph.Array) (next Adam, update *graph.Array) {
	mix := func(beta float32, old, x *graph.Array) *graph.Array {
		return graph.Mul(beta, old).Add(graph.Mul(1-beta, x))
	}
	gradient = gradient.Clamp(-maxValue, maxValue)
	next = Adam{a.Count.Add(1), mix(adamBeta1, a.Mu, gradient), mix(adamBeta2, a.Nu, gradient.Square())}
	t := next.Count.Convert(graph.Float32)
	unbiased := func(beta float32, x *graph.Array) *graph.Array {
		return x.Div(graph.Sub(1, graph.Pow(beta, t)))
	}
	mean, square := unbiased(adamBeta1, next.Mu), unbiased(adamBeta2, next.Nu)
	return next, rate.Mul(mean).Div(square.Sqrt().Add(float32(adamEps)))
}
