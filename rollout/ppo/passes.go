package ppo

import (
	"xlarun/graph"
	"xlarun/graph/random"
	"xlarun/rollout/policy"
)

// passed is what the networks put out for observations along axis 0: f32[n, …].
type passed struct{ Action, Value *graph.Array }

// across lets the networks look at observations that have nothing to do with each other.
func (n *network) across(p Params, e experience) passed {
	return graph.VMap(func(e experience) passed {
		_, out := n.actor.Act(p.Actor, n.actor.Start(p.Actor), e.Observation, e.Key)
		if n.critic == nil {
			return passed{n.actions(out.Action, e.Legal), n.valuesOf(out.Action)}
		}
		_, value := n.critic.Act(p.Critic, n.critic.Start(p.Critic), e.Observation, e.Key)
		return passed{n.actions(out.Action, e.Legal), value.Action}
	})(e)
}

// along lets them go through a sequence, with an empty memory where an episode begins.
func (n *network) along(p Params, s sequence) passed {
	steps := sight{s.Steps.Observation, s.Steps.First, s.Steps.Key}
	out := remember(n.actor, p.Actor, s.Actor, steps).Out
	var values *graph.Array
	if n.critic == nil {
		values = graph.VMap(n.valuesOf)(out)
	} else {
		values = remember(n.critic, p.Critic, s.Critic, steps).Out
	}
	actions := graph.VMap2(func(out *graph.Array, e experience) *graph.Array { return n.actions(out, e.Legal) })(out, s.Steps)
	return passed{actions, values}
}

// sight is what a policy takes in a step.
type sight struct {
	Observation *graph.Array
	First       *graph.Array // bool[]: nothing is remembered
	Key         random.Key
}

// remembered is what a policy carries behind a step, and what it puts out.
type remembered struct {
	After any
	Out   *graph.Array
}

// remember is a policy's way through a sequence.
func remember(p policy.Policy, params, carry any, steps sight) remembered {
	start := p.Start(params)
	_, all := graph.Scan(func(carry any, s sight) (any, remembered) {
		carry = graph.MapTree2(func(reset, on *graph.Array) *graph.Array { return graph.Select(s.First, reset, on) }, start, carry)
		next, out := p.Act(params, carry, s.Observation, s.Key)
		return next, remembered{next, out.Action}
	}, carry, steps)
	return all
}

// valuesOf are the values among the outputs of a shared network.
func (n *network) valuesOf(out *graph.Array) *graph.Array {
	if n.ofActions {
		return out
	}
	return graph.SliceAxis(out, 0, n.size, n.size+n.values)
}
