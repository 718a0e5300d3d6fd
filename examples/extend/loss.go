package main

import (
	"xlarun/graph"
	"xlarun/rollout/ppo/auxiliary"
	"xlarun/rollout/settings"
)

func init() {
	auxiliary.MustRegister("rule", func() auxiliary.Loss { return &Rule{Weight: settings.Num(.5)} })
}

// Rule imitates a rule of thumb for CartPole: push to the side to which the pole falls.
type Rule struct {
	Weight settings.Number `set:"weight" min:"0" help:"weight of the cross-entropy with the rule's actions"`
}

// Traits are none.
func (*Rule) Traits() (t auxiliary.Traits) { return t }

// Compute returns the cross-entropy of one transition.
func (r *Rule) Compute(t auxiliary.Transition) *graph.Array {
	angle, velocity := t.Observation.Index(2), t.Observation.Index(3)
	right := angle.Add(velocity).Gt(0).Convert(graph.Int32)
	chosen := graph.OneHot(right, 2, graph.Float32)
	return graph.LogSoftmax(t.Outputs, 0).Mul(chosen).Sum().Neg().Mul(r.Weight.Array())
}
