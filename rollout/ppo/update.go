package ppo

import (
	"maps"
	"math"

	"xlarun/graph"
	"xlarun/graph/precision"
	"xlarun/graph/random"
	"xlarun/rollout/policy"
	"xlarun/rollout/ppo/advantage"
	"xlarun/rollout/ppo/value"
	"xlarun/rollout/settings"
)

// State is everything that one update of one agent hands to the next.
type State struct {
	Params    Params
	Optimizer any
	Value     any                  // of the value head
	Scale     *precision.LossScale // by which losses are multiplied; nil: they are not
	Worlds    World                // of all environments, on axis 0
	Key       random.Key           // of the agent; update u uses FoldIn(Key, u)
	Update    *graph.Array         // i32[]: updates done
	Recent    recent
	Best      best
	// Observed are the moments of all observations, by which those of the next update are normalised; nil: they are not.
	Observed *policy.Moments
	Rewards  *discounted // nil: rewards are taken as they are
}

// recent is the mean return of about the last 100 episodes: each counts 0.99 times as much as the one after it.
type recent struct{ Sum, Weight *graph.Array }

// forget is how much less an episode counts than the one after it.
const forget = .99

// mean is NaN where no episode has ended.
func (r recent) mean() *graph.Array {
	return graph.Select(graph.Gt(r.Weight, 0), graph.Div(r.Sum, graph.Max(r.Weight, 1e-9)), math.NaN())
}

// best is the actor with the highest recent return so far.
type best struct {
	Actor any
	// Observation is how observations were normalised then; nil: they were not.
	Observation *policy.Scale
	Return      *graph.Array // f32[]
}

// sure is the weight of recent episodes below which their mean says little: until then the best actor is the last one.
const sure = 10

// inputs of an update that are not handed on.
type inputs struct {
	Settings map[string]*graph.Array // f32[], by name
	// Each are those of the settings that agents have each its own of, f32[agents]; of an agent, f32[].
	Each    map[string]*graph.Array
	Updates *graph.Array // f32[]: of the whole run, over which the learning rate falls
	Tiles   *graph.Array // i32[]: of agents, that a device trains; population.Tiles.Count
	Shards  *counts      // of one agent; nil: its work is not cut
}

// program is one update of one agent.
type program struct {
	config  *Config
	collect collector
	head    value.Head
	rows    int     // that an update shuffles
	shards  *shards // of one agent; nil: its work is not cut
	slow    Slowly
	algorithm
}

// bound is the program with its inputs in the place of the settings.
func (g *program) bound(in inputs) *program {
	b := *g
	b.config = settings.Bind(settings.Bind(g.config, in.Settings, ""), in.Each, "")
	b.collect.play = g.collect.play.Bound(in.Settings)
	b.collect.network = g.collect.bound(in.Settings)
	b.head = settings.Bind(g.head, in.Settings, valuePrefix)
	b.algorithm = settings.Bind(g.algorithm, in.Settings, "")
	return &b
}

// valuePrefix goes before the names of the value head's settings among a program's inputs.
const valuePrefix = "value."

// start is an agent before its first update.
func (g *program) start(key random.Key) State {
	keys := random.SplitN(key, 3)
	p := g.collect.init(keys[0])
	s := State{Params: p, Key: keys[1], Update: graph.Zeros(graph.ShapeOf(graph.Int32)), Value: g.head.Start(), Recent: recent{graph.Scalar(0), graph.Scalar(0)}}
	s.Optimizer = g.learner(g.head.Start(), inputs{Updates: graph.Scalar(1)}, s.Update).optimizer().Init(p)
	s.Scale = g.config.lossScale()
	c := g.normalizing(s)
	s.Worlds = graph.VMap(func(key random.Key) World { return c.begin(p, key) })(once(random.Split(keys[2], g.config.Envs)))
	if g.config.NormalizeObservations {
		none := policy.NoMoments(g.collect.play.Env.Spec().Observation.Shape().Dims...)
		s.Observed = &none
	}
	if g.config.NormalizeRewards {
		s.Rewards = &discounted{graph.Zeros(graph.ShapeOf(graph.Float32, g.config.Envs)), policy.NoMoments()}
	}
	s.Best = best{p.Actor, s.scale(), graph.Scalar(math.Inf(-1))}
	return s
}

