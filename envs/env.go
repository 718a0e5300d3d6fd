package envs

import (
	"xlarun/graph"
	"xlarun/graph/random"
)

// Env is an environment with states of type S and parameters of type P, both trees of *graph.Array. Its methods are
// pure functions that can be traced; mistakes in their arguments are thrown (Refuse), so that the function that traces
// them returns an error. What some environments can do beside this are Parts.
type Env[S, P any] interface {
	// Spec says what the environment takes and gives.
	Spec() Spec
	// DefaultParams are the parameters of the published environment: mostly float32 scalars, and MaxSteps as an int32
	// scalar. They are data, so that a population may have its own. Tags of their fields say what they may be; see
	// RangeOf.
	DefaultParams() P
	// Reset starts an episode: its first state and observation (shape and dtype of Spec().Observation).
	Reset(key random.Key, p P) (state S, obs *graph.Array)
	// Step plays one action (shape and dtype of Spec().Action). It does not reset; see AutoReset. The next state has
	// the tree and the shapes of state, so that it can be the carry of graph.Scan.
	//
	// reward is a float32 scalar; in a Game it is what the player who moved got. terminated and truncated are bool
	// scalars: terminated says that the task itself ended (fell, arrived, won), truncated that the step limit was
	// reached; both may hold at once. A value function is bootstrapped after truncated alone, never after terminated.
	Step(key random.Key, state S, action *graph.Array, p P) (next S, obs, reward, terminated, truncated *graph.Array)
	// Observe is the observation of a state, the one that Reset or Step returned beside it; in a Game, as the player to
	// move sees it. A loop that carries states alone, and observes them at the start of each step, moves less memory
	// than one that carries both.
	Observe(state S, p P) *graph.Array
}

// Environment is an Env that hides the types of its states and parameters: what the registry holds, and what code for
// any environment works on. Its states and parameters are trees all the same.
type Environment = Env[any, any]

// Spec is what users of an environment need to know before they trace it. The fields from Players on say which Parts
// the environment has; envtest.Check finds where they do not agree.
type Spec struct {
	ID          string // "Name-vN"; N rises when results change
	Observation Space
	Action      Space
	MaxSteps    int // step limit of the default parameters, the length of a whole episode
	// RewardThreshold is the mean return at which the environment counts as solved; 0 (or NaN) where nobody set one.
	RewardThreshold float64

	Players int // how many play; 0 and 1: one. More: a Game
	// whether actions can be illegal: a Masker, and Action is Discrete or MultiDiscrete. Who plays asks Legal before
	// each action
	LegalMask  bool
	Descriptor Box      // bounds of the behaviour descriptor, f32[d]: a Describer. No Dims: none
	Objectives []string // names of the objectives: a Scorer. Empty: the return is the only one
}

// Erase hides the types of e. The result has the Parts of e.
func Erase[S, P any](e Env[S, P]) Environment {
	if e, ok := e.(Environment); ok {
		return e
	}
	return erased[S, P]{e}
}

type erased[S, P any] struct{ env Env[S, P] }

func (e erased[S, P]) Spec() Spec         { return e.env.Spec() }
func (e erased[S, P]) DefaultParams() any { return e.env.DefaultParams() }

func (e erased[S, P]) Reset(key random.Key, p any) (any, *graph.Array) {
	return e.env.Reset(key, unerase[P](e.Spec().ID+": Reset", "parameters", p))
}

func (e erased[S, P]) Step(key random.Key, state any, action *graph.Array,
	p any) (next any, obs, reward, terminated, truncated *graph.Array) {
	op := e.Spec().ID + ": Step"
	return e.env.Step(key, unerase[S](op, "state", state), action, unerase[P](op, "parameters", p))
}

func (e erased[S, P]) Observe(state, p any) *graph.Array {
	op := e.Spec().ID + ": Observe"
	return e.env.Observe(unerase[S](op, "state", state), unerase[P](op, "parameters", p))
}

// Parts implements Wrapper.
func (e erased[S, P]) Parts() Parts[any, any] {
	id := e.Spec().ID
	inner := PartsOf(e.env)
	parts := Through(inner,
		func(state any) S { return unerase[S](id, "state", state) },
		func(p any) P { return unerase[P](id, "parameters", p) })
	parts.Drawer = inner.Drawer // which returns its errors, and takes any state
	return parts
}

func unerase[T any](op, what string, v any) T {
	t, ok := v.(T)
	if !ok {
		refuse(op, "got %T as %s, want %T: pass what this environment gave", v, what, t)
	}
	return t
}
