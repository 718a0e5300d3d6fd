package ppo

import (
	"slices"

	"xlarun/envs"
	"xlarun/graph"
	"xlarun/graph/optim"
	"xlarun/graph/random"
	"xlarun/rollout/episode"
	"xlarun/rollout/plan"
	"xlarun/rollout/policy"
	"xlarun/rollout/ppo/value"
	"xlarun/rollout/run"
	"xlarun/rollout/settings"
	"xlarun/xlabridge"
)

func init() {
	run.MustRegister(run.Kind{
		Name:  "pqn",
		Short: "Learn the values of actions by parallelised Q-learning",
		Long: "Pqn learns the values of actions (Q-learning) of many environments at a time, without a replay buffer and without a second,\n" +
			"slower network: what it collects is learned at once, towards Q(lambda) returns, by a network whose layers are normalised.\n" +
			"Actions are the best ones, or with a probability epsilon any. An update is one compiled program.",
		Example:  "  xlarun pqn CartPole-v1\n  xlarun pqn Catch-bsuite-v1 --policy normedmlp:64 --learning-rate 1e-3\n  xlarun pqn CartPole-v1 --agents 8 --learning-rate 1e-4..1e-3 --target 0",
		Argument: "env",
		Version:  1,
		Unit:     "update",
		Work:     "environment steps of all agents",
		New: func() run.Experiment {
			c := DefaultPQN()
			return &c
		},
	})
}

// PQN is one experiment of parallelised Q-learning (Gallici et al., "Simplifying deep temporal difference learning", 2024). Start from DefaultPQN.
//
// It collects, cuts, shuffles and saves as ppo does. What differs is in this file: one network, whose outputs are the values of the actions; what is played (exploring); what values
// are learned towards, r + gamma ((1 - lambda) max Q(s', a) + lambda times the same of the step behind), which is the target that ppo's critic has where a state's value
// is that of its best action; the loss, half the squared difference from Q(s, a); and the optimiser, RAdam.
type PQN struct {
	run.Scene
	Amounts
	Rates
	QLearning
	Normalizing
	Crowd
	run.Aim
	run.Common
}

// QLearning are the numbers that only pqn has: how often an action is any, and not the best, a share that falls evenly; and the units of values.
type QLearning struct {
	Epsilon     settings.Number `set:"epsilon" min:"0" max:"1" help:"share of actions that are drawn from all, at first"`
	EpsilonEnd  settings.Number `set:"epsilon-end" min:"0" max:"1" help:"the same in the end"`
	EpsilonOver settings.Number `set:"epsilon-over" min:"0" max:"1" help:"part of the run over which it falls; 0: it is what it is in the end from the start"`
	RewardScale settings.Number `set:"reward-scale" above:"0" help:"what rewards are multiplied by before they are learned of: values are in these units, and gradients are cut in them"`
}

// DefaultPQN is that of the paper on CartPole with layers of 128 units, and less exploring in the end: 0.05 and not 0.2 of the actions.
func DefaultPQN() PQN {
	return PQN{Scene: run.Scene{Env: "CartPole-v1", Policy: "normedmlp:128,128"},
		Amounts:   Amounts{Steps: 500000, Envs: 32, Horizon: 64, Epochs: 4, Minibatches: 16, Shuffle: "permutation", Accumulate: 1, Precision: "f32"},
		Rates:     Rates{LearningRate: settings.Num(1e-4), Anneal: true, Gamma: settings.Num(.99), Lambda: settings.Num(.95), MaxGradNorm: settings.Num(10)},
		QLearning: QLearning{Epsilon: settings.Num(1), EpsilonEnd: settings.Num(.05), EpsilonOver: settings.Num(.2), RewardScale: settings.Num(.1)},
		Crowd:     Crowd{Agents: 1}, Aim: run.Aim{Target: "auto", Judge: 100}}
}

