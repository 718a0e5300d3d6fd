package strategy

import (
	"xlarun/graph"
	"xlarun/rollout/settings"
)

// gaussian is shared by OpenES and ARS: antithetic pairs mean ± σ·z with one σ for all parameters, and steps of Adam.
// They differ in the gradient, their Tell.
type gaussian struct {
	antithetic
	normal[GaussianState]
	LearningRate settings.Number `set:"learning-rate" above:"0" help:"step size of Adam"`
	Sigma        settings.Number `set:"sigma" above:"0" help:"standard deviation of the noise"`
	SigmaDecay   settings.Number `set:"sigma-decay" above:"0" help:"factor of sigma from one generation to the next"`
}

// defaultGaussian has evosax's settings of Open_ES.
func defaultGaussian() gaussian {
	return gaussian{LearningRate: settings.Num(.02), Sigma: settings.Num(.1), SigmaDecay: settings.Num(1)}
}

// GaussianState is the state of OpenES and ARS.
type GaussianState struct {
	Mean  *graph.Array // f32[n]
	Sigma *graph.Array // f32[]: of the next generation
	Adam  Adam
}

func (s GaussianState) mean() *graph.Array { return s.Mean }

// Traits say that it has pairs and takes immigrants.
func (e *gaussian) Traits() (t Traits[GaussianState, *graph.Array, *graph.Array]) {
	t.GroupSize, t.Immigrant = 2, e.Immigrant
	return t
}

// Init starts at the genome with Sigma.
func (e *gaussian) Init(mean *graph.Array, _ int) GaussianState {
	return GaussianState{Mean: mean, Sigma: e.Sigma.Array(), Adam: newAdam(mean)}
}

// Member returns mean + σ·z on side 0, mean - σ·z on side 1.
func (e *gaussian) Member(s GaussianState, noise, side *graph.Array) *graph.Array {
	return s.Mean.Add(s.Sigma.Mul(e.sign(side)).Mul(noise))
}

// ascend makes one step of Adam along a gradient.
func (e *gaussian) ascend(s GaussianState, gradient *graph.Array) GaussianState {
	adam, update := s.Adam.step(gradient, e.LearningRate.Array())
	return GaussianState{s.Mean.Add(update), decayed(e.Sigma.Array(), e.SigmaDecay.Array(), s.Adam.Count), adam}
}

// Immigrant is (genome - mean)/σ.
func (*gaussian) Immigrant(s GaussianState, genome *graph.Array) *graph.Array {
	return noiseOf(genome, s.Mean, s.Sigma)
}
