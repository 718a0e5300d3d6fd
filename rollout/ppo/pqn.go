package ppo

import (
	"slices"

	"xlarun/graph"
	"xlarun/graph/optim"
	"xlarun/graph/random"
	"xlarun/rollout/policy"
	"xlarun/rollout/ppo/value"
	"xlarun/rollout/settings"
)

// QLearning are the settings that only pqn has. Epsilon falls linearly to EpsilonEnd over the part EpsilonOver of the
// run; with 0 it is EpsilonEnd from the start. Values and gradients are in the units of scaled rewards.
type QLearning struct {
	Epsilon     settings.Number `set:"epsilon" min:"0" max:"1" help:"share of random actions at first"`
	EpsilonEnd  settings.Number `set:"epsilon-end" min:"0" max:"1" help:"share of random actions in the end"`
	EpsilonOver settings.Number `set:"epsilon-over" min:"0" max:"1" help:"part of the run over which it falls"`
	RewardScale settings.Number `set:"reward-scale" advanced:"" above:"0" help:"factor of rewards in learning"`
}

// maxHead is a value head: the value of a state is the value of its best action. Its loss is value.Plain's loss of one
// action.
type maxHead struct{ value.Plain }

// Read returns the largest output.
func (*maxHead) Read(_ any, out *graph.Array) *graph.Array { return out.ReduceMax(0) }

// epsilonGreedy is a distribution over n actions: a random action with the probability epsilon, f32[], its parameter,
// else the best action.
type epsilonGreedy struct {
	n    int
	best policy.Head
}

// Start returns the empty tree: epsilon is not trained.
func (epsilonGreedy) Start() any { return graph.None{} }

// Noise returns two uniform numbers, f32[2]: the first decides whether the action is random, the second is the action.
func (epsilonGreedy) Noise(key random.Key) *graph.Array {
	return random.Uniform(key, graph.ShapeOf(graph.Float32, 2), 0, 1)
}

// Draw returns an action, i32[], given the values out, f32[n].
func (x epsilonGreedy) Draw(epsilon any, out, noise *graph.Array) *graph.Array {
	chosen := noise.Index(1).Mul(float64(x.n)).Convert(graph.Int32).Min(x.n - 1)
	return graph.Select(noise.Index(0).Lt(epsilon), chosen, x.best.Action(out))
}

// LogProb returns the logarithm of the probability of an action.
func (x epsilonGreedy) LogProb(epsilon any, out, draw *graph.Array) *graph.Array {
	each := graph.Div(epsilon, float64(x.n))
	return graph.Select(draw.Eq(x.best.Action(out)), each.Add(graph.Sub(1, epsilon)), each).Log()
}

// Entropy returns minus the sum of p log p.
func (x epsilonGreedy) Entropy(epsilon any, out *graph.Array) *graph.Array {
	term := func(p *graph.Array) *graph.Array {
		return graph.Select(p.Gt(0), p.Mul(p.Max(1e-30).Log()).Neg(), 0.)
	}
	each := graph.Div(epsilon, float64(x.n))
	return term(each.Add(graph.Sub(1, epsilon))).Add(graph.Mul(float64(x.n-1), term(each)))
}

// Action returns the draw.
func (epsilonGreedy) Action(draw *graph.Array) *graph.Array { return draw }

// epsilon returns epsilon in an update, i32[], of updates, f32[].
func (e *QLearning) epsilon(update, updates *graph.Array) *graph.Array {
	over := e.EpsilonOver.Array().Mul(updates)
	progress := graph.Select(over.Gt(0), update.Convert(graph.Float32).Div(over.Max(1e-9)).Min(1), 1.)
	start, end := e.Epsilon.Array(), e.EpsilonEnd.Array()
	return start.Add(progress.Mul(end.Sub(start)))
}

func (e *QLearning) actingParams(p Params, update, updates *graph.Array) Params {
	p.Head = e.epsilon(update, updates)
	return p
}

func (e *QLearning) scaleRewards(rewards *graph.Array) *graph.Array {
	return rewards.Mul(e.RewardScale.Array())
}

func (*QLearning) fields(b batch) batch {
	b.LogProb, b.Value, b.Advantage = nil, nil, nil
	return b
}

// loss returns half the squared difference between the values of the actions and their targets.
func (*QLearning) loss(u *update, _ Params, out outputs, b batch,
	_ func(*graph.Array) *graph.Array) (*graph.Array, losses) {
	type step struct{ Action, Target, Valid *graph.Array }
	errors := graph.VMap2(func(q *graph.Array, s step) *graph.Array {
		chosen := graph.Select(graph.Iota(u.headSize).Eq(s.Action), q, 0.).Sum()
		return graph.Select(s.Valid, u.head.Loss(u.headState, chosen.Reshape(1), nil, s.Target, nil), 0.)
	})(out.Head, step{b.Action, b.Target, b.Valid})
	l := u.noMetrics().Losses
	l.Value = errors.Mean()
	return l.Value, l
}

func (*QLearning) optimizer(rate *graph.Array) optim.Transform { return optim.RAdam(rate) }

// metrics returns ppo's metrics without the policy's, and epsilon before the value's.
func (*QLearning) metrics(ppo []string) []string {
	names := slices.DeleteFunc(ppo, func(name string) bool {
		return slices.Contains([]string{"policy_loss", "entropy", "kl", "clip_fraction"}, name)
	})
	return slices.Insert(names, slices.Index(names, "value_loss"), "epsilon")
}

func (e *QLearning) measure(update, updates *graph.Array) map[string]*graph.Array {
	return map[string]*graph.Array{"epsilon": e.epsilon(update, updates)}
}
