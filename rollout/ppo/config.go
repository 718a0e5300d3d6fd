package ppo

import (
	"fmt"
	"math"
	"strings"

	"xlarun/envs"
	"xlarun/graph"
	"xlarun/graph/random"
	"xlarun/rollout/episode"
	"xlarun/rollout/plan"
	"xlarun/rollout/policy"
	"xlarun/rollout/ppo/value"
	"xlarun/rollout/run"
	"xlarun/rollout/settings"
)

// Config is one experiment. Start from DefaultConfig: zero means zero, but where a field says otherwise.
type Config struct {
	run.Scene
	Shared bool   `set:"shared" help:"one network for actor and critic, with the values as further outputs"`
	Init   string `set:"init" oneof:"orthogonal,policy" help:"first weights: orthogonal matrices, of scale 0.01 before the actions, or as the policy draws them"`
	Value  string `set:"value" help:"how values are made of the critic's outputs"`
	// Steps is the number of environment steps of an agent in the whole run; updates follow from it.
	Steps       int `set:"steps" program:"no" resume:"goal" min:"1" max:"1099511627776" help:"environment steps of an agent in the whole run; the learning rate falls over them"`
	Envs        int `set:"envs" min:"1" max:"1048576" help:"environments that an agent plays at a time"`
	Horizon     int `set:"horizon" min:"1" max:"1048576" help:"steps of each environment in an update"`
	Epochs      int `set:"epochs" min:"1" max:"1024" help:"how often an update goes through what it collected"`
	Minibatches int `set:"minibatches" min:"1" max:"1048576" help:"parts of an epoch, each with a step of the optimiser: of steps, or of environments where the policy remembers"`

	Shuffle    string `set:"shuffle" oneof:"permutation,blocks" help:"what an epoch shuffles: single steps, or the blocks of all environments' steps at a time"`
	Accumulate int    `set:"accumulate" min:"1" max:"1048576" help:"parts in which the gradient of a minibatch is computed, one after the other, to need less memory"`
	Precision  string `set:"precision" oneof:"f32,bf16,f16,auto" help:"what networks compute in; parameters, losses and probabilities stay f32. auto: bf16 on accelerators, else f32"`

	LearningRate settings.Number `set:"learning-rate" each:"" above:"0" help:"step size of Adam"`
	Anneal       bool            `set:"anneal" help:"let the learning rate fall to 0 over the run"`
	Gamma        settings.Number `set:"gamma" each:"" min:"0" max:"1" help:"discount of a step"`
	Lambda       settings.Number `set:"lambda" each:"" min:"0" max:"1" help:"decay of generalised advantage estimation"`
	Clip         settings.Number `set:"clip" each:"" above:"0" help:"how far from 1 the ratio of probabilities counts, and how far from the old value the new one"`
	ClipValues   bool            `set:"clip-values" help:"clip values, too"`
	ValueWeight  settings.Number `set:"value-weight" each:"" min:"0" help:"weight of the value's loss"`
	Entropy      settings.Number `set:"entropy" each:"" min:"0" help:"weight of the entropy that is added"`
	MaxGradNorm  settings.Number `set:"max-grad-norm" each:"" above:"0" help:"norm that a gradient is cut to"`
	// TargetKL is the divergence from the policy that collected behind which an update takes no further epoch; 0: never.
	TargetKL              settings.Number `set:"target-kl" min:"0" help:"mean divergence of an epoch from the policy that collected, after which the update ends; 0 to go on"`
	NormalizeAdvantages   bool            `set:"normalize-advantages" help:"advantages of a minibatch less their mean, over their standard deviation"`
	NormalizeObservations bool            `set:"normalize-observations" help:"the networks see each observation less its mean, over its standard deviation, of all that were made in the updates before"`
	NormalizeRewards      bool            `set:"normalize-rewards" help:"divide rewards by the standard deviation of their discounted sums"`

	// Agents are trained at the same time, each with a key of its own.
	Agents int `set:"agents" min:"1" max:"65536" help:"agents that are trained at the same time, each from a seed of its own"`
	// Tile is the number of agents that a device trains at a time; 0: by rule. Results depend on it in the last digits, and not on Devices.
	Tile int `set:"tile" min:"1" max:"65536" zero:"chosen" help:"agents that are trained together on a device; 0 to choose"`
	run.Aim
	run.Common
}

// DefaultConfig is PureJaxRL's on CartPole.
func DefaultConfig() Config {
	return Config{Scene: run.Scene{Env: "CartPole-v1", Policy: "mlp:64,64"}, Init: "orthogonal", Value: "plain", Steps: 500000, Envs: 4, Horizon: 128, Epochs: 4, Minibatches: 4,
		Shuffle: "permutation", Accumulate: 1, Precision: "f32",
		LearningRate: settings.Num(2.5e-4), Anneal: true, Gamma: settings.Num(.99), Lambda: settings.Num(.95), Clip: settings.Num(.2), ClipValues: true,
		ValueWeight: settings.Num(.5), Entropy: settings.Num(.01), MaxGradNorm: settings.Num(.5), NormalizeAdvantages: true, Agents: 1, Aim: run.Aim{Target: "auto", Judge: 100}}
}

