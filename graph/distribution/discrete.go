package distribution

import (
	"math"

	"xlarun/graph"
	"xlarun/graph/random"
	"xlarun/graph/special"
)

// Categorical is a distribution over 0, …, n-1.
type Categorical struct {
	Logits *graph.Array // […, n]; probabilities are softmax(logits) along the last axis, -Inf: impossible
}

// NewCategorical makes a distribution with probabilities softmax(logits); logits is […, n].
func NewCategorical(logits *graph.Array) Categorical {
	const op = "distribution.NewCategorical"
	l := parameters(op, logits)[0]
	if l.Rank() == 0 || l.Dim(-1) == 0 {
		graph.Throw(op, "got logits %s, want […, n], n at least 1", l.Shape())
	}
	return Categorical{l}
}

// CategoricalOf makes a distribution with probabilities in proportion to p […, n].
func CategoricalOf(p *graph.Array) Categorical { return NewCategorical(p.Log()) }

// Sample draws int32 indices: random.Categorical.
func (d Categorical) Sample(key random.Key, dims ...int) *graph.Array {
	return random.Categorical(key, d.Logits, -1, random.Draws(dims...))
}

// LogProbs is the logarithm of every probability, […, n].
func (d Categorical) LogProbs() *graph.Array {
	return inFloat32(d, nil, func(d Categorical, _ *graph.Array) *graph.Array { return graph.LogSoftmax(d.Logits, -1) })
}

// Probs is every probability, […, n].
func (d Categorical) Probs() *graph.Array { return graph.Softmax(d.Logits, -1) }

// LogProb is the logarithm of the probability of the integers x; -Inf outside 0, …, n-1.
func (d Categorical) LogProb(x *graph.Array) *graph.Array {
	n := d.Logits.Dim(-1)
	switch dtype := x.DType(); { // a narrow one need not hold n
	case dtype.IsFloat() && graph.ItemSize(dtype) < 4:
		x = x.Convert(graph.Float32)
	case graph.ItemSize(dtype) < 4:
		x = x.Convert(graph.Int32)
	}
	dims := graph.BroadcastDims("distribution.Categorical", x.Dims(), d.Logits.Dims()[:d.Logits.Rank()-1])
	at := x.BroadcastTo(dims...).ExpandDims(-1)
	logs := d.LogProbs().BroadcastTo(append(dims, n)...)
	inside := at.Ge(0).And(at.Lt(n))
	if x.DType().IsFloat() {
		inside = inside.And(at.Eq(at.Floor()))
	}
	got := graph.TakeAlongAxis(logs, graph.Select(inside, at, graph.ZerosLike(at)).Convert(graph.Int32), -1)
	return graph.Select(inside, got, math.Inf(-1)).Squeeze(-1)
}

// Entropy is minus the sum of p log p. Largest error: 2 ULP in float64, 1 in float32, 1 in 16-bit floats; for values
// below 1, in ULP of 1.
func (d Categorical) Entropy() *graph.Array {
	return inFloat32(d, nil, func(d Categorical, _ *graph.Array) *graph.Array {
		logs := d.LogProbs()
		return weighted(logs, logs).Sum(-1).Neg()
	})
}

// KL is the divergence from q: the sum of p (log p - log q), infinite if q excludes a possible value of p. Largest
// error: 2 ULP in float64, 2 in float32, 1 in 16-bit floats; for values below 1, in ULP of 1 unless the differences of
// the logits are less than 10 apart.
func (d Categorical) KL(q Categorical) *graph.Array {
	return inFloat32([2]Categorical{d, q}, nil, func(v [2]Categorical, _ *graph.Array) *graph.Array {
		logs := v[0].LogProbs()
		possible := logs.Gt(math.Inf(-1))
		apart := graph.Select(possible, v[1].Logits, 0).Sub(graph.Select(possible, v[0].Logits, 0))
		return divergenceOf(logs, v[1].LogProbs(), apart)
	})
}