// scale is how an update's observations are normalised; nil: they are not.
func (s State) scale() *policy.Scale {
	if s.Observed == nil {
		return nil
	}
	by := s.Observed.Scale()
	return &by
}

// normalizing is what collects, with observations normalised as they are in a state.
func (g *program) normalizing(s State) *collector {
	c := g.collect
	c.seen = func(observation *graph.Array) *graph.Array { return observation }
	if by := s.scale(); by != nil {
		fixed := once(*by)
		c.seen = fixed.Apply
	}
	return &c
}

// learner is what learns in the update with a number.
func (g *program) learner(state any, in inputs, update *graph.Array) *learner {
	c := g.config
	n := &numbers{Rate: c.LearningRate.Array(), Gamma: c.Gamma.Array(), Lambda: c.Lambda.Array(), Clip: c.Clip.Array(), ValueClip: c.Clip.Array(), Entropy: c.Entropy.Array(),
		Value: c.ValueWeight.Array(), MaxNorm: c.MaxGradNorm.Array(), TargetKL: c.TargetKL.Array(), clipValues: c.ClipValues, stops: c.stops(), normalize: c.NormalizeAdvantages}
	if c.Anneal {
		done := graph.Div(graph.Convert(update, graph.Float32), in.Updates)
		n.Rate = graph.Mul(n.Rate, graph.Max(graph.Sub(1, done), 0))
	}
	l := &learner{network: g.collect.network, numbers: n, head: g.head, state: state, algorithm: g.algorithm, unfused: g.slow.Unfused}
	if in.Shards != nil {
		l.tiles, l.ofDevice = &g.shards.Rows, in.Shards.Rows
	}
	if g.slow.Branching {
		l.branch = graph.Ge(update, 0)
	}
	return l
}

// update collects, estimates advantages and learns. It returns the next state, and the numbers of an update (metrics.go).
func (g *program) update(s State, in inputs) (State, *graph.Array) {
	g = g.bound(in)
	ofSteps, ofEpochs := random.Split2(once(random.FoldIn(s.Key, s.Update)))
	ofSteps, ofEpochs = once(ofSteps), once(ofEpochs)
	collector, plays := g.normalizing(s), s
	plays.Params = g.plays(s.Params, s.Update, in.Updates)
	return g.learned(collector, s, in, g.live(collector, plays, in, ofSteps), ofEpochs)
}

// learned is what an update makes of what it collected: g has its inputs bound.
func (g *program) learned(collector *collector, s State, in inputs, all lived, ofEpochs random.Key) (State, *graph.Array) {
	c, moments, estimated := g.config, all.Moments, all.Value

	next := State{Key: s.Key, Update: graph.Add(s.Update, 1), Worlds: all.Worlds}
	rewards := moments.Reward
	if s.Rewards != nil {
		rewards, next.Rewards = s.Rewards.normalize(moments, c.Gamma.Array())
	}
	l := g.learner(s.Value, in, s.Update)
	advantages, targets := advantages(g.scaled(rewards), estimated, moments, l.Gamma, l.Lambda)
	// Steps whose returns are no numbers teach nothing, and spoil no minibatch for the others.
	number := graph.IsFinite(targets)
	targets = graph.Select(number, targets, estimated.Values)
	next.Value = g.head.Prepare(s.Value, graph.Flatten1D(targets))
	l.state = next.Value
	params := g.rescaled(s, next.Value)

	e := once(g.learns(experience{Observation: collector.each(moments.Observation), Legal: moments.Legal, Draw: moments.Draw, Key: moments.Key, First: moments.First, LogProb: all.LogProb,
		Value: estimated.Values, Advantage: advantages, Target: targets}, number))
	after := l.epochs(ofEpochs, trained{Params: params, Optimizer: s.Optimizer, Scale: s.Scale}, c.Epochs, c.Minibatches, c.Accumulate, l.experiences(s, e, c.blocks()))
	next.Params, next.Optimizer, next.Scale = after.Params, after.Optimizer, after.Scale

	if s.Observed != nil {
		more := s.Observed.And(momentsOf(graph.Convert(merged(moments.Observation), graph.Float32)))
		next.Observed = &more
	}
	ended := endedIn(moments)
	next.Recent = s.Recent.with(ended)
	next.Best = s.Best.or(best{s.Params.Actor, s.scale(), next.Recent.mean()}, graph.Lt(next.Recent.Weight, sure))
	numbers := numbersOf(ended, next.Recent, after.Figures)
	numbers["learning_rate"], numbers["loss_scale"], numbers["explained_variance"] = l.Rate, scaleOf(next.Scale), explained(estimated.Values, targets)
	maps.Copy(numbers, g.measured(s.Update, in.Updates))
	return next, g.row(numbers, ended, next.Recent)
}

