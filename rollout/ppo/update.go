package ppo

import (
	"xlarun/envs"
	"xlarun/graph"
	"xlarun/graph/random"
	"xlarun/rollout/episode"
	"xlarun/rollout/ppo/advantage"
	"xlarun/rollout/ppo/auxiliary"
	"xlarun/rollout/train"
)

// This file is an update of proximal policy optimization, from the step of an environment to the whole (Schulman et
// al., "Proximal policy optimization algorithms", 2017). envStep, calculateGAE, loss, updateMinibatch,
// updateEpoch and updateStep have the names of PureJaxRL's functions in ppo.py; here the inner ones come first.

// transition is one step of one environment. A rollout is a tree of transitions with leaves [steps, environments, …].
type transition struct {
	Observation *graph.Array
	Legal       *graph.Array `tree:"optional"` // bool[n]; nil if all actions are legal
	Outputs     *graph.Array `tree:"optional"` // of the actor
	Action      *graph.Array // as the distribution draws it
	Key         random.Key   // of the networks in this step
	First       *graph.Array // bool[]: an episode begins, and the networks' memory is empty
	Reward      *graph.Array // f32[]
	Terminated  *graph.Array // bool[]
	Truncated   *graph.Array // bool[]
	// NextObservation is the observation after the step, before any reset.
	NextObservation *graph.Array `tree:"optional"`
	Carry           any          // the actor's carry after the step, before any reset
	Return          *graph.Array // f32[]: of the episode so far, this step included
	Length          *graph.Array // i32[]: steps of the episode so far, this step included
	// Objectives are the environment's objectives of the episode so far, f32[k]; nil if it has none.
	Objectives *graph.Array `tree:"optional"`
	// Reports are what environment and policy report of the episode so far, f32[k]; nil for nothing.
	Reports *graph.Array `tree:"optional"`

	// evaluate adds these. Values have the units of scaled rewards (scaleRewards, --normalize-rewards).
	LogProb   *graph.Array `tree:"optional"` // f32[]: of Action
	Value     *graph.Array `tree:"optional"` // f32[]: of Observation
	NextValue *graph.Array `tree:"optional"` // f32[]: of NextObservation
}

// done returns bool[…]: the step ended an episode.
func (t transition) done() *graph.Array { return t.Terminated.Or(t.Truncated) }

// envStep takes one step of one environment, without a reset. actor is the actor's parameters, prepared for many steps.
func (u *update) envStep(p Params, actor any, s EnvState, keys stepKeys) (EnvState, transition) {
	params := u.envParams(s)
	carry, out := u.actor.Act(actor, s.Actor, u.normalize.apply(s.Observation), keys.Policy)
	t := transition{Observation: s.Observation, Key: keys.Policy, Outputs: out.Action, Carry: carry}
	traits := envs.TraitsOf(u.play.Env)
	if traits.Legal != nil && u.play.Env.Spec().LegalMask {
		t.Legal = traits.Legal(s.State, params)
	}
	t.Action = u.distribution.Draw(p.Head, u.headInputs(t.Outputs, t.Legal), keys.Noise)
	action := u.distribution.Action(t.Action)
	state, observation, reward, terminated, truncated := u.play.Env.Step(keys.Env, s.State, action, params)
	t.NextObservation, t.Reward, t.Terminated, t.Truncated = observation, reward, terminated, truncated
	t.Return, t.Length = s.Return.Add(reward), s.Length.Add(1)
	t.First = s.Length.Eq(0)
	if traits.Objectives != nil {
		t.Objectives = traits.Objectives(state, params)
	}
	t.Reports = episode.ReportsOf(u.play.Env, u.actor, state, params, carry)
	// evaluate moves the critic's carry.
	return EnvState{State: state, Observation: observation, Drawn: s.Drawn, Actor: carry, Critic: s.Critic,
		Return: t.Return, Length: t.Length}, t
}

// rollout plays the steps of all environments. states have the environments on axis 0, keys the steps.
func (u *update) rollout(p Params, states EnvState, keys stepKeys) (EnvState, transition) {
	actor := preparedOnce(u.actor, p.Actor)
	return scanPacked(func(states EnvState, keys stepKeys) (EnvState, transition) {
		next, t := graph.VMap2(func(s EnvState, keys stepKeys) graph.Pair[EnvState, transition] {
			return graph.PairOf(u.envStep(p, actor, s, keys))
		})(states, keys).Unpack()
		return u.autoReset(actor, next, t, keys.Reset), t
	}, states, keys, graph.LoopName(episode.StepsLoop))
}

