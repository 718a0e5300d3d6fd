package strategy

import (
	"math"

	"xlarun/graph"
	"xlarun/graph/linalg"
	"xlarun/rollout/settings"
)

func init() {
	MustRegister("xnes", &XNES{LearningRate: settings.Num(1), Sigma: settings.Num(1)})
}

// XNES is the exponential natural evolution strategy of Glasmachers et al., "Exponential natural evolution strategies"
// (2010): members mean + σ·B·z, utilities of ranks, natural gradients of the mean, of log σ and of log B, with the
// defaults of evosax 0.3.2. B is multiplied by the exponential of a matrix, as in the paper. evosax takes the
// exponential of each element, so that its B stays diagonal.
//
// For n parameters, the state has a matrix of n² numbers, and every generation multiplies some ten such matrices on
// every device.
type XNES struct {
	normal[XNESState]
	LearningRate      settings.Number `set:"learning-rate" above:"0" help:"step size of the mean"`
	Sigma             settings.Number `set:"sigma" above:"0" max:"1e8" help:"standard deviation of the noise at first"`
	StdLearningRate   float64         `float32:"" set:"std-learning-rate" above:"0" zero:"(9 + 3 log n) / (5 n √n) of n parameters" help:"step size of sigma; 0 for the paper's, of the number of parameters"`
	ShapeLearningRate float64         `float32:"" set:"shape-learning-rate" above:"0" zero:"(9 + 3 log n) / (5 n √n) of n parameters" help:"step size of the matrix; 0 for the paper's, of the number of parameters"`
}

// XNESState is the state of XNES.
type XNESState struct {
	Mean  *graph.Array // f32[n]
	Sigma *graph.Array // f32[]: step size of the next generation
	Shape *graph.Array // f32[n, n]: B, of determinant 1
}

func (s XNESState) mean() *graph.Array { return s.Mean }

// Traits say that it ranks members and takes immigrants.
func (e *XNES) Traits() (t Traits[XNESState, *graph.Array, *graph.Array]) {
	t.LeastPopulation, t.Steady, t.Immigrant = 2, true, e.Immigrant
	return t
}

// Init starts at the genome with Sigma and B the identity.
func (e *XNES) Init(mean *graph.Array, _ int) XNESState {
	return XNESState{mean, e.Sigma.Array(), graph.Eye(graph.Float32, mean.Dim(0))}
}

// Member returns mean + σ·B·z.
func (*XNES) Member(s XNESState, noise, _ *graph.Array) *graph.Array {
	return s.Mean.Add(s.Sigma.Mul(s.Shape.Dot(noise)))
}

// Tell moves the mean by rate·σ·B·Σ w·z. With G = Σ w·(z·zᵀ - 1) and g its trace over n, σ is multiplied by exp(rate/2
// · g) and B by exp(rate/2 · (G - g)).
func (e *XNES) Tell(s XNESState, v Evaluation, noise Draws[*graph.Array]) XNESState {
	n := s.Mean.Dim(0)
	w := naturalWeights(v.Fitness.Dim(0)).apply(v.Fitness)
	step := s.Sigma.Mul(s.Shape.Dot(noise.Sum(w)))
	eye := graph.Eye(graph.Float32, n)
	gradient := noise.Outer(w, func(z *graph.Array) *graph.Array { return z })
	gradient = gradient.Sub(w.Sum().Mul(eye))
	ofSigma := linalg.Trace(gradient).Div(float32(n))
	grow := graph.Mul(float32(e.rate(e.StdLearningRate, n)/2), ofSigma).Exp()
	turn := linalg.Expm(graph.Mul(float32(e.rate(e.ShapeLearningRate, n)/2),
		gradient.Sub(ofSigma.Mul(eye))))
	return XNESState{s.Mean.Add(e.LearningRate.Array().Mul(step)), s.Sigma.Mul(grow).Min(maxDeviation),
		s.Shape.Dot(turn)}
}

// rate returns a step size from the settings, or the paper's for 0.
func (*XNES) rate(set float64, n int) float64 {
	if set > 0 {
		return set
	}
	d := float64(n)
	return (9 + 3*math.Log(d)) / (5 * d * math.Sqrt(d))
}

// Immigrant solves σ·B·z = genome - mean.
func (*XNES) Immigrant(s XNESState, genome *graph.Array) *graph.Array {
	offset := genome.Sub(s.Mean).Div(s.Sigma)
	return likely(linalg.Solve(s.Shape, offset))
}
