package main

import (
	"context"
	"math"

	"xlarun/envs"
	"xlarun/graph"
	"xlarun/graph/optim"
	"xlarun/graph/random"
	"xlarun/rollout/episode"
	"xlarun/rollout/plan"
	"xlarun/rollout/policy"
	"xlarun/rollout/ppo/advantage"
	"xlarun/rollout/run"
	"xlarun/rollout/settings"
	"xlarun/rollout/train"
	"xlarun/xlabridge"
)

func init() {
	run.MustRegister(run.Kind{
		Name: "a2c", Short: "Train an actor and a critic by advantage actor-critic", Argument: "env", Version: 2,
		Unit: "update", Work: "environment steps", Length: "updates", Unbounded: true,
		New: func() run.Experiment {
			return &A2C{
				EpisodeSettings: run.EpisodeSettings{
					EnvSettings:  run.EnvSettings{Env: "CartPole-v1", Policy: "mlp:64,64"},
					GoalSettings: run.GoalSettings{Target: "auto", EvalEpisodes: 100},
					Steps:        500, Episodes: 1,
				},
				Envs: 16, Horizon: 16, Updates: 2000,
				LearningRate: settings.Num(2e-3), Gamma: settings.Num(.99), Lambda: settings.Num(.95),
				Entropy: settings.Num(.01), ValueWeight: settings.Num(.5),
			}
		},
	})
}

// A2C is the synchronous form of Mnih et al., "Asynchronous methods for deep reinforcement learning" (2016), with
// generalized advantage estimates: an update plays a rollout and takes one step by its gradient.
type A2C struct {
	run.EpisodeSettings
	run.Common
	Envs         int             `set:"envs" min:"1" max:"1048576" help:"environments that are played at a time"`
	Horizon      int             `set:"horizon" min:"1" max:"65536" help:"steps of each environment in an update"`
	Updates      int             `set:"updates" program:"no" resume:"any" min:"1" max:"1073741823" help:"updates at most"`
	LearningRate settings.Number `set:"learning-rate" above:"0" help:"step size of Adam"`
	Gamma        settings.Number `set:"gamma" min:"0" max:"1" help:"discount of a step"`
	Lambda       settings.Number `set:"lambda" min:"0" max:"1" help:"weight of longer returns"`
	Entropy      settings.Number `set:"entropy-coef" min:"0" help:"weight of the entropy that is added"`
	ValueWeight  settings.Number `set:"value-coef" min:"0" help:"weight of the value's loss"`
}

// Job says what is run, until which update, and which setting the memory grows with.
func (a *A2C) Job() *run.Job {
	return a.Plays(run.Job{Last: int64(a.Updates), Board: a.Board, Start: a.Start, Size: "envs"}, a.Rollout)
}

// Board shows the mean return of recent episodes and the entropy.
func (a *A2C) Board() []run.DisplayRow { return run.Curves("recent_return", "entropy") }

// Rollout draws actions, or takes the most probable ones: the evaluation plays both ways.
func (a *A2C) Rollout() (*episode.Rollout, error) {
	r, err := a.EpisodeSettings.Rollout()
	if err != nil {
		return nil, err
	}
	r.Policy, err = policy.NewSampling(r.Policy, policy.Sampled, r.Env.Spec().Action)
	return r, err
}

// Networks are what is learned.
type Networks struct{ Actor, Critic, Head any }

// EnvState is one environment in the middle of an episode.
type EnvState struct {
	Params      any // of the environment in this episode: --env-param may draw them for each episode
	State       any
	Observation *graph.Array
	Return      *graph.Array // f32[]: of the episode so far
}

// Learner is the state of a run.
type Learner struct {
	Train  train.State[Networks]
	Envs   EnvState     // on axis 0
	Recent *graph.Array // f32[2]: sums over recent episodes of their returns and of their weights
	Key    random.Key
	Update *graph.Array // i32[]
}

// Transition is one step of one environment; in a trajectory [steps, environments, …].
type Transition struct {
	Observation, Action, Reward, NextObservation, Terminated, Truncated *graph.Array
	Return                                                              *graph.Array // of the episode so far
}

// Losses are the parts of the loss, f32[] each.
type Losses struct{ Policy, Value, Entropy *graph.Array }

// a2c is an update that is being traced.
type a2c struct {
	*A2C
	rollout       *episode.Rollout // the environment and its parameters
	actor, critic policy.Policy
	distribution  policy.Stochastic // over the actions, by the actor's outputs
}