// evaluate adds values and log probabilities to a rollout that began with the states before and ended with the states
// after. It returns after with the critic's carry.
func (u *update) evaluate(s State, before, after EnvState, t transition) (EnvState, transition) {
	p := u.critic.prepare(s.Params)
	normalize := graph.VMap(graph.VMap(u.normalize.apply))
	normalized := t
	normalized.Observation, normalized.NextObservation = normalize(t.Observation), normalize(t.NextObservation)
	outputs, carries, critic := u.critic.rollout(p, before.Critic, normalized)
	after.Critic = critic
	read := func(out *graph.Array) *graph.Array { return u.head.Read(s.Value, out) }
	t.Value = graph.VMap(graph.VMap(read))(outputs)
	type step struct {
		Carry       any
		Observation *graph.Array
		Key         random.Key
	}
	next := func(s step) *graph.Array { return read(u.critic.act(p, s.Carry, s.Observation, s.Key)) }
	t.NextValue = graph.VMap(graph.VMap(next))(step{carries, normalized.NextObservation, t.Key})
	t.LogProb = graph.VMap(graph.VMap(func(t transition) *graph.Array {
		return u.distribution.LogProb(s.Params.Head, u.headInputs(t.Outputs, t.Legal), t.Action)
	}))(t)
	t.Outputs, t.NextObservation, t.Carry = nil, nil, graph.None{} // nothing else reads them
	return after, t
}

// calculateGAE returns the advantages of a rollout and the targets of its values, f32[steps, environments] each.
// rewards, f32[steps, environments], are scaled.
func calculateGAE(rewards *graph.Array, t transition, gamma, lambda *graph.Array) (advantages, targets *graph.Array) {
	// The value after the last step counts only if it ended no episode.
	last := t.NextValue.Index(t.NextValue.Dim(0) - 1)
	type steps struct{ Reward, Value, NextValue, Terminated, Truncated *graph.Array }
	all := steps{rewards, t.Value, t.NextValue, t.Terminated, t.Truncated}
	return graph.VMap2(func(s steps, last *graph.Array) graph.Pair[*graph.Array, *graph.Array] {
		return graph.PairOf(advantage.GAE(s.Reward, s.Value, s.NextValue, s.Terminated, s.Truncated, last, gamma,
			lambda))
	}, graph.InAxes(1, 0), graph.OutAxis(1))(all, last).Unpack()
}

// batch is the part of transitions that is learned from.
type batch struct {
	Observation *graph.Array // normalized
	Legal       *graph.Array `tree:"optional"` // bool[n]
	Action      *graph.Array
	Key         random.Key
	First       *graph.Array // bool[]
	Target      *graph.Array // f32[]: of the value

	// An algorithm leaves out what its loss does not read.
	LogProb   *graph.Array `tree:"optional"` // f32[]: of Action, before the update
	Value     *graph.Array `tree:"optional"` // f32[]: before the update
	Advantage *graph.Array `tree:"optional"` // f32[]; NaN: nothing is learned from the transition
	Valid     *graph.Array `tree:"optional"` // bool[]: the transition is learned from
}

func (b batch) inputs() stepInputs { return stepInputs{b.Observation, b.First, b.Key} }

// losses are the parts of a loss, each f32[].
type losses struct {
	Policy, Value, Entropy, KL, ClipFraction *graph.Array
	Auxiliary                                *graph.Array `tree:"optional"` // nil: there is none
	// Reports are those of the auxiliary loss, f32[k]; nil: it has none.
	Reports *graph.Array `tree:"optional"`
}

