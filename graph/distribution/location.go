package distribution

import (
	"math"

	"xlarun/graph"
	"xlarun/graph/random"
	"xlarun/graph/special"
)

// eulerGamma is the mean of the standard Gumbel distribution.
const eulerGamma = .57721566490153286061

// Uniform is the uniform distribution between two numbers.
type Uniform struct {
	Low  *graph.Array
	High *graph.Array // above Low, of its shape
}

// NewUniform makes a uniform distribution between low and high, numbers or arrays that broadcast.
func NewUniform(low, high any) Uniform {
	p := parameters("distribution.NewUniform", low, high)
	return Uniform{p[0], p[1]}
}

func (d Uniform) width() *graph.Array { return d.High.Sub(d.Low) }

// Sample draws from [low, high).
func (d Uniform) Sample(key random.Key, dims ...int) *graph.Array {
	return random.Uniform(key, drawShape(d.Low, dims), d.Low, d.High)
}

// LogProb is the logarithm of the density: -Inf outside. Largest error: 1 ULP in float64, 1 in float32, 1 in 16-bit
// floats.
func (d Uniform) LogProb(x *graph.Array) *graph.Array {
	d, x = promoted("distribution.Uniform", d, x)
	return inFloat32(d, x, func(d Uniform, x *graph.Array) *graph.Array {
		y := d.width().Log().Neg().Add(x.Sub(x)) // NaN where x is
		return onSupport(x.Ge(d.Low).And(x.Le(d.High)), x, y)
	})
}

// Entropy is log(high - low). Largest error: 1 ULP in float64, 1 in float32, 1 in 16-bit floats.
func (d Uniform) Entropy() *graph.Array {
	return inFloat32(d, nil, func(d Uniform, _ *graph.Array) *graph.Array { return d.width().Log() })
}

// KL is the divergence from q: infinite unless q's interval holds this one. Largest error: 1 ULP in float64, 1 in
// float32, 1 in 16-bit floats.
func (d Uniform) KL(q Uniform) *graph.Array {
	return inFloat32([2]Uniform{d, q}, nil, func(v [2]Uniform, _ *graph.Array) *graph.Array {
		d, q := v[0], v[1]
		inside := q.Low.Le(d.Low).And(d.High.Le(q.High))
		return graph.Select(inside, special.RelEntr(1, d.width().Div(q.width())), math.Inf(1))
	})
}

// Mode is the middle.
func (d Uniform) Mode() *graph.Array { return d.Low.Add(d.High).Mul(.5) }

// Gumbel is the distribution of the largest of many draws.
type Gumbel struct {
	Loc   *graph.Array // mode
	Scale *graph.Array // positive; Loc's shape
}

// NewGumbel makes a Gumbel distribution, of numbers or arrays that broadcast.
func NewGumbel(loc, scale any) Gumbel {
	p := parameters("distribution.NewGumbel", loc, scale)
	return Gumbel{p[0], p[1]}
}

// Sample draws loc + scale * random.Gumbel.
func (d Gumbel) Sample(key random.Key, dims ...int) *graph.Array {
	return d.Loc.Add(d.Scale.Mul(random.Gumbel(key, drawShape(d.Loc, dims))))
}

// LogProb is the logarithm of the density. Largest error: 2 ULP in float64, 2 in float32, 1 in 16-bit floats.
func (d Gumbel) LogProb(x *graph.Array) *graph.Array {
	d, x = promoted("distribution.Gumbel", d, x)
	return inFloat32(d, x, func(d Gumbel, x *graph.Array) *graph.Array {
		z := x.Sub(d.Loc).Div(d.Scale)
		return graph.Select(z.Eq(math.Inf(-1)), z, z.Add(z.Neg().Exp()).Neg()).Sub(d.Scale.Log())
	})
}

// Entropy is 1 + log scale + Euler's constant. Largest error: 2 ULP in float64, 1 in float32, 1 in 16-bit floats.
func (d Gumbel) Entropy() *graph.Array {
	return inFloat32(d, nil, func(d Gumbel, _ *graph.Array) *graph.Array {
		return d.Scale.Log().Add(1 + eulerGamma)
	})
}

