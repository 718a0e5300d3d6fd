package strategy

import (
	"math"

	"xlarun/graph"
	"xlarun/graph/random"
	"xlarun/rollout/population"
	"xlarun/rollout/settings"
)

func init() {
	MustRegister("crfmnes", func() Strategy { return &CRFMNES{Sigma: settings.Num(1)} })
}

// CRFMNES is the fast moving natural evolution strategy of Nomura and Ono, "Fast moving natural evolution strategy for
// high-dimensional problems" (2022), with the formulas and defaults of evosax 0.3.2: antithetic pairs mean ± σ·D·y with
// y = (1 + v·vᵀ)^½·z, so that a covariance of n parameters is 2·n numbers and every generation a few sums over the pairs.
type CRFMNES struct {
	antithetic
	Vectors
	Sigma settings.Number `set:"sigma" above:"0" help:"standard deviation of the noise at first"`
}

// CRFMNESState is what CRFMNES remembers between generations.
type CRFMNESState struct {
	Mean      *graph.Array // f32[n]
	Sigma     *graph.Array // f32[]: step size of the next generation
	SigmaPath *graph.Array // f32[n]: evolution path of the step size
	Path      *graph.Array // f32[n]: evolution path of the covariance
	Scale     *graph.Array // f32[n]: D, of product 1 with √(1 + v²)
	V         *graph.Array // f32[n]: direction and, by its length, extent of the long axis
}

// Init starts at the genome with Sigma, D 1 and a random v of length about 1, which follows from the genome.
func (e *CRFMNES) Init(genome any, _ int) any {
	mean := genome.(*graph.Array)
	zero := graph.ZerosLike(mean)
	v := random.Normal(random.FoldIn(random.New(0), graph.Sum(graph.Bitcast(mean, graph.Uint32))), mean.Shape())
	return CRFMNESState{mean, e.Sigma.Array(), zero, zero, graph.OnesLike(mean), graph.Div(v, float32(math.Sqrt(float64(mean.Dim(0)))))}
}

// Sample draws z, standard normal.
func (*CRFMNES) Sample(key random.Key, state any) any {
	return random.Normal(key, state.(CRFMNESState).Mean.Shape())
}

// Member is mean + σ·D·y on side 0, mean - σ·D·y on side 1.
func (e *CRFMNES) Member(state, noise any, side *graph.Array) any {
	s := state.(CRFMNESState)
	step := graph.Mul(graph.Mul(s.Sigma, s.Scale), s.axis().stretch(noise.(*graph.Array)))
	return graph.Add(s.Mean, graph.Mul(e.sign(side), step))
}

// longAxis is v: its direction and the square of its length.
type longAxis struct{ bar, square *graph.Array }

func (s CRFMNESState) axis() longAxis {
	square := graph.Sum(graph.Square(s.V))
	return longAxis{graph.Div(s.V, graph.Sqrt(square)), square}
}

// stretch is (1 + v·vᵀ)^½·z.
func (a longAxis) stretch(z *graph.Array) *graph.Array {
	along := graph.Mul(graph.Sub(graph.Sqrt(graph.Add(1, a.square)), 1), graph.Dot(z, a.bar))
	return graph.Add(z, graph.Mul(along, a.bar))
}

// crfmnesRates are the strategy's constants for sizes of population and genome.
type crfmnesRates struct {
	recombination
	utilities       placeWeights // max(0, log(population/2 + 1) - log(place + 1))
	positive        placeWeights // the same, of sum 1, less 1/population; what is negative counts as 0
	distance        float64      // alpha: how much farther members weigh more while the search moves
	stagnant, close float64      // learning rates of sigma while it stagnates, and while it converges
	shape           float64      // learning rate of v and D
	one             float64      // weight of the path in it
}

