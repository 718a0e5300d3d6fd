package policy

import (
	"xlarun/graph"
	"xlarun/graph/random"
)

// MultiCategorical is the distribution over several choices at once, each a Categorical of its own outputs, which lie
// choice after choice, as the mask of legal ones does: the choices are independent, so that log-probabilities and
// entropies are sums.
type MultiCategorical struct{ N []int }

// Start is the empty tree.
func (MultiCategorical) Start() any { return graph.None{} }

// Noise is Gumbel's, f32[sum of N].
func (m MultiCategorical) Noise(key random.Key) *graph.Array {
	return random.Gumbel(key, graph.ShapeOf(graph.Float32, choices(m.N).Size()))
}

// Draw is the choices, i32[len(N)].
func (m MultiCategorical) Draw(_ any, out, noise *graph.Array) *graph.Array {
	return choices(m.N).Action(out.Add(noise))
}

// LogProb is the logarithm of the probability of all choices together.
func (m MultiCategorical) LogProb(_ any, out, draw *graph.Array) *graph.Array {
	return choices(m.N).each(out, func(i int, own *graph.Array) *graph.Array {
		return Categorical{m.N[i]}.LogProb(nil, own, draw.Index(i))
	}).Sum()
}

// Entropy is the sum of the choices' entropies.
func (m MultiCategorical) Entropy(_ any, out *graph.Array) *graph.Array {
	return choices(m.N).each(out, func(i int, own *graph.Array) *graph.Array {
		return Categorical{m.N[i]}.Entropy(nil, own)
	}).Sum()
}

// Action is the draw.
func (MultiCategorical) Action(draw *graph.Array) *graph.Array { return draw }