// config is ppo's, of what both have.
func (q *PQN) config() Config {
	c := DefaultConfig()
	c.Scene, c.Amounts, c.Rates, c.Normalizing, c.Crowd, c.Aim, c.Common = q.Scene, q.Amounts, q.Rates, q.Normalizing, q.Crowd, q.Aim, q.Common
	return c
}

// Setup says what is run.
func (q *PQN) Setup() string { c := q.config(); return c.Setup() }

// Purpose says in a few words what the program is for.
func (q *PQN) Purpose() string {
	c, usual := q.config(), DefaultPQN()
	return c.purpose("pqn", q, &usual)
}

// Rollout is how the network is judged and played: by its best actions.
func (q *PQN) Rollout() (*episode.Rollout, error) { c := q.config(); return c.Rollout() }

// Check finds the first mistake in the settings, a *settings.Error, before anything is traced or compiled.
func (q *PQN) Check(plan.Machine) error {
	_, err := q.program()
	return err
}

// Start checks the settings, traces an update, compiles it for b (through the cache) and puts the first state on the device.
func (q *PQN) Start(b xlabridge.Backend) (run.Run, error) { return NewPQN(b, *q) }

// NewPQN is Start with a Training as its result.
func NewPQN(b xlabridge.Backend, q PQN) (*Training, error) {
	c, err := q.config().resolved(b)
	if err != nil {
		return nil, err
	}
	q.Precision = c.Precision
	g, err := q.program()
	if err != nil {
		return nil, err
	}
	return newTraining(b, *g.config, g, q.Purpose())
}

// program is one update of one agent, checked.
func (q *PQN) program() (*program, error) {
	if err := settings.Check(q); err != nil {
		return nil, err
	}
	c := q.config()
	play, maker, err := c.playing("pqn")
	if err != nil {
		return nil, err
	}
	spec := play.Env.Spec()
	actions, ok := spec.Action.(envs.Discrete)
	if !ok {
		return nil, settings.Wrong("env", q.Env, "an environment whose actions are one choice among a few, each of which has a value, not %s: ppo takes these", spec.Action)
	}
	if spec.LegalMask {
		return nil, settings.Wrong("env", q.Env, "an environment whose actions are always legal: of what an episode ends with it is not known which are, and the best value could be that of another. ppo takes these")
	}
	net, err := maker(actions.N)
	if err != nil {
		return nil, err
	}
	n := &network{actor: net, alone: net, acting: exploring{actions.N, play.Head}, size: actions.N, ofActions: true}
	var p Params
	if err := graph.Try(func() { p = n.init(random.New(0)) }); err != nil {
		return nil, err
	}
	for range graph.Leaves(p.Actor) {
		n.apart = append(n.apart, -1) // no leaf has outputs beside those of the actions
	}
	return c.completed(&program{config: &c, collect: collector{network: n, play: play}, head: &highest{}, algorithm: &q.QLearning}, p)
}

// highest is a value head: the value of a state is that of its best action. It is learned action by action, each a value.Plain.
type highest struct{ value.Plain }

// Read is the largest output.
func (*highest) Read(_ any, out *graph.Array) *graph.Array { return graph.ReduceMax(out, 0) }

// exploring is the distribution of actions that are the best, or with a probability, its parameter f32[], any of n.
type exploring struct {
	n    int
	best policy.Head
}

// Start is the empty tree: nothing of it is learned.
func (exploring) Start() any { return graph.None{} }

// Noise are two uniform numbers, f32[2]: whether an action is any, and which one it is then.
func (exploring) Noise(key random.Key) *graph.Array {
	return random.Uniform(key, graph.ShapeOf(graph.Float32, 2), 0, 1)
}

// Draw is an action, i32[], by the values out, f32[n].
func (x exploring) Draw(epsilon any, out, noise *graph.Array) *graph.Array {
	anyOf := graph.Min(graph.Convert(graph.Mul(graph.Index(noise, 1), float64(x.n)), graph.Int32), x.n-1)
	return graph.Select(graph.Lt(graph.Index(noise, 0), epsilon), anyOf, x.best.Action(out))
}

