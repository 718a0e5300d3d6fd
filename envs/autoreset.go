package envs

import (
	"xlarun/graph"
	"xlarun/graph/random"
)

// Episode is the state of an auto-reset environment. Beside the state that play goes on from it keeps what is known by
// the state with which the last step ended, before any reset: after a step that ended an episode, its last one.
type Episode[S any] struct {
	State S
	// FinalObs is the observation of that state: after a step that ended an episode, the one to bootstrap a truncated
	// return from; after others, and after Reset, the returned observation.
	FinalObs   *graph.Array
	Descriptor *graph.Array `tree:"optional"` // of a Describer
	Objectives *graph.Array `tree:"optional"` // of a Scorer
	Rewards    *graph.Array `tree:"optional"` // of a Game
}

// AutoReset wraps e so that episodes follow each other: where a step terminates or truncates, state and observation
// come from Reset, while reward, terminated and truncated are those of the step and its own observation is kept in
// Episode.FinalObs. As in gymnax, Step splits its key in two: row 0 for the step, row 1 for the reset.
//
// The result has the Parts of e. Describe, Objectives and Rewards are those of the state before any reset, so that they
// hold where the step returned that an episode ended; Draw, Legal and Player are those of the state that play goes on
// from.
//
// A population in lock-step pays for a Reset at every step, whether a member needs it or not. Loops that play a single
// episode use e itself.
func AutoReset[S, P any](e Env[S, P]) Env[Episode[S], P] { return autoReset[S, P]{e, PartsOf(e)} }

type autoReset[S, P any] struct {
	env   Env[S, P]
	parts Parts[S, P] // of env
}

func (a autoReset[S, P]) Spec() Spec       { return a.env.Spec() }
func (a autoReset[S, P]) DefaultParams() P { return a.env.DefaultParams() }

// episode goes on from state after the step, if there was one, that ended in final.
func (a autoReset[S, P]) episode(state, final S, finalObs *graph.Array, p P) Episode[S] {
	out := Episode[S]{State: state, FinalObs: finalObs}
	if a.parts.Describer != nil {
		out.Descriptor = a.parts.Describer.Describe(final, p)
	}
	if a.parts.Scorer != nil {
		out.Objectives = a.parts.Scorer.Objectives(final, p)
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
	fresh, first := a.env.Reset(resetKey, p)
	done := terminated.Or(truncated)
	either := func(reset, step *graph.Array) *graph.Array { return graph.Select(done, reset, step) }
	return a.episode(graph.MapTree2(either, fresh, state), state, final, p), either(first, final), reward, terminated,
		truncated
}

func (a autoReset[S, P]) Observe(s Episode[S], p P) *graph.Array { return a.env.Observe(s.State, p) }

// Parts implements Wrapper.
func (a autoReset[S, P]) Parts() Parts[Episode[S], P] {
	parts := Through(a.parts, func(s Episode[S]) S { return s.State }, func(p P) P { return p })
	if parts.Describer != nil {
		parts.Describer = kept[S, P]{}
	}
	if parts.Scorer != nil {
		parts.Scorer = kept[S, P]{}
	}
	if parts.Game != nil {
		parts.Game = keptGame[S, P]{parts.Game}
	}
	return parts
}

// kept reads what an Episode keeps.
type kept[S, P any] struct{}

func (kept[S, P]) Describe(s Episode[S], _ P) *graph.Array   { return s.Descriptor }
func (kept[S, P]) Objectives(s Episode[S], _ P) *graph.Array { return s.Objectives }

type keptGame[S, P any] struct{ Game[Episode[S], P] }

func (keptGame[S, P]) Rewards(s Episode[S], _ P) *graph.Array { return s.Rewards }
