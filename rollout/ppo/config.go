package ppo

import (
	"errors"
	"fmt"
	"math"

	"xlarun/envs"
	"xlarun/graph"
	"xlarun/graph/random"
	"xlarun/rollout/episode"
	"xlarun/rollout/plan"
	"xlarun/rollout/policy"
	"xlarun/rollout/ppo/auxiliary"
	"xlarun/rollout/ppo/value"
	"xlarun/rollout/run"
	"xlarun/rollout/settings"
)

func init() {
	run.MustRegister(run.Kind{
		Name:  "ppo",
		Short: "Train an actor and a critic by proximal policy optimization",
		Long: "Ppo trains an actor and a critic in an environment by proximal policy optimization. An update " +
			"(rollout, advantages, epochs of minibatches, optimizer) is one compiled program. The run's folder holds " +
			"the resolved config, metrics, checkpoints, the last actor and the best, judged on new episodes.",
		Example: "  xlarun ppo CartPole-v1\n" +
			"  xlarun ppo MemoryChain-bsuite-v1 --policy gru:32 --envs 64 --horizon 32",
		Argument: "env",
		Version:  3,
		Length:   "steps",
		Unit:     "update",
		Work:     "environment steps of all agents",
		New: func() run.Experiment {
			c := DefaultConfig()
			return &c
		},
	})
}

// Config is one experiment. Start from DefaultConfig: zero means zero, unless a field says otherwise.
type Config struct {
	run.EnvSettings
	Shared bool   `set:"shared" advanced:"" help:"one network for actor and critic, with the values as further outputs"`
	Critic string `set:"critic" advanced:"" wants:"a policy, as in mlp:64,64" help:"network of the critic, as in --policy, by default the one of the policy"`
	Init   string `set:"init" advanced:"" oneof:"orthogonal,policy" help:"first weights: orthogonal, or as the policy draws them"`
	// Deviation is of the numbers before tanh. Gradients change it.
	Deviation float64 `set:"deviation" advanced:"" program:"no" min:"1e-6" max:"1e3" help:"first standard deviation of actions in a box"`
	Value     string  `set:"value" advanced:"" help:"how values are made of the critic's outputs"`
	// Auxiliary is a further term of the loss.
	Auxiliary string `set:"auxiliary" advanced:"" help:"further term of the loss"`
	UpdateSettings
	Rates
	// Clip limits the ratio of probabilities to 1 ± Clip and, with ClipValues, the change of values.
	Clip        settings.Number `set:"clip" each:"" above:"0" help:"how far from 1 the ratio of probabilities counts"`
	ClipValues  bool            `set:"clip-values" advanced:"" help:"clip values, too"`
	ValueWeight settings.Number `set:"value-coef" advanced:"" each:"" min:"0" help:"weight of the value's loss"`
	Entropy     settings.Number `set:"entropy-coef" each:"" min:"0" help:"weight of the entropy that is added"`
	// TargetKL ends the update after an epoch with a larger mean divergence from the policy of the rollout.
	TargetKL settings.Number `set:"target-kl" advanced:"" min:"0" help:"divergence of an epoch that ends the update; 0: none does"`

	NormalizeAdvantages bool `set:"normalize-advantages" advanced:"" help:"normalize the advantages of a minibatch"`
	Normalizing
	AgentSettings
	run.GoalSettings
	run.EvalSettings `zero:"as often as a small part of the run's work allows"`
	run.Common
}

// DefaultConfig returns PureJaxRL's settings for CartPole.
func DefaultConfig() Config {
	return Config{EnvSettings: run.EnvSettings{Env: "CartPole-v1", Policy: "mlp:64,64"},
		Init: "orthogonal", Deviation: 1, Value: "plain", Auxiliary: auxiliary.None,
		UpdateSettings: UpdateSettings{Steps: 500000, Envs: 4, Horizon: 128, Epochs: 4, Minibatches: 4,
			Shuffle: "permutation", Accumulate: 1, Precision: "f32"},
		Rates: Rates{LearningRate: settings.Num(2.5e-4), Anneal: true, Gamma: settings.Num(.99),
			Lambda: settings.Num(.95), MaxGradNorm: settings.Num(.5)},
		Clip: settings.Num(.2), ClipValues: true, ValueWeight: settings.Num(.5), Entropy: settings.Num(.01),
		NormalizeAdvantages: true, AgentSettings: AgentSettings{Agents: 1},
		GoalSettings: run.GoalSettings{Target: "auto", EvalEpisodes: 100},
		EvalSettings: run.EvalSettings{EvalEnvs: defaultEvalEnvs}}
}

// Parts returns the settings of the policy, of the value head and of the auxiliary loss.
func (c *Config) Parts() []settings.Part {
	return []settings.Part{policy.Part(), value.Part(), auxiliary.Part()}
}

// stops reports whether the divergence can end an update.
func (c *Config) stops() bool { return c.TargetKL.Value > 0 }

