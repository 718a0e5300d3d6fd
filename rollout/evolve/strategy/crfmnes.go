package strategy

import (
	"math"

	"xlarun/graph"
	"xlarun/graph/random"
	"xlarun/rollout/settings"
)

func init() {
	MustRegister("crfmnes", &CRFMNES{Sigma: settings.Num(1)})
}

// CRFMNES is the fast moving natural evolution strategy of Nomura and Ono, "Fast moving natural evolution strategy for
// high-dimensional problems" (2022), with the formulas and defaults of evosax 0.3.2: antithetic pairs mean ± σ·D·y with
// y = (1 + v·vᵀ)^½·z. So the covariance of n parameters is 2·n numbers, and a generation takes a few sums over the
// pairs.
type CRFMNES struct {
	antithetic
	normal[CRFMNESState]
	Sigma settings.Number `set:"sigma" above:"0" max:"1e8" help:"standard deviation of the noise at first"`
}

// CRFMNESState is the state of CRFMNES.
type CRFMNESState struct {
	Mean      *graph.Array // f32[n]
	Sigma     *graph.Array // f32[]: step size of the next generation
	SigmaPath *graph.Array // f32[n]: evolution path of the step size
	Path      *graph.Array // f32[n]: evolution path of the covariance
	Scale     *graph.Array // f32[n]: D, of product 1 with √(1 + v²)
	V         *graph.Array // f32[n]: the long axis
}

func (s CRFMNESState) mean() *graph.Array { return s.Mean }

// Traits say that it ranks pairs and takes immigrants.
func (e *CRFMNES) Traits() (t Traits[CRFMNESState, *graph.Array, *graph.Array]) {
	t.GroupSize, t.Steady, t.Immigrant = 2, true, e.Immigrant
	return t
}

// Init starts at the genome with Sigma, D 1 and a random v of length about 1, which follows from the genome.
func (e *CRFMNES) Init(mean *graph.Array, _ int) CRFMNESState {
	zero := graph.ZerosLike(mean)
	v := random.Normal(seedOf(mean), mean.Shape())
	return CRFMNESState{mean, e.Sigma.Array(), zero, zero, graph.OnesLike(mean),
		v.Div(float32(math.Sqrt(float64(mean.Dim(0)))))}
}

// Member returns mean + σ·D·y on side 0, mean - σ·D·y on side 1.
func (e *CRFMNES) Member(s CRFMNESState, noise, side *graph.Array) *graph.Array {
	step := s.Sigma.Mul(s.Scale).Mul(s.axis().stretch(noise))
	return s.Mean.Add(e.sign(side).Mul(step))
}

// longAxis is v: its direction and the square of its length.
type longAxis struct{ bar, square *graph.Array }

func (s CRFMNESState) axis() longAxis {
	square := s.V.Square().Sum()
	return longAxis{s.V.Div(square.Sqrt()), square}
}

// stretch is (1 + v·vᵀ)^½·z.
func (a longAxis) stretch(z *graph.Array) *graph.Array {
	projection := graph.Add(1, a.square).Sqrt().Sub(1).Mul(z.Dot(a.bar))
	return z.Add(projection.Mul(a.bar))
}

// crfmnesRates are the strategy's constants for sizes of population and genome.
type crfmnesRates struct {
	recombination
	utilities       rankWeights // max(0, log(population/2 + 1) - log(rank + 1))
	positive        rankWeights // the same, of sum 1, minus 1/population; negative ones count as 0
	distance        float64     // alpha: how much more distant members weigh while the search moves
	stagnant, close float64     // learning rates of sigma while it stagnates, and while it converges
	shape           float64     // learning rate of v and D
	one             float64     // weight of the path in it
}

func crfmnesRatesOf(population, n int) crfmnesRates {
	p, d := float64(population), float64(n)
	r := crfmnesRates{positive: naturalWeights(population)}
	r.utilities = rankWeights{top: r.positive.top, gain: 1}
	// As in evosax, the squares include negative logarithms: mu_eff is smaller than the paper's.
	all, squares := rankWeights{top: r.positive.top, gain: r.positive.gain, loss: r.positive.gain}, 0.
	for i := range population {
		squares += all.weight(i) * all.weight(i)
	}
	m := 1 / squares
	r.effective, r.length = m, normalLength(n)
	r.cSigma = (m + 2) / (d + m + 5)
	r.cPath = (4 + m/d) / (d + 4 + 2*m/d)
	r.one = 2 / ((d+1.3)*(d+1.3) + m) * (d - 5) / 6
	r.distance = inverseOfH(n) * min(1, math.Sqrt(p/d))
	r.stagnant = math.Tanh((.024*p + .7*d + 20) / (d + 12))
	r.close = 2 * math.Tanh((.025*p+.75*d+10)/(d+4))
	r.shape = math.Tanh((min(.02*p, 3*math.Log(d)) + 5) / (.23*d + 25))
	return r
}

// inverseOfH solves (1 + a²)·exp(a²/2) / 0.24 - 10 = n for a, by Newton's method with half steps; as in evosax n is at
// most 2000.
func inverseOfH(n int) float64 {
	a := 1.
	for range 200 {
		e := math.Exp(a*a/2) / .24
		f := (1+a*a)*e - 10 - float64(min(n, 2000))
		a -= .5 * f / (a * e * (3 + a*a))
	}
	return a
}