// divergenceOf is the sum of p (log p - log q) over the last axis; apart is log q - log p up to a constant. Where it is
// small it is the logarithm of the mean of exp(apart), apart less its mean, in which nothing cancels, less that of the
// share of q in what p allows.
func divergenceOf(p, q, apart *graph.Array) *graph.Array {
	far := weighted(p, p.Sub(q)).Sum(-1)
	excluded := graph.Select(p.Eq(math.Inf(-1)), q.Exp(), 0).Sum(-1)
	mostAllowed := excluded.Lt(.5)
	finite := apart.IsFinite()
	apart = graph.Select(finite, apart, 0)
	apart = apart.Sub(p.Exp().Mul(apart).Sum(-1).ExpandDims(-1))
	close := finite.And(apart.Abs().Lt(10)).All(-1).And(mostAllowed)
	apart = graph.Select(close.ExpandDims(-1), apart, 0)
	near := graph.Log1p(p.Exp().Mul(special.Expm1Rest(apart)).Sum(-1))
	near = near.Sub(graph.Log1p(graph.Select(mostAllowed, excluded, 0).Neg()))
	return graph.Select(close, near, far)
}

// weighted is exp(logs) * x, 0 where logs is -Inf, in derivatives too.
func weighted(logs, x *graph.Array) *graph.Array {
	positive := logs.Gt(math.Inf(-1))
	safe := graph.Select(positive.Or(logs.IsNaN()), x, 0)
	return logs.Exp().Mul(safe)
}

// Mode is the most likely index, the first one in a tie.
func (d Categorical) Mode() *graph.Array { return d.Logits.ArgMax(d.Logits.Rank() - 1) }

// Bernoulli is 1 with a probability, else 0.
type Bernoulli struct {
	Logits *graph.Array // the probability of 1 is sigmoid(logits)
}

// NewBernoulli makes a distribution whose probability of 1 is sigmoid(logits), a number or an array.
func NewBernoulli(logits any) Bernoulli {
	return Bernoulli{parameters("distribution.NewBernoulli", logits)[0]}
}

// BernoulliOf makes a distribution whose probability of 1 is p, a number or an array.
func BernoulliOf(p any) Bernoulli {
	x := parameters("distribution.BernoulliOf", p)[0]
	return Bernoulli{x.Log().Sub(graph.Log1p(x.Neg()))}
}

// Sample draws bools: random.Bernoulli.
func (d Bernoulli) Sample(key random.Key, dims ...int) *graph.Array {
	s := drawShape(d.Logits, dims)
	return random.Bernoulli(key, d.Probs().BroadcastTo(s.Dims...))
}

// Probs is the probability of 1.
func (d Bernoulli) Probs() *graph.Array { return graph.Logistic(d.Logits) }

// logs are the logarithms of the probabilities of 1 and of 0.
func (d Bernoulli) logs() (one, zero *graph.Array) {
	log := func(x *graph.Array) *graph.Array { // log sigmoid
		// Select instead of Min and Abs: at infinity a difference of infinities would be NaN, at 0 the corners of Min
		// and Abs would hide the second derivative.
		positive := x.Ge(0)
		away := graph.Log1p(graph.Select(positive, x.Neg(), x).Exp())
		return graph.Select(positive, 0, x).Sub(away)
	}
	return log(d.Logits), log(d.Logits.Neg())
}

// LogProb is the logarithm of the probability of x: bools, or numbers, which are impossible unless 0 or 1. Largest
// error: 2 ULP in float64, 2 in float32, 1 in 16-bit floats.
func (d Bernoulli) LogProb(x *graph.Array) *graph.Array {
	truth := x != nil && x.DType() == graph.Bool
	d, at := promoted("distribution.Bernoulli", d, x)
	return inFloat32(d, at, func(d Bernoulli, at *graph.Array) *graph.Array {
		one, zero := d.logs()
		if truth {
			return graph.Select(x, one, zero)
		}
		impossible := graph.Select(at.IsNaN(), at, math.Inf(-1))
		return graph.Select(at.Eq(1), one, graph.Select(at.Eq(0), zero, impossible))
	})
}

// Entropy is minus the sum of p log p. Largest error: 2 ULP in float64, 2 in float32, 1 in 16-bit floats.
func (d Bernoulli) Entropy() *graph.Array {
	return inFloat32(d, nil, func(d Bernoulli, _ *graph.Array) *graph.Array {
		one, zero := d.logs()
		return weighted(one, one).Add(weighted(zero, zero)).Neg()
	})
}

