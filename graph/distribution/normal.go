package distribution

import (
	"math"

	"xlarun/graph"
	"xlarun/graph/random"
)

// Normal is the normal distribution.
type Normal struct {
	Loc   *graph.Array // mean
	Scale *graph.Array // standard deviation, positive; Loc's shape
}

// NewNormal makes a normal distribution of mean loc and standard deviation scale, numbers or arrays that broadcast.
func NewNormal(loc, scale any) Normal {
	p := parameters("distribution.NewNormal", loc, scale)
	return Normal{p[0], p[1]}
}

// Sample draws loc + scale * random.Normal.
func (d Normal) Sample(key random.Key, dims ...int) *graph.Array {
	return graph.Add(d.Loc, graph.Mul(d.Scale, random.Normal(key, drawn(d.Loc, dims))))
}

// LogProb is the logarithm of the density.
func (d Normal) LogProb(x *graph.Array) *graph.Array {
	z := graph.Div(graph.Sub(value("distribution.Normal", x, d.Loc), d.Loc), d.Scale)
	return graph.Sub(graph.Mul(-.5, graph.Square(z)), graph.Add(halfLog2Pi, graph.Log(d.Scale)))
}

// Entropy is (1 + log 2 pi)/2 + log scale.
func (d Normal) Entropy() *graph.Array { return graph.Add(.5+halfLog2Pi, graph.Log(d.Scale)) }

// KL is the divergence from q.
func (d Normal) KL(q Normal) *graph.Array {
	ratio := graph.Div(d.Scale, q.Scale)
	apart := graph.Div(graph.Sub(d.Loc, q.Loc), q.Scale)
	return graph.Sub(graph.Mul(.5, graph.Sub(graph.Add(graph.Square(ratio), graph.Square(apart)), 1)), graph.Log(ratio))
}

// Mode is the most likely value.
func (d Normal) Mode() *graph.Array { return d.Loc }

// SquashedNormal is tanh of a normal variable: a continuous action between -1 and 1 (Haarnoja et al., "Soft actor-critic",
// 2018, appendix C).
type SquashedNormal struct {
	Base Normal
}

// NewSquashedNormal makes tanh of a normal variable of mean loc and standard deviation scale, numbers or arrays that
// broadcast.
func NewSquashedNormal(loc, scale any) SquashedNormal { return SquashedNormal{NewNormal(loc, scale)} }

// Sample draws tanh of the base's draw.
func (d SquashedNormal) Sample(key random.Key, dims ...int) *graph.Array {
	return graph.Tanh(d.Base.Sample(key, dims...))
}

// SampleLogProb draws values and gives the logarithms of their densities, without the digits that are lost when LogProb
// takes the inverse of tanh near -1 and 1.
func (d SquashedNormal) SampleLogProb(key random.Key, dims ...int) (x, logProb *graph.Array) {
	u := d.Base.Sample(key, dims...)
	return graph.Tanh(u), graph.Sub(d.Base.LogProb(u), logSlope(u))
}

// LogProb is the logarithm of the density at x between -1 and 1; at -1 and 1 themselves, which rounding gives for draws
// far out, it is that of the nearest number inside.
func (d SquashedNormal) LogProb(x *graph.Array) *graph.Array {
	x = value("distribution.SquashedNormal", x, d.Base.Loc)
	least := graph.NextAfter(graph.FullLike(x, -1), 0)
	u := graph.Atanh(graph.Clamp(least, x, graph.Neg(least)))
	y := graph.Sub(d.Base.LogProb(u), logSlope(u))
	return within(graph.Le(graph.Abs(x), 1), x, y)
}

// logSlope is log(1 - tanh(u)^2), the logarithm of the derivative of tanh, without overflow.
func logSlope(u *graph.Array) *graph.Array {
	v := graph.Abs(u)
	return graph.Mul(2, graph.Sub(graph.Sub(math.Ln2, v), graph.Log1p(graph.Exp(graph.Mul(-2, v)))))
}

// Entropy has no closed form: it is the base's plus the expected logarithm of tanh's derivative, by the trapezoidal rule
// with 257 points over eight standard deviations to both sides. Its error is below 1e-4 for scales up to 10.
func (d SquashedNormal) Entropy() *graph.Array {
	const points, reach = 257, 8.
	at, weight := make([]float64, points), make([]float64, points)
	for i := range at {
		at[i] = reach * (2*float64(i)/(points-1) - 1)
		weight[i] = math.Exp(-at[i]*at[i]/2-halfLog2Pi) * 2 * reach / (points - 1)
	}
	row := func(v []float64) *graph.Array { return graph.Convert(graph.Of(v), d.Base.Loc.DType()) }
	u := graph.Add(graph.ExpandDims(d.Base.Loc, -1), graph.Mul(graph.ExpandDims(d.Base.Scale, -1), row(at)))
	return graph.Add(d.Base.Entropy(), graph.Sum(graph.Mul(logSlope(u), row(weight)), -1))
}

// KL is the divergence from q: that of the bases, as both are squashed alike.
func (d SquashedNormal) KL(q SquashedNormal) *graph.Array { return d.Base.KL(q.Base) }

// Mode is tanh of the base's mode, which policies act by when they do not explore; the density of a wide one has its
// maxima elsewhere.
func (d SquashedNormal) Mode() *graph.Array { return graph.Tanh(d.Base.Loc) }

// Laplace is the Laplace (double exponential) distribution.
type Laplace struct {
	Loc   *graph.Array // mean
	Scale *graph.Array // mean distance from it, positive; Loc's shape
}

// NewLaplace makes a Laplace distribution around loc, numbers or arrays that broadcast.
func NewLaplace(loc, scale any) Laplace {
	p := parameters("distribution.NewLaplace", loc, scale)
	return Laplace{p[0], p[1]}
}

// Sample draws loc + scale * random.Laplace.
func (d Laplace) Sample(key random.Key, dims ...int) *graph.Array {
	return graph.Add(d.Loc, graph.Mul(d.Scale, random.Laplace(key, drawn(d.Loc, dims))))
}

// LogProb is the logarithm of the density.
func (d Laplace) LogProb(x *graph.Array) *graph.Array {
	z := graph.Abs(graph.Div(graph.Sub(value("distribution.Laplace", x, d.Loc), d.Loc), d.Scale))
	return graph.Neg(graph.Add(z, graph.Log(graph.Mul(2, d.Scale))))
}

// Entropy is 1 + log(2 scale).
func (d Laplace) Entropy() *graph.Array { return graph.Add(1, graph.Log(graph.Mul(2, d.Scale))) }

// KL is the divergence from q.
func (d Laplace) KL(q Laplace) *graph.Array {
	apart := graph.Abs(graph.Sub(d.Loc, q.Loc))
	tail := graph.Mul(graph.Div(d.Scale, q.Scale), graph.Exp(graph.Neg(graph.Div(apart, d.Scale))))
	return graph.Sub(graph.Add(graph.Add(graph.Log(graph.Div(q.Scale, d.Scale)), graph.Div(apart, q.Scale)), tail), 1)
}

// Mode is the most likely value.
func (d Laplace) Mode() *graph.Array { return d.Loc }
