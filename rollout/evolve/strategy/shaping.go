package strategy

import (
	"xlarun/graph"
	"xlarun/rollout/settings"
)

// Shaped are the settings of strategies that follow a gradient: how fitness is transformed before.
type Shaped struct {
	Shaping     string  `set:"shaping" oneof:"ranks,z-score,raw" help:"what the gradient is of: centered ranks, fitness less its mean over its standard deviation (z-score), or fitness itself (raw)"`
	WeightDecay float64 `float32:"" set:"weight-decay" min:"0" help:"fitness that a member loses for each unit of its parameters' squares"`
}

// Values of Shaped.Shaping.
const (
	shapeRanks  = "ranks"
	shapeZScore = "z-score"
	shapeRaw    = "raw"
)

// shape returns the shaped fitness of the members of a strategy, f32[population]. A fitness that is not finite becomes
// the worst finite one. If none is finite, all become 0.
func shape[S, G, D any](o Shaped, s Strategy[S, G, D], state S, fitness *graph.Array, draws Draws[D]) *graph.Array {
	if o.WeightDecay > 0 {
		fitness = fitness.Sub(settings.Num(o.WeightDecay).Array().Mul(squares(s, state, draws)))
	}
	if o.Shaping == shapeRaw || o.Shaping == shapeZScore {
		finite := fitness.IsFinite()
		least := graph.Select(finite, fitness, graph.Select(finite, fitness, 0).ReduceMax()).ReduceMin()
		fitness = graph.Select(finite.Any(), graph.Select(finite, fitness, least), 0)
	}
	switch o.Shaping {
	case shapeRaw:
		return fitness
	case shapeZScore:
		unit := magnitude(fitness)
		fitness = fitness.Div(unit)
		// Rounding takes the mean of equal numbers below or above them.
		mean := graph.Clamp(fitness.ReduceMin(), fitness.Mean(), fitness.ReduceMax())
		centered := fitness.Sub(mean)
		least := graph.Div(float32(1e-8), unit).Div(unit).Max(minDivisor)
		return centered.Div(centered.Square().Mean().Add(least).Sqrt())
	}
	return CenteredRanks(fitness)
}

// magnitude returns a unit for large numbers, whose squares would overflow: the largest number if it is above a
// million, else 1.
func magnitude(x *graph.Array) *graph.Array {
	most := x.Abs().ReduceMax()
	return graph.Select(most.Gt(float32(1e6)), most, 1)
}

// squares returns the sum of the squares of each member's parameters, f32[population].
func squares[S, G, D any](s Strategy[S, G, D], state S, draws Draws[D]) *graph.Array {
	all := MapOf(draws, func(draw D) *graph.Array { // [groups, sides]
		return graph.VMap(func(side *graph.Array) *graph.Array {
			sum := graph.Scalar(0)
			for _, leaf := range graph.Leaves(s.Member(state, draw, side)) {
				if leaf.DType().IsFloat() {
					sum = sum.Add(leaf.Convert(graph.Float32).Square().Sum())
				}
			}
			return sum
		})(graph.Iota(max(s.Traits().GroupSize, 1)))
	})
	return graph.Flatten1D(all.Transpose(1, 0))
}
