package policy

import (
	"fmt"

	"xlarun/graph"
	"xlarun/graph/random"
	"xlarun/rollout/policy/spiking"
)

// LayerTrace is what a layer of spiking neurons did, for pictures.
type LayerTrace struct {
	Spikes *graph.Array `tree:"optional"` // f32[substeps, units]: 1 where a spike arrived at who listens, else 0
	// f32[substeps, units], mV, behind each substep; nil where the dynamics show none
	Potential *graph.Array `tree:"optional"`
}

// Tracer is a Policy whose neurons can be watched.
type Tracer interface {
	Policy
	// Trace runs along an episode's observations, leaves [steps, …], with the keys that Act was given, [steps]: what
	// each layer did, leaves [steps*substeps, units]. params are one member's, as Init makes them.
	Trace(params any, observations *graph.Array, keys random.Key) []LayerTrace
	// Weights are those from one layer to the next, f32[in, units] in mV, the recurrent ones of a layer right behind
	// it, and their names.
	Weights(params any) (names []string, weights []*graph.Array)
	// SubstepMS is the time of a row of a trace, ms.
	SubstepMS() float64
}

// TracerOf is the tracer that p is, or has behind a Normalizing, of whose parameters own gives that one's and
// observations as it sees them.
func TracerOf(p Policy) (t Tracer, own func(params any, observations *graph.Array) (any, *graph.Array), ok bool) {
	t, ok = Behind(p).(Tracer)
	n, normalizes := p.(*Normalizing)
	return t, func(params any, observations *graph.Array) (any, *graph.Array) {
		if !normalizes {
			return params, observations
		}
		of := n.params("Trace", params)
		return of.Own, graph.VMap(of.Observation.Apply)(observations)
	}, ok
}

// Trace implements Tracer.
func (s *Spiking) Trace(params any, observations *graph.Array, keys random.Key) []LayerTrace {
	p, ok := params.(SpikingParams)
	if !ok {
		graph.Throw("policy.Spiking", "got parameters of type %T, want policy.SpikingParams", params)
	}
	meter, shows := s.dynamics.(spiking.Voltmeter)
	watch := func(i int, state spikingLayerState, spikes *graph.Array) LayerTrace {
		t := LayerTrace{Spikes: spikes}
		if shows {
			t.Potential = meter.Potential(s.Settings.Neurons(p.Layers[i]), state.Neurons)
		}
		return t
	}
	type step struct {
		Observation *graph.Array
		Key         random.Key
	}
	_, all := graph.Scan(func(carry any, at step) (any, []LayerTrace) {
		next, _, trace := s.act(params, carry, at.Observation, at.Key, watch)
		return next, trace
	}, s.Start(params), step{observations, keys})
	return graph.MapTree(func(a *graph.Array) *graph.Array {
		return a.Reshape(a.Dim(0)*a.Dim(1), a.Dim(2))
	}, all)
}

// Weights implements Tracer.
func (s *Spiking) Weights(params any) (names []string, weights []*graph.Array) {
	p, _ := params.(SpikingParams)
	from := "inputs"
	for i, g := range p.Layers {
		to := fmt.Sprintf("layer %d", i+1)
		names, weights = append(names, from+" to "+to), append(weights, s.Weight(g.W))
		if g.Wh != nil {
			names, weights = append(names, to+" to itself"), append(weights, s.Weight(g.Wh))
		}
		from = to
	}
	return names, weights
}

// SubstepMS implements Tracer.
func (s *Spiking) SubstepMS() float64 { return s.DT.Value }
