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
	Inner   Policy // its outputs are those of the most probable action
	Actions string // Sampled or Greedy, for parameters that do not say
	noisy   noisy
}

// Distributed holds the parameters of a member of a Sampling.
type Distributed struct {
	Own          any          `tree:"inline"` // of Sampling.Inner
	Distribution any          // of the distribution: Stochastic.Start
	Sampled      *graph.Array `tree:"optional"` // bool[]: actions are drawn; nil: as Sampling.Actions says
}

// noisy is a Stochastic that draws by noise on the outputs.
type noisy interface {
	Stochastic
	// perturbed returns outputs whose most probable action, as the head takes it, is a draw.
	perturbed(params any, out, noise *graph.Array) *graph.Array
}

func (Categorical) perturbed(_ any, out, noise *graph.Array) *graph.Array      { return out.Add(noise) }
func (MultiCategorical) perturbed(_ any, out, noise *graph.Array) *graph.Array { return out.Add(noise) }
func (s Squashed) perturbed(params any, out, noise *graph.Array) *graph.Array {
	return s.Draw(params, out, noise)
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
	return &Sampling{inner, actions, distribution.(noisy)}, nil
}

// WaysOf returns the ways to act that a policy has: Sampled and Greedy for a Sampling, and one, "", for others.
func WaysOf(p Policy) []string {
	if _, ok := p.(*Sampling); ok {
		return []string{Sampled, Greedy}
	}
	return []string{""}
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

// Init draws the parameters of the inner policy.
func (s *Sampling) Init(key random.Key) any {
	return Distributed{Own: s.Inner.Init(key), Distribution: s.noisy.Start()}
}

// Start returns the first carry of the inner policy.
func (s *Sampling) Start(params any) any {
	return s.Inner.Start(s.params("Sampling.Start", params).Own)
}

// Prepare prepares the parameters of the inner policy, if it is a Preparer.
func (s *Sampling) Prepare(params any) any {
	p := s.params("Sampling.Prepare", params)
	if prepare, ok := s.Inner.(Preparer); ok {
		p.Own = prepare.Prepare(p.Own)
	}
	return p
}

// Act returns the outputs of the inner policy, with noise if actions are drawn.
func (s *Sampling) Act(params, carry any, observation *graph.Array, key random.Key) (any, Output) {
	p := s.params("Sampling.Act", params)
	keys := random.SplitN(key, 2)
	next, out := s.Inner.Act(p.Own, carry, observation, keys[0])
	if p.Sampled == nil && s.Actions == Greedy {
		return next, out
	}
	drawn := s.noisy.perturbed(p.Distribution, out.Action, s.noisy.Noise(keys[1]))
	if p.Sampled != nil {
		drawn = graph.Select(p.Sampled, drawn, out.Action)
	}
	return next, Output{drawn}
}

// Describe describes the inner policy.
func (s *Sampling) Describe(params any) (map[string]any, error) {
	d, ok := s.Inner.(Describer)
	if !ok {
		return nil, nil
	}
	if distributed, ok := params.(Distributed); ok {
		params = distributed.Own
	}
	return d.Describe(params)
}

func (s *Sampling) params(op string, params any) Distributed {
	p, ok := params.(Distributed)
	if !ok {
		graph.Throw(op, "got parameters of type %T, want policy.Distributed, as Init makes them", params)
	}
	return p
}
