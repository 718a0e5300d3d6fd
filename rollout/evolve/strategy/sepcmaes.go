package strategy

import (
	"xlarun/graph"
	"xlarun/rollout/settings"
)

func init() {
	MustRegister("sepcmaes", &SepCMAES{Sigma: settings.Num(1)})
}

// SepCMAES is CMA-ES with a diagonal covariance, of Ros and Hansen, "A simple modification in CMA-ES achieving linear
// time and space complexity" (2008), with the formulas and defaults of evosax 0.3.2: the learning rates of CMAES (the
// paper's are (n + 2)/3 times as large), and no negative weights.
type SepCMAES struct {
	normal[SepCMAESState]
	Sigma settings.Number `set:"sigma" above:"0" max:"1e8" help:"standard deviation of the noise at first"`
}

// SepCMAESState is the state of SepCMAES.
type SepCMAESState struct {
	Mean       *graph.Array // f32[n]
	Sigma      *graph.Array // f32[]: step size of the next generation
	SigmaPath  *graph.Array // f32[n]: evolution path of the step size
	Path       *graph.Array // f32[n]: evolution path of the covariance
	Variance   *graph.Array // f32[n]: the covariance's diagonal
	Generation *graph.Array // i32[]: generations so far
}

func (s SepCMAESState) mean() *graph.Array { return s.Mean }

// Traits say that it ranks members and takes immigrants.
func (e *SepCMAES) Traits() (t Traits[SepCMAESState, *graph.Array, *graph.Array]) {
	t.LeastPopulation, t.Steady, t.Immigrant = 2, true, e.Immigrant
	return t
}

// Init starts at the genome with Sigma and a covariance of 1.
func (e *SepCMAES) Init(mean *graph.Array, _ int) SepCMAESState {
	zero := graph.ZerosLike(mean)
	return SepCMAESState{mean, e.Sigma.Array(), zero, zero, graph.OnesLike(mean),
		graph.Scalar(0, graph.Int32)}
}

// Member returns mean + σ·√variance·z.
func (*SepCMAES) Member(s SepCMAESState, noise, _ *graph.Array) *graph.Array {
	return s.Mean.Add(s.Sigma.Mul(s.Variance.Sqrt().Mul(noise)))
}

// Tell recombines the better half and moves paths, step size and variances.
func (e *SepCMAES) Tell(s SepCMAESState, v Evaluation, noise Draws[*graph.Array]) SepCMAESState {
	r := recombine(v.Fitness.Dim(0), s.Mean.Dim(0), false)
	type sums struct{ Z, Squares *graph.Array }
	sum := SumOf(noise, r.weights.apply(v.Fitness), func(z *graph.Array) sums {
		return sums{z, z.Square()}
	})
	step := s.Variance.Sqrt().Mul(sum.Z)
	p := r.advance(s.Sigma, s.SigmaPath, s.Path, step, sum.Z, s.Generation)
	variance := r.covariance(s.Variance, p.path.Square(), s.Variance.Mul(sum.Squares), p.stalled)
	variance = variance.Clamp(0, maxDeviation).Add(minVariance)
	return SepCMAESState{s.Mean.Add(s.Sigma.Mul(step)), p.sigma, p.ofSigma, p.path, variance,
		s.Generation.Add(1)}
}

// Immigrant is (genome - mean)/(σ·√variance).
func (*SepCMAES) Immigrant(s SepCMAESState, genome *graph.Array) *graph.Array {
	return noiseOf(genome, s.Mean, s.Sigma.Mul(s.Variance.Sqrt()))
}
