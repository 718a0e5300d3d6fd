package main

import (
	"xlarun/envs"
	"xlarun/graph"
	"xlarun/rollout/episode"
	"xlarun/rollout/qd"
	"xlarun/rollout/settings"
)

func init() { qd.MustRegisterDescriptor("shares", &Shares{Actions: []int{0, 2}}) }

// Shares describes an episode by the share of its steps in which each of some actions was taken.
type Shares struct {
	Actions []int `set:"actions" min:"0" max:"255" wants:"numbers of actions from 0, with commas between" help:"actions whose shares are counted"`
}

// Make refuses an environment whose actions are no choice, actions that it does not have, and no actions.
func (s *Shares) Make(env envs.Environment) (episode.Descriptor, error) {
	choice, ok := env.Spec().Action.(envs.Discrete)
	if !ok {
		return nil, settings.Wrong("descriptor", "shares", "env or observations: the actions of %s are %s",
			env.Spec().ID, env.Spec().Action)
	}
	if len(s.Actions) == 0 {
		return nil, settings.Wrong("descriptor.actions", "", "one action or more, as in 0,2")
	}
	bounds := envs.Box{Low: []float64{0}, High: []float64{1}, Dims: []int{len(s.Actions)}, DType: graph.Float32}
	for _, a := range s.Actions {
		if a >= choice.N {
			return nil, settings.Wrong("descriptor.actions", a, "actions from 0 to %d", choice.N-1)
		}
	}
	return episode.StepMean{Bounds: bounds, Of: func(step episode.Step, _ any) *graph.Array {
		var taken []*graph.Array
		for _, a := range s.Actions {
			taken = append(taken, step.Action.Eq(a).Convert(graph.Float32))
		}
		return graph.Stack(taken, 0)
	}}, nil
}
