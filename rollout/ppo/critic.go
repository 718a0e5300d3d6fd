package ppo

import (
	"xlarun/graph"
	"xlarun/graph/random"
	"xlarun/rollout/policy"
)

// critic returns the outputs that a value head reads: from the actor's network, or from a separate network with or
// without memory.
type critic interface {
	// init returns the parameters of a separate network, else graph.None{}.
	init(key random.Key) any
	// start returns the carry of a separate network at the start of an episode, else graph.None{}.
	start(p Params) any
	// withPolicies returns the critic with other policies.
	withPolicies(change func(policy.Policy) policy.Policy) critic
	// prepare returns parameters for many steps without a gradient.
	prepare(p Params) Params
	// act returns the outputs [k] for one observation. carry is the carry of the network that is read.
	act(p Params, carry any, observation *graph.Array, key random.Key) *graph.Array
	// transition returns the outputs [k] for one transition without memory. actor, [n], is the actor's outputs.
	transition(p Params, actor *graph.Array, b batch) *graph.Array
	// sequence returns the outputs [steps, k] for a sequence. actor, [steps, n], is the actor's outputs.
	sequence(p Params, actor *graph.Array, s sequence) *graph.Array
	// rollout returns the outputs [steps, environments, k] for a rollout that began with the carry start, the carry
	// after each step, before any reset, and the carry into the next rollout.
	rollout(p Params, start any, t transition) (outputs *graph.Array, carries, next any)
}

// sharedCritic reads the values out of the actor's outputs.
type sharedCritic struct {
	network      policy.Policy
	first, count int // the outputs that are values
}

func (sharedCritic) init(random.Key) any { return graph.None{} }

func (sharedCritic) start(Params) any { return graph.None{} }

func (c sharedCritic) withPolicies(change func(policy.Policy) policy.Policy) critic {
	c.network = change(c.network)
	return c
}

func (c sharedCritic) prepare(p Params) Params {
	p.Actor = preparedOnce(c.network, p.Actor)
	return p
}

// values returns the values, [count], among the actor's outputs.
func (c sharedCritic) values(outputs *graph.Array) *graph.Array {
	if c.count == outputs.Dim(0) {
		return outputs
	}
	return graph.SliceAxis(outputs, 0, c.first, c.first+c.count)
}

func (c sharedCritic) act(p Params, carry any, observation *graph.Array, key random.Key) *graph.Array {
	_, out := c.network.Act(p.Actor, carry, observation, key)
	return c.values(out.Action)
}

func (c sharedCritic) transition(_ Params, actor *graph.Array, _ batch) *graph.Array {
	return c.values(actor)
}

func (c sharedCritic) sequence(_ Params, actor *graph.Array, _ sequence) *graph.Array {
	return graph.VMap(c.values)(actor)
}

func (c sharedCritic) rollout(_ Params, start any, t transition) (outputs *graph.Array, carries, next any) {
	return graph.VMap(graph.VMap(c.values))(t.Outputs), t.Carry, start
}

// separateCritic is a separate network without memory.
type separateCritic struct{ network policy.Policy }

func (c separateCritic) init(key random.Key) any { return c.network.Init(key) }

func (c separateCritic) start(p Params) any { return c.network.Start(p.Critic) }

func (c separateCritic) withPolicies(change func(policy.Policy) policy.Policy) critic {
	return separateCritic{change(c.network)}
}

func (c separateCritic) prepare(p Params) Params {
	p.Critic = preparedOnce(c.network, p.Critic)
	return p
}

func (c separateCritic) act(p Params, carry any, observation *graph.Array, key random.Key) *graph.Array {
	_, out := c.network.Act(p.Critic, carry, observation, key)
	return out.Action
}

func (c separateCritic) transition(p Params, _ *graph.Array, b batch) *graph.Array {
	return c.act(p, c.start(p), b.Observation, b.Key)
}

func (c separateCritic) sequence(p Params, _ *graph.Array, s sequence) *graph.Array {
	outputs, _ := runSequence(c.network, p.Critic, s.Critic, s.Steps.inputs()).Unpack()
	return outputs
}

func (c separateCritic) rollout(p Params, start any, t transition) (outputs *graph.Array, carries, next any) {
	outputs = graph.VMap(graph.VMap(func(t transition) *graph.Array {
		return c.act(p, c.start(p), t.Observation, t.Key)
	}))(t)
	return outputs, start, start
}

// recurrentCritic is a separate network with memory. It goes through a rollout step by step.
type recurrentCritic struct{ separateCritic }

func (c recurrentCritic) withPolicies(change func(policy.Policy) policy.Policy) critic {
	return recurrentCritic{separateCritic{change(c.network)}}
}

func (recurrentCritic) prepare(p Params) Params { return p }

func (c recurrentCritic) rollout(p Params, start any, t transition) (outputs *graph.Array, carries, next any) {
	all := graph.VMap2(func(carry any, steps stepInputs) graph.Pair[*graph.Array, any] {
		return runSequence(c.network, p.Critic, carry, steps)
	}, graph.InAxes(0, 1))(start, stepInputs{t.Observation, t.First, t.Key})
	stepsFirst := func(a *graph.Array) *graph.Array { return a.MoveAxis(0, 1) }
	outputs, carries = graph.MapTree(stepsFirst, all).Unpack()
	last := func(a *graph.Array) *graph.Array { return a.Index(a.Dim(0) - 1) }
	reset := c.start(p)
	next = graph.VMap2(func(done *graph.Array, carry any) any {
		return graph.SelectTree(done, reset, carry)
	})(last(t.done()), graph.MapTree(last, carries))
	return outputs, carries, next
}

// stepInputs are the inputs of a network in a step.
type stepInputs struct {
	Observation *graph.Array
	First       *graph.Array // bool[]: an episode begins, so the memory is empty
	Key         random.Key
}

// runSequence runs a policy through a sequence, with an empty memory where an episode begins. It returns the outputs
// and the carry after each step.
func runSequence(p policy.Policy, params, carry any, steps stepInputs) graph.Pair[*graph.Array, any] {
	start := p.Start(params)
	_, all := graph.Scan(func(carry any, s stepInputs) (any, graph.Pair[*graph.Array, any]) {
		next, out := p.Act(params, graph.SelectTree(s.First, start, carry), s.Observation, s.Key)
		return next, graph.PairOf(out.Action, next)
	}, carry, steps)
	return all
}

// prepared returns the parameters for calls of Act without a gradient.
func prepared(p policy.Policy, params any) any {
	if t := p.Traits(); t.Prepared != nil && t.PreparesAlike {
		return t.Prepared.Prepare(params)
	}
	return params
}

// preparedOnce returns prepared parameters of a policy without memory. A policy with memory keeps its parameters: its
// carry must have the same layout in play and in learning.
func preparedOnce(p policy.Policy, params any) any {
	if hasMemory(p, params) {
		return params
	}
	return graph.Once(prepared(p, params))
}

// hasMemory reports whether a policy has a carry.
func hasMemory(p policy.Policy, params any) bool { return len(graph.Leaves(p.Start(params))) > 0 }
