package strategy

import (
	"math"

	"xlarun/graph"
	"xlarun/graph/linalg"
	"xlarun/graph/random"
	"xlarun/rollout/settings"
)

func init() {
	MustRegister("cmaes", &CMAES{Sigma: settings.Num(1)})
}

// CMAES is the covariance matrix adaptation evolution strategy of Hansen and Ostermeier (2001), with negative weights,
// as in Hansen's "The CMA evolution strategy: a tutorial" (2016), with the formulas and defaults of evosax 0.3.2.
// Members are mean + σ·B·(D·z), with the covariance's eigenvectors B and the roots D of its eigenvalues.
//
// For n parameters, the state has two matrices of n² numbers. The eigendecomposition takes some 10·n³ steps on every
// device. It is computed every EigenEvery generations. In between, B and D belong to an older covariance, as the
// tutorial allows. By default that is the number of generations that change a tenth of the covariance, 0.1/(c1 + cmu),
// at least 1: 1 for 10 parameters and 40 members, 7 for 100 and 256, 114 for 386 and 256. evosax decomposes in every
// generation.
type CMAES struct {
	normal[CMAESState]
	Sigma      settings.Number `set:"sigma" above:"0" max:"1e8" help:"standard deviation of the noise at first"`
	EigenEvery int             `set:"eigen-every" min:"1" max:"1000000" zero:"as many as change a tenth of the covariance" help:"generations from one eigendecomposition to the next; 0 for as many as change a tenth of the covariance"`
}

// CMAESState is the state of CMAES.
type CMAESState struct {
	Mean       *graph.Array // f32[n]
	Sigma      *graph.Array // f32[]: step size of the next generation
	SigmaPath  *graph.Array // f32[n]: evolution path of the step size
	Path       *graph.Array // f32[n]: evolution path of the covariance
	Covariance *graph.Array // f32[n, n]
	Basis      *graph.Array // f32[n, n]: eigenvectors in columns
	Scale      *graph.Array // f32[n]: roots of the eigenvalues
	Generation *graph.Array // i32[]: generations so far
}

func (s CMAESState) mean() *graph.Array { return s.Mean }

// CMAESDraw is a member's noise z and its step B·(D·z), both f32[n]. A product with B takes a large part of a
// generation, and Tell needs each step again.
type CMAESDraw struct{ Noise, Step *graph.Array }

// Traits say that it ranks members and takes immigrants.
func (e *CMAES) Traits() (t Traits[CMAESState, *graph.Array, CMAESDraw]) {
	t.LeastPopulation, t.Steady, t.Immigrant = 2, true, e.Immigrant
	return t
}

// Init starts at the genome with Sigma and the covariance of a ball.
func (e *CMAES) Init(mean *graph.Array, _ int) CMAESState {
	zero, eye := graph.ZerosLike(mean), graph.Eye(graph.Float32, mean.Dim(0))
	return CMAESState{mean, e.Sigma.Array(), zero, zero, eye, eye, graph.OnesLike(mean),
		graph.Scalar(0, graph.Int32)}
}

// Sample draws z.
func (e *CMAES) Sample(key random.Key, s CMAESState, group *graph.Array) CMAESDraw {
	return s.draw(e.normal.Sample(key, s, group))
}

// draw returns the draw with noise z.
func (s CMAESState) draw(z *graph.Array) CMAESDraw { return CMAESDraw{z, s.Basis.Dot(s.Scale.Mul(z))} }

// Member returns mean + σ·B·(D·z).
func (*CMAES) Member(s CMAESState, d CMAESDraw, _ *graph.Array) *graph.Array {
	return s.Mean.Add(s.Sigma.Mul(d.Step))
}

// Tell recombines the better half and moves paths, step size and covariance.
func (e *CMAES) Tell(state CMAESState, v Evaluation, draws Draws[CMAESDraw]) CMAESState {
	return e.tell(state, v.Fitness, draws, nil)
}

