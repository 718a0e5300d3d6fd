package strategy

import (
	"math"

	"xlarun/graph"
)

func init() {
	MustRegister("ars", &ARS{gaussian: defaultGaussian(), EliteRatio: .5})
}

// ARS is the augmented random search of Mania et al., "Simple random search provides a competitive approach to
// reinforcement learning" (2018), with the formulas of evosax 0.3.2: antithetic pairs mean ± σ·z, ranked by their
// better member; only the best pairs count. The gradient uses raw fitness over its standard deviation, and Adam.
// Observations are not normalized. The default learning rate and sigma are OpenES's: evosax's, 0.001 and 1,
// hardly move a policy.
type ARS struct {
	gaussian
	EliteRatio float64 `set:"elite-ratio" above:"0" max:"1" help:"part of the pairs that count"`
}

// Tell makes one step of Adam along Σ (fitness₊ - fitness₋)·z / (elites · standard deviation of the elites' fitness). A
// pair is no elite if a fitness is not finite.
func (e *ARS) Tell(state GaussianState, v Evaluation, noise Draws[*graph.Array]) GaussianState {
	return e.ascend(state, noise.Sum(e.weights(e.sides(v.Fitness))))
}

// weights returns the weight of each pair, f32[pairs]: 0 for all except elites.
func (e *ARS) weights(plus, minus *graph.Array) *graph.Array {
	pairs := plus.Dim(0)
	elites := max(1, int(e.EliteRatio*float64(2*pairs)/2))
	valid := plus.IsFinite().And(minus.IsFinite())
	plus, minus = graph.Select(valid, plus, 0), graph.Select(valid, minus, 0)
	better := graph.Select(valid, plus.Max(minus), float32(math.Inf(-1)))
	rank := graph.ArgSort(graph.ArgSort(better.Neg(), 0), 0)
	elite := valid.And(rank.Lt(elites))
	mask := elite.Convert(graph.Float32)
	plus, minus = graph.Select(elite, plus, 0), graph.Select(elite, minus, 0)
	unit := magnitude(graph.Concatenate(0, plus, minus)) // the weights do not depend on the unit of fitness
	plus, minus = plus.Div(unit), minus.Div(unit)
	count := mask.Sum().Max(1)
	mean := mask.Mul(plus.Add(minus)).Sum().Div(graph.Mul(2, count))
	squares := plus.Sub(mean).Square().Add(minus.Sub(mean).Square())
	deviation := mask.Mul(squares).Sum().Div(graph.Mul(2, count)).Sqrt()
	least := graph.Div(float32(1e-8), unit).Max(minDivisor)
	return mask.Mul(plus.Sub(minus)).Div(count.Mul(deviation.Max(least)))
}