// Start compiles an update for a backend.
func (a *A2C) Start(_ context.Context, b xlabridge.Backend) (run.Run, error) {
	rollout, err := a.EpisodeSettings.Rollout()
	if err != nil {
		return nil, err
	}
	x := &a2c{A2C: a, rollout: rollout, actor: rollout.Policy}
	spec := rollout.Env.Spec()
	if x.distribution, err = policy.StochasticOf(spec.Action); err != nil {
		return nil, err
	}
	maker, err := policy.MakerOf(a.Policy, a.Parted.Under("policy."))
	if err != nil {
		return nil, err
	}
	if x.critic, err = policy.MakeCritic(maker, spec.Observation, 1); err != nil {
		return nil, err
	}
	if len(graph.Leaves(x.actor.Start(x.actor.Init(random.New(0))))) > 0 {
		return nil, settings.Wrong("policy", a.Policy, "a policy without memory, such as mlp")
	}
	inputs := settings.Inputs(a, "")
	for name, value := range rollout.Inputs() {
		inputs[name] = value
	}
	loop, err := run.NewLoop(b, run.LoopOptions{
		Name: "update", Purpose: "a2c " + settings.Words(a), Plan: plan.Plan{Devices: 1}, Undivided: true, Packed: true,
		Work:    float64(a.Envs * a.Horizon),
		Metrics: []string{"recent_return", "policy_loss", "value_loss", "entropy", "gradient_norm"},
		Goal:    run.Value{Name: "recent_return", Number: a.Goal(spec)},
	}, x.first(), inputs, x.update)
	if err != nil {
		return nil, err
	}
	return run.WithCandidates(loop, func(s Learner) []run.Candidate {
		p := s.Train.Params
		return []run.Candidate{{Name: "last", Params: policy.Distributed{Own: p.Actor, Distribution: p.Head}}}
	}), nil
}

// first is the state before the first update.
func (x *a2c) first() Learner {
	keys := random.SplitN(random.New(x.Seed), 4)
	params := Networks{x.actor.Init(keys[0]), x.critic.Init(keys[1]), x.distribution.Start()}
	return Learner{
		Train: train.State[Networks]{Params: params, Optimizer: x.optimizer().Init(params), Scale: train.NoScale{}},
		Envs:  graph.VMap(x.reset)(random.Split(keys[2], x.Envs)), Recent: graph.Float32s([]float32{0, 0}),
		Key: keys[3], Update: envs.Steps(0)}
}

func (x *a2c) optimizer() optim.Transform {
	return optim.Chain(optim.ClipByGlobalNorm(graph.Scalar(.5)), optim.Adam(x.LearningRate.Array()))
}

// outputs are the actor's for one observation, such as logits. The policy is one without memory, which draws nothing.
func (x *a2c) outputs(params Networks, observation *graph.Array) *graph.Array {
	_, out := x.actor.Act(params.Actor, x.actor.Start(params.Actor), observation, random.New(0))
	return out.Action
}

// value is the critic's value of one observation, f32[].
func (x *a2c) value(params Networks, observation *graph.Array) *graph.Array {
	_, out := x.critic.Act(params.Critic, x.critic.Start(params.Critic), observation, random.New(0))
	return out.Action.Index(0)
}

// reset begins an episode of one environment.
func (x *a2c) reset(key random.Key) EnvState {
	keys := random.SplitN(key, 2)
	envParams, _ := x.rollout.ParamsOf(keys[0])
	state, observation := x.rollout.Env.Reset(keys[1], envParams)
	return EnvState{envParams, state, observation, graph.Scalar(0)}
}

// step takes a step of one environment, and begins another episode if the step ended one.
func (x *a2c) step(params Networks, env EnvState, key random.Key) (EnvState, Transition) {
	keys := random.SplitN(key, 3)
	actionKey, stepKey, resetKey := keys[0], keys[1], keys[2]
	action := x.distribution.Draw(params.Head, x.outputs(params, env.Observation), x.distribution.Noise(actionKey))
	state, observation, reward, terminated, truncated := x.rollout.Env.Step(stepKey, env.State,
		x.distribution.Action(action), env.Params)
	next := EnvState{env.Params, state, observation, env.Return.Add(reward)}
	return graph.SelectTree(terminated.Or(truncated), x.reset(resetKey), next), Transition{env.Observation, action,
		reward, observation, terminated, truncated, next.Return}
}

