package ppo

import (
	"context"

	"xlarun/envs"
	"xlarun/rollout/episode"
	"xlarun/rollout/plan"
	"xlarun/rollout/run"
	"xlarun/rollout/settings"
	"xlarun/xlabridge"
)

func init() {
	run.MustRegister(run.Kind{
		Name:  "pqn",
		Short: "Learn the values of actions by parallelized Q-learning",
		Long: "Pqn learns the values of actions (Q-learning) from many environments at a time, without a replay " +
			"buffer and without a target network: each rollout is learned at once, towards Q(lambda) returns, by a " +
			"network with normalized layers. It plays the best action, or with the probability epsilon a random " +
			"action. An update is one compiled program.",
		Example: "  xlarun pqn CartPole-v1\n" +
			"  xlarun pqn Catch-bsuite-v1 --policy normedmlp:64 --learning-rate 1e-3\n" +
			"  xlarun pqn CartPole-v1 --agents 8 --learning-rate 1e-4..1e-3 --target 0",
		Argument: "env",
		Version:  3,
		Length:   "steps",
		Unit:     "update",
		Work:     "environment steps of all agents",
		New: func() run.Experiment {
			c := DefaultPQN()
			return &c
		},
	})
}

// PQN is one experiment of parallelized Q-learning (Gallici et al., "Simplifying deep temporal difference learning",
// 2024). Start from DefaultPQN.
//
// It shares ppo's rollout, tiles, minibatches and checkpoints. pqn.go has the differences: one network, whose outputs
// are the values of the actions; epsilonGreedy play; half the squared error of Q(s, a) as the loss; and RAdam. The
// target of a value is r + gamma ((1 - lambda) max Q(s', a) + lambda times the target of the next step). This is the
// target of ppo's critic if the value of a state is the value of its best action.
type PQN struct {
	run.EnvSettings
	UpdateSettings
	Rates
	QLearning
	Normalizing
	AgentSettings
	run.GoalSettings
	run.EvalSettings `zero:"as often as a small part of the run's work allows"`
	run.Common
}

// DefaultPQN returns the paper's settings for CartPole, except for layers of 128 units and a final epsilon of 0.05
// instead of 0.2.
func DefaultPQN() PQN {
	return PQN{EnvSettings: run.EnvSettings{Env: "CartPole-v1", Policy: "normedmlp:128,128"},
		UpdateSettings: UpdateSettings{Steps: 500000, Envs: 32, Horizon: 64, Epochs: 4, Minibatches: 16,
			Shuffle: "permutation", Accumulate: 1, Precision: "f32"},
		Rates: Rates{LearningRate: settings.Num(1e-4), Anneal: true, Gamma: settings.Num(.99),
			Lambda: settings.Num(.95), MaxGradNorm: settings.Num(10)},
		QLearning: QLearning{Epsilon: settings.Num(1), EpsilonEnd: settings.Num(.05), EpsilonOver: settings.Num(.2),
			RewardScale: settings.Num(.1)},
		AgentSettings: AgentSettings{Agents: 1}, GoalSettings: run.GoalSettings{Target: "auto", EvalEpisodes: 100},
		EvalSettings: run.EvalSettings{EvalEnvs: defaultEvalEnvs}}
}

// config returns the settings that pqn shares with ppo.
func (q *PQN) config() Config {
	c := DefaultConfig()
	c.NormalizeAdvantages = false
	c.EnvSettings = q.EnvSettings
	c.UpdateSettings = q.UpdateSettings
	c.Rates = q.Rates
	c.Normalizing = q.Normalizing
	c.AgentSettings = q.AgentSettings
	c.GoalSettings = q.GoalSettings
	c.EvalSettings = q.EvalSettings
	c.Common = q.Common
	return c
}

// Purpose says in a few words what the program is for.
func (q *PQN) Purpose() string {
	c, usual := q.config(), DefaultPQN()
	return c.purpose("pqn", q, &usual)
}

// Rollout returns how the network is judged and played: it takes the best action.
func (q *PQN) Rollout() (*episode.Rollout, error) { c := q.config(); return c.greedyRollout() }

// Check returns the first mistake in the settings, a *settings.Error, before anything is traced or compiled.
func (q *PQN) Check(plan.Machine) error {
	_, err := q.program()
	return err
}

// Start checks the settings, traces an update, compiles it for b (through the cache) and puts the first state on the
// device.
func (q *PQN) Start(_ context.Context, b xlabridge.Backend) (run.Run, error) { return NewPQN(b, *q) }

// NewPQN is Start with a Training as its result.
func NewPQN(b xlabridge.Backend, q PQN) (*Training, error) {
	c, err := q.config().resolved(b, q.program)
	if err != nil {
		return nil, err
	}
	given := q.config()
	q.Precision = c.Precision
	g, err := q.program()
	if err != nil {
		return nil, err
	}
	t, err := newTraining(b, *g.config, g, q.Purpose())
	return t.chose(given), err
}

// program returns an update of one agent. It checks all settings.
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
		return nil, settings.Wrong("env", q.Env, "an environment with discrete actions, each of which has a value, "+
			"not %s: use ppo", spec.Action)
	}
	if spec.LegalMask {
		return nil, settings.Wrong("env", q.Env, "an environment whose actions are always legal: pqn does not know "+
			"the legal actions after an episode's last step, so the best value could be an illegal action's. Use ppo")
	}
	net, err := newNetwork(q.Policy, maker, epsilonGreedy{actions.N, play.Head}, actions.N, 0, true, false)
	if err != nil {
		return nil, err
	}
	net.critic = sharedCritic{net.actor, 0, actions.N}
	return c.completed(&program{config: &c, network: net, play: play, head: &maxHead{}, algorithm: &q.QLearning})
}

// Measures returns the names of a run's metrics.
func (q *PQN) Measures() []string {
	r, err := q.Rollout()
	if err != nil {
		return nil
	}
	c := q.config()
	return append(metricNames(&q.QLearning, r, false), append(c.evalNames(1), run.EnvSteps)...)
}

// Board returns the rows of the display.
func (q *PQN) Board() []run.DisplayRow {
	c := q.config()
	return c.board(&q.QLearning, run.DisplayRow{Label: "explores", Parts: []run.Part{
		{Metric: "epsilon", Format: run.Percent}}})
}
