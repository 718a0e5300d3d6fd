package policy

import (
	"xlarun/envs"
	"xlarun/graph"
	"xlarun/graph/random"
)

// Stochastic is a Head as a distribution over actions, for training by gradients of policies. All of it is for one
// observation; graph.VMap gives it batches.
//
// What is drawn is not always the action itself: of a box it is the number before tanh, which keeps the digits that the
// inverse of tanh loses near the bounds. Action makes of a draw the action of the space.
type Stochastic interface {
	// Start are the parameters that the distribution has beside the policy's outputs, learned like these: a tree,
	// graph.None{} for none.
	Start() any
	// Noise is what a draw takes of a key, whatever the outputs, so that the noise of many steps can be drawn at once.
	Noise(key random.Key) *graph.Array
	// Draw is a draw for a policy's outputs, f32[Size], by noise. No gradient goes through it.
	Draw(params any, out, noise *graph.Array) *graph.Array
	// LogProb is the logarithm of the probability, or of the density, of a draw, f32[].
	LogProb(params any, out, draw *graph.Array) *graph.Array
	// Entropy is that of the distribution, f32[].
	Entropy(params any, out *graph.Array) *graph.Array
	// Action is the action, shape and dtype of the space, that a draw stands for.
	Action(draw *graph.Array) *graph.Array
}

// StochasticOf is the distribution over a space of actions: a Categorical, a MultiCategorical, or a Squashed for a box.
// Its error is a *settings.Error.
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
