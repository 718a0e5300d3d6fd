// Package journey has one algorithm, proximal policy optimization on Gather-v1 with a convolutional network, in several
// ways: from a loop that interprets one environment after the other to one program an update.
package journey

import (
	"xlarun/envs"
	"xlarun/envs/grid"
	"xlarun/graph"
	"xlarun/graph/distribution"
	"xlarun/graph/optim"
	"xlarun/graph/precision"
	"xlarun/graph/random"
	"xlarun/rollout/policy"
	"xlarun/rollout/ppo/advantage"
	"xlarun/rollout/ppo/value"
	"xlarun/rollout/settings"
	"xlarun/rollout/train"
)

// Settings of ppo, and of the suite ppo on this environment.
const (
	environment                = "Gather-v1"
	epochs, minibatches        = 4, 4
	gamma, lambda, clip        = .99, .95, .2
	valueWeight, entropyWeight = .5, .01
	learningRate, maxNorm      = 2.5e-4, .5
)

// agent is the algorithm. Its methods are traced.
type agent struct {
	env                 envs.Environment
	params              any // of env
	policy              policy.Policy
	environments, steps int

	half   bool // the network computes in bfloat16, with a loss scale
	branch bool // each value is read behind a branch, for PopArt or without
	plain  value.Head
	popart value.Head
}

func newAgent(w Way) (*agent, error) {
	env, err := envs.Make(environment)
	if err != nil {
		return nil, err
	}
	maker, err := policy.MakerOf("cnn:"+w.Channels, settings.Values{"hidden": w.Units, "padding": "same"})
	if err != nil {
		return nil, err
	}
	params := grid.Gather{}.DefaultParams()
	params.MaxSteps = graph.Scalar(float64(w.MaxSteps), graph.Int32)
	a := &agent{env: env, params: params, environments: w.Environments, steps: w.Steps, half: w.Half, branch: w.Branch}
	if a.plain, err = value.Make("plain", nil); err != nil {
		return nil, err
	}
	if a.popart, err = value.Make("popart", nil); err != nil {
		return nil, err
	}
	a.policy, err = policy.MakeCritic(maker, env.Spec().Observation, env.Spec().Action.(envs.Discrete).N+1)
	return a, err
}

// State is what an update begins with.
type State struct {
	Learner train.State[any]
	Values  values
	Games   game // [environments]
	Key     random.Key
	Update  *graph.Array // i32[]
}

// values say how the outputs of the network are read as values, where that is decided at run time.
type values struct {
	PopArt  *graph.Array // bool[]
	Moments any
}

// game is one environment in the middle of an episode.
type game struct {
	State       any
	Observation *graph.Array
}

// transition is one step of one environment.
type transition struct {
	Observation, Action, LogProb, Value *graph.Array
	// After the move.
	Reward *graph.Array `tree:"optional"`
	Done   *graph.Array `tree:"optional"` // bool[]
}

// batch is what is learned from, [steps x environments].
type batch struct{ Observation, Action, LogProb, Value, Advantage, Target *graph.Array }

// Metrics are the metrics of a minibatch, each f32[].
type Metrics struct{ Loss, Policy, Value, Entropy, KL, GradientNorm, Scale *graph.Array }

func (a *agent) start(key random.Key) State {
	keys := random.SplitN(key, 3)
	params := a.policy.Init(keys[0])
	s := State{Key: keys[1], Update: graph.Scalar(0, graph.Int32),
		Learner: train.State[any]{Params: params, Optimizer: optimizer().Init(params), Scale: train.NoScale{}},
		Values:  values{graph.Scalar(false), a.popart.Start()},
		Games:   graph.VMap(a.reset)(random.Split(keys[2], a.environments))}
	if a.half {
		s.Learner.Scale = train.Scaled{LossScale: precision.Dynamic()}
	}
	return s
}

func adam() optim.Transform { return optim.Adam(learningRate, optim.Eps(1e-5)) }

func optimizer() optim.Transform {
	return optim.Flattened(optim.Chain(optim.ClipByGlobalNorm(maxNorm), adam()))
}

func (a *agent) reset(key random.Key) game {
	state, observation := a.env.Reset(key, a.params)
	return game{state, observation}
}

