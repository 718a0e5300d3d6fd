package strategy

import (
	"xlarun/graph"
	"xlarun/rollout/population"
	"xlarun/rollout/settings"
)

// Shaped are the settings of strategies that follow a gradient of fitness: what of the fitness they follow.
type Shaped struct {
	Shaping     string  `set:"shaping" oneof:"ranks,z-score,raw" help:"what the gradient is of: centred ranks, fitness less its mean over its standard deviation (z-score), or fitness itself (raw)"`
	WeightDecay float64 `float32:"" set:"weight-decay" min:"0" help:"fitness that a member loses for each unit of its parameters' squares"`
}

// Values of Shaped.Shaping.
const (
	shapeRanks  = "ranks"
	shapeZScore = "z-score"
	shapeRaw    = "raw"
)

// shape is the shaped fitness of the members, f32[population]. s is the strategy that embeds it. A member whose fitness is not
// finite gets what the worst of the others gets; where all are so, all get 0.
func (o Shaped) shape(s Strategy, state any, fitness *graph.Array, draws population.Draws) *graph.Array {
	if o.WeightDecay > 0 {
		fitness = graph.Sub(fitness, graph.Mul(settings.Num(o.WeightDecay).Array(), squares(s, state, draws)))
	}
	if o.Shaping == shapeRaw || o.Shaping == shapeZScore {
		finite := graph.IsFinite(fitness)
		least := graph.ReduceMin(graph.Select(finite, fitness, graph.ReduceMax(graph.Select(finite, fitness, 0))))
		fitness = graph.Select(graph.Any(finite), graph.Select(finite, fitness, least), 0)
	}
	switch o.Shaping {
	case shapeRaw:
		return fitness
	case shapeZScore:
		unit := magnitude(fitness)
		fitness = graph.Div(fitness, unit)
		away := graph.Sub(fitness, graph.Mean(fitness))
		return graph.Div(away, graph.Sqrt(graph.Add(graph.Mean(graph.Square(away)), graph.Div(graph.Div(float32(1e-8), unit), unit))))
	}
	return CentredRanks(fitness)
}

// magnitude is what large numbers are divided by before they are squared: the largest of them where it is above a million, else 1.
func magnitude(x *graph.Array) *graph.Array {
	most := graph.ReduceMax(graph.Abs(x))
	return graph.Select(graph.Gt(most, float32(1e6)), most, 1)
}

// squares are the sums of the squares of the members' parameters, f32[population].
func squares(s Strategy, state any, draws population.Draws) *graph.Array {
	ofGroup := func(draw any) *graph.Array { // f32[sides]
		return graph.VMap(func(side *graph.Array) *graph.Array {
			sum := graph.Scalar(0)
			for _, leaf := range graph.Leaves(s.Member(state, draw, side)) {
				if leaf.DType().IsFloat() {
					sum = graph.Add(sum, graph.Sum(graph.Square(graph.Convert(leaf, graph.Float32))))
				}
			}
			return sum
		})(graph.Iota(s.GroupSize()))
	}
	all := draws.Map(func(draw any) any { return ofGroup(draw) }).(*graph.Array) // [groups, sides]
	return graph.Flatten1D(graph.Transpose(all, 1, 0))
}
