package distribution

import (
	"math"

	"xlarun/graph"
	"xlarun/graph/random"
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

// LogProb is the logarithm of the density; -Inf below 0 and at infinity.
func (d Gamma) LogProb(x *graph.Array) *graph.Array {
	x = value("distribution.Gamma", x, d.Rate)
	a := d.Concentration
	ok := x.Ge(0).And(x.Lt(math.Inf(1)))
	safe := graph.Select(ok, x, 1)
	y := graph.XLogY(a, d.Rate).Add(graph.XLogY(a.Sub(1), safe)).Sub(d.Rate.Mul(safe)).Sub(graph.Lgamma(a))
	return graph.Select(x.IsNaN(), x, onSupport(ok, x, y))
}

// Entropy is a - log rate + log gamma(a) + (1-a) digamma(a).
func (d Gamma) Entropy() *graph.Array {
	a := d.Concentration
	return a.Sub(d.Rate.Log()).Add(graph.Lgamma(a)).Add(graph.Sub(1, a).Mul(graph.Digamma(a)))
}

// KL is the divergence from q.
func (d Gamma) KL(q Gamma) *graph.Array {
	a, b := d.Concentration, q.Concentration
	y := a.Sub(b).Mul(graph.Digamma(a)).Sub(graph.Lgamma(a).Sub(graph.Lgamma(b)))
	y = y.Add(b.Mul(d.Rate.Div(q.Rate).Log()))
	return y.Add(a.Mul(q.Rate.Div(d.Rate).Sub(1)))
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

// LogProb is the logarithm of the density; -Inf outside of 0 to 1.
func (d Beta) LogProb(x *graph.Array) *graph.Array {
	x = value("distribution.Beta", x, d.A)
	ok := x.Ge(0).And(x.Le(1))
	safe := graph.Select(ok, x, .5)
	y := graph.XLogY(d.A.Sub(1), safe).Add(graph.XLog1pY(d.B.Sub(1), safe.Neg()))
	return graph.Select(x.IsNaN(), x, onSupport(ok, x, y.Sub(logBeta(d.A, d.B))))
}

// logBeta is the logarithm of the beta function.
func logBeta(a, b *graph.Array) *graph.Array {
	return graph.Lgamma(a).Add(graph.Lgamma(b)).Sub(graph.Lgamma(a.Add(b)))
}

// Entropy is minus the expected LogProb.
func (d Beta) Entropy() *graph.Array {
	y := logBeta(d.A, d.B).Sub(d.A.Sub(1).Mul(graph.Digamma(d.A)))
	y = y.Sub(d.B.Sub(1).Mul(graph.Digamma(d.B)))
	sum := d.A.Add(d.B)
	return y.Add(sum.Sub(2).Mul(graph.Digamma(sum)))
}

// KL is the divergence from q.
func (d Beta) KL(q Beta) *graph.Array {
	y := logBeta(q.A, q.B).Sub(logBeta(d.A, d.B))
	y = y.Add(d.A.Sub(q.A).Mul(graph.Digamma(d.A)))
	y = y.Add(d.B.Sub(q.B).Mul(graph.Digamma(d.B)))
	sum := d.A.Add(d.B)
	return y.Add(q.A.Add(q.B).Sub(sum).Mul(graph.Digamma(sum)))
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

// logNorm is the logarithm of the multivariate beta function.
func (d Dirichlet) logNorm() *graph.Array {
	return graph.Lgamma(d.Concentration).Sum(-1).Sub(graph.Lgamma(d.Concentration.Sum(-1)))
}

// LogProb is the logarithm of the density of the rows x […, n]; -Inf if a number is negative or the sum differs from 1
// by more than 0.001.
func (d Dirichlet) LogProb(x *graph.Array) *graph.Array {
	const op = "distribution.Dirichlet"
	x = value(op, x, d.Concentration)
	if x.Rank() == 0 || x.Dim(-1) != d.Concentration.Dim(-1) {
		graph.Throw(op, "got values %s, want […, %d]", x.Shape(), d.Concentration.Dim(-1))
	}
	sum := x.Sum(-1)
	ok := x.Ge(0).All(-1).And(sum.Sub(1).Abs().Lt(1e-3))
	safe := graph.Select(x.Ge(0), x, 1)
	y := graph.XLogY(d.Concentration.Sub(1), safe).Sum(-1).Sub(d.logNorm())
	return graph.Select(sum.IsNaN(), math.NaN(), graph.Select(ok, y, math.Inf(-1)))
}

// Entropy is minus the expected LogProb.
func (d Dirichlet) Entropy() *graph.Array {
	sum := d.Concentration.Sum(-1)
	n := float64(d.Concentration.Dim(-1))
	y := d.logNorm().Add(sum.Sub(n).Mul(graph.Digamma(sum)))
	return y.Sub(d.Concentration.Sub(1).Mul(graph.Digamma(d.Concentration)).Sum(-1))
}

// KL is the divergence from q.
func (d Dirichlet) KL(q Dirichlet) *graph.Array {
	sum := d.Concentration.Sum(-1).ExpandDims(-1)
	apart := d.Concentration.Sub(q.Concentration)
	y := apart.Mul(graph.Digamma(d.Concentration).Sub(graph.Digamma(sum))).Sum(-1)
	return y.Add(q.logNorm().Sub(d.logNorm()))
}

// Mean is the expected row, […, n].
func (d Dirichlet) Mean() *graph.Array {
	return d.Concentration.Div(d.Concentration.Sum(-1).ExpandDims(-1))
}
