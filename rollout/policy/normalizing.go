package policy

import (
	"strings"

	"xlarun/envs"
	"xlarun/graph"
	"xlarun/graph/random"
	"xlarun/rollout/settings"
)

// NormalizeObservations is the name of the setting by which observations are normalised.
const NormalizeObservations = "normalize-observations"

// Clip is how far from 0 a normalised observation may be, in standard deviations.
const Clip = 10

// Normalizing is a policy that takes observations normalised: each element less its mean, over its standard deviation,
// within ±Clip (Salimans et al., 2017; Mania et al., 2018, section 3.2). Means and deviations stand among a member's
// parameters, but are not for a search to change: who evolves or trains members puts in what was observed; see Moments.
type Normalizing struct {
	Behind Policy // takes what is normalised
	dims   []int  // of an observation
}

// Normalized are the parameters of a member of a Normalizing.
type Normalized struct {
	Own         any   `tree:"inline"` // of the policy behind
	Observation Scale // the same for all members
}

// Scale says how observations are normalised; both are f32[dims...] of an observation.
type Scale struct{ Mean, Deviation *graph.Array }

// MakeNormalizing makes a Normalizing before the policy of a spec, which is made for normalised observations; see Make.
// Its error for a space that is no box is a *settings.Error.
func MakeNormalizing(spec string, own settings.Values, observation, action envs.Space) (*Normalizing, Head, error) {
	box, ok := observation.(envs.Box)
	if !ok {
		return nil, nil, settings.Wrong(NormalizeObservations, true, "observations that are boxes of numbers, which "+
			"have a mean; here they are %s: leave it out", observation)
	}
	p, h, err := Make(spec, own, NormalizedBox(box), action)
	if err != nil {
		return nil, nil, err
	}
	err = graph.Try(func() {
		_, tree := graph.Flatten(p.Init(random.New(0)))
		for i := range tree.Len() {
			if strings.HasPrefix(tree.Path(i), ".Observation.") {
				graph.Throw("MakeNormalizing", "the policy %s has parameters %s, want a name that does not begin "+
					"with Observation: those are what observations are normalised by", spec, tree.Path(i))
			}
		}
	})
	return &Normalizing{p, box.Dims}, h, err
}

// NormalizedBox is the space of normalised observations of a box.
func NormalizedBox(box envs.Box) envs.Box {
	return envs.Box{Low: []float64{-Clip}, High: []float64{Clip}, Dims: box.Dims, DType: graph.Float32,
		ChannelsFirst: box.ChannelsFirst}
}

// Behind is the policy that a search changes: that behind a Normalizing, else p itself.
func Behind(p Policy) Policy {
	if n, ok := p.(*Normalizing); ok {
		return n.Behind
	}
	return p
}

// Describe is what there is to know of the policy behind; the statistics of observations are parameters.
func (n *Normalizing) Describe(params any) (map[string]any, error) {
	d, ok := n.Behind.(Describer)
	if !ok {
		return nil, nil
	}
	if own, ok := params.(Normalized); ok {
		params = own.Own
	}
	return d.Describe(params)
}

// Bind is p with a program's inputs in the place of its Numbers; see settings.Bind.
func Bind(p Policy, in map[string]*graph.Array, prefix string) Policy {
	if n, ok := p.(*Normalizing); ok {
		return &Normalizing{settings.Bind(n.Behind, in, prefix), n.dims}
	}
	return settings.Bind(p, in, prefix)
}

// Init draws the parameters of the policy behind, and leaves observations as they are.
func (n *Normalizing) Init(key random.Key) any {
	return Normalized{n.Behind.Init(key), NoMoments(n.dims...).Scale()}
}

// Start is that of the policy behind.
func (n *Normalizing) Start(params any) any {
	return n.Behind.Start(n.params("Normalizing.Start", params).Own)
}

// Prepare prepares the parameters of the policy behind, where it does.
func (n *Normalizing) Prepare(params any) any {
	p := n.params("Normalizing.Prepare", params)
	if prepare, ok := n.Behind.(Preparer); ok {
		p.Own = prepare.Prepare(p.Own)
	}
	return p
}

// Act has the policy behind answer the normalised observation.
func (n *Normalizing) Act(params, carry any, observation *graph.Array, key random.Key) (any, Output) {
	p := n.params("Normalizing.Act", params)
	return n.Behind.Act(p.Own, carry, p.Observation.Apply(observation), key)
}

// Apply normalises an observation of any dtype: f32[dims...].
func (s Scale) Apply(observation *graph.Array) *graph.Array {
	return observation.Convert(graph.Float32).Sub(s.Mean).Div(s.Deviation).Clamp(-Clip, Clip)
}

func (n *Normalizing) params(op string, params any) Normalized {
	p, ok := params.(Normalized)
	if !ok {
		graph.Throw(op, "got parameters of type %T, want policy.Normalized, as Init makes them", params)
	}
	return p
}
