package episode

import (
	"xlarun/envs"
	"xlarun/graph"
)

// Descriptor describes the behavior in an episode by numbers, for quality-diversity search. Its methods are traced,
// for one episode.
type Descriptor interface {
	// Space has the bounds of the numbers: f32[d].
	Space() envs.Box
	// Start returns the carry before the first step of an episode: a tree.
	Start() any
	// Step returns the carry after a step. It counts only if the episode was not over before it. p are the
	// environment's parameters.
	Step(carry any, s Step, p any) any
	// End returns the descriptor, f32[d], after an episode of length steps, f32[].
	End(carry any, length *graph.Array) *graph.Array
}

// EnvDescriptor returns the descriptor of an environment that has Describe or DescribeStep.
func EnvDescriptor(env envs.Environment) (d Descriptor, ok bool) {
	traits, space := envs.TraitsOf(env), env.Spec().Descriptor
	switch {
	case traits.DescribeStep != nil:
		return StepMean{space, func(s Step, p any) *graph.Array {
			return traits.DescribeStep(s.State, s.After, s.Reward, p)
		}}, true
	case traits.Describe != nil:
		return lastState{space, traits.Describe}, true
	}
	return nil, false
}

// descriptor returns what describes episodes: Rollout.Descriptor, else the environment if it has Describe; nil:
// nothing does. DescribeStep costs time at each step, so it describes only where it is wanted.
func (r *Rollout) descriptor() Descriptor {
	if r.Descriptor != nil {
		return r.Descriptor
	}
	if describe := envs.TraitsOf(r.Env).Describe; describe != nil {
		return lastState{r.Env.Spec().Descriptor, describe}
	}
	return nil
}

// StepMean is a Descriptor: the mean of Of over the steps of an episode.
type StepMean struct {
	Bounds envs.Box                         // f32[d]
	Of     func(s Step, p any) *graph.Array // f32[d]
}

// Space returns the bounds.
func (m StepMean) Space() envs.Box { return m.Bounds }

// Start returns the sum of no steps.
func (m StepMean) Start() any { return graph.Zeros(m.Bounds.Shape()) }

// Step adds to the sum.
func (m StepMean) Step(sum any, s Step, p any) any { return sum.(*graph.Array).Add(m.Of(s, p)) }

// End divides by the number of steps.
func (m StepMean) End(sum any, length *graph.Array) *graph.Array {
	return sum.(*graph.Array).Div(length.Max(1))
}

// lastState describes the last state of an episode.
type lastState struct {
	space envs.Box
	of    func(state, p any) *graph.Array
}

func (l lastState) Space() envs.Box                           { return l.space }
func (l lastState) Start() any                                { return graph.Zeros(l.space.Shape()) }
func (l lastState) Step(_ any, s Step, p any) any             { return l.of(s.After, p) }
func (l lastState) End(last any, _ *graph.Array) *graph.Array { return last.(*graph.Array) }
