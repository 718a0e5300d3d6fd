package policy

import (
	"math"

	"xlarun/graph"
	"xlarun/graph/random"
)

// Categorical is the distribution over N actions whose logits are the policy's outputs. Legal sets the logits of
// illegal actions to -Inf: they have probability 0, no part in the entropy and no gradient.
type Categorical struct{ N int }

// Start returns the empty tree.
func (Categorical) Start() any { return graph.None{} }

// Noise returns Gumbel noise, f32[N].
func (c Categorical) Noise(key random.Key) *graph.Array {
	return random.Gumbel(key, graph.ShapeOf(graph.Float32, c.N))
}

// Draw returns the action with the largest sum of logit and noise, i32[].
func (c Categorical) Draw(_ any, out, noise *graph.Array) *graph.Array {
	return greedy{c.N}.Action(out.Add(noise))
}

// LogProb returns the logarithm of the probability of an action.
func (c Categorical) LogProb(_ any, out, draw *graph.Array) *graph.Array {
	chosen := graph.Iota(c.N).Eq(draw)
	return graph.Select(chosen, logSoftmax(out), 0.).Sum()
}

// Entropy returns -Σ p·log p over the legal actions.
func (c Categorical) Entropy(_ any, out *graph.Array) *graph.Array {
	l := logSoftmax(out)
	possible := out.Gt(math.Inf(-1))
	return graph.Select(possible, l.Exp().Mul(l), 0.).Sum().Neg()
}

// Action returns the draw.
func (Categorical) Action(draw *graph.Array) *graph.Array { return draw }

// logSoftmax returns log(softmax(out)), with a large negative number instead of -Inf: its derivative would be NaN.
func logSoftmax(out *graph.Array) *graph.Array {
	possible := out.Gt(math.Inf(-1))
	top := graph.StopGradient(out.ReduceMax(0))
	shifted := graph.Select(possible, out.Sub(top), 0.)
	total := graph.Select(possible, shifted.Exp(), 0.).Sum()
	return graph.Select(possible, shifted, least).Sub(total.Log())
}

// least stands for the logarithm of 0.
const least = -1e30
