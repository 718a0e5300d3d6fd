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
	return graph.Div(random.Gamma(key, drawn(d.Concentration, dims), d.Concentration), d.Rate)
}

// LogProb is the logarithm of the density; -Inf below 0 and at infinity.
func (d Gamma) LogProb(x *graph.Array) *graph.Array {
	x = value("distribution.Gamma", x, d.Rate)
	a := d.Concentration
	ok := graph.And(graph.Ge(x, 0), graph.Lt(x, math.Inf(1)))
	safe := graph.Select(ok, x, 1)
	y := graph.Sub(graph.Sub(graph.Add(graph.XLogY(a, d.Rate), graph.XLogY(graph.Sub(a, 1), safe)), graph.Mul(d.Rate, safe)), graph.Lgamma(a))
	return graph.Select(graph.IsNaN(x), x, within(ok, x, y))
}

// Entropy is a - log rate + log gamma(a) + (1-a) digamma(a).
func (d Gamma) Entropy() *graph.Array {
	a := d.Concentration
	return graph.Add(graph.Add(graph.Sub(a, graph.Log(d.Rate)), graph.Lgamma(a)), graph.Mul(graph.Sub(1, a), graph.Digamma(a)))
}

// KL is the divergence from q.
func (d Gamma) KL(q Gamma) *graph.Array {
	a, b := d.Concentration, q.Concentration
	y := graph.Sub(graph.Mul(graph.Sub(a, b), graph.Digamma(a)), graph.Sub(graph.Lgamma(a), graph.Lgamma(b)))
	y = graph.Add(y, graph.Mul(b, graph.Log(graph.Div(d.Rate, q.Rate))))
	return graph.Add(y, graph.Mul(a, graph.Sub(graph.Div(q.Rate, d.Rate), 1)))
}

// Mean is the expected value.
func (d Gamma) Mean() *graph.Array { return graph.Div(d.Concentration, d.Rate) }

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
	return random.Beta(key, drawn(d.A, dims), d.A, d.B)
}

// LogProb is the logarithm of the density; -Inf outside of 0 to 1.
func (d Beta) LogProb(x *graph.Array) *graph.Array {
	x = value("distribution.Beta", x, d.A)
	ok := graph.And(graph.Ge(x, 0), graph.Le(x, 1))
	safe := graph.Select(ok, x, .5)
	y := graph.Add(graph.XLogY(graph.Sub(d.A, 1), safe), graph.XLog1pY(graph.Sub(d.B, 1), graph.Neg(safe)))
	return graph.Select(graph.IsNaN(x), x, within(ok, x, graph.Sub(y, logBeta(d.A, d.B))))
}

// logBeta is the logarithm of the beta function.
func logBeta(a, b *graph.Array) *graph.Array {
	return graph.Sub(graph.Add(graph.Lgamma(a), graph.Lgamma(b)), graph.Lgamma(graph.Add(a, b)))
}

// Entropy is minus the expected LogProb.
func (d Beta) Entropy() *graph.Array {
	y := graph.Sub(logBeta(d.A, d.B), graph.Mul(graph.Sub(d.A, 1), graph.Digamma(d.A)))
	y = graph.Sub(y, graph.Mul(graph.Sub(d.B, 1), graph.Digamma(d.B)))
	sum := graph.Add(d.A, d.B)
	return graph.Add(y, graph.Mul(graph.Sub(sum, 2), graph.Digamma(sum)))
}

// KL is the divergence from q.
func (d Beta) KL(q Beta) *graph.Array {
	y := graph.Sub(logBeta(q.A, q.B), logBeta(d.A, d.B))
	y = graph.Add(y, graph.Mul(graph.Sub(d.A, q.A), graph.Digamma(d.A)))
	y = graph.Add(y, graph.Mul(graph.Sub(d.B, q.B), graph.Digamma(d.B)))
	sum := graph.Add(d.A, d.B)
	return graph.Add(y, graph.Mul(graph.Sub(graph.Add(q.A, q.B), sum), graph.Digamma(sum)))
}

// Mean is the expected value.
func (d Beta) Mean() *graph.Array { return graph.Div(d.A, graph.Add(d.A, d.B)) }

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
	s := drawn(d.Concentration, dims)
	return random.Dirichlet(key, d.Concentration, s.Dims[:s.Rank()-1]...)
}

// logNorm is the logarithm of the multivariate beta function.
func (d Dirichlet) logNorm() *graph.Array {
	return graph.Sub(graph.Sum(graph.Lgamma(d.Concentration), -1), graph.Lgamma(graph.Sum(d.Concentration, -1)))
}

// LogProb is the logarithm of the density of the rows x […, n]; -Inf where one is negative or they do not add up to 1
// (to a thousandth, as rounding may have it).
func (d Dirichlet) LogProb(x *graph.Array) *graph.Array {
	const op = "distribution.Dirichlet"
	x = value(op, x, d.Concentration)
	if x.Rank() == 0 || x.Dim(-1) != d.Concentration.Dim(-1) {
		graph.Throw(op, "got values %s, want […, %d]", x.Shape(), d.Concentration.Dim(-1))
	}
	sum := graph.Sum(x, -1)
	ok := graph.And(graph.All(graph.Ge(x, 0), -1), graph.Lt(graph.Abs(graph.Sub(sum, 1)), 1e-3))
	safe := graph.Select(graph.Ge(x, 0), x, 1)
	y := graph.Sub(graph.Sum(graph.XLogY(graph.Sub(d.Concentration, 1), safe), -1), d.logNorm())
	return graph.Select(graph.IsNaN(sum), math.NaN(), graph.Select(ok, y, math.Inf(-1)))
}

// Entropy is minus the expected LogProb.
func (d Dirichlet) Entropy() *graph.Array {
	sum := graph.Sum(d.Concentration, -1)
	n := float64(d.Concentration.Dim(-1))
	y := graph.Add(d.logNorm(), graph.Mul(graph.Sub(sum, n), graph.Digamma(sum)))
	return graph.Sub(y, graph.Sum(graph.Mul(graph.Sub(d.Concentration, 1), graph.Digamma(d.Concentration)), -1))
}

// KL is the divergence from q.
func (d Dirichlet) KL(q Dirichlet) *graph.Array {
	sum := graph.ExpandDims(graph.Sum(d.Concentration, -1), -1)
	apart := graph.Sub(d.Concentration, q.Concentration)
	y := graph.Sum(graph.Mul(apart, graph.Sub(graph.Digamma(d.Concentration), graph.Digamma(sum))), -1)
	return graph.Add(y, graph.Sub(q.logNorm(), d.logNorm()))
}

// Mean is the expected row, […, n].
func (d Dirichlet) Mean() *graph.Array {
	return graph.Div(d.Concentration, graph.ExpandDims(graph.Sum(d.Concentration, -1), -1))
}
