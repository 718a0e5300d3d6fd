package policy

import (
	"xlarun/envs"
	"xlarun/graph"
	"xlarun/graph/random"
	"xlarun/rollout/settings"
)

// The ways to act of a Sampling.
const (
	Sampled = "sampled" // each action is drawn from the distribution
	Greedy  = "greedy"  // the most probable action is taken
)

// Sampling is a policy with a distribution over actions, as policy gradients train it. It takes the most probable
// action, or it draws one. To draw, it adds noise to the inner policy's outputs, so that the most probable action of
// these outputs is a draw: Gumbel noise to logits, normal noise to the means of a box.
type Sampling struct {
	Inner        Policy // its outputs are those of the most probable action
	Actions      string // Sampled or Greedy, for parameters that do not say
	distribution Stochastic
}

// Distributed holds the parameters of a member of a Sampling.
type Distributed struct {
	Own          any          `tree:"inline"` // of Sampling.Inner
	Distribution any          // of the distribution: Stochastic.Start
	Sampled      *graph.Array `tree:"optional"` // bool[]: actions are drawn; nil: as Sampling.Actions says
}

// NewSampling makes a Sampling for a space of actions. Its error is a *settings.Error.
func NewSampling(inner Policy, actions string, space envs.Space) (*Sampling, error) {
	if actions != Sampled && actions != Greedy {
		return nil, settings.Wrong("actions", actions, "%s or %s", Sampled, Greedy)
	}
	distribution, err := StochasticOf(space)
	if err != nil {
		return nil, err
	}
	return &Sampling{inner, actions, distribution}, nil
}

// WaysOf returns the ways to act that a policy has: Sampled and Greedy for a Sampling, and one, "", for others.
func WaysOf(p Policy) []string {
	if _, ok := p.(*Sampling); ok {
		return []string{Sampled, Greedy}
	}
	return []string{""}
}

// perturbed returns outputs with noise, whose most probable action, as the head takes it, is a draw.
func (s *Sampling) perturbed(params any, out, noise *graph.Array) *graph.Array {
	if box, ok := s.distribution.(Squashed); ok {
		return box.Draw(params, out, noise)
	}
	return out.Add(noise)
}

// Acting returns parameters with a way to act. Parameters of policies other than a Sampling stay as they are.
func Acting(params any, actions string) any {
	d, ok := params.(Distributed)
	if !ok {
		return params
	}
	d.Sampled = graph.Of(actions == Sampled)
	return d
}

// Traits are those of the inner policy for its part of the parameters.
func (s *Sampling) Traits() Traits[any, any] {
	t := s.Inner.Traits()
	if form := t.Prepared; form != nil {
		t.Prepared = &Form{Prepare: func(params any) any {
			p := s.params("Sampling.Prepare", params)
			p.Own = form.Prepare(p.Own)
			return p
		}}
	}
	own := func(params any) any { return s.params("policy.Sampling", params).Own }
	if tracer := t.Tracer; tracer != nil {
		t.Tracer = &Tracer[any]{SubstepMS: tracer.SubstepMS,
			Trace: func(params any, observations *graph.Array, keys random.Key) []LayerTrace {
				return tracer.Trace(own(params), observations, graph.VMap(func(key random.Key) random.Key {
					return random.SplitN(key, 2)[0] // as Act
				})(keys))
			},
			Weights: func(params any) ([]string, []*graph.Array) { return tracer.Weights(own(params)) }}
	}
	return within(t, own)
}

// Init draws the parameters of the inner policy.
func (s *Sampling) Init(key random.Key) any {
	return Distributed{Own: s.Inner.Init(key), Distribution: s.distribution.Start()}
}

// Start returns the first carry of the inner policy.
func (s *Sampling) Start(params any) any {
	return s.Inner.Start(s.params("Sampling.Start", params).Own)
}

// Act returns the outputs of the inner policy, with noise if actions are drawn.
func (s *Sampling) Act(params, carry any, observation *graph.Array, key random.Key) (any, Output) {
	p := s.params("Sampling.Act", params)
	keys := random.SplitN(key, 2)
	next, out := s.Inner.Act(p.Own, carry, observation, keys[0])
	if p.Sampled == nil && s.Actions == Greedy {
		return next, out
	}
	drawn := s.perturbed(p.Distribution, out.Action, s.distribution.Noise(keys[1]))
	if p.Sampled != nil {
		drawn = graph.Select(p.Sampled, drawn, out.Action)
	}
	return next, Output{drawn}
}

func (s *Sampling) params(op string, params any) Distributed {
	p, ok := params.(Distributed)
	if !ok {
		graph.Throw(op, "got parameters of type %T, want policy.Distributed, as Init makes them", params)
	}
	return p
}
