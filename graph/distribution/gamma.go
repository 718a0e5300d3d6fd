package distribution

import (
	"math"

	"xlarun/graph"
	"xlarun/graph/random"
	"xlarun/graph/special"
)

// Gamma is the gamma distribution.
type Gamma struct {
	Concentration *graph.Array // shape, positive
	Rate          *graph.Array // one over the scale, positive; the mean is Concentration / Rate
}

// NewGamma makes a gamma distribution; parameters are numbers or arrays that broadcast.
func NewGamma(concentration, rate any) Gamma {
	p := parameters("distribution.NewGamma", concentration, rate)
	return Gamma{p[0], p[1]}
}

// Sample draws random.Gamma / rate.
func (d Gamma) Sample(key random.Key, dims ...int) *graph.Array {
	return random.Gamma(key, drawShape(d.Concentration, dims), d.Concentration).Div(d.Rate)
}

// LogProb is the logarithm of the density; -Inf below 0 and at infinity. Largest error: 30 ULP in float64, 16 in
// float32, 1 in 16-bit floats.
func (d Gamma) LogProb(x *graph.Array) *graph.Array {
	d, x = promoted("distribution.Gamma", d, x)
	return inFloat32(d, x, func(d Gamma, x *graph.Array) *graph.Array {
		a, rate := d.Concentration, d.Rate
		at := rate.Mul(x)
		log := rate.Log()
		// Where the product underflows the logarithms do not.
		tiny := graph.Finfo(x.DType()).Tiny
		under := x.Ge(tiny).And(at.Lt(tiny))
		y := special.GammaLogPDF(a, graph.Select(under, 1, at)).Add(log)
		apart := log.Add(graph.Select(under, x, 1).Log())
		small := a.Mul(apart).Sub(graph.Select(under, x, 1).Log()).Sub(graph.Lgamma(a))
		return graph.Select(under, small, y)
	})
}

// Entropy is a - log rate + log gamma(a) + (1-a) digamma(a), without what cancels in it. Largest error: 3 ULP in
// float64, 4 in float32, 1 in 16-bit floats.
func (d Gamma) Entropy() *graph.Array {
	return inFloat32(d, nil, func(d Gamma, _ *graph.Array) *graph.Array {
		a := d.Concentration
		y := special.LgammaCorrection(a).Add(graph.Sub(1, a).Mul(special.DigammaCorrection(a)))
		return y.Add(graph.Mul(.5, a.Log()).Sub(d.Rate.Log())).Add(halfLog2Pi)
	})
}

// KL is the divergence from q. Largest error: 9 ULP in float64, 16 in float32, 1 in 16-bit floats; for values below 1,
// in ULP of 1: of close distributions few digits are right, or none.
func (d Gamma) KL(q Gamma) *graph.Array {
	return inFloat32([2]Gamma{d, q}, nil, func(v [2]Gamma, _ *graph.Array) *graph.Array {
		d, q := v[0], v[1]
		a, b := d.Concentration, q.Concentration
		y := a.Sub(b).Mul(special.DigammaCorrection(a)).Add(a.Sqrt().Div(b.Sqrt()).Log())
		y = y.Add(special.LgammaCorrection(b)).Sub(special.LgammaCorrection(a))
		return y.Add(divergence(b, q.Rate, d.Rate, a))
	})
}

// Mean is the expected value.
func (d Gamma) Mean() *graph.Array { return d.Concentration.Div(d.Rate) }

// Beta is the beta distribution over numbers between 0 and 1.
type Beta struct {
	A, B *graph.Array // concentrations toward 1 and toward 0, positive
}

// NewBeta makes a beta distribution; the concentrations are numbers or arrays that broadcast.
func NewBeta(a, b any) Beta {
	p := parameters("distribution.NewBeta", a, b)
	return Beta{p[0], p[1]}
}

// Sample draws random.Beta.
func (d Beta) Sample(key random.Key, dims ...int) *graph.Array {
	return random.Beta(key, drawShape(d.A, dims), d.A, d.B)
}

// LogProb is the logarithm of the density; -Inf outside of 0 to 1. Largest error: 50 ULP in float64, 30 in float32, 1
// in 16-bit floats.
func (d Beta) LogProb(x *graph.Array) *graph.Array {
	d, x = promoted("distribution.Beta", d, x)
	return special.BetaLogPDF(d.A, d.B, x)
}

// Entropy is minus the expected LogProb. Largest error: 30 ULP in float64, 50 in float32, 1 in 16-bit floats.
func (d Beta) Entropy() *graph.Array {
	return concentrations(d.A, d.B).Entropy()
}

// KL is the divergence from q. Largest error: 420 ULP in float64, 50 in float32, 1 in 16-bit floats; for values below
// 1, in ULP of 1: of close distributions few digits are right, or none.
func (d Beta) KL(q Beta) *graph.Array {
	return concentrations(d.A, d.B).KL(concentrations(q.A, q.B))
}

// concentrations is the Dirichlet distribution of a number of a beta distribution and the rest to 1.
func concentrations(a, b *graph.Array) Dirichlet {
	return Dirichlet{graph.Stack([]*graph.Array{a, b}, -1)}
}

// Mean is the expected value.
func (d Beta) Mean() *graph.Array { return d.A.Div(d.A.Add(d.B)) }

// Dirichlet is the Dirichlet distribution over n numbers, 0 or more, that add up to 1.
type Dirichlet struct {
	Concentration *graph.Array // […, n], positive
}

