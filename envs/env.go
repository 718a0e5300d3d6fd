package envs

import (
	"reflect"
	"strings"

	"xlarun/graph"
	"xlarun/graph/random"
	"xlarun/internal/erase"
)

// Env is an environment with states of type S and parameters of type P, both trees of *graph.Array. Its methods are
// pure functions that can be traced. They throw errors in their arguments (Refuse), so that the function that traces
// them returns an error. Traits are what an environment can do beyond them.
type Env[S, P any] interface {
	// Spec describes the environment: its spaces, its step limit and its Traits.
	Spec() Spec
	// DefaultParams are the parameters of the published environment: mostly float32 scalars, and MaxSteps as an int32
	// scalar. They are data, so that each member of a population can have its own. Field tags state their ranges; see
	// RangeOf.
	DefaultParams() P
	// Reset starts an episode: its first state and observation (shape and dtype of Spec().Observation).
	Reset(key random.Key, p P) (state S, obs *graph.Array)
	// Step plays one action (shape and dtype of Spec().Action). It does not reset; see AutoReset. The next state has
	// the tree and the shapes of state, so that it can be the carry of graph.Scan.
	//
	// reward is a float32 scalar; in a game it is the reward of the player who moved. terminated and truncated are bool
	// scalars: terminated if the task ended (fell, arrived, won), truncated if the step limit was reached. Both can be
	// true. Bootstrap a value function after truncated, never after terminated.
	Step(key random.Key, state S, action *graph.Array, p P) (next S, obs, reward, terminated, truncated *graph.Array)
	// Observe is the observation of a state, equal to the one that Reset or Step returned with it; in a game, from the
	// view of the player to move. A loop that carries only states, and observes them at the start of each step, moves
	// less memory than a loop that carries both.
	Observe(state S, p P) *graph.Array
}

// Environment is an Env that hides the types of its states and parameters. The registry holds Environments, and code
// for any environment takes them. Their states and parameters are still trees.
type Environment = Env[any, any]

// Spec is what users of an environment need to know before they trace it. The fields from Players on state which Traits
// the environment has; envtest.Check reports where they do not agree with its methods.
type Spec struct {
	ID          string // "Name-vN"; N rises when results change
	Observation Space
	Action      Space
	// MaxSteps is the length of a whole episode with the default parameters: Step returns truncated in this step. As in
	// gymnax, Step has to do this (Tick), as nothing outside of it ends an episode. An environment that goes on is cut
	// where runs play a fixed number of steps, such as evolve's --steps. Where they go from episode to episode, as ppo
	// does, it is never reset. envtest.Check refuses such an environment.
	MaxSteps int
	// RewardThreshold is the mean return at which the environment counts as solved; 0 or NaN: none.
	RewardThreshold float64
	// MaxReward is what no reward of a step exceeds, with any parameters; nil: it is not known. It bounds the mean
	// return that a run may want.
	MaxReward *float64

	Players int // 0 and 1: one player; 2 or more: a game
	// LegalMask is true if actions can be illegal: the environment has Legal, and Action is Discrete or MultiDiscrete.
	// Callers get the mask before each action.
	LegalMask bool
	// Host is true if steps run on the host, one batch at a time. Runs then use one device.
	Host bool
	// Lanes is the number of members that a step on a CPU computes in little more than the time of one; 0 means one.
	// A tile of a run has about so many episodes. A run has two tiles or more, with 16 members or more in each.
	Lanes int
	// Descriptor has the bounds of the behavior descriptor, f32[d], of Describe or DescribeStep; no Dims: no
	// descriptor. Descriptors has the names of its elements, such as "mean speed (m/s)", for pictures; nil: none.
	Descriptor  Box
	Descriptors []string
	Objectives  []string // names of the objectives; empty: the return is the only one
	// Reports are the names of the numbers that Report returns, as metrics are named: "success". Runs write their means
	// into metrics.jsonl.
	Reports []string
}

