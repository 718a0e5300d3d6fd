package strategy

import (
	"xlarun/graph"
	"xlarun/graph/random"
	"xlarun/rollout/population"
	"xlarun/rollout/settings"
)

func init() {
	MustRegister("pgpe", func() Strategy {
		return &PGPE{LearningRate: settings.Num(.02), Sigma: settings.Num(.1), StdLearningRate: settings.Num(.1)}
	})
}

// PGPE is "Parameter-exploring policy gradients" of Sehnke et al. (2010) with the formulas of evosax 0.3.2: antithetic
// pairs mean ± std·z with a standard deviation of its own for every parameter, centred ranks, Adam for the mean. The
// standard deviations follow their own gradient, by at most 20 % a generation.
type PGPE struct {
	antithetic
	Vectors
	LearningRate    settings.Number `set:"learning-rate" above:"0" help:"step size of Adam for the mean"`
	Sigma           settings.Number `set:"sigma" above:"0" help:"standard deviation of every parameter's noise at first"`
	StdLearningRate settings.Number `set:"std-learning-rate" above:"0" help:"step size of the standard deviations"`
}

// PGPEState is what PGPE remembers between generations.
type PGPEState struct {
	Mean *graph.Array // f32[n]
	Std  *graph.Array // f32[n]: of the next generation's noise
	Adam Adam
}

// pgpeMaxChange is the largest relative change of a standard deviation in one generation.
const pgpeMaxChange = .2

// Init starts at the genome with Sigma for every parameter.
func (e *PGPE) Init(genome any, _ int) any {
	mean := genome.(*graph.Array)
	return PGPEState{Mean: mean, Std: graph.BroadcastTo(e.Sigma.Array(), mean.Dims()...), Adam: newAdam(mean)}
}

// Sample draws z, standard normal.
func (*PGPE) Sample(key random.Key, state any) any {
	return random.Normal(key, state.(PGPEState).Mean.Shape())
}

// Member is mean + std·z on side 0, mean - std·z on side 1.
func (e *PGPE) Member(state, noise any, side *graph.Array) any {
	s := state.(PGPEState)
	return graph.Add(s.Mean, graph.Mul(graph.Mul(s.Std, e.sign(side)), noise.(*graph.Array)))
}

// Tell moves the mean along Σ (rank₊ - rank₋)·std·z / population by one Adam step, and the standard deviations along
// Σ (rank₊ + rank₋ - 2·mean rank)·std·(z² - 1) / population.
func (e *PGPE) Tell(state any, v Evaluation, noise population.Draws) any {
	s := state.(PGPEState)
	ranks := CentredRanks(v.Fitness)
	plus, minus := e.sides(ranks)
	scale := graph.Div(s.Std, float32(v.Fitness.Dim(0)))
	adam, update := s.Adam.step(graph.Mul(scale, sumOf(noise, graph.Sub(plus, minus), nil)), e.LearningRate.Array())
	baseline := graph.Mul(2, graph.Mean(ranks))
	gradient := graph.Mul(scale, sumOf(noise, graph.Sub(graph.Add(plus, minus), baseline), func(z *graph.Array) *graph.Array {
		return graph.Sub(graph.Square(z), 1)
	}))
	std := graph.Add(s.Std, graph.Mul(e.StdLearningRate.Array(), gradient))
	std = graph.Clamp(graph.Mul(s.Std, float32(1-pgpeMaxChange)), std, graph.Mul(s.Std, float32(1+pgpeMaxChange)))
	return PGPEState{Mean: graph.Add(s.Mean, update), Std: std, Adam: adam}
}

// Centre is the mean.
func (*PGPE) Centre(state any) any { return state.(PGPEState).Mean }