// loss returns the clipped loss of transitions along axis 0. normalize normalizes advantages by the whole minibatch.
// The loss of a transition whose advantage is NaN is 0.
func (*proximal) loss(u *update, p Params, out outputs, b batch,
	normalize func(advantages *graph.Array) *graph.Array) (*graph.Array, losses) {
	logProb, entropy := graph.VMap2(func(out, action *graph.Array) graph.Pair[*graph.Array, *graph.Array] {
		return graph.PairOf(u.distribution.LogProb(p.Head, out, action), u.distribution.Entropy(p.Head, out))
	})(out.Head, b.Action).Unpack()
	type value struct{ Out, Old, Target *graph.Array }
	valueLoss := graph.VMap(func(v value) *graph.Array {
		return u.head.Loss(u.headState, v.Out, v.Old, v.Target, u.ValueClip)
	})(value{out.Value, b.Value, b.Target})

	valid := b.Advantage.IsNaN().Not()
	mean := func(x *graph.Array) *graph.Array { return graph.Select(valid, x, 0.).Mean() }
	advantage := normalize(graph.Select(valid, b.Advantage, 0.))
	logRatio := logProb.Sub(b.LogProb)
	ratio := logRatio.Exp()
	clipped := graph.Clamp(graph.Sub(1, u.Clip), ratio, graph.Add(1, u.Clip))
	l := losses{
		Policy:  mean(ratio.Mul(advantage).Min(clipped.Mul(advantage))).Neg(),
		Value:   mean(valueLoss),
		Entropy: mean(entropy),
		// expm1, because exp(x) - 1 of a small x is mostly rounding, sometimes below 0
		KL:           mean(graph.Expm1(logRatio).Sub(logRatio)),
		ClipFraction: mean(ratio.Sub(1).Abs().Gt(u.Clip).Convert(graph.Float32)),
	}
	total := l.Policy.Add(u.ValueWeight.Mul(l.Value)).Sub(u.EntropyWeight.Mul(l.Entropy))
	if u.auxiliary != nil {
		all := auxiliary.Transition{
			Observation: b.Observation, Action: b.Action, Outputs: out.Head, LogProb: logProb, Entropy: entropy,
			Value: out.Value, OldLogProb: b.LogProb, OldValue: b.Value,
			Advantage: graph.Select(valid, b.Advantage, 0.), Target: b.Target}
		l.Auxiliary = mean(graph.VMap(u.auxiliary.Compute)(all))
		total = total.Add(l.Auxiliary)
		if own := u.auxiliary.Traits(); own.Reports != nil {
			each := graph.VMap(own.Report)(all)
			if want := graph.ShapeOf(graph.Float32, valid.Dim(0), len(own.Reports)); !each.Shape().Equal(want) {
				graph.Throw("ppo", "Report of the auxiliary loss %s returns %s for %d transitions, want %s: a number "+
					"for each of %q", u.config.Auxiliary, each.Shape(), valid.Dim(0), want, own.Reports)
			}
			l.Reports = graph.Select(valid.ExpandDims(1).BroadcastTo(each.Dims()...), each, 0.).Mean(0)
		}
	}
	return total, l
}

// normalizer returns a function that normalizes advantages by the mean and standard deviation of the given advantages,
// without NaN.
func normalizer(advantages *graph.Array) func(*graph.Array) *graph.Array {
	valid := advantages.IsNaN().Not()
	n := valid.Convert(graph.Float32).Sum().Max(1)
	mean := func(x *graph.Array) *graph.Array { return graph.Select(valid, x, 0.).Sum().Div(n) }
	average := graph.Select(valid.Any(), between(advantages, graph.Reduction{Where: valid}, mean(advantages)), 0.)
	deviation := mean(advantages.Sub(average).Square()).Sqrt().Add(1e-8)
	return func(x *graph.Array) *graph.Array { return x.Sub(average).Div(deviation) }
}

// between is a mean of elements of x, not below or above all of them, where rounding may take it. So equal elements
// less their mean are 0.
func between(x *graph.Array, elements graph.Reduction, mean *graph.Array) *graph.Array {
	return graph.Clamp(elements.Min(x), mean, elements.Max(x))
}

// lossMetrics are metrics of an update's minibatches, f32[] each: sums while epochs run, then means. Minibatches and
// Skipped are counts. A minibatch is skipped if its gradient is not finite; it counts only in Skipped.
type lossMetrics struct {
	Losses                             losses
	GradientNorm, Minibatches, Skipped *graph.Array
}

// epochState is the carry of the loops over epochs and minibatches.
type epochState struct {
	Train   train.State[Params]
	Metrics lossMetrics
	Epoch   *graph.Array // i32[]
	Stop    *graph.Array // bool[]: the policy has moved far enough
}

// updateMinibatch takes one step of the optimizer. rows, i32[n], are the rows of the minibatch.
func (u *update) updateMinibatch(s epochState, rows *graph.Array) (epochState, lossMetrics) {
	step := u.stepper.Step
	if u.step != nil {
		step = u.step
	}
	state, result := step(s.Train, rows)
	m := lossMetrics{result.Metrics, result.GradientNorm, graph.Scalar(1), graph.Scalar(0)}
	m = graph.MapTree(func(x *graph.Array) *graph.Array { return graph.Select(result.Finite, x, 0.) }, m)
	m.Skipped = graph.Select(result.Finite, 0., graph.Scalar(1))
	s.Train, s.Metrics = state, graph.AddTree(s.Metrics, m)
	return s, m
}

// updateEpoch goes through all minibatches. order, i32[minibatches, n], has the rows of each.
func (u *update) updateEpoch(s epochState, order *graph.Array) epochState {
	s, each := graph.Scan(u.updateMinibatch, s, order, graph.LoopName(minibatchesLoop))
	s.Epoch = s.Epoch.Add(1)
	if u.stops {
		// the mean divergence, without skipped minibatches
		s.Stop = each.Losses.KL.Sum().Gt(u.TargetKL.Mul(each.Minibatches.Sum()))
	}
	return s
}