// Erase hides the types of e. The result has the Traits of e.
func Erase[S, P any](e Env[S, P]) Environment {
	if e, ok := e.(Environment); ok {
		return e
	}
	return eraseEnv(e, reflect.TypeFor[S](), reflect.TypeFor[P]())
}

// eraseEnv is Erase for an Env of any types.
func eraseEnv(env described, state, params reflect.Type) *erased {
	e := &erased{env: env, state: state, params: params}
	e.traits = e.traitsOf()
	return e
}

// traitsOf is TraitsOf for an Env of any types.
func (e *erased) traitsOf() (t Traits[any, any]) {
	refuse := func(tree any, want reflect.Type) {
		what := "parameters"
		if want == e.state {
			what = "state"
		}
		refuse(e.Spec().ID, "got %T as %s, want %s: pass what this environment gave", tree, what, want)
	}
	own := reflect.TypeOf(e.env)
	if m, ok := methods["Traits"](own); ok && isTraits(m.Type) {
		return erase.To[Traits[any, any]](call(e.env, "Traits")[0].Interface(), refuse)
	}
	findTraits(reflect.ValueOf(&t).Elem(), e.env, e.state, e.params, refuse)
	return t
}

// isTraits reports whether a method returns the Traits of an environment.
func isTraits(method reflect.Type) bool {
	want := reflect.TypeFor[Traits[any, any]]()
	return method.NumIn() == 1 && method.NumOut() == 1 && method.Out(0).PkgPath() == want.PkgPath() &&
		strings.HasPrefix(method.Out(0).Name(), "Traits[")
}

// erased calls an Env by reflection: generic code would be compiled again for each environment, 7 KB each time.
type erased struct {
	env           described
	state, params reflect.Type
	traits        Traits[any, any]
}

// described is an Env of any type.
type described interface{ Spec() Spec }

func (e *erased) unwrap() any              { return e.env }
func (e *erased) Spec() Spec               { return e.env.Spec() }
func (e *erased) Traits() Traits[any, any] { return e.traits }
func (e *erased) DefaultParams() any       { return call(e.env, "DefaultParams")[0].Interface() }

func (e *erased) Reset(key random.Key, p any) (any, *graph.Array) {
	out := call(e.env, "Reset", reflect.ValueOf(key), e.argument(": Reset", "parameters", p, e.params))
	return out[0].Interface(), array(out[1])
}

func (e *erased) Step(key random.Key, state any, action *graph.Array,
	p any) (next any, obs, reward, terminated, truncated *graph.Array) {
	out := call(e.env, "Step", reflect.ValueOf(key), e.argument(": Step", "state", state, e.state),
		reflect.ValueOf(action), e.argument(": Step", "parameters", p, e.params))
	next = out[0].Interface()
	CheckState(e, state, next)
	return next, array(out[1]), array(out[2]), array(out[3]), array(out[4])
}

func (e *erased) Observe(state, p any) *graph.Array {
	return array(call(e.env, "Observe", e.argument(": Observe", "state", state, e.state),
		e.argument(": Observe", "parameters", p, e.params))[0])
}

// argument returns v as what e takes. The error's text names e, and then in.
func (e *erased) argument(in, what string, v any, want reflect.Type) reflect.Value {
	if v == nil || !reflect.TypeOf(v).AssignableTo(want) {
		refuse(e.Spec().ID+in, "got %T as %s, want %s: pass what this environment gave", v, what, want)
	}
	return reflect.ValueOf(v)
}

// call calls a method of v that has a row in methods.
func call(v any, method string, args ...reflect.Value) []reflect.Value {
	m, _ := methods[method](reflect.TypeOf(v))
	return m.Func.Call(append([]reflect.Value{reflect.ValueOf(v)}, args...))
}

func array(v reflect.Value) *graph.Array { return v.Interface().(*graph.Array) }
