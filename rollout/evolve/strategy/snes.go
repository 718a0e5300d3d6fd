package strategy

import (
	"math"

	"xlarun/graph"
	"xlarun/rollout/settings"
)

func init() {
	MustRegister("snes", &SNES{LearningRate: settings.Num(1), Sigma: settings.Num(1)})
}

// SNES is the separable natural evolution strategy of Wierstra et al., "Natural evolution strategies" (2014), with the
// formulas and defaults of evosax 0.3.2: members mean + std·z with one standard deviation for each parameter, utilities
// of ranks, and natural gradients of the mean and of the logarithms of the standard deviations.
type SNES struct {
	normal[SNESState]
	LearningRate    settings.Number `set:"learning-rate" above:"0" help:"step size of the mean"`
	Sigma           settings.Number `set:"sigma" above:"0" max:"1e8" help:"standard deviation of every parameter's noise at first"`
	StdLearningRate float64         `float32:"" set:"std-learning-rate" above:"0" zero:"(3 + log n) / (5 √n) of n parameters" help:"step size of the standard deviations; 0 for the paper's"`
}

// SNESState is the state of SNES.
type SNESState struct {
	Mean *graph.Array // f32[n]
	Std  *graph.Array // f32[n]: of the next generation's noise
}

func (s SNESState) mean() *graph.Array { return s.Mean }

// Traits say that it ranks members and takes immigrants.
func (e *SNES) Traits() (t Traits[SNESState, *graph.Array, *graph.Array]) {
	t.LeastPopulation, t.Steady, t.Immigrant = 2, true, e.Immigrant
	return t
}

// Init starts at the genome with Sigma for every parameter.
func (e *SNES) Init(mean *graph.Array, _ int) SNESState {
	return SNESState{Mean: mean, Std: e.Sigma.Array().BroadcastTo(mean.Dims()...)}
}

// Member returns mean + std·z.
func (*SNES) Member(s SNESState, noise, _ *graph.Array) *graph.Array {
	return s.Mean.Add(s.Std.Mul(noise))
}

// Tell moves the mean by rate·std·Σ w·z and multiplies the standard deviations by exp(rate of the std/2 · Σ w·(z² -
// 1)).
func (e *SNES) Tell(s SNESState, v Evaluation, noise Draws[*graph.Array]) SNESState {
	n := float64(s.Mean.Dim(0))
	rate := e.StdLearningRate
	if rate == 0 {
		rate = (3 + math.Log(n)) / (5 * math.Sqrt(n))
	}
	type sums struct{ Mean, Std *graph.Array }
	w := naturalWeights(v.Fitness.Dim(0)).apply(v.Fitness)
	sum := SumOf(noise, w, func(z *graph.Array) sums { return sums{z, z.Square().Sub(1)} })
	return SNESState{
		Mean: s.Mean.Add(e.LearningRate.Array().Mul(s.Std).Mul(sum.Mean)),
		Std:  s.Std.Mul(graph.Mul(float32(rate/2), sum.Std).Exp()).Min(maxDeviation),
	}
}

// Immigrant is (genome - mean)/std.
func (*SNES) Immigrant(s SNESState, genome *graph.Array) *graph.Array {
	return noiseOf(genome, s.Mean, s.Std)
}