// LogProb is the logarithm of the probability of an action.
func (x exploring) LogProb(epsilon any, out, draw *graph.Array) *graph.Array {
	each := graph.Div(epsilon, float64(x.n))
	return graph.Log(graph.Select(graph.Eq(draw, x.best.Action(out)), graph.Add(each, graph.Sub(1, epsilon)), each))
}

// Entropy is minus the sum of p log p.
func (x exploring) Entropy(epsilon any, out *graph.Array) *graph.Array {
	of := func(p *graph.Array) *graph.Array {
		return graph.Select(graph.Gt(p, 0), graph.Neg(graph.Mul(p, graph.Log(graph.Max(p, 1e-30)))), 0.)
	}
	each := graph.Div(epsilon, float64(x.n))
	return graph.Add(of(graph.Add(each, graph.Sub(1, epsilon))), graph.Mul(float64(x.n-1), of(each)))
}

// Action is the draw.
func (exploring) Action(draw *graph.Array) *graph.Array { return draw }

// rate is epsilon in an update of so many, f32[].
func (e *QLearning) rate(update, updates *graph.Array) *graph.Array {
	over := graph.Mul(e.EpsilonOver.Array(), updates)
	done := graph.Select(graph.Gt(over, 0), graph.Min(graph.Div(graph.Convert(update, graph.Float32), graph.Max(over, 1e-9)), 1), 1.)
	return graph.Add(e.Epsilon.Array(), graph.Mul(done, graph.Sub(e.EpsilonEnd.Array(), e.Epsilon.Array())))
}

func (e *QLearning) plays(p Params, update, updates *graph.Array) Params {
	p.Head = e.rate(update, updates)
	return p
}

func (e *QLearning) scaled(rewards *graph.Array) *graph.Array {
	return graph.Mul(rewards, e.RewardScale.Array())
}

func (*QLearning) learns(e experience, number *graph.Array) experience {
	e.LogProb, e.Value, e.Advantage, e.Counts = nil, nil, nil, number
	return e
}

// loss is half the squared difference of what the actions that were taken are worth to the network, and were.
func (*QLearning) loss(l *learner, _ Params, out passed, e experience, _ *spread) (*graph.Array, figures) {
	type step struct{ Draw, Target, Counts *graph.Array }
	off := graph.VMap2(func(q *graph.Array, s step) *graph.Array {
		chosen := graph.Sum(graph.Select(graph.Eq(graph.Iota(l.size), s.Draw), q, 0.))
		return graph.Select(s.Counts, l.head.Loss(l.state, graph.Reshape(chosen, 1), nil, s.Target, nil), 0.)
	})(out.Action, step{e.Draw, e.Target, e.Counts})
	f := nothing()
	f.ValueLoss, f.Minibatches = graph.Mean(off), graph.Scalar(1)
	return f.ValueLoss, f
}

func (*QLearning) optimizer(rate *graph.Array) optim.Transform { return optim.RAdam(rate) }

// metrics are ppo's, but those of the policy's gradient, with epsilon behind those of episodes.
func (*QLearning) metrics(ppo []string) []string {
	names := slices.DeleteFunc(ppo, func(name string) bool {
		return slices.Contains([]string{"policy_loss", "entropy", "kl", "clip_fraction"}, name)
	})
	return slices.Insert(names, slices.Index(names, "value_loss"), "epsilon")
}

func (e *QLearning) measured(update, updates *graph.Array) map[string]*graph.Array {
	return map[string]*graph.Array{"epsilon": e.rate(update, updates)}
}

// Measures are the names of a run's metrics.
func (q *PQN) Measures() []string {
	r, err := q.Rollout()
	if err != nil {
		return nil
	}
	return append(metricNames(&q.QLearning, r.Env.Spec()), envSteps)
}

// Board is what a display shows.
func (q *PQN) Board() []run.Row {
	c := q.config()
	return c.board(&q.QLearning, run.Row{Label: "explores", Parts: []run.Part{{Metric: "epsilon", Format: run.Percent}}})
}