// Parts are policy and value head.
func (c *Config) Parts() []settings.Part { return []settings.Part{policy.Part(), value.Part()} }

// Last is the number of updates.
func (c *Config) Last() int64 { return int64(max(1, c.Steps/c.perUpdate())) }

// perUpdate is the number of environment steps of an agent in an update.
func (c *Config) perUpdate() int { return max(1, c.Envs*c.Horizon) }

// blocks tells whether blocks of steps are shuffled.
func (c *Config) blocks() bool { return c.Shuffle == "blocks" }

// stops tells whether the divergence can end an update.
func (c *Config) stops() bool { return c.TargetKL.Value > 0 }

// Setup says what is run.
func (c *Config) Setup() string {
	agents := ""
	if c.Agents > 1 {
		agents = fmt.Sprintf("%d agents, ", c.Agents)
	}
	return fmt.Sprintf("%s%s, %d environments x %d steps, %d x %d minibatches, seed %d", agents, c.Policy, c.Envs, c.Horizon, c.Epochs, c.Minibatches, c.Seed)
}

// Purpose says in a few words what the program is for: all that its shapes depend on, of what has a usual value where it is another.
func (c *Config) Purpose() string {
	text := fmt.Sprintf("ppo %s, %s, %d environments x %d steps, %d x %d minibatches", c.Env, c.Policy, c.Envs, c.Horizon, c.Epochs, c.Minibatches)
	if c.Agents > 1 {
		text += fmt.Sprintf(", %d agents", c.Agents)
	}
	if len(c.EnvParam) > 0 {
		text += ", given " + c.EnvParam.Shape()
	}
	usual := DefaultConfig()
	for _, name := range []string{"shared", "init", "value", "shuffle", "accumulate", "precision", "anneal", "clip-values", "normalize-advantages", "normalize-observations", "normalize-rewards"} {
		mine, _ := settings.Lookup(c, name)
		if theirs, _ := settings.Lookup(&usual, name); mine.Text() != theirs.Text() {
			text += fmt.Sprintf(", %s %s", name, mine.Text())
		}
	}
	for _, p := range settings.ChosenParts(c) {
		text += settings.Unusual(p, c)
	}
	return text + c.stopping()
}

// Programs is what the program follows from.
func (c *Config) Programs() string { return settings.Program(c) + c.stopping() }

func (c *Config) stopping() string {
	if c.stops() {
		return ", stops"
	}
	return ""
}

// limit is the name of the environments' parameter that limits an episode's steps.
const limit = "max-steps"

// Rollout is how the actor is judged and played: by its likeliest actions, up to the environment's own limit of steps, or the one that is given.
func (c *Config) Rollout() (*episode.Rollout, error) {
	steps := 1
	if env, err := envs.Make(c.Env); err == nil {
		steps = max(1, env.Spec().MaxSteps)
		if given, err := episode.ReadEnvParams(env, c.EnvParam); err == nil {
			for _, p := range given {
				if p.Name == limit && p.High >= 1 && p.High <= math.MaxInt32 {
					steps = int(p.High)
				}
			}
		}
	}
	r, err := c.Scene.Rollout(&c.Aim, steps, 1)
	if err != nil || !c.NormalizeObservations {
		return r, err
	}
	spec := r.Env.Spec()
	r.Policy, r.Head, err = policy.MakeNormalizing(c.Policy, c.Parted.Under("policy."), spec.Observation, spec.Action)
	return r, err
}

// Check finds the first mistake in the config, a *settings.Error, before anything is traced or compiled.
func (c *Config) Check(plan.Machine) error {
	_, err := c.program()
	return err
}

