package policy

import (
	"fmt"
	"reflect"

	"xlarun/envs"
	"xlarun/graph"
	"xlarun/graph/nn/nir"
	"xlarun/graph/random"
	"xlarun/internal/erase"
	"xlarun/rollout/policy/genome"
	"xlarun/rollout/settings"
)

// Traits are what a Network[P, C] can do beyond its methods. A zero value or a nil function means that it does not.
type Traits[P, C any] struct {
	// Prepared is another form of the parameters, made once an episode, that Start and Act take, too.
	Prepared *Form
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
	// Drawn returns the parameters of the perceptron that the parameters draw, for programs that know no genomes.
	Drawn func(params P) Params
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

// Form is another form of a policy's parameters; see FormOf.
type Form struct {
	// Prepare returns one member's parameters, as Init returns them, in this form.
	Prepare func(params any) any
	// Shared does so for a member with shared matrices, without forming the member's own; nil: it cannot.
	Shared func(s Shared) any

	is    reflect.Type
	start func(params any) any
	act   func(params, carry any, observation *graph.Array, key random.Key) (any, Output)
}

// FormOf says that a policy can act with an R instead of its parameters P, once an episode made by prepare, or by
// shared (nil: it cannot) of a member with shared matrices. start and act are Start and Act with it.
func FormOf[P, R, C any](prepare func(P) R, shared func(Shared) R, start func(R) C,
	act func(params R, carry C, observation *graph.Array, key random.Key) (C, Output)) *Form {
	return formOf(prepare, shared, start, act)
}

// formOf is FormOf for any types. Functions with any instead of types are made once: see package erase.
func formOf(prepare, shared, start, act any) *Form {
	made := reflect.TypeOf(prepare)
	refuse := refusal("policy.Form", made.In(0), func() string { return "" })
	return &Form{is: made.Out(0), Prepare: erase.To[func(any) any](prepare, refuse),
		Shared: erase.To[func(Shared) any](shared, refuse), start: erase.To[func(any) any](start, refuse),
		act: erase.To[func(params, carry any, observation *graph.Array, key random.Key) (any, Output)](act, refuse)}
}

// erased is a Policy whose Network has hidden types.
type erased struct {
	network any // the Network
	traits  Traits[any, any]
	init    func(key random.Key) any
	start   func(params any) any
	act     func(params, carry any, observation *graph.Array, key random.Key) (any, Output)
}

func (e *erased) Traits() Traits[any, any] { return e.traits }
func (e *erased) Init(key random.Key) any  { return e.init(key) }

func (e *erased) Start(params any) any {
	if e.prepared(params) {
		return e.traits.Prepared.start(params)
	}
	return e.start(params)
}

func (e *erased) Act(params, carry any, observation *graph.Array, key random.Key) (any, Output) {
	if e.prepared(params) {
		return e.traits.Prepared.act(params, carry, observation, key)
	}
	return e.act(params, carry, observation, key)
}

func (e *erased) prepared(params any) bool {
	return e.traits.Prepared != nil && reflect.TypeOf(params) == e.traits.Prepared.is
}

// Erase hides the types of a policy.
func Erase[P, C any](n Network[P, C]) Policy {
	if p, ok := n.(Policy); ok {
		return p
	}
	return eraseNetwork(n)
}

// eraseNetwork is Erase for a Network of any types. The names of methods are constants, so that the linker keeps no
// others.
func eraseNetwork(n any) *erased {
	v := reflect.ValueOf(n)
	init := v.MethodByName("Init")
	refuse := func(method string) func(any, reflect.Type) {
		return refusal(fmt.Sprintf("%T", n), init.Type().Out(0), func() string { return envs.MethodLine(n, method) })
	}
	return &erased{network: n, traits: to[func() Traits[any, any]](v.MethodByName("Traits"), refuse("Traits"))(),
		init:  to[func(key random.Key) any](init, refuse("Init")),
		start: to[func(params any) any](v.MethodByName("Start"), refuse("Start")),
		act: to[func(params, carry any, observation *graph.Array, key random.Key) (any, Output)](
			v.MethodByName("Act"), refuse("Act"))}
}

func to[T any](method reflect.Value, refuse func(any, reflect.Type)) T {
	return erase.To[T](method.Interface(), refuse)
}

// refusal returns a function that throws an error for a tree that is neither the parameters nor the carry of a policy.
// line is that of the policy's method.
func refusal(name string, params reflect.Type, line func() string) func(tree any, want reflect.Type) {
	return func(tree any, want reflect.Type) {
		what, made := "a carry", "as Start makes it"
		if want == params {
			what, made = "parameters", "as Init makes them"
		}
		panic(&graph.Error{Where: line(), Op: name,
			Msg: fmt.Sprintf("got %s of type %T, want %s, %s", what, tree, want, made)})
	}
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