// KL is the divergence from q. Largest error: 3 ULP in float64, 4 in float32, 1 in 16-bit floats.
func (d Gumbel) KL(q Gumbel) *graph.Array {
	return inFloat32([2]Gumbel{d, q}, nil, func(v [2]Gumbel, _ *graph.Array) *graph.Array {
		d, q := v[0], v[1]
		ratio := d.Scale.Div(q.Scale)
		apart := q.Loc.Sub(d.Loc).Div(q.Scale)
		log, rest := lgammaNear2(ratio.Sub(1))
		// The terms are positive: nothing cancels where the distributions are close.
		return special.KLDiv(1, ratio).Add(rest).Add(special.Expm1Rest(apart.Add(log).Min(1000))) // no Inf - Inf
	})
}

// zetas are (zeta(k) - 1) / k, k from 2.
var zetas = []float64{.3224670334241132, .0673523010531981, .020580808427784546, .007385551028673986,
	.0028905103307415234, .001192753911703261, 0.0005096695247430425, 0.00022315475845357939, 9.945751278180853e-05,
	4.492623673813314e-05, 2.050721277567069e-05, 9.439488275268397e-06, 4.374866789907488e-06,
	2.039215753801366e-06, 9.55141213040742e-07, 4.492469198764566e-07, 2.1207184805554665e-07,
	1.0043224823968099e-07, 4.7698101693639804e-08, 2.2711094608943164e-08, 1.0838659214896955e-08,
	5.183475041970047e-09, 2.4836745438024785e-09, 1.1921401405860912e-09, 5.731367241678862e-10,
	2.7595228851242334e-10}

// lgammaNear2 is lgamma(2+x) and how far that is above its tangent at x = 0, both accurate near there: the latter is
// the sum of (-x)^k (zeta(k) - 1) / k (Abramowitz and Stegun 6.1.33).
func lgammaNear2(x *graph.Array) (value, above *graph.Array) {
	close := x.Abs().Lt(.5)
	near := graph.Select(close, x, 0)
	terms := zetas
	if x.DType() != graph.Float64 {
		terms = zetas[:12]
	}
	series := graph.ZerosLike(x)
	for k := len(terms) - 1; k >= 0; k-- {
		series = graph.Sub(terms[k], near.Mul(series))
	}
	series = series.Mul(near.Square())
	value = graph.Lgamma(graph.Select(close, 2, x.Add(2)))
	tangent := x.Mul(1 - eulerGamma)
	return graph.Select(close, tangent.Add(series), value), graph.Select(close, series, value.Sub(tangent))
}

// Mode is the most likely value.
func (d Gumbel) Mode() *graph.Array { return d.Loc }

// Logistic is the distribution whose cumulative function is the sigmoid. It has no closed KL; see Divergence.
type Logistic struct {
	Loc   *graph.Array // mean
	Scale *graph.Array // positive; Loc's shape
}

// NewLogistic makes a logistic distribution, of numbers or arrays that broadcast.
func NewLogistic(loc, scale any) Logistic {
	p := parameters("distribution.NewLogistic", loc, scale)
	return Logistic{p[0], p[1]}
}

// Sample draws loc + scale * random.Logistic.
func (d Logistic) Sample(key random.Key, dims ...int) *graph.Array {
	return d.Loc.Add(d.Scale.Mul(random.Logistic(key, drawShape(d.Loc, dims))))
}

// LogProb is the logarithm of the density. Largest error: 2 ULP in float64, 1 in float32, 1 in 16-bit floats.
func (d Logistic) LogProb(x *graph.Array) *graph.Array {
	d, x = promoted("distribution.Logistic", d, x)
	return inFloat32(d, x, func(d Logistic, x *graph.Array) *graph.Array {
		z := x.Sub(d.Loc).Div(d.Scale)
		positive := z.Ge(0) // the density is even
		size := graph.Select(positive, z, z.Neg())
		return size.Add(graph.Log1p(size.Neg().Exp()).Mul(2)).Neg().Sub(d.Scale.Log())
	})
}

// Entropy is 2 + log scale. Largest error: 1 ULP in float64, 1 in float32, 1 in 16-bit floats.
func (d Logistic) Entropy() *graph.Array {
	return inFloat32(d, nil, func(d Logistic, _ *graph.Array) *graph.Array { return d.Scale.Log().Add(2) })
}

// Mode is the most likely value.
func (d Logistic) Mode() *graph.Array { return d.Loc }
