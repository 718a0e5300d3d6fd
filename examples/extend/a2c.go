package main

import (
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
		Name: "a2c", Short: "Train an actor and a critic by advantage actor-critic", Argument: "env", Version: 1,
		Unit: "update", Work: "environment steps", Length: "updates",
		New: func() run.Experiment {
			return &A2C{Playing: run.Playing{Scene: run.Scene{Env: "CartPole-v1", Policy: "mlp:64,64"}, Steps: 500,
				Episodes: 1, Aim: run.Aim{Target: "auto", Judge: 100}}, Envs: 16, Horizon: 16, Updates: 2000,
				LearningRate: settings.Num(2e-3), Gamma: settings.Num(.99), Lambda: settings.Num(.95),
				Entropy: settings.Num(.01), ValueWeight: settings.Num(.5)}
		},
	})
}

// A2C is the synchronous form of Mnih et al., "Asynchronous methods for deep reinforcement learning" (2016), with
// generalised advantage estimates: an update plays a rollout and takes one step by its gradient.
type A2C struct {
	run.Playing
	run.Common
	Envs         int             `set:"envs" min:"1" max:"1048576" help:"environments that are played at a time"`
	Horizon      int             `set:"horizon" min:"1" max:"65536" help:"steps of each environment in an update"`
	Updates      int             `set:"updates" program:"no" resume:"any" min:"1" max:"1073741823"`
	_            struct{}        `help:"updates at most"`
	LearningRate settings.Number `set:"learning-rate" above:"0" help:"step size of Adam"`
	Gamma        settings.Number `set:"gamma" min:"0" max:"1" help:"discount of a step"`
	Lambda       settings.Number `set:"lambda" min:"0" max:"1" help:"weight of longer returns"`
	Entropy      settings.Number `set:"entropy" min:"0" help:"weight of the entropy that is added"`
	ValueWeight  settings.Number `set:"value-weight" min:"0" help:"weight of the value's loss"`
}

// Last is the last update.
func (a *A2C) Last() int64 { return int64(a.Updates) }

// Board shows the mean return of recent episodes and the entropy.
func (a *A2C) Board() []run.Row { return run.Curves("recent_return", "entropy") }

// Rollout draws actions, or takes the most probable ones: the judge plays both ways.
func (a *A2C) Rollout() (*episode.Rollout, error) {
	r, err := a.Playing.Rollout()
	if err != nil {
		return nil, err
	}
	r.Policy, err = policy.NewSampling(r.Policy, policy.Sampled, r.Env.Spec().Action)
	return r, err
}

// Networks are what is learned.
type Networks struct{ Actor, Critic, Head any }

// World is one environment in the middle of an episode.
type World struct {
	State       any
	Observation *graph.Array
	Return      *graph.Array // f32[]: of the episode so far
}

// Learner is the state of a run.
type Learner struct {
	Train  train.State[Networks]
	Worlds World        // on axis 0
	Recent *graph.Array // f32[2]: sums over recent episodes of their returns and of their weights
	Key    random.Key
	Update *graph.Array // i32[]
}

// Step is one step of one environment; in a rollout [steps, environments, …].
type Step struct {
	Observation, Action, Reward, NextObservation, Terminated, Truncated *graph.Array
	Return                                                              *graph.Array // of the episode so far
}

// Losses are the parts of the loss, f32[] each.
type Losses struct{ Policy, Value, Entropy *graph.Array }

// a2c is an update that is being traced.
type a2c struct {
	*A2C
	play          *episode.Rollout
	actor, critic policy.Policy
	acting        policy.Stochastic
}