// Purpose says in a few words what the program is for: everything that its shapes depend on. Settings with a default
// are named only if they differ from it.
func (c *Config) Purpose() string {
	defaults := DefaultConfig()
	return c.purpose("ppo", c, &defaults) + c.stopping()
}

// purpose returns the Purpose of an experiment of a kind, whose Config is c.
func (c *Config) purpose(kind string, experiment settings.HasParts, defaults any) string {
	text := fmt.Sprintf("%s %s, %s, %d environments x %d steps, %d x %d minibatches", kind, c.Env, c.Policy, c.Envs,
		c.Horizon, c.Epochs, c.Minibatches)
	if c.Agents > 1 {
		text += fmt.Sprintf(", %d agents", c.Agents)
	}
	if len(c.EnvParam) > 0 {
		text += ", given " + c.EnvParam.Shape(c.Env)
	}
	for _, name := range []string{"shared", "critic", "init", "value", "auxiliary", "shuffle", "accumulate",
		"precision", "anneal", "clip-values", "normalize-advantages", "normalize-observations", "normalize-rewards",
		"eval-envs"} {
		set, ok := settings.Lookup(experiment, name)
		if standard, _ := settings.Lookup(defaults, name); ok && set.Text() != standard.Text() {
			text += fmt.Sprintf(", %s %s", name, set.Text())
		}
	}
	for _, p := range settings.ChosenParts(experiment) {
		text += settings.Unusual(p, experiment)
	}
	return text
}

// Programs returns a text that is equal for experiments with the same program.
func (c *Config) Programs() string { return settings.Program(c) + c.stopping() }

func (c *Config) stopping() string {
	if c.stops() {
		return ", stops"
	}
	return ""
}

// stepLimit is the name of the environments' parameter that limits an episode's steps.
const stepLimit = "max-steps"

// Rollout returns how the actor is judged and played, up to the environment's limit of steps. It draws actions, as in
// training, or takes the most probable ones.
func (c *Config) Rollout() (*episode.Rollout, error) {
	r, err := c.greedyRollout()
	if err != nil {
		return nil, err
	}
	r.Policy, err = policy.NewSampling(r.Policy, policy.Sampled, r.Env.Spec().Action)
	return r, err
}

// greedyRollout returns how a network acts that takes the action with the largest output.
func (c *Config) greedyRollout() (*episode.Rollout, error) {
	steps := 1
	if env, err := envs.Make(c.Env); err == nil {
		steps = max(1, env.Spec().MaxSteps)
		if _, given, err := episode.ReadEnvParams(env, c.EnvParam); err == nil {
			for _, p := range given {
				if p.Name == stepLimit && p.High >= 1 && p.High <= math.MaxInt32 {
					steps = int(p.High)
				}
			}
		}
	}
	r, err := c.EnvSettings.Rollout(&c.GoalSettings, steps, 1)
	if err != nil || !c.NormalizeObservations {
		return r, err
	}
	spec := r.Env.Spec()
	r.Policy, r.Head, err = policy.MakeNormalizing(c.Policy, c.Parted.Under("policy."), spec.Observation, spec.Action)
	return r, err
}

// Check returns the first mistake in the config, a *settings.Error, before anything is traced or compiled.
func (c *Config) Check(plan.Machine) error {
	_, err := c.program()
	return err
}

// program returns an update of one agent. It checks all settings.
func (c *Config) program() (*program, error) {
	if err := settings.Check(c); err != nil {
		return nil, err
	}
	play, maker, err := c.playing("ppo")
	if err != nil {
		return nil, err
	}
	if play.Policy.Traits().File != nil && c.Init == "orthogonal" {
		return nil, settings.Wrong("init", c.Init, "policy: the first weights of %s are those of its file, which "+
			"orthogonal ones would replace", c.Policy)
	}
	head, err := value.Make(c.Value, c.Parted.Under("value."))
	if err != nil {
		return nil, err
	}
	if n := head.Outputs(); n < 1 {
		return nil, settings.Wrong("value", c.Value, "a head that reads 1 output of the critic or more: its Outputs "+
			"are %d", n)
	}
	acting, err := policy.StochasticOf(play.Env.Spec().Action)
	if err != nil {
		return nil, err
	}
	if box, ok := acting.(policy.Squashed); ok {
		box.Deviation = c.Deviation
		acting = box
	} else if c.Deviation != 1 {
		return nil, settings.Wrong("deviation", c.Deviation, "1: the actions of %s are choices, which have none", c.Env)
	}
	net, err := newNetwork(c.Policy, maker, acting, play.Head.Size(), head.Outputs(), c.Shared,
		c.Init == "orthogonal")
	if err != nil {
		return nil, err
	}
	var p Params
	if err := graph.Try(func() { p = net.init(random.New(0)) }); err != nil {
		return nil, err
	}
	if len(graph.Leaves(head.Start())) > 0 {
		if _, _, _, err := net.valueLayer(p); err != nil {
			return nil, err
		}
	}
	further, err := auxiliary.Make(c.Auxiliary, c.Parted.Under(auxiliaryPrefix))
	if err != nil {
		return nil, err
	}
	if names := auxiliary.TraitsOf(further).Reports; names != nil {
		if msg := envs.CheckReports(names, true); msg != "" {
			return nil, settings.Wrong("auxiliary", c.Auxiliary, "a term with other Reports: %s", msg)
		}
	}
	return c.completed(&program{config: c, network: net, play: play, head: head, auxiliary: further,
		algorithm: &proximal{}})
}

