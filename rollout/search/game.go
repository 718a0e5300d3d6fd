package search

import (
	"xlarun/envs"
	"xlarun/graph"
	"xlarun/graph/random"
)

// Network is a policy and a value. From the observation of the player to move it returns logits, f32[A], and a value,
// f32[]. The search masks illegal actions.
type Network[P any] func(params P, observation *graph.Array) (logits, value *graph.Array)

// Position is the embedding of a Model: the state of a game.
type Position[S any] struct {
	State S
	Over  *graph.Array // bool[]
}

// Model is an environment with a network: a game of two players, or a task of one player. Some actions may
// be illegal (envs.Traits).
type Model[S, E, P any] struct {
	env     envs.Env[S, E]
	traits  envs.Traits[S, E]
	params  E
	network Network[P]
	gamma   float64
}

// NewModel returns the model of an environment with its default parameters. The discount is -1 if the player changes, 1
// if the same player of a game moves again, and gamma for environments of one player. After the end of an episode,
// value and discount are 0. It throws an error for more than two players and for actions other than envs.Discrete.
func NewModel[S, E, P any](env envs.Env[S, E], network Network[P], gamma float64) Model[S, E, P] {
	if n := env.Spec().Players; n > 2 {
		graph.Throw("search.NewModel", "%s has %d players, want one or two: a search has one value",
			env.Spec().ID, n)
	}
	if _, ok := env.Spec().Action.(envs.Discrete); !ok {
		graph.Throw("search.NewModel", "%s has the actions %s, want Discrete", env.Spec().ID, env.Spec().Action)
	}
	return Model[S, E, P]{env, envs.TraitsOf(env), env.DefaultParams(), network, gamma}
}

// illegalLogit is the logit of an illegal action.
const illegalLogit = -1e9

// evaluate returns logits f32[A], value f32[] and legal actions bool[A] of a state.
func (m Model[S, E, P]) evaluate(params P, s S) (logits, value, legal *graph.Array) {
	logits, value = m.network(params, m.env.Observe(s, m.params))
	legal = graph.FullLike(logits.Convert(graph.Bool), true)
	if m.traits.Legal != nil {
		legal = m.traits.Legal(s, m.params)
	}
	return graph.Select(legal, logits, illegalLogit), value, legal
}

// Root returns the root of a search from a state.
func (m Model[S, E, P]) Root(params P, s S) Root[Position[S]] {
	logits, value, legal := m.evaluate(params, s)
	return Root[Position[S]]{PriorLogits: logits, Value: value, Legal: legal, Embedding: Position[S]{s, envs.False()}}
}

// Step is the Recurrent of the model.
func (m Model[S, E, P]) Step(params P, key random.Key, action *graph.Array, position Position[S]) (Step, Position[S]) {
	next, _, reward, terminated, truncated := m.env.Step(key, position.State, action, m.params)
	over := position.Over.Or(terminated.Or(truncated))
	logits, value, _ := m.evaluate(params, next)
	discount := graph.Scalar(m.gamma)
	if player := m.traits.Player; player != nil {
		samePlayer := player(position.State, m.params).Eq(player(next, m.params))
		discount = graph.Select(samePlayer, graph.Scalar(1), graph.Scalar(-1))
	}
	zero := graph.Scalar(0)
	return Step{
		Reward: graph.Select(position.Over, zero, reward), Discount: graph.Select(over, zero, discount),
		PriorLogits: logits, Value: graph.Select(over, zero, value),
	}, Position[S]{next, over}
}