// KL is the divergence from q. Largest error: 6 ULP in float64, 4 in float32, 1 in 16-bit floats.
func (d Bernoulli) KL(q Bernoulli) *graph.Array {
	return inFloat32([2]Bernoulli{d, q}, nil, func(v [2]Bernoulli, _ *graph.Array) *graph.Array {
		one, zero := v[0].logs()
		qOne, qZero := v[1].logs()
		both := func(one, zero *graph.Array) *graph.Array { return graph.Stack([]*graph.Array{one, zero}, -1) }
		apart := v[1].Logits.Sub(v[0].Logits)
		return divergenceOf(both(one, zero), both(qOne, qZero), both(apart, graph.ZerosLike(apart)))
	})
}

// Mode is whether 1 is more likely than 0.
func (d Bernoulli) Mode() *graph.Array { return d.Logits.Gt(0) }

// Poisson counts events that happen independently at a rate.
type Poisson struct {
	Rate *graph.Array // mean, at least 0
}

// NewPoisson makes a Poisson distribution of mean rate, a number or an array.
func NewPoisson(rate any) Poisson {
	return Poisson{parameters("distribution.NewPoisson", rate)[0]}
}

// Sample draws int32 counts: random.Poisson.
func (d Poisson) Sample(key random.Key, dims ...int) *graph.Array {
	s := drawShape(d.Rate, dims)
	return random.Poisson(key, d.Rate.BroadcastTo(s.Dims...))
}

// LogProb is the logarithm of the probability of the counts x; -Inf for negative numbers and fractions. Largest
// error: 2 ULP in float64, 4 in float32, 1 in 16-bit floats.
func (d Poisson) LogProb(x *graph.Array) *graph.Array {
	d, x = promoted("distribution.Poisson", d, x)
	return inFloat32(d, x, func(d Poisson, x *graph.Array) *graph.Array {
		count := x.Ge(0).And(x.IsFinite()).And(x.Eq(x.Floor()))
		some := count.And(x.Gt(0))
		safe := graph.Select(some, x, 1)
		y := special.KLDiv(safe, d.Rate).Add(special.LgammaCorrection(safe)).Add(graph.Mul(.5,
			safe.Log())).Add(halfLog2Pi)
		y = graph.Select(some, y, d.Rate).Neg()
		return graph.Select(x.IsNaN(), x, onSupport(count, x, y))
	})
}

// Entropy has no closed form. Up to a rate of 30, in float64 of 100, it is the sum over the first counts, above it an
// asymptotic series (Evans and Boersma, "The entropy of a Poisson distribution", 1988). Largest error: 20 ULP in
// float64, 4 in float32, 1 in 16-bit floats; for values below 1, in ULP of 1.
func (d Poisson) Entropy() *graph.Array {
	return inFloat32(d, nil, func(d Poisson, _ *graph.Array) *graph.Array {
		most, counts := 30., 120
		if d.Rate.DType() == graph.Float64 {
			most, counts = 100, 260
		}
		small := d.Rate.Le(most)
		low := Poisson{graph.Select(small.Or(d.Rate.IsNaN()), d.Rate, 1).ExpandDims(-1)}
		logs := low.LogProb(graph.Iota(counts).Convert(d.Rate.DType()))
		sum := weighted(logs, logs).Sum(-1).Neg()
		rate := graph.Select(small, most, d.Rate)
		r, series := rate.Reciprocal(), graph.ZerosLike(rate)
		for _, c := range []float64{-57281. / 1440, -33953. / 5040, -1375. / 1008, -863. / 2520, -9. / 80, -19. / 360,
			-1. / 24, -1. / 12} {
			series = r.Mul(series.Add(c))
		}
		far := graph.Add(.5+halfLog2Pi, graph.Mul(.5, rate.Log())).Add(series)
		return graph.Select(d.Rate.Gt(most), far, sum)
	})
}

// KL is the divergence from q. Largest error: 1 ULP in float64, 1 in float32, 1 in 16-bit floats.
func (d Poisson) KL(q Poisson) *graph.Array { return special.KLDiv(d.Rate, q.Rate) }

// Mode is the most likely count, as a float.
func (d Poisson) Mode() *graph.Array { return d.Rate.Floor() }
