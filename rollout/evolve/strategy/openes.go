package strategy

import (
	"xlarun/graph"
	"xlarun/graph/random"
	"xlarun/rollout/population"
	"xlarun/rollout/settings"
)

func init() {
	MustRegister("openes", func() Strategy {
		return &OpenES{LearningRate: settings.Num(.02), Sigma: settings.Num(.1), SigmaDecay: settings.Num(1), Shaped: Shaped{Shaping: shapeRanks}}
	})
}

// OpenES is the evolution strategy of Salimans et al., "Evolution strategies as a scalable alternative to reinforcement
// learning" (2017), with the formulas of evosax 0.3.2's Open_ES: antithetic pairs mean ± σ·z, centred ranks (or
// what Shaping says), Adam.
type OpenES struct {
	antithetic
	Vectors
	LearningRate settings.Number `set:"learning-rate" above:"0" help:"step size of Adam"`
	Sigma        settings.Number `set:"sigma" above:"0" help:"standard deviation of the noise"`
	SigmaDecay   settings.Number `set:"sigma-decay" above:"0" help:"factor of sigma from one generation to the next"`
	Shaped
}

// OpenESState is what OpenES remembers between generations.
type OpenESState struct {
	Mean  *graph.Array // f32[n]
	Sigma *graph.Array // f32[]: of the next generation
	Adam  Adam
}

// Init starts at the genome with Sigma.
func (e *OpenES) Init(genome any, _ int) any {
	mean := genome.(*graph.Array)
	return OpenESState{Mean: mean, Sigma: e.Sigma.Array(), Adam: newAdam(mean)}
}

// Sample draws z, standard normal.
func (*OpenES) Sample(key random.Key, state any) any {
	return random.Normal(key, state.(OpenESState).Mean.Shape())
}

// Member is mean + σ·z on side 0, mean - σ·z on side 1.
func (e *OpenES) Member(state, noise any, side *graph.Array) any {
	s := state.(OpenESState)
	return graph.Add(s.Mean, graph.Mul(graph.Mul(s.Sigma, e.sign(side)), noise.(*graph.Array)))
}

// Tell follows the estimate Σ shaped fitness·z / (population·σ) of the gradient of fitness by one Adam step.
func (e *OpenES) Tell(state any, v Evaluation, noise population.Draws) any {
	s := state.(OpenESState)
	plus, minus := e.sides(e.shape(e, s, v.Fitness, noise))
	gradient := graph.Div(sumOf(noise, graph.Sub(plus, minus), nil), graph.Mul(s.Sigma, float32(v.Fitness.Dim(0))))
	adam, update := s.Adam.step(gradient, e.LearningRate.Array())
	return OpenESState{Mean: graph.Add(s.Mean, update), Sigma: decayed(e.Sigma.Array(), e.SigmaDecay.Array(), s.Adam.Count), Adam: adam}
}

// Centre is the mean.
func (*OpenES) Centre(state any) any { return state.(OpenESState).Mean }
