package policy

import (
	"math"

	"xlarun/graph"
	"xlarun/graph/random"
)

// Categorical is the distribution over N actions whose logits are the policy's outputs. Of outputs that went through
// Legal the illegal actions, at -Inf, are never drawn, have the probability 0 and no part in the entropy, and pass no
// gradient on.
type Categorical struct{ N int }

// Start is the empty tree.
func (Categorical) Start() any { return graph.None{} }

// Noise is Gumbel's, f32[N].
func (c Categorical) Noise(key random.Key) *graph.Array {
	return random.Gumbel(key, graph.ShapeOf(graph.Float32, c.N))
}

// Draw is the action whose logit and noise together are largest, i32[].
func (c Categorical) Draw(_ any, out, noise *graph.Array) *graph.Array {
	return greedy{c.N}.Action(out.Add(noise))
}

// LogProb is the logarithm of the probability of an action.
func (c Categorical) LogProb(_ any, out, draw *graph.Array) *graph.Array {
	chosen := graph.Iota(c.N).Eq(draw)
	return graph.Select(chosen, logs(out), 0.).Sum()
}

// Entropy is minus the sum of p log p over the actions that are possible.
func (c Categorical) Entropy(_ any, out *graph.Array) *graph.Array {
	l := logs(out)
	possible := out.Gt(math.Inf(-1))
	return graph.Select(possible, l.Exp().Mul(l), 0.).Sum().Neg()
}

// Action is the draw.
func (Categorical) Action(draw *graph.Array) *graph.Array { return draw }

// logs are the logarithms of softmax(out), with a large negative number in the place of -Inf: a derivative there would
// be no number.
func logs(out *graph.Array) *graph.Array {
	possible := out.Gt(math.Inf(-1))
	top := graph.StopGradient(out.ReduceMax(0))
	shifted := graph.Select(possible, out.Sub(top), 0.)
	total := graph.Select(possible, shifted.Exp(), 0.).Sum()
	return graph.Select(possible, shifted, least).Sub(total.Log())
}

// least stands for the logarithm of 0.
const least = -1e30
