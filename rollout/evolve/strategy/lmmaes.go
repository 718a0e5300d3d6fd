package strategy

import (
	"math"

	"xlarun/graph"
	"xlarun/rollout/settings"
)

func init() {
	MustRegister("lmmaes", &LMMAES{Sigma: settings.Num(1)})
}

// LMMAES is the limited memory matrix adaptation evolution strategy of Loshchilov, Glasmachers and Beyer, "Large scale
// black-box optimization by limited-memory matrix adaptation" (2019): the matrix of maes as a product of 4 + 3·log n
// vectors, which forget at rates that are powers of 4. So a generation takes some n·log n numbers a member. Rates are
// 1.9 at most: from 2 on, which the paper's formula has for populations of 2n members, a vector has no real length.
// evosax 0.3.2 has no such bound, and its vectors do not follow the fitness: it weights members in their own order.
type LMMAES struct {
	normal[LMMAESState]
	Sigma settings.Number `set:"sigma" above:"0" max:"1e8" help:"standard deviation of the noise at first"`
}

// fastestPath is the largest rate at which a vector of LMMAES forgets.
const fastestPath = 1.9

// LMMAESState is the state of LMMAES.
type LMMAESState struct {
	Mean       *graph.Array // f32[n]
	Sigma      *graph.Array // f32[]: step size of the next generation
	SigmaPath  *graph.Array // f32[n]: evolution path of the step size
	Paths      *graph.Array // f32[4 + 3·log n, n]: the vectors of the matrix
	Generation *graph.Array // i32[]: generations so far
}

func (s LMMAESState) mean() *graph.Array { return s.Mean }

// Traits say that it ranks members.
func (*LMMAES) Traits() (t Traits[LMMAESState, *graph.Array, *graph.Array]) {
	t.LeastPopulation, t.Steady = 2, true
	return t
}

// Init starts at the genome with Sigma, without vectors.
func (e *LMMAES) Init(mean *graph.Array, _ int) LMMAESState {
	n := mean.Dim(0)
	return LMMAESState{mean, e.Sigma.Array(), graph.ZerosLike(mean),
		graph.Zeros(graph.ShapeOf(graph.Float32, 4+int(3*math.Log(float64(n))), n)),
		graph.Scalar(0, graph.Int32)}
}

// Member returns mean + σ·d, where d is z after each of the vectors (lines 8 to 11 of algorithm 1).
func (*LMMAES) Member(s LMMAESState, noise, _ *graph.Array) *graph.Array {
	return s.Mean.Add(s.Sigma.Mul(s.stretch(noise)))
}

func (s LMMAESState) stretch(d *graph.Array) *graph.Array {
	n := float64(s.Mean.Dim(0))
	for i := range s.Paths.Dim(0) {
		rate, path := math.Pow(1.5, -float64(i))/n, s.Paths.Index(i)
		next := graph.Mul(float32(1-rate), d).Add(graph.Mul(float32(rate), d.Dot(path)).Mul(path))
		d = graph.Select(s.Generation.Gt(i), next, d)
	}
	return d
}

// Tell recombines the better half, and moves the step size and the vectors (lines 12 to 17).
func (*LMMAES) Tell(s LMMAESState, v Evaluation, noise Draws[*graph.Array]) LMMAESState {
	n, members := s.Mean.Dim(0), v.Fitness.Dim(0)
	r := recombine(members, n, false)
	sum := noise.Sum(r.weights.apply(v.Fitness))
	path, sigma := r.stepSize(s.Sigma, s.SigmaPath, sum)
	var paths []*graph.Array
	for i := range s.Paths.Dim(0) {
		rate := min(fastestPath, float64(members)/float64(n)*math.Pow(4, -float64(i)))
		paths = append(paths, r.follow(rate, s.Paths.Index(i), sum))
	}
	// Each vector changes z linearly, so the members' sum is stretched once.
	return LMMAESState{s.Mean.Add(s.Sigma.Mul(s.stretch(sum))), sigma, path, graph.Stack(paths, 0),
		s.Generation.Add(1)}
}