// tell is Tell with a drift, f32[n] in units of sigma, that is added to the mean's step; nil for none.
func (e *CMAES) tell(s CMAESState, fitness *graph.Array, draws Draws[CMAESDraw], drift *graph.Array) CMAESState {
	n := s.Mean.Dim(0)
	r := recombine(fitness.Dim(0), n, true)
	w := r.weights.apply(fitness)
	sum := SumOf(draws, w.Max(0), func(d CMAESDraw) *graph.Array { return d.Noise })
	step, white := s.Basis.Dot(s.Scale.Mul(sum)), s.Basis.Dot(sum)
	if drift != nil {
		step = step.Add(drift)
		white = white.Add(s.Basis.Dot(graph.MatrixTranspose(s.Basis).Dot(drift).Div(s.Scale)))
	}
	p := r.advance(s.Sigma, s.SigmaPath, s.Path, step, white, s.Generation)

	// A negative weight is divided by the member's squared length (equation 46), so that the covariance stays positive.
	lengths := MapOf(draws, func(d CMAESDraw) *graph.Array { return d.Noise.Square().Sum() })
	w = w.Mul(graph.Select(w.Ge(0), graph.OnesLike(w),
		graph.Div(float32(n), lengths.Max(float32(1e-8)))))
	// Of the members' steps, not of their noise: devices share that, but not products with B·diag(D).
	mu := draws.Outer(w, func(d CMAESDraw) *graph.Array { return d.Step })
	covariance := conditioned(r.covariance(s.Covariance, graph.Outer(p.path, p.path), mu, p.stalled))

	generations := s.Generation.Add(1)
	basis, scale := e.decompose(e.every(r), covariance, s, generations)
	return CMAESState{s.Mean.Add(s.Sigma.Mul(step)), p.sigma, p.ofSigma, p.path, covariance, basis, scale,
		generations}
}

// conditioned returns a covariance with a positive diagonal. What decomposes it takes its symmetric part. To take that
// here, too, would read a large matrix along its columns in every generation.
func conditioned(c *graph.Array) *graph.Array {
	eye := graph.Eye(graph.Float32, c.Dim(0))
	c = graph.Select(eye.Gt(0), c.Max(0), c)
	return c.Clamp(-maxDeviation, maxDeviation).Add(graph.Mul(minVariance, eye))
}

// Period returns the number of generations from one eigendecomposition to the next, for n parameters and a population.
func (e *CMAES) Period(n, population int) int { return e.every(recombine(population, n, true)) }

// every returns the number of generations from one eigendecomposition to the next.
func (e *CMAES) every(r recombination) int {
	if e.EigenEvery > 0 {
		return e.EigenEvery
	}
	return max(1, int(math.Min(.1/(r.cOne+r.cMu), 1e6)))
}

// decompose returns eigenvectors and roots of eigenvalues: of the covariance if that is due, else the state's.
func (e *CMAES) decompose(every int, covariance *graph.Array, s CMAESState,
	generations *graph.Array) (basis, scale *graph.Array) {
	eigen := func() (basis, scale *graph.Array) {
		values, vectors := linalg.Eigh(covariance)
		return vectors, values.Max(minVariance).Sqrt()
	}
	if every == 1 {
		return eigen()
	}
	// A loop of at most one iteration, because Cond reads its predicate's value outside of a trace.
	type loop struct{ Due, Basis, Scale *graph.Array }
	end := graph.While(func(l loop) *graph.Array { return l.Due }, func(loop) loop {
		basis, scale := eigen()
		return loop{graph.Scalar(false), basis, scale}
	}, loop{generations.Rem(every).Eq(0), s.Basis, s.Scale})
	return end.Basis, end.Scale
}

// Immigrant has the noise D⁻¹·Bᵀ·(genome - mean)/σ.
func (*CMAES) Immigrant(s CMAESState, genome *graph.Array) CMAESDraw {
	offset := genome.Sub(s.Mean).Div(s.Sigma)
	return s.draw(likely(graph.MatrixTranspose(s.Basis).Dot(offset).Div(s.Scale)))
}