// forward returns the logits of the actions and the output that is read as the value, f32[1], of one observation.
func (a *agent) forward(params any, observation *graph.Array) (logits, out *graph.Array) {
	if a.half {
		params = precision.Cast(graph.BFloat16, params)
	}
	_, o := a.policy.Act(params, a.policy.Start(params), observation, random.New(0))
	all := o.Action.Convert(graph.Float32)
	n := all.Dim(0) - 1
	return graph.SliceAxis(all, 0, 0, n), graph.SliceAxis(all, 0, n, n+1)
}

// head calls f with the head that reads values: behind a branch, or the one that the program was traced with.
func (a *agent) head(v values, f func(h value.Head, state any) *graph.Array) *graph.Array {
	if !a.branch {
		return f(a.plain, a.plain.Start())
	}
	return graph.Cond(v.PopArt, func() *graph.Array { return f(a.popart, v.Moments) },
		func() *graph.Array { return f(a.plain, a.plain.Start()) })
}

func (a *agent) value(params any, v values, observation *graph.Array) *graph.Array {
	_, out := a.forward(params, observation)
	return a.head(v, func(h value.Head, state any) *graph.Array { return h.Read(state, out) })
}

// act chooses the action for one observation.
func (a *agent) act(params any, v values, observation *graph.Array, key random.Key) transition {
	logits, out := a.forward(params, observation)
	d := distribution.NewCategorical(logits)
	action := d.Sample(key)
	return transition{Observation: observation, Action: action, LogProb: d.LogProb(action),
		Value: a.head(v, func(h value.Head, state any) *graph.Array { return h.Read(state, out) })}
}

// move takes one step of one environment, without a reset.
func (a *agent) move(g game, t transition, key random.Key) (game, transition) {
	state, observation, reward, terminated, truncated := a.env.Step(key, g.State, t.Action, a.params)
	t.Reward, t.Done = reward, terminated.Or(truncated)
	return game{state, observation}, t
}

// stepKeys are the keys of one step of one environment.
type stepKeys struct{ Act, Move, Reset random.Key }

// keysOfStep returns those of all environments, by the key of the step. Without Once a compiler derives a key again for
// each of its uses.
func (a *agent) keysOfStep(key random.Key) stepKeys {
	return graph.Once(graph.VMap(func(key random.Key) stepKeys {
		keys := random.SplitN(key, 3)
		return stepKeys{keys[0], keys[1], keys[2]}
	})(graph.Once(random.Split(key, a.environments))))
}

// keys returns the keys of the steps of an update, [steps].
func (a *agent) keys(key random.Key, update *graph.Array) random.Key {
	return random.Split(random.FoldIn(key, update), a.steps)
}

// step acts and moves.
func (a *agent) step(params any, v values, g game, keys stepKeys) (game, transition) {
	return a.move(g, a.act(params, v, g.Observation, keys.Act), keys.Move)
}

// stepAll takes one step of all environments. A select resets each environment whose episode has ended.
func (a *agent) stepAll(params any, v values, games game, keys stepKeys) (game, transition) {
	return graph.VMap2(func(g game, keys stepKeys) graph.Pair[game, transition] {
		next, t := a.step(params, v, g, keys)
		return graph.PairOf(graph.SelectTree(t.Done, a.reset(keys.Reset), next), t)
	})(games, keys).Unpack()
}

// rollout takes the steps of an update.
func (a *agent) rollout(s State) (game, transition) {
	keys := graph.Once(graph.VMap(a.keysOfStep)(graph.Once(a.keys(s.Key, s.Update))))
	return graph.Scan(func(games game, keys stepKeys) (game, transition) {
		return a.stepAll(s.Learner.Params, s.Values, games, keys)
	}, s.Games, keys)
}

// estimate returns the batch of a rollout, [steps, environments], that ended before the observations last. The end of
// an episode is not bootstrapped.
func (a *agent) estimate(params any, v values, t transition, last *graph.Array) batch {
	end := graph.VMap(func(observation *graph.Array) *graph.Array { return a.value(params, v, observation) })(last)
	advantages, targets := graph.VMap2(func(t transition, end *graph.Array) graph.Pair[*graph.Array, *graph.Array] {
		return graph.PairOf(advantage.GAE(t.Reward, t.Value, t.Value, t.Done, graph.ZerosLike(t.Done), end,
			graph.Scalar(gamma), graph.Scalar(lambda)))
	}, graph.InAxes(1, 0), graph.OutAxis(1))(t, end).Unpack()
	b := batch{t.Observation, t.Action, t.LogProb, t.Value, advantages, targets}
	return graph.Once(graph.MapTree(func(x *graph.Array) *graph.Array { return graph.MergeAxes(x, 0, 2) }, b))
}