// play plays all environments for Horizon steps.
func (x *a2c) play(params Networks, all EnvState, key random.Key) (EnvState, Transition) {
	return graph.Scan(func(all EnvState, key random.Key) (EnvState, Transition) {
		return graph.VMap2(func(env EnvState, key random.Key) graph.Pair[EnvState, Transition] {
			return graph.PairOf(x.step(params, env, key))
		})(all, random.Split(key, x.Envs)).Unpack()
	}, all, random.Split(key, x.Horizon))
}

// advantages returns the advantages of a trajectory's actions and the targets of its values, [steps, environments].
func (x *a2c) advantages(params Networks, t Transition) (advantages, targets *graph.Array) {
	values := graph.VMap(graph.VMap(func(o *graph.Array) *graph.Array { return x.value(params, o) }))
	type column struct{ Reward, Value, NextValue, Terminated, Truncated *graph.Array } // [steps]: of one environment
	return graph.VMap(func(c column) graph.Pair[*graph.Array, *graph.Array] {
		return graph.PairOf(advantage.GAE(c.Reward, c.Value, c.NextValue, c.Terminated, c.Truncated,
			c.NextValue.Index(-1), x.Gamma.Array(), x.Lambda.Array()))
	}, graph.InAxes(1), graph.OutAxis(1))(column{t.Reward, values(t.Observation), values(t.NextObservation),
		t.Terminated, t.Truncated}).Unpack()
}

// example is what the loss takes of one transition.
type example struct{ Observation, Action, Advantage, Target *graph.Array }

// loss returns the loss over all examples, and its parts.
func (x *a2c) loss(params Networks, examples example) (*graph.Array, Losses) {
	losses := graph.VMap(func(e example) Losses {
		outputs := x.outputs(params, e.Observation)
		return Losses{
			Policy:  x.distribution.LogProb(params.Head, outputs, e.Action).Mul(e.Advantage).Neg(),
			Value:   x.value(params, e.Observation).Sub(e.Target).Square().Mul(.5),
			Entropy: x.distribution.Entropy(params.Head, outputs),
		}
	})(examples)
	l := graph.MapTree(func(a *graph.Array) *graph.Array { return a.Mean() }, losses)
	return l.Policy.Add(x.ValueWeight.Array().Mul(l.Value)).Sub(x.Entropy.Array().Mul(l.Entropy)), l
}

// update plays a trajectory and takes one step by its gradient.
func (x *a2c) update(s Learner, in map[string]*graph.Array) (Learner, *graph.Array) {
	bound := *x // with the program's inputs instead of the settings' numbers
	bound.A2C, bound.rollout = settings.Bind(x.A2C, in, ""), x.rollout.Bound(in)
	x = &bound
	params := s.Train.Params
	next := Learner{Key: s.Key, Update: s.Update.Add(1)}
	var trajectory Transition
	next.Envs, trajectory = x.play(params, s.Envs, random.FoldIn(s.Key, s.Update))
	next.Recent = recent(s.Recent, trajectory)

	advantages, targets := x.advantages(params, trajectory)
	examples := graph.MapTree(func(a *graph.Array) *graph.Array { return graph.MergeAxes(a, 0, 2) },
		example{trajectory.Observation, trajectory.Action, advantages, targets})
	zero := graph.Scalar(0)
	stepper := train.Stepper[Networks, example, Losses]{Optimizer: x.optimizer(), Zero: Losses{zero, zero, zero},
		Parts: 1, Loss: func(example) func(example) train.Loss[Networks, Losses] {
			return func(e example) train.Loss[Networks, Losses] {
				return func(params Networks) (*graph.Array, Losses) { return x.loss(params, e) }
			}
		}}
	var result train.Result[Losses]
	next.Train, result = stepper.Step(s.Train, examples)

	meanReturn := next.Recent.Index(0).Div(next.Recent.Index(1)) // NaN before an episode has ended
	m := result.Metrics
	return next, graph.Stack([]*graph.Array{meanReturn, m.Policy, m.Value, m.Entropy, result.GradientNorm}, 0)
}

// recent adds the episodes that ended in a trajectory. An episode weighs 0.98 times as much as the one after it.
func recent(sums *graph.Array, t Transition) *graph.Array {
	done := t.Terminated.Or(t.Truncated).Convert(graph.Float32)
	count, total := done.Sum(), done.Mul(t.Return).Sum()
	keep := count.Mul(math.Log(.98)).Exp()
	return sums.Mul(keep).Add(graph.Stack([]*graph.Array{total, count}, 0))
}