func crfmnesRatesOf(population, n int) crfmnesRates {
	p, d := float64(population), float64(n)
	r := crfmnesRates{positive: naturalWeights(population)}
	r.utilities = placeWeights{top: r.positive.top, gain: 1}
	// The squares are of the negative logarithms too, as in evosax: its mu_eff is smaller than the paper's.
	all, squares := placeWeights{top: r.positive.top, gain: r.positive.gain, loss: r.positive.gain}, 0.
	for i := range population {
		squares += all.at(i) * all.at(i)
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

// inverseOfH solves (1 + a²)·exp(a²/2) / 0.24 - 10 = n for a, by Newton's method with half steps; as in evosax n is at most 2000.
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
func (e *CRFMNES) Tell(state any, ev Evaluation, noise population.Draws) any {
	s := state.(CRFMNESState)
	members, n := ev.Fitness.Dim(0), s.Mean.Dim(0)
	r := crfmnesRatesOf(members, n)
	failed := graph.All(graph.IsNaN(ev.Fitness))
	recombined := graph.Max(r.positive.of(ev.Fitness), 0)
	ofSigma := graph.Add(graph.Mul(float32(1-r.cSigma), s.SigmaPath), graph.Mul(r.pathStep(r.cSigma), sumOf(noise, e.difference(recombined), nil)))
	length := graph.Sqrt(graph.Sum(graph.Square(ofSigma)))

	// While the search moves, members weigh more the farther out they are.
	squares := population.MapOf(noise, func(z *graph.Array) *graph.Array { return graph.Sum(graph.Square(z)) })
	far := graph.Exp(graph.Mul(float32(r.distance), graph.Sqrt(squares)))
	far = graph.Mul(r.utilities.of(ev.Fitness), graph.Concatenate(0, far, far))
	far = graph.Sub(graph.Div(far, graph.Sum(far)), float32(1/float64(members)))
	moves := graph.Ge(length, float32(r.length))
	w := graph.Select(failed, graph.ZerosLike(far), graph.Select(moves, far, recombined))
	rate := graph.Select(moves, float32(1), graph.Select(graph.Ge(length, float32(.1*r.length)), float32(r.stagnant), float32(r.close)))

	axis := s.axis()
	step := graph.Mul(s.Scale, axis.stretch(sumOf(noise, e.difference(w), nil))) // in units of sigma
	path := graph.Add(graph.Mul(float32(1-r.cPath), s.Path), graph.Mul(r.pathStep(r.cPath), step))

	// v and D: both sides of a pair have the same natural gradient, which is even in y.
	slope := axis.gradients()
	plus, minus := e.sides(w)
	both := graph.Add(plus, minus)
	sum := population.SumOf(noise, both, func(z *graph.Array) longAxisGradient { return slope(axis.stretch(z)) })
	ofPath := slope(graph.Div(path, s.Scale))
	total := func(members, path *graph.Array) *graph.Array {
		return graph.Add(graph.Mul(float32(r.shape), members), graph.Mul(float32(r.one), path))
	}
	v := graph.Add(s.V, graph.Div(total(sum.V, ofPath.V), graph.Sqrt(axis.square)))
	scale := graph.Add(s.Scale, graph.Mul(total(sum.Scale, ofPath.Scale), s.Scale))
	volume := graph.Add(graph.Mean(graph.Log(scale)), graph.Div(graph.Log(graph.Add(1, graph.Sum(graph.Square(v)))), float32(2*n)))
	scale = graph.Div(scale, graph.Exp(volume))

	grow := graph.Div(graph.Sum(graph.Mul(both, graph.Sub(squares, float32(n)))), float32(n))
	sigma := graph.Mul(s.Sigma, graph.Exp(graph.Mul(graph.Mul(rate, .5), grow)))
	return CRFMNESState{graph.Add(s.Mean, graph.Mul(s.Sigma, step)), sigma, ofSigma, path, scale, v}
}

// difference is the weight of each pair's z: that of side 0 less that of side 1.
func (e *CRFMNES) difference(w *graph.Array) *graph.Array {
	plus, minus := e.sides(w)
	return graph.Sub(plus, minus)
}

// longAxisGradient is the natural gradient of one y: of v, times its length, and of log D.
type longAxisGradient struct{ V, Scale *graph.Array }

// gradients gives the natural gradient as a function of y, f32[n] (Akimoto et al., "Comparison-based natural gradient
// optimization in high dimension", 2014, algorithm 3.2).
func (a longAxis) gradients() func(y *graph.Array) longAxisGradient {
	add, sub, mul, div := graph.Add, graph.Sub, graph.Mul, graph.Div
	squares := graph.Square(a.bar)
	gamma := add(1, a.square)
	fourth := graph.Square(a.square)
	alpha := graph.Sqrt(add(fourth, div(sub(mul(2, gamma), graph.Sqrt(gamma)), graph.ReduceMax(squares))))
	alpha = graph.Min(1, div(alpha, add(2, a.square)))
	alpha2 := graph.Square(alpha)
	b := add(div(mul(sub(alpha2, 1), fourth), gamma), mul(2, alpha2))
	inverse := div(1, sub(2, mul(add(b, mul(2, alpha2)), squares))) // of H, which is diagonal
	thin := mul(inverse, squares)
	bend := div(b, add(1, mul(b, graph.Dot(squares, thin))))
	two := add(2, a.square)
	return func(y *graph.Array) longAxisGradient {
		along := graph.Dot(y, a.bar)
		t := sub(mul(y, along), mul(mul(.5, a.bar), add(graph.Square(along), gamma)))
		s := sub(sub(graph.Square(y), mul(div(a.square, gamma), mul(mul(y, a.bar), along))), 1)
		s = sub(s, mul(div(alpha, gamma), sub(mul(two, mul(t, a.bar)), mul(mul(a.square, graph.Dot(t, a.bar)), squares))))
		s = sub(mul(s, inverse), mul(mul(bend, graph.Dot(s, thin)), thin))
		t = sub(t, mul(alpha, sub(mul(two, mul(s, a.bar)), mul(graph.Dot(s, squares), a.bar))))
		return longAxisGradient{t, s}
	}
}

// Centre is the mean.
func (*CRFMNES) Centre(state any) any { return state.(CRFMNESState).Mean }
