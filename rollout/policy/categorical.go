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
	return greedy{c.N}.Action(graph.Add(out, noise))
}

// LogProb is the logarithm of the probability of an action.
func (c Categorical) LogProb(_ any, out, draw *graph.Array) *graph.Array {
	chosen := graph.Eq(graph.Iota(c.N), draw)
	return graph.Sum(graph.Select(chosen, logs(out), 0.))
}

// Entropy is minus the sum of p log p over the actions that are possible.
func (c Categorical) Entropy(_ any, out *graph.Array) *graph.Array {
	l := logs(out)
	possible := graph.Gt(out, math.Inf(-1))
	return graph.Neg(graph.Sum(graph.Select(possible, graph.Mul(graph.Exp(l), l), 0.)))
}

// Action is the draw.
func (Categorical) Action(draw *graph.Array) *graph.Array { return draw }

// logs are the logarithms of softmax(out), with a large negative number in the place of -Inf: a derivative there would
// be no number.
func logs(out *graph.Array) *graph.Array {
	possible := graph.Gt(out, math.Inf(-1))
	top := graph.StopGradient(graph.ReduceMax(out, 0))
	shifted := graph.Select(possible, graph.Sub(out, top), 0.)
	total := graph.Sum(graph.Select(possible, graph.Exp(shifted), 0.))
	return graph.Sub(graph.Select(possible, shifted, least), graph.Log(total))
}

// least stands for the logarithm of 0.
const least = -1e30