// Tell moves the mean by the weighted members, then paths, v, D and the step size.
func (e *CRFMNES) Tell(s CRFMNESState, ev Evaluation, noise Draws[*graph.Array]) CRFMNESState {
	members, n := ev.Fitness.Dim(0), s.Mean.Dim(0)
	r := crfmnesRatesOf(members, n)
	recombined := r.positive.apply(ev.Fitness).Max(0)
	ofSigma := graph.Mul(float32(1-r.cSigma), s.SigmaPath).Add(graph.Mul(r.pathStep(r.cSigma),
		noise.Sum(e.difference(recombined))))
	length := ofSigma.Square().Sum().Sqrt()

	// While the search moves, distant members weigh more.
	squares := MapOf(noise, func(z *graph.Array) *graph.Array { return z.Square().Sum() })
	far := graph.Mul(float32(r.distance), squares.Sqrt())
	distant := far.Sub(far.ReduceMax().Sub(maxExponent).Max(0)).Exp() // finite; the sum is divided by
	distant = r.utilities.apply(ev.Fitness).Mul(graph.Concatenate(0, distant, distant))
	distant = distant.Div(distant.Sum()).Sub(float32(1 / float64(members)))
	moves := length.Ge(float32(r.length))
	w := graph.Select(moves, distant, recombined)
	rate := graph.Select(moves, float32(1), graph.Select(length.Ge(float32(.1*r.length)), float32(r.stagnant),
		float32(r.close)))

	axis := s.axis()
	step := s.Scale.Mul(axis.stretch(noise.Sum(e.difference(w)))) // in units of sigma
	path := graph.Mul(float32(1-r.cPath), s.Path).Add(graph.Mul(r.pathStep(r.cPath), step))

	// v and D: both sides of a pair have the same natural gradient, which is even in y.
	slope := axis.gradients()
	plus, minus := e.sides(w)
	both := plus.Add(minus)
	sum := SumOf(noise, both, func(z *graph.Array) longAxisGradient { return slope(axis.stretch(z)) })
	ofPath := slope(path.Div(s.Scale))
	total := func(members, path *graph.Array) *graph.Array {
		return graph.Mul(float32(r.shape), members).Add(graph.Mul(float32(r.one), path))
	}
	v := s.V.Add(total(sum.V, ofPath.V).Div(axis.square.Sqrt()))
	scale := s.Scale.Add(total(sum.Scale, ofPath.Scale).Mul(s.Scale))
	volume := scale.Log().Mean().Add(graph.Add(1, v.Square().Sum()).Log().Div(float32(2 * n)))
	scale = scale.Div(volume.Exp())
	// The first-order step may overshoot: D has to stay above 0. Of one parameter, D and v say what sigma says.
	sound := scale.Gt(0).And(scale.Lt(maxDeviation)).And(v.Abs().Lt(maxDeviation)).All()
	if n == 1 {
		sound = graph.Scalar(false)
	}
	scale, v = graph.Select(sound, scale, s.Scale), graph.Select(sound, v, s.V)

	grow := both.Mul(squares.Sub(float32(n))).Sum().Div(float32(n))
	sigma := s.Sigma.Mul(rate.Mul(.5).Mul(grow).Exp()).Min(maxDeviation)
	return CRFMNESState{s.Mean.Add(s.Sigma.Mul(step)), sigma, ofSigma, path, scale, v}
}

// difference returns the weight of each pair's z: side 0 minus side 1.
func (e *CRFMNES) difference(w *graph.Array) *graph.Array {
	plus, minus := e.sides(w)
	return plus.Sub(minus)
}

// longAxisGradient is the natural gradient of one y: of v, times its length, and of log D.
type longAxisGradient struct{ V, Scale *graph.Array }

// gradients returns the natural gradient as a function of y, f32[n] (Akimoto et al., "Comparison-based natural gradient
// optimization in high dimension", 2014, algorithm 3.2).
func (a longAxis) gradients() func(y *graph.Array) longAxisGradient {
	add, sub, mul, div := graph.Add, graph.Sub, graph.Mul, graph.Div
	squares := a.bar.Square()
	gamma := add(1, a.square)
	fourth := a.square.Square()
	alpha := add(fourth, div(sub(mul(2, gamma), gamma.Sqrt()), squares.ReduceMax())).Sqrt()
	alpha = graph.Min(1, div(alpha, add(2, a.square)))
	alpha2 := alpha.Square()
	b := add(div(mul(sub(alpha2, 1), fourth), gamma), mul(2, alpha2))
	inverse := div(1, sub(2, mul(add(b, mul(2, alpha2)), squares))) // of H, which is diagonal
	thin := mul(inverse, squares)
	bend := div(b, add(1, mul(b, squares.Dot(thin))))
	two := add(2, a.square)
	return func(y *graph.Array) longAxisGradient {
		projection := y.Dot(a.bar)
		t := sub(mul(y, projection), mul(mul(.5, a.bar), add(projection.Square(), gamma)))
		s := sub(sub(y.Square(), mul(div(a.square, gamma), mul(mul(y, a.bar), projection))), 1)
		s = sub(s, mul(div(alpha, gamma), sub(mul(two, mul(t, a.bar)), mul(mul(a.square, t.Dot(a.bar)),
			squares))))
		s = sub(mul(s, inverse), mul(mul(bend, s.Dot(thin)), thin))
		t = sub(t, mul(alpha, sub(mul(two, mul(s, a.bar)), mul(s.Dot(squares), a.bar))))
		return longAxisGradient{t, s}
	}
}

// Immigrant is (1 + v·vᵀ)^-½·(genome - mean)/(σ·D).
func (*CRFMNES) Immigrant(s CRFMNESState, genome *graph.Array) *graph.Array {
	y := genome.Sub(s.Mean).Div(s.Sigma.Mul(s.Scale))
	axis := s.axis()
	projection := graph.Div(1, graph.Add(1, axis.square).Sqrt()).Sub(1).Mul(y.Dot(axis.bar))
	return likely(y.Add(projection.Mul(axis.bar)))
}
