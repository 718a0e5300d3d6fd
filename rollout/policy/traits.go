package policy

import (
	"fmt"
	"reflect"

	"xlarun/graph"
	"xlarun/graph/nn/nir"
	"xlarun/graph/random"
	"xlarun/rollout/policy/genome"
	"xlarun/rollout/settings"
)

// Traits are what a Network[P, C] can do beyond its methods. A zero value or a nil function means that it does not.
type Traits[P, C any] struct {
	// Prepared is another form of the parameters, made once an episode, that Start and Act take, too.
	Prepared *Form[P, C]
	// PreparesAlike says that the other form may also pay if many lanes have the same parameters. Else it is for
	// members with weights of their own.
	PreparesAlike bool
	// PreparesAlways says that parameters are no form to compute with: they are prepared in every layout.
	PreparesAlways bool
	// BytesRead returns the bytes of one member's parameters that a step reads, and those of lists that it reads once
	// for all members of a tile, if that is less than the other form has.
	BytesRead func() (own, shared int)

	// Describe returns what the parameters mean beyond their names and shapes, by key: text as it is, anything else as
	// JSON. docs/reference/member-file.md has the keys.
	Describe func(params P) (map[string]any, error)
	// Drawing returns an SVG of a member, on the host, for networks that differ in their structure.
	Drawing func(params P) ([]byte, error)
	// NIR returns the network with one member's parameters as a NIR graph. Its error says which part NIR does not have.
	// The metadata of the Input hold the settings that the policy nir takes from a file.
	NIR func(params P) (*nir.Graph, error)
	// Tracer records the neurons.
	Tracer *Tracer[P]

	// Reports are the names of the policy's own numbers about an episode, as metrics are named: "spike_rate_hz". They
	// are metrics of a run, as means over the members and their episodes. xlarun play prints them for each episode.
	Reports []string
	// Report returns the numbers for the steps so far, f32[len(Reports)]. carry is the carry after the last of them. It
	// is a pure function of one member, traced once in the loop over steps, and computed after every step. The result
	// after the episode's last step counts. Sums over steps belong in the carry.
	Report func(carry C) *graph.Array
	// Learn returns the carry, which Act returned, after the reward f32[] of the same step: the policy changes within
	// an episode.
	Learn func(carry C, reward *graph.Array) C

	// Genotype is the network that the parameters, a genome.Genome, describe.
	Genotype *genome.Network
	// Sizes returns the settings that decide the sizes of params, if parameters can have several, as a policy with
	// these sizes has them.
	Sizes func(params P) settings.Values
	// Wider returns params, leaves […, size], with the sizes of this policy, which are not smaller. They mean the same.
	Wider func(params P) P
	// File says where the layers come from; nil: from no file.
	File *File
}

// File is the file that a policy's layers come from.
type File struct {
	// Without are settings with which the policy is made without the file, for saved members. Init of that policy
	// returns zeros.
	Without settings.Values
	// Kept are settings with which the policy is made of the file as it was when it was read, with all that the file
	// decides, for the config of a run. If the file has changed, they make no policy. If no file was read, they are
	// Without.
	Kept settings.Values
	// Bytes are those of the file when it was read; nil if no file was read.
	Bytes []byte
}

// Form is another form of parameters P of a policy with the memory C; see FormOf.
type Form[P, C any] struct {
	// Prepare returns one member's parameters, as Init returns them, in this form.
	Prepare func(params P) any
	// Shared does so for a member with shared matrices, without forming the member's own; nil: it cannot.
	Shared func(s Shared) any

	is    func(params any) bool
	start func(params any) C
	act   func(params any, carry C, observation *graph.Array, key random.Key) (C, Output)
}

// FormOf says that a policy can act with an R instead of its parameters, once an episode made by prepare, or by shared
// (nil: it cannot) of a member with shared matrices. start and act are Start and Act with it.
func FormOf[P, R, C any](prepare func(P) R, shared func(Shared) R, start func(R) C,
	act func(params R, carry C, observation *graph.Array, key random.Key) (C, Output)) *Form[P, C] {
	f := &Form[P, C]{
		Prepare: func(params P) any { return prepare(params) },
		is:      func(params any) bool { _, is := params.(R); return is },
		start:   func(params any) C { return start(params.(R)) },
		act: func(params any, carry C, observation *graph.Array, key random.Key) (C, Output) {
			return act(params.(R), carry, observation, key)
		}}
	if shared != nil {
		f.Shared = func(s Shared) any { return shared(s) }
	}
	return f
}