// program is one update of one agent, checked.
func (c *Config) program() (*program, error) {
	if err := settings.Check(c); err != nil {
		return nil, err
	}
	play, err := c.Rollout()
	if err != nil {
		return nil, err
	}
	if _, learns := policy.LearnerOf(play.Policy); learns {
		return nil, settings.Wrong("policy", c.Policy, "a policy that does not change within an episode by its rewards: ppo learns by gradients")
	}
	head, err := value.Make(c.Value, c.Parted.Under("value."))
	if err != nil {
		return nil, err
	}
	spec := play.Env.Spec()
	acting, err := policy.StochasticOf(spec.Action)
	if err != nil {
		return nil, err
	}
	observation := spec.Observation
	if box, ok := observation.(envs.Box); ok && c.NormalizeObservations {
		observation = policy.NormalizedBox(box)
	}
	maker, err := policy.MakerOf(c.Policy, c.Parted.Under("policy."))
	if err != nil {
		return nil, err
	}
	net, err := newNetwork(func(outputs int) (policy.Policy, error) {
		p, err := maker.Make(observation, outputs)
		if half, ok := c.half(); ok && err == nil {
			p = computing{p, half}
		}
		return p, err
	},
		acting, play.Head.Size(), head.Outputs(), c.Shared, c.Init == "orthogonal")
	if err != nil {
		return nil, err
	}
	g := &program{config: c, collect: collector{network: net, play: play}, head: head}
	if c.Agents == 1 { // of several, a branch is taken for all where one takes it
		if g.collect.dear, err = g.collect.beginsDearly(); err != nil {
			return nil, err
		}
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
	rows, of := c.perUpdate(), "the steps of an update, envs x horizon"
	switch recurrent := net.recurrent(p); {
	case recurrent && c.blocks():
		return nil, settings.Wrong("shuffle", c.Shuffle, "permutation: the policy remembers, and whole sequences are shuffled anyway")
	case recurrent:
		rows, of = c.Envs, "the environments, whose sequences stay whole as the policy remembers"
	case c.blocks():
		rows, of = c.Horizon, "the steps that are shuffled, each a block of all environments"
	}
	if rows%c.Minibatches != 0 {
		return nil, settings.Wrong("minibatches", c.Minibatches, "a number that divides %d, %s", rows, of)
	}
	g.rows = rows
	if n := rows / c.Minibatches; n%c.Accumulate != 0 {
		return nil, settings.Wrong("accumulate", c.Accumulate, "a number that divides %d, a minibatch's part of %s", n, of)
	}
	for _, f := range settings.Fields(c) {
		if n, ok := f.Several(); ok && n.Each != "" && c.Agents == 1 {
			return nil, settings.Wrong(f.Name, n.Each, "one number for one agent: with --agents each takes one of several")
		}
	}
	if n := c.perUpdate(); n > math.MaxInt32 {
		return nil, settings.Wrong("horizon", c.Horizon, "at most %d steps in an update of %d environments", math.MaxInt32/c.Envs, c.Envs)
	}
	if c.Steps < c.perUpdate() {
		return nil, settings.Wrong("steps", c.Steps, "at least %d, those of one update of %d environments x %d steps", c.perUpdate(), c.Envs, c.Horizon)
	}
	return g, nil
}

// Board is what a display shows.
func (c *Config) Board() []run.Row {
	goal := ""
	var objectives []string
	if env, err := envs.Make(c.Env); err == nil {
		if t := c.Goal(env.Spec()); !math.IsNaN(t) {
			goal = " of " + number(t)
		}
		objectives = env.Spec().Objectives
	}
	rows := []run.Row{
		{Label: "return", Plain: true, Parts: []run.Part{{Metric: "recent_return", Behind: goal}}, Curve: "recent_return", Colour: "cyan"},
		{Label: "episodes", Parts: []run.Part{{Metric: "episodes", Format: run.Whole}, {Before: ", mean ", Metric: "mean_return"}, {Before: ", best ", Metric: "max_return"},
			{Before: ", worst ", Metric: "min_return"}, {Before: ", of ", Metric: "mean_length", Behind: " steps"}}},
	}
	if len(objectives) > 0 {
		row := run.Row{Label: "objectives"}
		for i, metric := range objectiveNames(objectives) {
			row.Parts = append(row.Parts, run.Part{Before: ", " + strings.ReplaceAll(objectives[i], "_", " ") + " ", Metric: metric})
		}
		rows = append(rows, row)
	}
	rows = append(rows,
		run.Row{Label: "entropy", Plain: true, Parts: []run.Part{{Metric: "entropy", Format: run.Loss}, {Before: ", kl ", Metric: "kl", Format: run.Loss}, {Before: ", clipped ", Metric: "clip_fraction", Format: run.Percent}}},
		run.Row{Label: "value", Parts: []run.Part{{Before: "loss ", Metric: "value_loss", Format: run.Loss}, {Before: ", explains ", Metric: "explained_variance", Format: run.Percent}}})
	gradient := run.Row{Label: "gradient", Parts: []run.Part{{Before: "norm ", Metric: "gradient_norm", Format: run.Loss}, {Before: ", skipped ", Metric: "skipped", Format: run.Whole}}}
	if c.Precision == "f16" {
		gradient.Parts = append(gradient.Parts, run.Part{Before: ", losses times ", Metric: "loss_scale", Format: run.Whole})
	}
	rows = append(rows, gradient)
	for i := range rows {
		rows[i].Gaps = true
	}
	return rows
}

// number is a return in words.
func number(x float64) string { return fmt.Sprintf("%.4g", x) }
