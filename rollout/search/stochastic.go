package search

import (
	"xlarun/graph"
	"xlarun/graph/random"
)

// Stochastic is a model of a game with chance, mctx's decision_recurrent_fn and chance_recurrent_fn for one game
// (Antonoglou et al., "Planning in stochastic environments with a learned model", 2022). An action leads from a state
// to an afterstate: dice before they fall. A chance outcome leads from there to the next state. E and F are embeddings
// of states and of afterstates.
type Stochastic[P, E, F any] struct {
	// Decision is the result of an action, i32[], in a state.
	Decision func(params P, key random.Key, action *graph.Array, state E) (Afterstate, F)
	// Chance is the result of an outcome, i32[], in an afterstate. Its reward and discount are those of the action and
	// the outcome together.
	Chance func(params P, key random.Key, outcome *graph.Array, afterstate F) (Step, E)
}

// Afterstate is the evaluation of an afterstate, mctx's DecisionRecurrentFnOutput. C is the number of outcomes.
type Afterstate struct {
	ChanceLogits *graph.Array // f32[C]
	Value        *graph.Array // f32[]: for the player who moved
}

// StochasticState is what the tree of RunStochastic stores in a node: a state if a player decides there, else an
// afterstate. The other embedding means nothing.
type StochasticState[E, F any] struct {
	State      E
	Afterstate F
	Decision   *graph.Array // bool[]
}

// RunStochastic searches as Run does where chance decides after each action: mctx's stochastic_muzero_policy. Nodes of
// the tree have A actions and C outcomes, in this order; nodes at even depths decide by PUCT, those at odd depths take
// the outcome with the largest probability / (visits + 1). A simulation evaluates both parts of the model.
func RunStochastic[P, E, F any](p PUCT, params P, key random.Key, root Root[E],
	m Stochastic[P, E, F]) Result[StochasticState[E, F]] {
	checkRoot(root)
	keys := random.SplitN(key, 3)
	actions := root.PriorLogits.Size()
	invalid := graph.ZerosLike(root.PriorLogits)
	if root.Legal != nil {
		invalid = root.Legal.Not().Convert(graph.Float32)
	}
	decisions, logits := p.prepare(keys[0], root.PriorLogits, invalid, root.Noise, graph.ZerosLike(root.PriorLogits))
	after, embedding := m.Decision(params, keys[1], graph.Of(int32(0)), root.Embedding)
	checkAfterstate(after)
	outcomes := after.ChanceLogits.Size()

	all := decisions
	all.decisions = actions
	all.Invalid, all.ReusedVisits = padOutcomes(invalid, 0, outcomes), padOutcomes(decisions.ReusedVisits, 0, outcomes)
	start := StochasticState[E, F]{root.Embedding, graph.MapTree(graph.ZerosLike, embedding),
		graph.Full(graph.ShapeOf(graph.Bool), true)}
	s := searcher[P, StochasticState[E, F]]{
		options: p.options(), rule: all, params: params, model: m.recurrent(actions, outcomes),
		packing: embeddingPacking(start), actions: actions + outcomes,
	}
	padded := Root[StochasticState[E, F]]{Value: root.Value, Embedding: start}
	tree := s.search(keys[1], padded, padOutcomes(logits, minusInf, outcomes), nil)
	action, weights := p.decide(keys[2], decisions, tree.root().part(0, actions), root.Temperature)
	return Result[StochasticState[E, F]]{Action: action, ActionWeights: weights, Tree: tree}
}

// padOutcomes appends one value for each outcome to numbers of actions.
func padOutcomes(x *graph.Array, value float64, outcomes int) *graph.Array {
	return graph.Pad(x, value, []int{0}, []int{outcomes})
}

// recurrent is both parts of the model as one, over actions and outcomes.
func (m Stochastic[P, E, F]) recurrent(actions, outcomes int) Recurrent[P, StochasticState[E, F]] {
	return func(params P, key random.Key, choice *graph.Array, s StochasticState[E, F]) (Step,
		StochasticState[E, F]) {
		after, afterstate := m.Decision(params, key, choice.Min(actions-1), s.State)
		step, state := m.Chance(params, key, choice.Sub(actions).Max(0), s.Afterstate)
		checkAfterstate(after)
		checkStep(step, actions)
		step.PriorLogits = padOutcomes(step.PriorLogits, minusInf, outcomes)
		decided := Step{Reward: graph.Scalar(0), Discount: graph.Scalar(1), Value: after.Value,
			PriorLogits: graph.Pad(after.ChanceLogits, minusInf, []int{actions}, []int{0})}
		choose := func(x, y *graph.Array) *graph.Array { return graph.Select(s.Decision, x, y) }
		step = graph.MapTree2(choose, decided, step)
		return step, StochasticState[E, F]{state, afterstate, s.Decision.Not()}
	}
}

// chanceScores returns the scores of outcomes, f32[C]: each is tried as often as it is probable.
func chanceScores(n row) *graph.Array { return n.block(priorProbs).Div(n.block(childVisits).Add(1)) }

func checkAfterstate(a Afterstate) {
	if a.ChanceLogits == nil || a.Value == nil {
		graph.Throw("search", "the model's afterstate has no chance logits or no value, want f32[outcomes] and f32[]")
	}
	if s := a.ChanceLogits.Shape(); s.Rank() != 1 || s.DType != graph.Float32 || s.Size() == 0 {
		graph.Throw("search", "the model's chance logits are %s, want f32[outcomes] of at least one", s)
	}
	if s := a.Value.Shape(); !s.Equal(graph.ShapeOf(graph.Float32)) {
		graph.Throw("search", "the model's value of an afterstate is %s, want f32[]", s)
	}
}