// NewDirichlet makes a Dirichlet distribution with the concentrations […, n], n at least 2.
func NewDirichlet(concentration *graph.Array) Dirichlet {
	const op = "distribution.NewDirichlet"
	c := parameters(op, concentration)[0]
	if c.Rank() == 0 || c.Dim(-1) < 2 {
		graph.Throw(op, "got the concentrations %s, want […, n], n at least 2", c.Shape())
	}
	return Dirichlet{c}
}

// Sample draws random.Dirichlet: rows of n.
func (d Dirichlet) Sample(key random.Key, dims ...int) *graph.Array {
	s := drawShape(d.Concentration, dims)
	return random.Dirichlet(key, d.Concentration, s.Dims[:s.Rank()-1]...)
}

// LogProb is the logarithm of the density of the rows x […, n]; -Inf if a number is negative or the sum differs from
// 1 by more than 0.001. Largest error: 7 ULP in float64, 5 in float32, 1 in 16-bit floats.
func (d Dirichlet) LogProb(x *graph.Array) *graph.Array {
	const op = "distribution.Dirichlet"
	d, x = promoted(op, d, x)
	if x.Rank() == 0 || x.Dim(-1) != d.Concentration.Dim(-1) {
		graph.Throw(op, "got values %s, want […, %d]", x.Shape(), d.Concentration.Dim(-1))
	}
	return inFloat32(d, x, func(d Dirichlet, x *graph.Array) *graph.Array {
		sum := x.Sum(-1)
		ok := x.Ge(0).All(-1).And(sum.Sub(1).Abs().Lt(1e-3))
		a, total := d.Concentration, d.Concentration.Sum(-1)
		n := total.ExpandDims(-1)
		inside := x.Gt(0)
		at := graph.Select(inside, x, 1)
		// At 0 the power of a concentration of 1 is 1.
		edge := special.XLogY(a.Sub(1), inside.Convert(a.DType())).Add(graph.Select(a.Eq(1), n.Log().Add(1), 0))
		y := graph.Select(inside, special.KLDiv(a, n.Mul(at)).Add(at.Log()).Neg(), edge)
		y = y.Add(graph.Mul(.5, a.Log())).Sub(special.LgammaCorrection(a)).Sum(-1)
		y = y.Add(special.LgammaCorrection(total)).Sub(graph.Mul(.5, total.Log()))
		y = y.Sub((float64(a.Dim(-1)) - 1) * halfLog2Pi)
		// Whatever rounding did to the sum, it counts as 1. Its derivative stays.
		y = y.Add(total.Mul(sum.Sub(graph.StopGradient(sum))))
		return graph.Select(sum.IsNaN(), math.NaN(), graph.Select(ok, y, math.Inf(-1)))
	})
}

// Entropy is minus the expected LogProb. Largest error: 13 ULP in float64, 12 in float32, 1 in 16-bit floats.
func (d Dirichlet) Entropy() *graph.Array {
	return inFloat32(d, nil, func(d Dirichlet, _ *graph.Array) *graph.Array {
		a, sum := d.Concentration, d.Concentration.Sum(-1)
		n := float64(a.Dim(-1))
		// Each digamma is a logarithm and its correction. The logarithms are those of Stirling's formula, up to halves.
		of := special.DigammaCorrection(a).Sub(special.DigammaCorrection(sum).ExpandDims(-1))
		y := special.LgammaCorrection(a).Sub(a.Sub(1).Mul(of)).Add(graph.Mul(.5, a.Log())).Sum(-1)
		y = y.Sub(special.LgammaCorrection(sum)).Sub(sum.Log().Mul(n - .5))
		return y.Add((n - 1) * halfLog2Pi)
	})
}

// KL is the divergence from q. Largest error: 30 ULP in float64, 20 in float32, 1 in 16-bit floats; for values below 1,
// in ULP of 1: of close distributions few digits are right, or none.
func (d Dirichlet) KL(q Dirichlet) *graph.Array {
	return inFloat32([2]Dirichlet{d, q}, nil, func(v [2]Dirichlet, _ *graph.Array) *graph.Array {
		a, b := v[0].Concentration, v[1].Concentration
		sumA, sumB := a.Sum(-1), b.Sum(-1)
		rest := func(a, b *graph.Array) *graph.Array {
			return special.LgammaCorrection(b).Sub(special.LgammaCorrection(a)).Add(a.Sqrt().Div(b.Sqrt()).Log())
		}
		of := special.DigammaCorrection(a).Sub(special.DigammaCorrection(sumA).ExpandDims(-1))
		y := rest(a, b).Add(a.Sub(b).Mul(of))
		y = y.Add(divergence(b, a, sumA.ExpandDims(-1), sumB.ExpandDims(-1)))
		return y.Sum(-1).Sub(rest(sumA, sumB))
	})
}

// divergence is special.KLDiv(b, x/y*z) of positive numbers, by logarithms where the quotient or the product under- or
// overflows.
func divergence(b, x, y, z *graph.Array) *graph.Array {
	ratio := x.Div(y)
	m := ratio.Mul(z)
	least := graph.Finfo(m.DType()).Tiny
	plain := ratio.Ge(least).And(m.Ge(least)).And(m.IsFinite())
	log := x.Log().Sub(y.Log()).Add(z.Log())
	apart := b.Mul(b.Log().Sub(log)).Sub(b).Add(log.Exp())
	return graph.Select(plain, special.KLDiv(b, graph.Select(plain, m, 1)), apart)
}

// Mean is the expected row, […, n].
func (d Dirichlet) Mean() *graph.Array {
	return d.Concentration.Div(d.Concentration.Sum(-1).ExpandDims(-1))
}
