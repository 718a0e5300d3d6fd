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
	Descriptor *graph.Array `tree:"optional"` // of a Describer
	Objectives *graph.Array `tree:"optional"` // of a Scorer
	Reports    *graph.Array `tree:"optional"` // of a Reporter
	Rewards    *graph.Array `tree:"optional"` // of a Game
}

// AutoReset wraps e so that a new episode starts in the step in which one ends. If a step terminates or truncates, the
// returned state and observation come from Reset; reward, terminated and truncated come from the step, and
// Episode.FinalObs is the step's observation. As in gymnax, Step splits its key in two: row 0 for the step, row 1 for
// the reset.
//
// The result has the Parts of e, except a StepDescriber and its Descriptor: the next state may be the first one of
// another episode. Describe, Objectives, Report and Rewards belong to the final state of the last step, before any
// reset. Draw, Legal and Player belong to the state to continue from.
//
// A population in lock-step computes a Reset at every step, whether a member needs it or not. Loops over a single
// episode use e without AutoReset.
func AutoReset[S, P any](e Env[S, P]) Env[Episode[S], P] { return autoReset[S, P]{e, PartsOf(e)} }

type autoReset[S, P any] struct {
	env   Env[S, P]
	parts Parts[S, P] // of env
}

func (a autoReset[S, P]) DefaultParams() P { return a.env.DefaultParams() }

func (a autoReset[S, P]) Spec() Spec {
	s := a.env.Spec()
	if a.parts.StepDescriber != nil { // see Parts
		s.Descriptor, s.Descriptors = Box{}, nil
	}
	return s
}

// episode is the Episode that continues from state; final is the final state of the last step.
func (a autoReset[S, P]) episode(state, final S, finalObs *graph.Array, p P) Episode[S] {
	out := Episode[S]{State: state, FinalObs: finalObs}
	if a.parts.Describer != nil {
		out.Descriptor = a.parts.Describer.Describe(final, p)
	}
	if a.parts.Scorer != nil {
		out.Objectives = a.parts.Scorer.Objectives(final, p)
	}
	if a.parts.Reporter != nil {
		out.Reports = a.parts.Reporter.Report(final, p)
	}
	if a.parts.Game != nil {
		out.Rewards = a.parts.Game.Rewards(final, p)
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

// Parts implements Wrapper.
func (a autoReset[S, P]) Parts() Parts[Episode[S], P] {
	parts := Through(a.parts, func(s Episode[S]) S { return s.State }, func(p P) P { return p })
	parts.StepDescriber = nil // the next state may be the first one of another episode
	if parts.Describer != nil {
		parts.Describer = finalParts[S, P]{}
	}
	if parts.Scorer != nil {
		parts.Scorer = finalParts[S, P]{}
	}
	if parts.Reporter != nil {
		parts.Reporter = finalParts[S, P]{}
	}
	if parts.Game != nil {
		parts.Game = finalGame[S, P]{parts.Game}
	}
	return parts
}

// finalParts reads the fields of an Episode that belong to the final state.
type finalParts[S, P any] struct{}

func (finalParts[S, P]) Describe(s Episode[S], _ P) *graph.Array   { return s.Descriptor }
func (finalParts[S, P]) Objectives(s Episode[S], _ P) *graph.Array { return s.Objectives }
func (finalParts[S, P]) Report(s Episode[S], _ P) *graph.Array     { return s.Reports }

type finalGame[S, P any] struct{ Game[Episode[S], P] }

func (finalGame[S, P]) Rewards(s Episode[S], _ P) *graph.Array { return s.Rewards }
