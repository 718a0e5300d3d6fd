package envs

import (
	"xlarun/graph"
	"xlarun/graph/random"
)

// Episode is the state of an auto-reset environment. State is the state to continue from. The other fields belong to
// the final state of the last step, before any reset.
type Episode[S any] struct {
	State S
	// FinalObs is the observation of the final state. After the end of an episode it is the one to bootstrap a
	// truncated return from; otherwise, and after Reset, it is the returned observation.
	FinalObs   *graph.Array
	Descriptor *graph.Array `tree:"optional"` // of Describe
	Objectives *graph.Array `tree:"optional"` // of Objectives
	Reports    *graph.Array `tree:"optional"` // of Report
	Rewards    *graph.Array `tree:"optional"` // of Rewards
}

// AutoReset wraps e so that a new episode starts in the step in which one ends. If a step terminates or truncates, the
// returned state and observation come from Reset; reward, terminated and truncated come from the step, and
// Episode.FinalObs is the step's observation. As in gymnax, Step splits its key in two: row 0 for the step, row 1 for
// the reset.
//
// The result has the Traits of e, except DescribeStep and its Descriptor: the next state may be the first one of
// another episode. Describe, Objectives, Report and Rewards belong to the final state of the last step, before any
// reset. Draw, Legal and Player belong to the state to continue from.
//
// A population in lock-step computes a Reset at every step, whether a member needs it or not. Loops over a single
// episode use e without AutoReset.
func AutoReset[S, P any](e Env[S, P]) Env[Episode[S], P] { return autoReset[S, P]{e, TraitsOf(e)} }

type autoReset[S, P any] struct {
	env    Env[S, P]
	traits Traits[S, P] // of env
}

func (a autoReset[S, P]) DefaultParams() P { return a.env.DefaultParams() }

func (a autoReset[S, P]) Spec() Spec {
	s := a.env.Spec()
	if a.traits.DescribeStep != nil { // see Traits
		s.Descriptor, s.Descriptors = Box{}, nil
	}
	return s
}

// episode is the Episode that continues from state; final is the final state of the last step.
func (a autoReset[S, P]) episode(state, final S, finalObs *graph.Array, p P) Episode[S] {
	out := Episode[S]{State: state, FinalObs: finalObs}
	if a.traits.Describe != nil {
		out.Descriptor = a.traits.Describe(final, p)
	}
	if a.traits.Objectives != nil {
		out.Objectives = a.traits.Objectives(final, p)
	}
	if a.traits.Report != nil {
		out.Reports = a.traits.Report(final, p)
	}
	if a.traits.Rewards != nil {
		out.Rewards = a.traits.Rewards(final, p)
	}
	return out
}

func (a autoReset[S, P]) Reset(key random.Key, p P) (Episode[S], *graph.Array) {
	state, obs := a.env.Reset(key, p)
	return a.episode(state, state, obs, p), obs
}

func (a autoReset[S, P]) Step(key random.Key, s Episode[S], action *graph.Array,
	p P) (next Episode[S], obs, reward, terminated, truncated *graph.Array) {
	stepKey, resetKey := random.Split2(key)
	state, final, reward, terminated, truncated := a.env.Step(stepKey, s.State, action, p)
	resetState, resetObs := a.env.Reset(resetKey, p)
	done := terminated.Or(truncated)
	next = a.episode(graph.SelectTree(done, resetState, state), state, final, p)
	return next, graph.Select(done, resetObs, final), reward, terminated, truncated
}

func (a autoReset[S, P]) Observe(s Episode[S], p P) *graph.Array { return a.env.Observe(s.State, p) }

func (a autoReset[S, P]) Traits() Traits[Episode[S], P] {
	t := Through(a.traits, func(s Episode[S]) S { return s.State }, func(p P) P { return p })
	t.DescribeStep = nil // the next state may be the first one of another episode
	if t.Describe != nil {
		t.Describe = func(s Episode[S], _ P) *graph.Array { return s.Descriptor }
	}
	if t.Objectives != nil {
		t.Objectives = func(s Episode[S], _ P) *graph.Array { return s.Objectives }
	}
	if t.Report != nil {
		t.Report = func(s Episode[S], _ P) *graph.Array { return s.Reports }
	}
	if t.Rewards != nil {
		t.Rewards = func(s Episode[S], _ P) *graph.Array { return s.Rewards }
	}
	return t
}