// advantages are the estimates of all environments, and the targets of their values, f32[steps, environments].
func advantages(rewards *graph.Array, e estimates, m moment, gamma, lambda *graph.Array) (advantages, targets *graph.Array) {
	type steps struct{ Reward, Value, Final, Terminated, Truncated *graph.Array }
	type both struct{ Advantages, Targets *graph.Array }
	all := graph.VMap2(func(s steps, last *graph.Array) (b both) {
		b.Advantages, b.Targets = advantage.GAE(s.Reward, s.Value, s.Final, s.Terminated, s.Truncated, last, gamma, lambda)
		return b
	}, graph.InAxes(1, 0), graph.OutAxis(1))(steps{rewards, e.Values, e.Finals, m.Terminated, m.Truncated}, e.Last)
	return all.Advantages, all.Targets
}

// experiences are what an update learns from, as rows that are shuffled.
type experiences struct {
	rows       int
	advantages func(rows *graph.Array) *graph.Array                                       // of some of the rows; nil: there are none
	loss       func(rows *graph.Array, by *spread) func(p Params) (*graph.Array, figures) // of parameters in some of them
}

// experiences have the steps of all environments as rows where nothing is remembered, or, as blocks, the steps of all environments at a time; else whole
// environments.
func (l *learner) experiences(s State, e experience, blocks bool) (x experiences) {
	take := func(rows *graph.Array) func(a *graph.Array) *graph.Array {
		return func(a *graph.Array) *graph.Array { return graph.Take(a, rows, 0) }
	}
	if !l.recurrent(s.Params) {
		flat := func(e experience) experience { return e }
		if blocks {
			flat = func(e experience) experience { return graph.MapTree(merged, e) }
		} else {
			e = graph.MapTree(merged, e)
		}
		x.rows = e.Target.Dim(0)
		x.advantages = advantagesOf(take, e)
		x.loss = func(rows *graph.Array, by *spread) func(p Params) (*graph.Array, figures) {
			batch := flat(once(graph.MapTree(take(rows), e)))
			return func(p Params) (*graph.Array, figures) { return l.algorithm.loss(l, p, l.across(p, batch), batch, by) }
		}
		return x
	}
	turned := func(a *graph.Array) *graph.Array { // environments first
		axes := []int{1, 0}
		for i := 2; i < a.Rank(); i++ {
			axes = append(axes, i)
		}
		return graph.Transpose(a, axes...)
	}
	all := once(sequence{s.Worlds.Actor, s.Worlds.Critic, graph.MapTree(turned, e)})
	x.rows = e.Target.Dim(1)
	x.advantages = advantagesOf(take, all.Steps)
	x.loss = func(rows *graph.Array, by *spread) func(p Params) (*graph.Array, figures) {
		batch := once(graph.MapTree(take(rows), all))
		flat := graph.MapTree(merged, batch.Steps)
		return func(p Params) (*graph.Array, figures) {
			out := graph.VMap(func(s sequence) passed { return l.along(p, s) })(batch)
			return l.algorithm.loss(l, p, graph.MapTree(merged, out), flat, by)
		}
	}
	return x
}

// advantagesOf are those of some rows; nil where there are none.
func advantagesOf(take func(rows *graph.Array) func(a *graph.Array) *graph.Array, e experience) func(rows *graph.Array) *graph.Array {
	if e.Advantage == nil {
		return nil
	}
	return func(rows *graph.Array) *graph.Array { return take(rows)(e.Advantage) }
}

// merged has axes 0 and 1 as one.
func merged(a *graph.Array) *graph.Array {
	return graph.Reshape(a, append([]int{a.Dim(0) * a.Dim(1)}, a.Dims()[2:]...)...)
}

