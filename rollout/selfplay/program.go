package selfplay

import (
	"xlarun/graph"
	"xlarun/graph/precision"
	"xlarun/graph/random"
	"xlarun/rollout/plan"
	"xlarun/rollout/population"
	"xlarun/rollout/search"
	"xlarun/rollout/selfplay/network"
	"xlarun/rollout/settings"
)

// program is a checked experiment. The compiled programs are traces of its methods.
type program struct {
	config         *Config
	game           *game
	network        network.Network
	precision      precision.Policy
	weights        *population.Layout // of the network's parameters in one vector
	policyWords    int                // words of a policy in a row
	embeddingBytes int                // of a node's state in a search tree
}

// player is a search with a network, a search without one, or a random player.
type player struct {
	Weights *graph.Array // f32[parameters]
	Scale   *graph.Array // f32[]: factor of the network's logits and values; 0: a search without a network
	Random  *graph.Array // bool[]: a random player
}

// networkPlayer returns a search with a network.
func networkPlayer(weights *graph.Array) player {
	return player{weights, graph.Scalar(1), graph.Of(false)}
}

// someWeights returns weights, f32[parameters], whose values do not matter.
func (p *program) someWeights() (w *graph.Array, err error) {
	err = graph.Try(func() { w = p.weights.Ravel(p.network.Init(random.New(0))) })
	return w, err
}

// terms returns the ProductTerms of the network for one position.
func (p *program) terms() (float64, error) {
	return plan.ProductTerms(func() []any {
		return []any{p.network.Init(random.New(0)), p.game.env.Observe(p.game.start, p.game.params)}
	}, func(in []any) any {
		logits, value := p.network.Apply(in[0], in[1].(*graph.Array))
		return []*graph.Array{logits, value}
	})
}

// resolve computes the sizes of parameters, rows and embeddings.
func (p *program) resolve() error {
	return graph.Try(func() {
		p.weights = population.LayoutOf(p.network.Init(random.New(0)))
		p.policyWords = (p.game.actions + 1) / 2
		p.embeddingBytes = 4 * (p.game.stateWords() + 1) // one word: whether the game is over
	})
}

// inputs returns the settings that are inputs of the compiled programs. Changing them does not recompile.
func (p *program) inputs() map[string]*graph.Array { return settings.Inputs(p.config, "") }

// withInputs returns the program with its inputs instead of the settings.
func (p *program) withInputs(in map[string]*graph.Array) *program {
	b := *p
	b.config = settings.Bind(p.config, in, "")
	return &b
}

// searchParams are the params of a player's model.
type searchParams struct {
	Network any
	Scale   *graph.Array // f32[]
}

func (p *program) searchParams(a player) searchParams {
	return searchParams{p.weights.Unravel(a.Weights), a.Scale}
}

// model returns the model of a search: the game with the network.
func (p *program) model() search.Model[any, any, searchParams] {
	return search.NewModel(p.game.env, func(s searchParams, observation *graph.Array) (logits, value *graph.Array) {
		logits, value = p.network.Apply(s.Network, observation)
		return logits.Mul(s.Scale), value.Mul(s.Scale)
	}, 1)
}
