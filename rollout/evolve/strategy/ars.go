package strategy

import (
	"math"

	"xlarun/graph"
	"xlarun/graph/random"
	"xlarun/rollout/population"
	"xlarun/rollout/settings"
)

func init() {
	MustRegister("ars", func() Strategy {
		return &ARS{LearningRate: settings.Num(.02), Sigma: settings.Num(.1), SigmaDecay: settings.Num(1), EliteRatio: .5}
	})
}

// ARS is the augmented random search of Mania et al., "Simple random search provides a competitive approach to reinforcement
// learning" (2018), with the formulas of evosax 0.3.2: antithetic pairs mean ± σ·z, of which the part whose better member is
// best counts, raw fitness over its standard deviation, Adam. Observations are not normalised. Learning rate and sigma are by
// default those of OpenES here; evosax's, 0.001 and 1, hardly move a policy.
type ARS struct {
	antithetic
	Vectors
	LearningRate settings.Number `set:"learning-rate" above:"0" help:"step size of Adam"`
	Sigma        settings.Number `set:"sigma" above:"0" help:"standard deviation of the noise"`
	SigmaDecay   settings.Number `set:"sigma-decay" above:"0" help:"factor of sigma from one generation to the next"`
	EliteRatio   float64         `set:"elite-ratio" above:"0" max:"1" help:"part of the pairs that count"`
}

// ARSState is what ARS remembers between generations.
type ARSState struct {
	Mean  *graph.Array // f32[n]
	Sigma *graph.Array // f32[]: of the next generation
	Adam  Adam
}

// Init starts at the genome with Sigma.
func (e *ARS) Init(genome any, _ int) any {
	mean := genome.(*graph.Array)
	return ARSState{Mean: mean, Sigma: e.Sigma.Array(), Adam: newAdam(mean)}
}

// Sample draws z, standard normal.
func (*ARS) Sample(key random.Key, state any) any {
	return random.Normal(key, state.(ARSState).Mean.Shape())
}

// Member is mean + σ·z on side 0, mean - σ·z on side 1.
func (e *ARS) Member(state, noise any, side *graph.Array) any {
	s := state.(ARSState)
	return graph.Add(s.Mean, graph.Mul(graph.Mul(s.Sigma, e.sign(side)), noise.(*graph.Array)))
}

// Tell follows Σ (fitness₊ - fitness₋)·z / (elites · standard deviation of the elites' fitness) by one Adam step. A pair with a
// member whose fitness is not finite is no elite.
func (e *ARS) Tell(state any, v Evaluation, noise population.Draws) any {
	s := state.(ARSState)
	w := e.weights(e.sides(v.Fitness))
	adam, update := s.Adam.step(sumOf(noise, w, nil), e.LearningRate.Array())
	return ARSState{Mean: graph.Add(s.Mean, update), Sigma: decayed(e.Sigma.Array(), e.SigmaDecay.Array(), s.Adam.Count), Adam: adam}
}

// weights are those of the pairs, 0 for all but elites.
func (e *ARS) weights(plus, minus *graph.Array) *graph.Array {
	pairs := plus.Dim(0)
	elites := max(1, int(e.EliteRatio*float64(2*pairs)/2))
	whole := graph.And(graph.IsFinite(plus), graph.IsFinite(minus))
	plus, minus = graph.Select(whole, plus, 0), graph.Select(whole, minus, 0)
	better := graph.Select(whole, graph.Max(plus, minus), float32(math.Inf(-1)))
	place := graph.ArgSort(graph.ArgSort(graph.Neg(better), 0), 0)
	elite := graph.And(whole, graph.Lt(place, elites))
	one := graph.Convert(elite, graph.Float32)
	plus, minus = graph.Select(elite, plus, 0), graph.Select(elite, minus, 0)
	unit := magnitude(graph.Concatenate(0, plus, minus)) // the weights are the same for fitness in any unit
	plus, minus = graph.Div(plus, unit), graph.Div(minus, unit)
	count := graph.Max(graph.Sum(one), 1)
	mean := graph.Div(graph.Sum(graph.Mul(one, graph.Add(plus, minus))), graph.Mul(2, count))
	squares := graph.Add(graph.Square(graph.Sub(plus, mean)), graph.Square(graph.Sub(minus, mean)))
	deviation := graph.Sqrt(graph.Div(graph.Sum(graph.Mul(one, squares)), graph.Mul(2, count)))
	return graph.Div(graph.Mul(one, graph.Sub(plus, minus)), graph.Mul(count, graph.Max(deviation, graph.Div(float32(1e-8), unit))))
}

// Centre is the mean.
func (*ARS) Centre(state any) any { return state.(ARSState).Mean }
