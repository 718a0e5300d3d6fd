package policy

import (
	"strings"

	"xlarun/envs"
	"xlarun/graph"
	"xlarun/graph/random"
	"xlarun/rollout/settings"
)

// NormalizeObservations is the name of the setting that normalizes observations.
const NormalizeObservations = "normalize-observations"

// Clip bounds normalized observations, in standard deviations.
const Clip = 10

// Normalizing normalizes the observations of another policy: (observation - mean)/deviation of each element, within
// ±Clip (Salimans et al., 2017; Mania et al., 2018, section 3.2). Mean and deviation are among a member's parameters,
// but no search changes them: a kind of run computes them from observations; see Moments.
type Normalizing struct {
	Inner Policy // takes the normalized observations
	dims  []int  // of an observation
}

// Normalized holds the parameters of a member of a Normalizing.
type Normalized struct {
	Own         any   `tree:"inline"` // of Normalizing.Inner
	Observation Scale // the same for all members
}

// Scale says how observations are normalized. Both arrays are f32[dims...], as an observation.
type Scale struct{ Mean, Deviation *graph.Array }

// MakeNormalizing makes a Normalizing of the policy of a spec; see Make. Its error for a space that is no box is a
// *settings.Error.
func MakeNormalizing(spec string, values settings.Values, observation, action envs.Space) (*Normalizing, Head, error) {
	box, ok := observation.(envs.Box)
	if !ok {
		return nil, nil, settings.Wrong(NormalizeObservations, true, "observations that are boxes of numbers, which "+
			"have a mean; here they are %s: leave it out", observation)
	}
	p, h, err := Make(spec, values, NormalizedBox(box), action)
	if err != nil {
		return nil, nil, err
	}
	err = graph.Try(func() {
		_, tree := graph.Flatten(p.Init(random.New(0)))
		for i := range tree.Len() {
			if strings.HasPrefix(tree.Path(i), ".Observation.") {
				graph.Throw("MakeNormalizing", "the policy %s has parameters %s, want a name that does not begin "+
					"with Observation: those are what observations are normalized by", spec, tree.Path(i))
			}
		}
	})
	return &Normalizing{p, box.Dims}, h, err
}

// NormalizedBox returns the space of a box's normalized observations.
func NormalizedBox(box envs.Box) envs.Box {
	return envs.Box{Low: []float64{-Clip}, High: []float64{Clip}, Dims: box.Dims, DType: graph.Float32,
		ChannelsFirst: box.ChannelsFirst, Substrate: box.Substrate}
}

// Unwrap returns the policy that a search changes: the one inside a Sampling and a Normalizing, or p itself.
func Unwrap(p Policy) Policy {
	switch p := p.(type) {
	case *Normalizing:
		return Unwrap(p.Inner)
	case *Sampling:
		return Unwrap(p.Inner)
	}
	return p
}

// Traits are those of the inner policy for its part of the parameters.
func (n *Normalizing) Traits() Traits[any, any] {
	t := n.Inner.Traits()
	own := func(params any) any { return n.params("policy.Normalizing", params).Own }
	if form := t.Prepared; form != nil {
		t.Prepared = &Form{Prepare: func(params any) any {
			p := n.params("Normalizing.Prepare", params)
			p.Own = form.Prepare(p.Own)
			return p
		}}
	}
	if tracer := t.Tracer; tracer != nil {
		t.Tracer = &Tracer[any]{SubstepMS: tracer.SubstepMS,
			Trace: func(params any, observations *graph.Array, keys random.Key) []LayerTrace {
				p := n.params("Normalizing.Trace", params)
				return tracer.Trace(p.Own, graph.VMap(p.Observation.Apply)(observations), keys)
			},
			Weights: func(params any) ([]string, []*graph.Array) { return tracer.Weights(own(params)) }}
	}
	return within(t, own)
}

// within returns the traits of a policy around one with traits t. own returns the parameters of the inner policy.
func within(t Traits[any, any], own func(params any) any) Traits[any, any] {
	t.NIR, t.Wider, t.PreparesAlike = nil, nil, false
	if describe := t.Describe; describe != nil {
		t.Describe = func(params any) (map[string]any, error) { return describe(own(params)) }
	}
	if drawn := t.Drawn; drawn != nil {
		t.Drawn = func(params any) Params { return drawn(own(params)) }
	}
	if drawing := t.Drawing; drawing != nil {
		t.Drawing = func(params any) ([]byte, error) { return drawing(own(params)) }
	}
	if sizes := t.Sizes; sizes != nil {
		t.Sizes = func(params any) settings.Values { return sizes(own(params)) }
	}
	return t
}

// Bind returns p with a program's inputs instead of its Numbers; see settings.Bind.
func Bind(p Policy, in map[string]*graph.Array, prefix string) Policy {
	switch p := p.(type) {
	case *erased:
		return eraseNetwork(settings.Bind(p.network, in, prefix))
	case *Normalizing:
		return &Normalizing{Bind(p.Inner, in, prefix), p.dims}
	case *Sampling:
		return &Sampling{Bind(p.Inner, in, prefix), p.Actions, p.distribution}
	}
	return settings.Bind(p, in, prefix)
}

// Init draws the parameters of the inner policy, with a Scale that changes nothing.
func (n *Normalizing) Init(key random.Key) any {
	return Normalized{n.Inner.Init(key), NoMoments(n.dims...).Scale()}
}

// Start returns the first carry of the inner policy.
func (n *Normalizing) Start(params any) any {
	return n.Inner.Start(n.params("Normalizing.Start", params).Own)
}

// Act passes the normalized observation to the inner policy.
func (n *Normalizing) Act(params, carry any, observation *graph.Array, key random.Key) (any, Output) {
	p := n.params("Normalizing.Act", params)
	return n.Inner.Act(p.Own, carry, p.Observation.Apply(observation), key)
}

// Apply normalizes an observation of any dtype: f32[dims...].
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
