package strategy

import (
	"xlarun/graph"
	"xlarun/rollout/settings"
)

func init() {
	MustRegister("maes", &MAES{Sigma: settings.Num(1)})
}

// MAES is the matrix adaptation evolution strategy of Beyer and Sendhoff, "Simplify your covariance matrix adaptation
// evolution strategy" (2017): CMA-ES without a covariance, an eigendecomposition and its path. Members are
// mean + σ·M·z, and M is multiplied by what the better members' z have in common. Constants are those of cmaes. evosax
// 0.3.2 has the same formulas, except that its M does not follow the fitness: it weights members in their own order.
type MAES struct {
	normal[MAESState]
	Sigma settings.Number `set:"sigma" above:"0" max:"1e8" help:"standard deviation of the noise at first"`
}

// MAESState is the state of MAES.
type MAESState struct {
	Mean      *graph.Array // f32[n]
	Sigma     *graph.Array // f32[]: step size of the next generation
	SigmaPath *graph.Array // f32[n]: evolution path of the step size
	Matrix    *graph.Array // f32[n, n]: M
}

func (s MAESState) mean() *graph.Array { return s.Mean }

// Traits say that it ranks members.
func (*MAES) Traits() (t Traits[MAESState, *graph.Array, *graph.Array]) {
	t.LeastPopulation, t.Steady = 2, true
	return t
}

// Init starts at the genome with Sigma and M = 1.
func (e *MAES) Init(mean *graph.Array, _ int) MAESState {
	return MAESState{mean, e.Sigma.Array(), graph.ZerosLike(mean), graph.Eye(graph.Float32, mean.Dim(0))}
}

// Member returns mean + σ·M·z.
func (*MAES) Member(s MAESState, noise, _ *graph.Array) *graph.Array {
	return s.Mean.Add(s.Sigma.Mul(s.Matrix.Dot(noise)))
}

// Tell recombines the better half, and moves path, step size and M (lines M7 to M12 of the paper's figure 3).
func (*MAES) Tell(s MAESState, v Evaluation, noise Draws[*graph.Array]) MAESState {
	n := s.Mean.Dim(0)
	r := recombine(v.Fitness.Dim(0), n, false)
	w := r.weights.apply(v.Fitness)
	sum := noise.Sum(w)
	path, sigma := r.stepSize(s.Sigma, s.SigmaPath, sum)
	eye := graph.Eye(graph.Float32, n)
	squares := noise.Outer(w, func(z *graph.Array) *graph.Array { return z })
	change := graph.Mul(float32(r.cOne/2), graph.Outer(path, path).Sub(eye)).
		Add(graph.Mul(float32(r.cMu/2), squares.Sub(w.Sum().Mul(eye))))
	matrix := s.Matrix.Add(s.Matrix.Dot(change)).Clamp(-maxDeviation, maxDeviation)
	return MAESState{s.Mean.Add(s.Sigma.Mul(s.Matrix.Dot(sum))), sigma, path, matrix}
}