// orders returns the rows of the minibatches of an update, i32[epochs x minibatches, rows].
func (a *agent) orders(s State) *graph.Array {
	rows := a.environments * a.steps
	keys := random.Split(random.FoldIn(random.FoldIn(s.Key, s.Update), 1), epochs)
	orders := graph.VMap(func(key random.Key) *graph.Array { return random.Permutation(key, rows) })(keys)
	return graph.Once(orders.Reshape(epochs*minibatches, rows/minibatches))
}

func (a *agent) stepper(v values, b batch) train.Stepper[any, *graph.Array, Metrics] {
	zero := graph.Scalar(0)
	return train.Stepper[any, *graph.Array, Metrics]{Optimizer: optimizer(), Parts: 1,
		Zero: Metrics{zero, zero, zero, zero, zero, zero, zero},
		Loss: func(*graph.Array) func(rows *graph.Array) train.Loss[any, Metrics] {
			return func(rows *graph.Array) train.Loss[any, Metrics] {
				some := graph.Once(graph.MapTree(func(x *graph.Array) *graph.Array {
					return graph.Take(x, rows, 0)
				}, b))
				return func(params any) (*graph.Array, Metrics) { return a.loss(params, v, some) }
			}
		}}
}

// loss is the clipped loss of a minibatch.
func (a *agent) loss(params any, v values, b batch) (*graph.Array, Metrics) {
	normal := b.Advantage.Sub(b.Advantage.Mean())
	b.Advantage = normal.Div(normal.Square().Mean().Sqrt().Add(1e-8))
	each := graph.VMap(func(b batch) Metrics {
		logits, out := a.forward(params, b.Observation)
		d := distribution.NewCategorical(logits)
		change := d.LogProb(b.Action).Sub(b.LogProb)
		ratio := change.Exp()
		limited := graph.Clamp(1-clip, ratio, 1+clip)
		valueLoss := a.head(v, func(h value.Head, state any) *graph.Array {
			return h.Loss(state, out, b.Value, b.Target, graph.Scalar(clip))
		})
		zero := graph.Scalar(0)
		return Metrics{zero, ratio.Mul(b.Advantage).Min(limited.Mul(b.Advantage)).Neg(), valueLoss, d.Entropy(),
			graph.Expm1(change).Sub(change), zero, zero}
	})(b)
	m := graph.MapTree(func(x *graph.Array) *graph.Array { return x.Mean() }, each)
	m.Loss = m.Policy.Add(m.Value.Mul(valueWeight)).Sub(m.Entropy.Mul(entropyWeight))
	return m.Loss, m
}

// learn takes one step of the optimizer. The last result says whether the gradient was finite.
func (a *agent) learn(l train.State[any], v values, b batch, rows *graph.Array) (train.State[any], Metrics,
	*graph.Array) {
	next, result := a.stepper(v, b).Step(l, rows)
	m := result.Metrics
	m.GradientNorm, m.Scale = result.GradientNorm, next.Scale.Factor()
	return next, m, result.Finite
}

// update is all of an update. Its metrics are means of the minibatches, with the mean reward, f32[8].
func (a *agent) update(s State) (State, *graph.Array) {
	games, t := a.rollout(s)
	b := a.estimate(s.Learner.Params, s.Values, t, games.Observation)
	learner, each := graph.Scan(func(l train.State[any], rows *graph.Array) (train.State[any], Metrics) {
		l, m, _ := a.learn(l, s.Values, b, rows)
		return l, m
	}, s.Learner, a.orders(s))
	all := []*graph.Array{t.Reward.Mean()}
	for _, x := range graph.Leaves(each) {
		all = append(all, x.Mean())
	}
	s.Learner, s.Games, s.Update = learner, games, s.Update.Add(1)
	return s, graph.Stack(all, 0)
}