// erased is a Policy whose Network has hidden types.
type erased struct {
	network any // the Network
	traits  Traits[any, any]
	init    func(key random.Key) any
	start   func(params any) any
	act     func(params, carry any, observation *graph.Array, key random.Key) (any, Output)
	bind    func(in map[string]*graph.Array, prefix string) Policy
}

func (e *erased) Traits() Traits[any, any] { return e.traits }
func (e *erased) Init(key random.Key) any  { return e.init(key) }
func (e *erased) Start(params any) any     { return e.start(params) }
func (e *erased) Act(params, carry any, observation *graph.Array, key random.Key) (any, Output) {
	return e.act(params, carry, observation, key)
}

// Erase hides the types of a policy.
func Erase[P, C any](n Network[P, C]) Policy {
	t := n.Traits()
	form := t.Prepared
	own := func(params any) P { return to[P](n, "parameters", "as Init makes them", params) }
	memory := func(carry any) C { return to[C](n, "a carry", "as Start makes it", carry) }
	e := &erased{network: n,
		init: func(key random.Key) any { return n.Init(key) },
		start: func(params any) any {
			if form != nil && form.is(params) {
				return form.start(params)
			}
			return n.Start(own(params))
		},
		act: func(params, carry any, observation *graph.Array, key random.Key) (any, Output) {
			if form != nil && form.is(params) {
				return form.act(params, memory(carry), observation, key)
			}
			return n.Act(own(params), memory(carry), observation, key)
		},
		bind: func(in map[string]*graph.Array, prefix string) Policy { return Erase(settings.Bind(n, in, prefix)) }}
	e.traits = Traits[any, any]{PreparesAlike: t.PreparesAlike, PreparesAlways: t.PreparesAlways,
		BytesRead: t.BytesRead, Reports: t.Reports, Genotype: t.Genotype, File: t.File}
	if form != nil {
		e.traits.Prepared = &Form[any, any]{Prepare: func(params any) any { return form.Prepare(own(params)) },
			Shared: form.Shared}
	}
	if t.Describe != nil {
		e.traits.Describe = func(params any) (map[string]any, error) { return t.Describe(own(params)) }
	}
	if t.Drawing != nil {
		e.traits.Drawing = func(params any) ([]byte, error) { return t.Drawing(own(params)) }
	}
	if t.NIR != nil {
		e.traits.NIR = func(params any) (*nir.Graph, error) { return t.NIR(own(params)) }
	}
	if t.Tracer != nil {
		e.traits.Tracer = &Tracer[any]{SubstepMS: t.Tracer.SubstepMS,
			Trace: func(params any, observations *graph.Array, keys random.Key) []LayerTrace {
				return t.Tracer.Trace(own(params), observations, keys)
			},
			Weights: func(params any) ([]string, []*graph.Array) { return t.Tracer.Weights(own(params)) }}
	}
	if t.Report != nil {
		e.traits.Report = func(carry any) *graph.Array { return t.Report(memory(carry)) }
	}
	if t.Learn != nil {
		e.traits.Learn = func(carry any, reward *graph.Array) any {
			return t.Learn(memory(carry), reward)
		}
	}
	if t.Sizes != nil {
		e.traits.Sizes = func(params any) settings.Values { return t.Sizes(own(params)) }
		e.traits.Wider = func(params any) any { return t.Wider(own(params)) }
	}
	return e
}

// to gives a tree its type again. It throws an error for another one. made says who makes what.
func to[T any](network any, what, made string, tree any) T {
	typed, ok := tree.(T)
	if !ok && tree != nil {
		graph.Throw(fmt.Sprintf("%T", network), "got %s of type %T, want %s, %s", what, tree, reflect.TypeFor[T](),
			made)
	}
	return typed
}

// NetworkOf returns the Network that Erase has hidden in p, or in the policy inside of p (Unwrap): a pointer to its
// settings if it has any.
func NetworkOf(p Policy) any {
	p = Unwrap(p)
	if e, ok := p.(*erased); ok {
		return e.network
	}
	return p
}