// updateEpochs goes through n rows once an epoch, each time in another order. With --target-kl it ends early, once the
// policy has moved far enough.
func (u *update) updateEpochs(key random.Key, n int, start train.State[Params]) (train.State[Params], lossMetrics) {
	orders := u.shuffledRows(key, n)
	s := epochState{Train: start, Metrics: u.noMetrics(), Epoch: graph.Scalar(0, graph.Int32),
		Stop: graph.Scalar(false)}
	if !u.stops { // a scan has a known length, and inspect can count its work
		s, _ = graph.Scan(func(s epochState, order *graph.Array) (epochState, graph.None) {
			return u.updateEpoch(s, order), graph.None{}
		}, s, orders, graph.LoopName(epochsLoop))
		return s.Train, s.Metrics.means()
	}
	s = graph.NamedWhile(epochsLoop, func(s epochState) *graph.Array {
		return s.Epoch.Lt(u.config.Epochs).And(s.Stop.Not())
	}, func(s epochState) epochState { return u.updateEpoch(s, graph.DynamicIndex(orders, s.Epoch, 0)) }, s)
	return s.Train, s.Metrics.means()
}

// updateStep collects a rollout, learns from it, and evaluates the actor if that is due. It returns the next state and
// the metrics of the update (see metricsRow), then Evaluated of that state.
func (g *program) updateStep(s State, in inputs) (State, *graph.Array) {
	return g.updateAndEvaluate(s, in, g.evaluationDue(s.Update, in))
}

// updateAndEvaluate is updateStep. due, bool[], is the same for all agents, so that a map over them keeps the branch;
// nil: there are no evaluations.
func (g *program) updateAndEvaluate(s State, in inputs, due *graph.Array) (State, *graph.Array) {
	u := g.newUpdate(s, in)
	rolloutKey, epochsKey := updateKeys(s)
	next := State{Key: s.Key, Update: s.Update.Add(1)}
	states, t := u.collect(s, rolloutKey)
	rollout := u.estimate(s, t)
	next.EnvStates, next.Rewards, next.Value = states, rollout.Rewards, rollout.Value
	end, metrics := u.learn(s, epochsKey, rollout)
	next.Params, next.Optimizer, next.Scale = end.Params, end.Optimizer, end.Scale

	episodes := episodesOf(t)
	next.Observed = s.Observed.with(graph.MergeAxes(t.Observation, 0, 2))
	next.Recent = s.Recent.with(episodes)
	current := best{s.Params.Actor, s.Observed.scale(), next.Recent.mean()}
	next.Best = s.Best.better(current, next.Recent.Weight.Lt(minEpisodes))
	row := u.metricsRow(s, next, t.Value, rollout.Targets, episodes, metrics)
	if due != nil {
		next.Evaluated = u.evaluated(next, s.Evaluated, due)
		row = graph.Concatenate(0, row, next.Evaluated)
	}
	return next, row
}

// rolloutBatch is what the epochs of an update learn from.
type rolloutBatch struct {
	Rewards rewardScaler // after the rollout
	Targets *graph.Array // f32[steps, environments]: of values
	Value   any          // state of the value head after the rollout
	Batch   batch        // leaves [steps, environments, …]
}

// estimate returns what is learned from a rollout: its advantages and targets.
func (u *update) estimate(s State, t transition) rolloutBatch {
	rewards, rewardScaler := s.Rewards.scale(t, u.Gamma)
	advantages, targets := calculateGAE(u.scaleRewards(rewards), t, u.Gamma, u.Lambda)
	valid := targets.IsFinite()
	targets = graph.Select(valid, targets, t.Value)
	value := u.head.Prepare(s.Value, graph.Flatten1D(targets))
	return rolloutBatch{rewardScaler, targets, value, u.batch(t, advantages, targets, valid)}
}

// learn goes through the epochs.
func (u *update) learn(s State, key random.Key, l rolloutBatch) (train.State[Params], lossMetrics) {
	u.headState = l.Value // the loss reads values by the new state
	minibatches := u.minibatches(s.EnvStates, l.Batch)
	u.stepper.Loss = u.minibatchLoss(minibatches)
	start := train.State[Params]{Params: u.rescaleValues(s, l.Value), Optimizer: s.Optimizer, Scale: s.Scale}
	return u.updateEpochs(key, minibatches.rows(), start)
}

// Names of loops.
const (
	epochsLoop      = "epochs"
	minibatchesLoop = "minibatches"
)
