package policy

import (
	"xlarun/graph"
	"xlarun/graph/random"
)

// MultiCategorical is the distribution over several independent choices, each a Categorical. Outputs and the mask of
// legal actions lie choice after choice. Log-probabilities and entropies are sums over the choices.
type MultiCategorical struct{ N []int }

// Start returns the empty tree.
func (MultiCategorical) Start() any { return graph.None{} }

// Noise returns Gumbel noise, f32[sum of N].
func (m MultiCategorical) Noise(key random.Key) *graph.Array {
	return random.Gumbel(key, graph.ShapeOf(graph.Float32, choices(m.N).Size()))
}

// Draw returns the choices, i32[len(N)].
func (m MultiCategorical) Draw(_ any, out, noise *graph.Array) *graph.Array {
	return choices(m.N).Action(out.Add(noise))
}

// LogProb returns the logarithm of the joint probability of the choices.
func (m MultiCategorical) LogProb(_ any, out, draw *graph.Array) *graph.Array {
	return choices(m.N).each(out, func(i int, outputs *graph.Array) *graph.Array {
		return Categorical{m.N[i]}.LogProb(nil, outputs, draw.Index(i))
	}).Sum()
}

// Entropy returns the sum of the choices' entropies.
func (m MultiCategorical) Entropy(_ any, out *graph.Array) *graph.Array {
	return choices(m.N).each(out, func(i int, outputs *graph.Array) *graph.Array {
		return Categorical{m.N[i]}.Entropy(nil, outputs)
	}).Sum()
}

// Action returns the draw.
func (MultiCategorical) Action(draw *graph.Array) *graph.Array { return draw }
