// Package auxiliary holds further terms of ppo's loss, one file a term: penalties, imitation, losses of one's own.
package auxiliary

import (
	"xlarun/graph"
	"xlarun/rollout/settings"
)

// Loss is a term of the loss. Its mean over a minibatch is added to ppo's loss, and is the metric auxiliary_loss. A
// Loss is a pointer to a struct of its own settings (see package settings), such as its weight: --auxiliary.weight 0.1.
type Loss interface {
	// Compute returns the term of one transition, f32[]. It is traced, and differentiated by what the networks return.
	Compute(t Transition) *graph.Array
	// Traits say what else the term can do. A term that can do nothing else returns the zero value.
	Traits() Traits
}

// Traits are what a Loss can do beyond Compute.
type Traits struct {
	// Reports are the names of numbers of the term's own, such as the terms that it is the sum of, as metrics are
	// named: "rule_agreement".
	Reports []string
	// Report returns the numbers of one transition, f32[len(Reports)]. Their means over the minibatches of an update
	// become metrics. It is traced beside Compute, and nothing is differentiated by it.
	Report func(t Transition) *graph.Array
}

// TraitsOf returns the traits of a term; nil has none.
func TraitsOf(l Loss) (t Traits) {
	if l != nil {
		t = l.Traits()
	}
	return t
}

// Transition is a transition of a minibatch. Outputs, LogProb, Entropy and Value come from the networks as they are now
// and carry gradients; the rest comes from the rollout.
type Transition struct {
	Observation *graph.Array // as the networks see it
	Action      *graph.Array // as the distribution draws it: i32[], i32[k], or f32[k] before the squashing
	Outputs     *graph.Array // [n] of the actor: logits, or means
	LogProb     *graph.Array // f32[]: of Action
	Entropy     *graph.Array // f32[]: of the distribution
	Value       *graph.Array // [k]: outputs of the critic

	OldLogProb *graph.Array // f32[]: of Action, by the policy of the rollout
	OldValue   *graph.Array // f32[]
	Advantage  *graph.Array // f32[], not normalized; 0 where nothing is learned
	Target     *graph.Array // f32[]: of the value
}

var registry = settings.NewRegistry[Loss]("auxiliary", "auxiliary", "auxiliary loss")

// MustRegister makes a term known to Make, and so to the command line. create returns it with its default settings. It
// panics if the name is taken.
func MustRegister(name string, create func() Loss) { registry.MustRegister(name, create) }

// Names lists the registered terms, sorted.
func Names() []string { return registry.Names() }

// Part is the part "auxiliary" of a kind of run's settings.
func Part() settings.Part { return registry.Part() }

// Make returns a term by its name, with settings of its own; nil for None. Its errors are *settings.Error.
func Make(name string, values settings.Values) (Loss, error) {
	l, err := registry.Choose(name, values)
	if _, none := l.(*nothing); none || err != nil {
		return nil, err
	}
	return l, nil
}

// None is the name of no term.
const None = "none"

func init() { MustRegister(None, func() Loss { return &nothing{} }) }

// nothing is no term: Make returns nil for it.
type nothing struct{}

func (*nothing) Compute(Transition) *graph.Array { return graph.Scalar(0) }

func (*nothing) Traits() (t Traits) { return t }
