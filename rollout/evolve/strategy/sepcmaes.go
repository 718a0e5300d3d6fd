package strategy

import (
	"xlarun/graph"
	"xlarun/rollout/population"
	"xlarun/rollout/settings"
)

func init() {
	MustRegister("sepcmaes", func() Strategy { return &SepCMAES{Sigma: settings.Num(1)} })
}

// SepCMAES is CMA-ES with a diagonal covariance, of Ros and Hansen, "A simple modification in CMA-ES achieving linear
// time and space complexity" (2008), with the formulas and defaults of evosax 0.3.2: the learning rates of CMAES (the
// paper's are (n + 2)/3 times as large), and no negative weights.
type SepCMAES struct {
	single
	ranked
	steady
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

// Init starts at the genome with Sigma and a covariance of 1.
func (e *SepCMAES) Init(genome any, _ int) any {
	mean := genome.(*graph.Array)
	zero := graph.ZerosLike(mean)
	return SepCMAESState{mean, e.Sigma.Array(), zero, zero, graph.OnesLike(mean),
		graph.Scalar(0, graph.Int32)}
}

// Member returns mean + σ·√variance·z.
func (*SepCMAES) Member(state, noise any, _ *graph.Array) any {
	s := state.(SepCMAESState)
	return s.Mean.Add(s.Sigma.Mul(s.Variance.Sqrt().Mul(noise.(*graph.Array))))
}

// Tell recombines the better half and moves paths, step size and variances.
func (e *SepCMAES) Tell(state any, v Evaluation, noise population.Draws) any {
	s := state.(SepCMAESState)
	r := recombine(v.Fitness.Dim(0), s.Mean.Dim(0), false)
	type sums struct{ Z, Squares *graph.Array }
	sum := population.SumOf(noise, r.weights.apply(v.Fitness), func(z *graph.Array) sums {
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
func (*SepCMAES) Immigrant(state, genome any) any {
	s := state.(SepCMAESState)
	return noiseOf(genome, s.Mean, s.Sigma.Mul(s.Variance.Sqrt()))
}
