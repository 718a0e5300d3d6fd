package policy

import (
	"xlarun/envs"
	"xlarun/graph"
	"xlarun/graph/random"
)

// Stochastic is a distribution over actions, for policy gradients. Its methods are for one observation; graph.VMap adds
// batches.
//
// A draw is not always the action itself. For a box it is the number before tanh, because the inverse of tanh loses
// digits near the bounds. Action turns a draw into an action.
type Stochastic interface {
	// Start returns the first parameters of the distribution beside the policy's outputs, which are learned as well: a
	// tree, graph.None{} for none.
	Start() any
	// Noise draws the noise of one draw. It does not depend on the outputs, so that many steps can draw it at once.
	Noise(key random.Key) *graph.Array
	// Draw returns a draw for a policy's outputs, f32[Size], and noise. No gradient goes through it.
	Draw(params any, out, noise *graph.Array) *graph.Array
	// LogProb returns the logarithm of the probability, or of the density, of a draw, f32[].
	LogProb(params any, out, draw *graph.Array) *graph.Array
	// Entropy returns the entropy, f32[].
	Entropy(params any, out *graph.Array) *graph.Array
	// Action returns the action of a draw, in the shape and dtype of the space.
	Action(draw *graph.Array) *graph.Array
}

// StochasticOf returns the distribution over a space of actions: a Categorical, a MultiCategorical, or a Squashed for a
// box. Its error is a *settings.Error.
func StochasticOf(s envs.Space) (Stochastic, error) {
	head, err := HeadOf(s)
	if err != nil {
		return nil, err
	}
	if h, ok := head.(squash); ok {
		return newSquashed(h), nil
	}
	if h, ok := head.(choices); ok {
		return MultiCategorical{h}, nil
	}
	return Categorical{head.Size()}, nil
}