// estimates are values in the units of rewards.
type estimates struct {
	Values *graph.Array // f32[steps, environments]
	Finals *graph.Array // f32[steps, environments]: of what was observed behind each step, before any reset
	Last   *graph.Array // f32[environments]: of what the next update begins with
	Critic any          // what the critic carries into it
}

// estimate has the critic look at all that was collected, at once where it remembers nothing.
func (g *program) estimate(c *collector, s State, worlds World, m moment) (e estimates) {
	read := func(out *graph.Array) *graph.Array { return g.head.Read(s.Value, out) }
	p := s.Params
	net, params := c.actor, p.Actor
	valueOf := c.valuesOf
	after := m.After // what the network that estimates carries behind each step
	outs := m.Out
	e.Critic = s.Worlds.Critic
	if c.critic != nil {
		net, params = c.critic, p.Critic
		valueOf = func(out *graph.Array) *graph.Array { return out }
	}
	if !remembers(net, params) {
		params = once(prepared(net, params))
	}
	start := net.Start(params)
	look := func(carry any, observation *graph.Array, key random.Key) *graph.Array {
		_, out := net.Act(params, carry, observation, key)
		return read(valueOf(out.Action))
	}
	done := graph.Or(m.Terminated, m.Truncated)
	if c.critic != nil && !remembers(net, params) {
		e.Values = graph.VMap(graph.VMap(func(m moment) *graph.Array { return look(start, m.Observation, m.Key) }))(m)
		after = e.Critic
	} else {
		if c.critic != nil {
			all := graph.VMap2(func(carry any, steps sight) remembered { return remember(net, params, carry, steps) },
				graph.InAxes(0, 1))(s.Worlds.Critic, sight{m.Observation, m.First, m.Key})
			turned := graph.MapTree(func(a *graph.Array) *graph.Array { return graph.MoveAxis(a, 0, 1) }, all)
			after, outs = turned.After, turned.Out
			ended := graph.Index(done, done.Dim(0)-1)
			e.Critic = graph.VMap3(func(ended *graph.Array, start, carry any) any {
				return graph.MapTree2(func(reset, on *graph.Array) *graph.Array { return graph.Select(ended, reset, on) }, start, carry)
			}, graph.InAxes(0, graph.Unmapped, 0))(ended, start, graph.MapTree(func(a *graph.Array) *graph.Array { return graph.Index(a, a.Dim(0)-1) }, after))
		}
		e.Values = graph.VMap(graph.VMap(func(out *graph.Array) *graph.Array { return read(valueOf(out)) }))(outs)
	}
	type final struct {
		Carry any
		Final *graph.Array
		Key   random.Key
	}
	if remembers(net, params) {
		e.Finals = graph.VMap(graph.VMap(func(f final) *graph.Array { return look(f.Carry, f.Final, f.Key) }))(final{after, m.Final, m.Key})
	} else {
		e.Finals = graph.VMap(graph.VMap(func(f final) *graph.Array { return look(start, f.Final, f.Key) }))(final{graph.None{}, m.Final, m.Key})
	}
	// Where the last step ended no episode, what it led to is what the next update begins with; where it did, no value of the next
	// episode counts.
	e.Last = graph.Index(e.Finals, e.Finals.Dim(0)-1)
	return e
}

// rescaled are the parameters with the value's layer such that it gives what it gave before the value head's state moved.
func (g *program) rescaled(s State, after any) Params {
	if len(graph.Leaves(s.Value)) == 0 {
		return s.Params
	}
	return g.collect.withValueLayer(s.Params, func(w, b *graph.Array) (*graph.Array, *graph.Array) {
		return g.head.Rescale(s.Value, after, w, b)
	})
}

// momentsOf are the moments of all along axis 0 of x, f32[n, …].
func momentsOf(x *graph.Array) policy.Moments {
	origin := graph.Index(x, 0)
	apart := graph.Sub(x, graph.ExpandDims(origin, 0))
	return policy.MomentsOf(graph.Scalar(float64(x.Dim(0))), origin, graph.Sum(apart, 0), graph.Sum(graph.Square(apart), 0))
}