// Start compiles an update for a backend.
func (a *A2C) Start(b xlabridge.Backend) (run.Run, error) {
	play, err := a.Playing.Rollout()
	if err != nil {
		return nil, err
	}
	x := &a2c{A2C: a, play: play, actor: play.Policy}
	spec := play.Env.Spec()
	if x.acting, err = policy.StochasticOf(spec.Action); err != nil {
		return nil, err
	}
	maker, err := policy.MakerOf(a.Policy, a.Parted.Under("policy."))
	if err != nil {
		return nil, err
	}
	if x.critic, err = maker.Make(spec.Observation, 1); err != nil {
		return nil, err
	}
	if len(graph.Leaves(x.actor.Start(x.actor.Init(random.New(0))))) > 0 {
		return nil, settings.Wrong("policy", a.Policy, "a policy without memory, such as mlp")
	}
	inputs := settings.Inputs(a, "")
	for name, value := range play.Inputs() {
		inputs[name] = value
	}
	loop, err := run.NewLoop(b, run.LoopOptions{
		Name: "update", Purpose: run.Purpose("a2c", a), Plan: plan.Plan{Devices: 1}, Undivided: true, Packed: true,
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
	p := Networks{x.actor.Init(keys[0]), x.critic.Init(keys[1]), x.acting.Start()}
	return Learner{Train: train.State[Networks]{Params: p, Optimizer: x.optimizer().Init(p), Scale: train.NoScale{}},
		Worlds: graph.VMap(x.reset)(random.Split(keys[2], x.Envs)), Recent: graph.Float32s([]float32{0, 0}),
		Key: keys[3], Update: envs.Steps(0)}
}

func (x *a2c) optimizer() optim.Transform {
	return optim.Chain(optim.ClipByGlobalNorm(graph.Scalar(.5)), optim.Adam(x.LearningRate.Array()))
}

func (x *a2c) reset(key random.Key) World {
	params, _ := x.play.ParamsOf(key)
	state, observation := x.play.Env.Reset(key, params)
	return World{state, observation, graph.Scalar(0)}
}

// step takes a step of one environment, and begins another episode where one ended.
func (x *a2c) step(p Networks, w World, key random.Key) (World, Step) {
	keys := random.SplitN(key, 3)
	params, _ := x.play.ParamsOf(keys[2])
	_, out := x.actor.Act(p.Actor, x.actor.Start(p.Actor), w.Observation, keys[0])
	t := Step{Observation: w.Observation, Action: x.acting.Draw(p.Head, out.Action, x.acting.Noise(keys[0]))}
	next := World{}
	next.State, next.Observation, t.Reward, t.Terminated, t.Truncated = x.play.Env.Step(keys[1], w.State,
		x.acting.Action(t.Action), params)
	next.Return = w.Return.Add(t.Reward)
	t.NextObservation, t.Return = next.Observation, next.Return
	return graph.SelectTree(t.Terminated.Or(t.Truncated), x.reset(keys[2]), next), t
}

// value is the critic's value of one observation, f32[].
func (x *a2c) value(p Networks, observation *graph.Array) *graph.Array {
	_, out := x.critic.Act(p.Critic, x.critic.Start(p.Critic), observation, random.New(0))
	return out.Action.Index(0)
}

// update plays a rollout and takes one step by its gradient.
func (x *a2c) update(s Learner, in map[string]*graph.Array) (Learner, *graph.Array) {
	bound := *x
	bound.A2C, bound.play = settings.Bind(x.A2C, in, ""), x.play.Bound(in)
	x = &bound
	p := s.Train.Params
	keys := graph.VMap(func(key random.Key) random.Key { return random.Split(key, x.Envs) })(
		random.Split(random.FoldIn(s.Key, s.Update), x.Horizon))
	worlds, t := graph.Scan(func(w World, keys random.Key) (World, Step) {
		return graph.VMap2(func(w World, key random.Key) graph.Pair[World, Step] {
			return graph.PairOf(x.step(p, w, key))
		})(w, keys).Unpack()
	}, s.Worlds, keys)

	values := func(observations *graph.Array) *graph.Array {
		return graph.VMap(graph.VMap(func(o *graph.Array) *graph.Array { return x.value(p, o) }))(observations)
	}
	type column struct{ Reward, Value, Next, Terminated, Truncated *graph.Array }
	all := column{t.Reward, values(t.Observation), values(t.NextObservation), t.Terminated, t.Truncated}
	advantages, targets := graph.VMap(func(c column) graph.Pair[*graph.Array, *graph.Array] {
		last := c.Next.Index(x.Horizon - 1)
		return graph.PairOf(advantage.GAE(c.Reward, c.Value, c.Next, c.Terminated, c.Truncated, last, x.Gamma.Array(),
			x.Lambda.Array()))
	}, graph.InAxes(1), graph.OutAxis(1))(all).Unpack()

	type row struct{ Observation, Action, Advantage, Target *graph.Array }
	rows := graph.MapTree(func(a *graph.Array) *graph.Array { return graph.MergeAxes(a, 0, 2) },
		row{t.Observation, t.Action, advantages, targets})
	loss := func(p Networks) (*graph.Array, Losses) {
		l := graph.VMap(func(r row) Losses {
			_, out := x.actor.Act(p.Actor, x.actor.Start(p.Actor), r.Observation, random.New(0))
			return Losses{
				Policy:  x.acting.LogProb(p.Head, out.Action, r.Action).Mul(r.Advantage).Neg(),
				Value:   x.value(p, r.Observation).Sub(r.Target).Square().Mul(.5),
				Entropy: x.acting.Entropy(p.Head, out.Action),
			}
		})(rows)
		l = graph.MapTree(func(a *graph.Array) *graph.Array { return a.Mean() }, l)
		return l.Policy.Add(x.ValueWeight.Array().Mul(l.Value)).Sub(x.Entropy.Array().Mul(l.Entropy)), l
	}
	zero := graph.Scalar(0)
	stepper := train.Stepper[Networks, row, Losses]{Optimizer: x.optimizer(), Zero: Losses{zero, zero, zero}, Parts: 1,
		Loss: func(row) func(row) train.Loss[Networks, Losses] {
			return func(row) train.Loss[Networks, Losses] { return loss }
		}}
	next := Learner{Worlds: worlds, Key: s.Key, Update: s.Update.Add(1), Recent: recent(s.Recent, t)}
	var result train.Result[Losses]
	next.Train, result = stepper.Step(s.Train, rows)
	mean := next.Recent.Index(0).Div(next.Recent.Index(1)) // NaN before an episode has ended
	m := result.Metrics
	return next, graph.Stack([]*graph.Array{mean, m.Policy, m.Value, m.Entropy, result.GradientNorm}, 0)
}

// recent adds the episodes that ended in a rollout. An episode weighs 0.98 times as much as the one after it.
func recent(sums *graph.Array, t Step) *graph.Array {
	done := t.Terminated.Or(t.Truncated).Convert(graph.Float32)
	count, total := done.Sum(), done.Mul(t.Return).Sum()
	keep := count.Mul(math.Log(.98)).Exp()
	return sums.Mul(keep).Add(graph.Stack([]*graph.Array{total, count}, 0))
}
