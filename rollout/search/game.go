package search

import (
	"xlarun/envs"
	"xlarun/graph"
	"xlarun/graph/random"
)

// Network is a policy and a value of what the player to move observes: logits f32[A], and a value, f32[], in -1 … 1 where games pay
// that much. Illegal actions are masked by the search.
type Network[P any] func(params P, observation *graph.Array) (logits, value *graph.Array)

// Position is a state of a game or puzzle in a search.
type Position[S any] struct {
	State S
	Over  *graph.Array // bool[]
}

// Model is an environment and a network as a search sees them: games of two players (envs.Game), and puzzles and tasks of one, whose
// actions may be illegal (envs.Masker) or not.
type Model[S, E, P any] struct {
	env     envs.Env[S, E]
	parts   envs.Parts[S, E]
	params  E
	network Network[P]
	gamma   float64
}

// Of is the model of an environment with its default parameters. Where the player changes the value changes its sign; where an episode is
// over, value and discount are 0. Of one player the discount is gamma, which games take no notice of. An environment of more than two
// players is refused.
func Of[S, E, P any](env envs.Env[S, E], network Network[P], gamma float64) Model[S, E, P] {
	if n := env.Spec().Players; n > 2 {
		graph.Throw("search.Of", "%s has %d players, want one or two: the search knows one value", env.Spec().ID, n)
	}
	if _, ok := env.Spec().Action.(envs.Discrete); !ok {
		graph.Throw("search.Of", "%s has the actions %s, want Discrete", env.Spec().ID, env.Spec().Action)
	}
	return Model[S, E, P]{env, envs.PartsOf(env), env.DefaultParams(), network, gamma}
}

// illegal is the logit of an action that may not be played.
const illegal = -1e9

// evaluate asks the network about a state.
func (m Model[S, E, P]) evaluate(params P, s S) (logits, value, legal *graph.Array) {
	logits, value = m.network(params, m.env.Observe(s, m.params))
	legal = graph.FullLike(graph.Convert(logits, graph.Bool), true)
	if m.parts.Masker != nil {
		legal = m.parts.Masker.Legal(s, m.params)
	}
	return graph.Select(legal, logits, illegal), value, legal
}

// Root is where a search from a state starts.
func (m Model[S, E, P]) Root(params P, s S) Root[Position[S]] {
	logits, value, legal := m.evaluate(params, s)
	return Root[Position[S]]{Logits: logits, Value: value, Legal: legal, Embedding: Position[S]{s, envs.False()}}
}

// Step is the model's Recurrent.
func (m Model[S, E, P]) Step(params P, key random.Key, action *graph.Array, at Position[S]) (Step, Position[S]) {
	next, _, reward, terminated, truncated := m.env.Step(key, at.State, action, m.params)
	over := graph.Or(at.Over, graph.Or(terminated, truncated))
	logits, value, _ := m.evaluate(params, next)
	discount := graph.Scalar(m.gamma)
	if game := m.parts.Game; game != nil {
		same := graph.Eq(game.Player(at.State, m.params), game.Player(next, m.params))
		discount = graph.Select(same, graph.Scalar(1), graph.Scalar(-1))
	}
	none := graph.Scalar(0)
	return Step{Reward: graph.Select(at.Over, none, reward), Discount: graph.Select(over, none, discount),
		Logits: logits, Value: graph.Select(over, none, value)}, Position[S]{next, over}
}