// playing returns how episodes are played, and functions that make networks for them in the config's precision.
func (c *Config) playing(kind string) (*episode.Rollout, makers, error) {
	play, err := c.greedyRollout()
	if err != nil {
		return nil, makers{}, err
	}
	if play.Policy.Traits().Learn != nil {
		return nil, makers{}, settings.Wrong("policy", c.Policy, "a policy that does not learn within an episode: %s "+
			"learns by gradients", kind)
	}
	observation := play.Env.Spec().Observation
	if box, ok := observation.(envs.Box); ok && c.NormalizeObservations {
		observation = policy.NormalizedBox(box)
	}
	maker, err := policy.MakerOf(c.Policy, c.Parted.Under("policy."))
	if err != nil {
		return nil, makers{}, err
	}
	by := func(m policy.Maker) func(outputs int) (policy.Policy, error) {
		return func(outputs int) (policy.Policy, error) {
			p, err := policy.MakeCritic(m, observation, outputs)
			if half, ok := c.half(); ok && err == nil {
				p = halfPolicy{p, half}
			}
			return p, err
		}
	}
	all := makers{actor: by(maker)}
	fixed := policy.TraitsOf(maker).Fixed
	switch {
	case c.Critic != "":
		critic, err := policy.MakerOf(c.Critic, nil)
		if err == nil && policy.TraitsOf(critic).Fixed {
			err = settings.Wrong("critic", c.Critic, "a network that can have any number of outputs, such as mlp:64,64")
		}
		if wrong := (*settings.Error)(nil); errors.As(err, &wrong) {
			return nil, makers{}, settings.Wrong("critic", c.Critic, "%s", wrong.Wants)
		}
		all.critic = by(critic)
	case fixed && kind == "ppo" && !c.Shared:
		return nil, makers{}, settings.Wrong("critic", "", "a network for the values, such as mlp:64,64: %s has a "+
			"fixed number of outputs, so that it is the actor only", c.Policy)
	}
	all.fixed = fixed
	return play, all, nil
}

// completed checks the sizes of a program, and returns it with the fields that follow from them.
func (c *Config) completed(g *program) (*program, error) {
	costly, err := g.resetIsCostly()
	if err != nil {
		return nil, err
	}
	if c.Agents > 1 && g.play.Env.Spec().Host {
		return nil, settings.Wrong("agents", c.Agents, "1 for the environment %s, which runs on the host", c.Env)
	}
	g.costlyReset = costly && c.Agents == 1 // under vmap, both branches run
	g.shards = c.whole()
	rows, what := c.perUpdate(), "the steps of an update, envs x horizon"
	switch {
	case g.memory && c.blocks():
		return nil, settings.Wrong("shuffle", c.Shuffle, "permutation: the policy has memory, and whole sequences "+
			"are shuffled anyway")
	case g.memory:
		rows, what = c.Envs, "the environments, whose sequences stay whole because the policy has memory"
	case c.blocks():
		rows, what = c.Horizon, "the steps that are shuffled, each a block of all environments"
	}
	if rows%c.Minibatches != 0 {
		return nil, settings.Wrong("minibatches", c.Minibatches, "a number that divides %d, %s", rows, what)
	}
	g.rows = rows
	if n := rows / c.Minibatches; n%c.Accumulate != 0 {
		return nil, settings.Wrong("accumulate", c.Accumulate, "a number that divides %d, a minibatch's part of %s", n,
			what)
	}
	for _, f := range settings.Fields(c) {
		n, ok := f.Several()
		switch listed := n.Listed(); {
		case !ok || n.Each == "":
		case c.Agents == 1:
			return nil, settings.Wrong(f.Name, n.Each, "one number for one agent: with --agents, several numbers are "+
				"shared out")
		case listed > c.Agents:
			return nil, settings.Wrong(f.Name, n.Each, "at most %d numbers, one for each agent, or a range: some of "+
				"the %d would not be used", c.Agents, listed)
		}
	}
	if n := c.perUpdate(); n > math.MaxInt32 {
		return nil, settings.Wrong("horizon", c.Horizon, "at most %d steps in an update of %d environments",
			math.MaxInt32/c.Envs, c.Envs)
	}
	if c.Steps < c.perUpdate() {
		return nil, settings.Wrong("steps", c.Steps, "at least %d, the steps of one update of %d environments x %d "+
			"steps", c.perUpdate(), c.Envs, c.Horizon)
	}
	g.evaluation, err = c.evaluation(g)
	return g, err
}

// number returns a return as text.
func number(x float64) string { return fmt.Sprintf("%.4g", x) }
